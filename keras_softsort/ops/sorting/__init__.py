"""Soft sorting: permutation matrices, sorted values, ranks, the top k, quantiles."""
