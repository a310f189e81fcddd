"""Tables of any library, and their rows by group."""
