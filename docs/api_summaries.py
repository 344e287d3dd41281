"""A table at the head of each part of the Python interface: its names, each with its first sentence."""

from __future__ import annotations

import importlib
import inspect
import re

from sphinx.ext.autodoc.mock import mock

PLACE = "<!-- summary -->\n"
_DIRECTIVE = re.compile(r"^\.\. (?:currentmodule:: (?P<module>[\w.]+)|auto\w+:: (?P<name>[\w.]+))", re.MULTILINE)


def add(app, name, source):
    """Put the table into a page that Sphinx reads; of what is not installed, docstrings are read without it."""
    with mock(app.config.autodoc_mock_imports):
        source[0] = with_summary(source[0])


def with_summary(text: str) -> str:
    """Give a page with a table of what stands after each of its places."""
    head, *parts = text.split(PLACE)
    return head + "".join(_table(part) + part for part in parts)


def _table(text: str) -> str:
    module, rows = "", []
    for found in _DIRECTIVE.finditer(text):
        module = found["module"] or module
        if found["name"]:
            full = found["name"] if found["name"].startswith("unperplexed.") else f"{module}.{found['name']}"
            rows.append(f"| {{py:obj}}`~{full}` | {_first_sentence(full)} |")
    return "\n".join(["| name | what it is |", "|---|---|", *rows, ""])


def _first_sentence(full: str) -> str:
    module, _, name = full.rpartition(".")
    documented = inspect.getdoc(getattr(importlib.import_module(module), name)) or ""
    paragraph = " ".join(documented.split("\n\n")[0].split())
    sentence = re.split(r"(?<=\.)\s", paragraph, maxsplit=1)[0]
    return sentence.replace("``", "`").replace("|", "\\|")
