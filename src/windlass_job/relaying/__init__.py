"""Many connections over one pair of pipes: the laptop listens, this end at the site calls the service."""
