"""What several examples share: command lines, data, networks and pictures."""
