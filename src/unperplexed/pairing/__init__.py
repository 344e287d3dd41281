"""Rows of forecasters that belong together, row by row, and their skill against a reference."""
