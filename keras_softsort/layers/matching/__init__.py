"""Soft matchings as Keras layers."""
