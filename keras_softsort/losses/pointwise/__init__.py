"""Losses of one item at a time."""
