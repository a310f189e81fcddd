"""Losses of pairs: a file of cases for each operator, layer, loss or metric."""
