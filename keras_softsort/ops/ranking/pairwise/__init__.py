"""Ranking losses of pairs of items, as functions."""
