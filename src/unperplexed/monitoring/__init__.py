"""Gates: what is required of forecasts, tested against chance."""

from .._lib.public_names import public_names

__getattr__, __dir__, __all__ = public_names(__name__)
