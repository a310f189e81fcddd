"""Cases of the shared checks: operators and Keras objects with their arguments."""
