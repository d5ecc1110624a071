"""What a run asked for and used."""
