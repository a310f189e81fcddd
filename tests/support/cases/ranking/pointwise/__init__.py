"""Losses of items: a file of cases for each operator, layer, loss or metric."""
