"""The documents are true: what they show was run."""
