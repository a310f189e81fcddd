"""Helpers of all operators: checks, batching, permutations, noise and straight-through gradients."""
