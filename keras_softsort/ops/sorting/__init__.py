"""Soft sorting: permutation matrices, sorted values, ranks, top-k and quantiles."""
