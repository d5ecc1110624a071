"""Long work at a site, which outlives the connection."""
