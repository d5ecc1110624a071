"""Tests of reading packed data."""
