"""Python packages as files: what is asked for, what a site's wheelhouse holds, and whether it fits."""
