"""Functions of numbers that any statistician uses: means, standard errors, intervals, empirical Bayes."""

from .._lib.public_names import public_names

__getattr__, __dir__, __all__ = public_names(__name__)
