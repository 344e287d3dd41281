"""The pages of the documentation, by name."""

from pathlib import Path

DOCS = Path(__file__).parents[1] / "docs"


def pages() -> list[Path]:
    """All of them, in the order of their paths."""
    return sorted(path for path in DOCS.rglob("*.md") if "_build" not in path.parts)


def page(name: str) -> Path:
    """The page of this name, in whichever folder; no two have the same."""
    [path] = (path for path in pages() if path.stem == name)
    return path


def text_of(name: str) -> str:
    """What it says."""
    return page(name).read_text("utf-8")
