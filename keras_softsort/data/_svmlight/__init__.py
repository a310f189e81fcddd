"""SVMlight lines: a parser of many lines at once, and error messages for a single line."""
