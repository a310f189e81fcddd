"""Losses of sets, whose items are matched first."""
