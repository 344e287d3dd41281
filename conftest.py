"""Runs the examples in README.md and docs/ with Sybil; where Sybil is not installed, nothing is defined here."""

try:
    from sybil import Sybil
    from sybil.parsers.myst import PythonCodeBlockParser
except ImportError:
    pass
else:
    import os

    os.environ.setdefault("MPLBACKEND", "Agg")  # the examples draw, and no window is to open
    os.environ.setdefault("KERAS_BACKEND", "torch")
    pytest_collect_file = Sybil(parsers=[PythonCodeBlockParser()], patterns=["README.md", "docs/*.md"]).pytest()
