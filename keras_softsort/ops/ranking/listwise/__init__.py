"""Ranking losses of a whole list, as functions."""
