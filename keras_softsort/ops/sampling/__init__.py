"""Samples of items, subsets and orders."""
