"""The command line: thin. It reads flags, calls `app`, and shows what comes back."""
