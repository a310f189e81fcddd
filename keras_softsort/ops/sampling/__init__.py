"""Random samples of items, subsets and orders."""
