"""The pages of the Python interface: a table at the head of each part, names with their first sentences; no helpers."""

from __future__ import annotations

import importlib
import inspect
import re

PLACE = "<!-- summary -->\n"
_DIRECTIVE = re.compile(r"^\.\. (?:currentmodule:: (?P<module>[\w.]+)|auto\w+:: (?P<name>[\w.]+))", re.MULTILINE)

HELPERS = frozenset(
    {
        *("advice", "advised", "advising", "assessed_for_sure", "clause", "clauses", "diagnosed_by", "drawn"),
        *("fit_chunks", "frames_of", "in_brief", "in_phases", "log_limit", "one_outcome", "saved_as", "source"),
        *("temperature_label", "told", "untried_remedy", "usual_intervals", "with_classes", "with_rows", "with_whole"),
    }
)
"""Members of results that other modules of the package call, and users do not."""


def skip(app, what, name, obj, skipped, options):
    """Leave helpers out of a class that Sphinx documents; None leaves the choice to others."""
    return True if what == "class" and name in HELPERS else None


def add(app, name, source):
    """Put the table into a page that Sphinx reads; of what is not installed, docstrings are read without it."""
    from sphinx.ext.autodoc.mock import mock

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
