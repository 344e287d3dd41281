"""Recalibration: maps from predicted to calibrated probabilities, their cross-validated average, and its gain."""
