"""Losses of whole lists: a file of cases for each operator, layer, loss or metric."""
