"""Rank correlations of two lists of numbers with ties and masks."""
