"""Choosing where a run goes: the queues there are, whom they admit, which fits best, how much of it to ask for."""
