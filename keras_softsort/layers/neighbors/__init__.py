"""Nearest neighbors as Keras layers."""
