"""What the functions return: each class of a result."""

from .._lib.public_names import public_names

__getattr__, __dir__, __all__ = public_names(__name__)
