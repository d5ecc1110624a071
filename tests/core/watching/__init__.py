"""Views of runs: Today, alarms, chains, metrics, logs."""
