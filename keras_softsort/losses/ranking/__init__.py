"""Ranking losses: one class for each function of `ops`."""
