"""Packing, sending, staging and reading many files, beside the formats and tools that people use today."""
