"""Layers of lists for rankers: features of items that know their list."""
