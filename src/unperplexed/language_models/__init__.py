"""Language models: log-probabilities of texts and of options, from the logs of evaluation tools."""

from .._lib.public_names import public_names

__getattr__, __dir__, __all__ = public_names(__name__)
