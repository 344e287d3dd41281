"""The command line."""

from .parser import main

__all__ = ["main"]
