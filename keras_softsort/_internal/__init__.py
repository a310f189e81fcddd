"""Helpers for all folders: checks of arguments, the registry of public names, and NaN results."""
