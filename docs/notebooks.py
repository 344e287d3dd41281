"""Each tutorial as a notebook: its text and code, without outputs; building the documentation writes them."""

from __future__ import annotations

import json
import posixpath
import re
from pathlib import Path
from typing import Any

DOCS = Path(__file__).resolve().parent
FOLDER = "learn"
_BLOCK = re.compile(r"^```(?P<kind>\w*)\n(?P<code>.*?)^```\n", re.DOTALL | re.MULTILINE)
_HIDDEN = re.compile(r"^%[^\n]*\n", re.MULTILINE)
_INDEX = re.compile(r"^```\{index\}.*?^```\n", re.DOTALL | re.MULTILINE)
_TAB = re.compile(r"^:{3,}\{tab-item\} ([^\n]+)\n(?::sync:[^\n]*\n)?|^:{3,}[^\n]*\n", re.MULTILINE)


def tutorials() -> list[Path]:
    """Pages with Python code."""
    return [path for path in sorted((DOCS / FOLDER).glob("*.md")) if "```python" in path.read_text("utf-8")]


def notebook(text: str) -> dict[str, Any]:
    """Give a page as a notebook: shell commands begin with an exclamation mark, outputs are left out.

    Index entries go, and of tabs only the names stay.
    """
    text = _TAB.sub(lambda tab: f"\n**{tab[1]}**\n" if tab[1] else "", _INDEX.sub("", text))
    cells, at = [], 0
    for found in _BLOCK.finditer(text):
        cells.append(_cell("markdown", text[at : found.start()]))
        if found["kind"] == "python":
            cells.append(_cell("code", _code(found["code"])))
        elif found["kind"] == "sh":
            cells.append(_cell("code", "\n".join(_shell(found["code"]))))
        elif found["kind"] != "text":
            cells.append(_cell("markdown", found[0]))
        at = found.end()
    cells.append(_cell("markdown", text[at:]))
    return {
        "cells": [{**cell, "id": f"cell-{k}"} for k, cell in enumerate(cells) if cell["source"]],
        "metadata": {"language_info": {"name": "python"}},
        "nbformat": 4,
        "nbformat_minor": 5,
    }


def _cell(kind: str, source: str) -> dict[str, Any]:
    if kind == "markdown":
        return {"cell_type": kind, "metadata": {}, "source": _HIDDEN.sub("", source).strip()}
    return {"cell_type": kind, "metadata": {}, "source": source.strip(), "execution_count": None, "outputs": []}


def _code(block: str) -> str:
    """Lines of a block, or what a session types."""
    if ">>> " not in block:
        return block
    typed = [line for line in block.splitlines() if line.startswith((">>> ", "... ")) or line in (">>>", "...")]
    return "\n".join(line[4:] for line in typed)


def _shell(block: str) -> list[str]:
    return [f"!{line}" for line in re.sub(r"\\\n\s*", "", block).splitlines() if line.strip()]


def write(folder: Path) -> None:
    """Write them into the site."""
    for path in tutorials():
        shown = json.dumps(notebook(path.read_text("utf-8")), indent=1, ensure_ascii=False)
        (folder / FOLDER / f"{path.stem}.ipynb").write_text(shown + "\n", "utf-8")


def add(app, name, source):
    """Link the notebook under the title of a tutorial that Sphinx reads."""
    if posixpath.dirname(name) == FOLDER and "```python" in source[0]:
        title, text = source[0].split("\n", 1)
        link = f'<a href="{posixpath.basename(name)}.ipynb" download>Notebook of this page</a>'
        source[0] = f"{title}\n\n{link}\n{text}"
