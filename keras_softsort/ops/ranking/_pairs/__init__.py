"""Pairs of items of a list: arguments, tiles of pairs, lambda weights, and sums over pairs."""
