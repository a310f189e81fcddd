"""The pairs of a list: their arguments, tiles of them, their lambda weights, and their sums."""
