"""Counts that add up: everything about one forecaster is read from a tally."""
