"""What a user can do with data: pack it, send it, get it, know where it lies."""
