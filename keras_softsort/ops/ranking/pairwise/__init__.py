"""Ranking losses that compare the items of a list two at a time, as functions."""
