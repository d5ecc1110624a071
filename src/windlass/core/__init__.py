"""The pure part: values in, values out. No files, no processes, no clock, no environment."""
