"""The steps of PrivSyn after the noise: which marginals to measure, how to reconcile them, how to make records of them.

Nothing here sees a private record: everything is computed from noisy answers. The steps are those of Zhang, Wang, Li,
Honorio, Backes, He, Chen and Zhang, "PrivSyn: Differentially Private Data Synthesis", USENIX Security 2021.
"""
