"""Storage of a site: what is used, what is large, what will be purged."""
