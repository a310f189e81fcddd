"""Keras 2 or 3 on TensorFlow, and options in configs."""
