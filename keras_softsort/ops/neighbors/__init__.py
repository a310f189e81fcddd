"""Distances, exact and soft nearest neighbors."""
