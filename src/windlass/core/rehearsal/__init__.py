"""Rehearsals: a site pretended on the laptop, and what was seen there judged."""
