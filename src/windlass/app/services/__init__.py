"""Notebooks, shells and tunnels: services in a job, one module a verb."""
