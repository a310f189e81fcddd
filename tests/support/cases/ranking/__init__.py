"""Ranking losses and layers: a file of cases for each operator, layer, loss or metric."""
