"""Before a run on several nodes: do they reach each other? One that does not is named, and replaced."""
