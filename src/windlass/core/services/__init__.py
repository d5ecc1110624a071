"""Services in a job, such as a notebook, and the ways to them. Pure."""
