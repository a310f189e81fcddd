"""Helpers of the tests: float64 truth, gradient checks, execution modes, tolerances."""
