"""Data: one TOML file a supercomputer, every fact with its source."""
