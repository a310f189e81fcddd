"""Soft permutations as matrices."""
