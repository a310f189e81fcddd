"""Labels, padding, weights and the true order: what losses and metrics compare with."""
