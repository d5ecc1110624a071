"""Services in a job: a notebook, a shell. Started, watched over, and ended when nobody uses them."""
