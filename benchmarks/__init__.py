"""What is fast and what is faithful, measured beside peers in one run; `make bench` writes results.md."""
