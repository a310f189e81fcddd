"""Soft and exact matchings of rows with columns."""
