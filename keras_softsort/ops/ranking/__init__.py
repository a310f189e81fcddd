"""Ranking losses and metrics as functions of scores and labels."""
