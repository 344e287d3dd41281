"""Recalibration: maps from predicted to calibrated probabilities, their cross-validated average, and its gain."""

from .._lib.public_names import public_names

__getattr__, __dir__, __all__ = public_names(__name__)
