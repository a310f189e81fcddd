"""Losses of embeddings and their neighbors."""
