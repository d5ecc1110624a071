"""One program a question, peers beside us in the same run, ratios printed. `python -m benchmarks` asks them all."""
