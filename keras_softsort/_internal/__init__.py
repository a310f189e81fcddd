"""Helpers for all folders: the choice of Keras, and checks of plain Python arguments."""
