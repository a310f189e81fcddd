"""Soft sorts, ranks, quantiles and top-k memberships as Keras layers."""
