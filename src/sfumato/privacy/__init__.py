"""Budget, noise, ledger, plan and vault: everything between a private table and an answer."""
