"""The far end of sending and getting data."""
