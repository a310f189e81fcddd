"""Projections onto the permutahedron."""
