"""Products with soft permutations that never form the matrix."""
