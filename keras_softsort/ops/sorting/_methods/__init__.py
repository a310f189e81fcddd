"""The ways to sort: one object per method, and the registry that names them."""
