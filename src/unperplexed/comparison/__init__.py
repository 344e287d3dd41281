"""Two or more forecasters."""
