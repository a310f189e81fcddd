"""Helpers of several examples: command lines, data, networks and pictures."""
