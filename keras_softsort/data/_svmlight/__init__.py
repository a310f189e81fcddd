"""SVMlight lines: many at once, and what is wrong with one."""
