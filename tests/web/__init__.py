"""The dashboard: a real server on loopback, and what it says to browsers and to strangers."""
