"""Sweeps: trials as tasks of a farm; started, looked at, driven by Optuna, gone on with."""
