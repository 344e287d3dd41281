"""Scores of predictive distributions of numbers: formulas, rows of them, and means."""
