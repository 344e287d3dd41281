"""Counts that add up: everything about one forecaster is read from a tally."""

from .._lib.public_names import public_names

__getattr__, __dir__, __all__ = public_names(__name__)
