"""Primitives of rows and cells, on NumPy, compiled code or a GPU, and exact sums."""
