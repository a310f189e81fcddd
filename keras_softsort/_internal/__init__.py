"""Helpers that belong to no subject: the choice of Keras, checks of plain arguments."""
