"""One module a page: a request in, what the watch has seen out."""
