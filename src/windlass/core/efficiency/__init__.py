"""What a run asked for and what it used: as values, as numbers that are kept, and from one run to the next."""
