"""Makes the pictures and the reports of the gallery from the commands on its page, ``gallery.md``.

``python docs/gallery.py`` writes the pictures; building the documentation writes the reports, into what is built.
"""

from __future__ import annotations

import contextlib
import os
import re
import shlex
from pathlib import Path

import matplotlib as mpl
import polars as pl
from matplotlib.figure import Figure

from unperplexed import assess_by
from unperplexed.cli.parser import main

DOCS = Path(__file__).resolve().parent
PAGE = DOCS / "learn" / "gallery.md"
_SECTION = re.compile(r"^## .*?(?=^## |\Z)", re.DOTALL | re.MULTILINE)
_PICTURE = re.compile(r"!\[[^\]]*\]\(\.\./pictures/gallery/([a-z-]+)\.svg\)")
_COMMAND = re.compile(r"```sh\nunperplexed (.*?)\n```", re.DOTALL)


def entries() -> dict[str, list[str]]:
    """Give the first command of each section that shows a picture, by the picture's name."""
    found = {}
    for section in _SECTION.findall(PAGE.read_text("utf-8")):
        if shown := _PICTURE.search(section):
            command = _COMMAND.search(section)
            if command is None or f'href="gallery/{shown[1]}.html"' not in section:
                raise ValueError(f"gallery.md, {shown[1]}: a picture goes with a command and a link to its report")
            found[shown[1]] = shlex.split(command[1].replace("\\\n", " "))
    return found


def draw(folder: Path) -> None:
    """Draw each entry into a folder, the same to the last byte each time."""
    for name, words in entries().items():
        path = folder / f"{name}.svg"
        with small_files():
            if "--by" in words:
                _groups().savefig(path, bbox_inches="tight", metadata={"Date": None})
            else:
                _run([*words, "--plot", os.fspath(path)])
        round_numbers(path)


def small_files() -> contextlib.AbstractContextManager[None]:
    """Let text of SVG files be text, which makes them small, and the same picture have the same bytes."""
    return mpl.rc_context({"svg.hashsalt": "unperplexed", "svg.fonttype": "none"})


def round_numbers(path: Path) -> None:
    """Leave the coordinates of an SVG file two decimals, which is a hundredth of a point; texts stay as they are."""
    path.write_text(re.sub(r"(\d\.\d\d)\d+(?=[^<>]*>)", r"\1", path.read_text("utf-8")), "utf-8")


def write_reports(folder: Path) -> None:
    """Write the report of each entry into a folder; those younger than the page are left."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, words in entries().items():
        path = folder / f"{name}.html"
        if not path.exists() or path.stat().st_mtime < PAGE.stat().st_mtime:
            _run([*words, "--report", os.fspath(path)])


def _run(words: list[str]) -> None:
    """Run a command from the root of the project, where its files are."""
    with contextlib.chdir(DOCS.parent):
        if main([*words, "--quiet"]):
            raise RuntimeError(f"unperplexed {shlex.join(words)}: failed")


def _groups() -> Figure:
    """Draw the groups of the forecasts without the body mass index."""
    data = pl.read_csv(DOCS.parent / "examples" / "gallery" / "diabetes.csv")
    found = assess_by(
        data["progressed"], data["without_bmi"], pos_label="yes", by={"bmi": data["bmi"]}, sort="group", resamples=0
    )
    return found.plot(Figure(figsize=(8, 3.4), layout="constrained"))


if __name__ == "__main__":
    pictures = DOCS / "pictures" / "gallery"
    pictures.mkdir(parents=True, exist_ok=True)
    draw(pictures)
