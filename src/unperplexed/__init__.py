"""Assess probabilistic forecasts on the probability scale: how good they are, and what is wrong with them."""

from ._lib.public_names import public_names

__getattr__, __dir__, __all__ = public_names(__name__)
