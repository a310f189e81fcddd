"""Numbers that measure an order: rank correlations, NDCG and its family."""
