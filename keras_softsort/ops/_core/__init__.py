"""What all operators stand on: checks, batching, permutations, noise, straight-through gradients."""
