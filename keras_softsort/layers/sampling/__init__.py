"""Random choices and orders as Keras layers."""
