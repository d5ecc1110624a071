"""Modules of a site: what to ask Lmod or Environment Modules (Tcl), what the answers mean, how one is loaded."""
