"""The part that touches the world: ssh, the batch system, files, SQLite. It decides nothing."""
