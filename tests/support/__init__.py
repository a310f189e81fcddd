"""What the tests share: float64 truth, gradient checks, execution modes, tolerances."""
