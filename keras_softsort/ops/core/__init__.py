"""Helpers of all operators: axes, orders, stable sums, temperatures, noise and tracing."""
