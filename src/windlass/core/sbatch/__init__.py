"""Batch scripts as sbatch reads them: options, values, verdicts, and what a script asks for."""
