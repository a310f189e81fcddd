"""The methods of soft sorting, one object each, and their registry."""
