"""Farms: many tasks in a few jobs. Started, grown, looked at, steered."""
