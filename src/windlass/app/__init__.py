"""What a user can do, one function each. No printing: talk goes through `Session.tell`, results are values."""
