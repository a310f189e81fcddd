"""Ranks whose comparisons are sigmoids, as ApproxNDCG and ApproxMRR need them."""
