"""Pictures of what the examples learned, a module per subject."""
