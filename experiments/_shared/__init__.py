"""Helpers of several experiments: command lines, data, networks and pictures."""
