"""Losses of a whole list."""
