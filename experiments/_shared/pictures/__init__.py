"""Pictures of what the experiments learned, a module per subject."""
