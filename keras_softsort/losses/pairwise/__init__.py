"""Losses that compare the items of a list two at a time."""
