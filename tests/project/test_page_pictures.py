"""Each picture of a page has its file, is small, asks for nothing, and is made by the page's script."""

import re
import sys
from pathlib import Path

import pytest

from pages import pages, text_of

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "docs" / "pictures" / "pages"


@pytest.fixture(scope="module")
def script():
    pytest.importorskip("sybil", reason="the script runs the examples of pages")
    sys.path.insert(0, str(ROOT / "docs"))
    try:
        import page_pictures
    finally:
        sys.path.remove(str(ROOT / "docs"))
    return page_pictures


def test_pages_files_and_expressions_name_the_same_pictures(script):
    text = "".join(page.read_text("utf-8") for page in pages())
    shown = re.findall(r"!\[([^\]]*)\]\((?:\.\./)?pictures/pages/([a-z-]+)\.svg\)", text)
    assert sorted(name for _, name in shown) == sorted(script.PICTURES)
    assert all(len(words) > 20 for words, _ in shown)
    assert {path.stem for path in FOLDER.iterdir() if path.suffix == ".svg"} == set(script.PICTURES)


def test_pictures_are_small_and_complete():
    assert "(../pictures/pages/report.png)" in text_of("share")
    for path in (FOLDER / "report.png", FOLDER / "report-dark.png"):
        assert path.stat().st_size < 60_000, path.name
    for path in [*FOLDER.glob("*.svg"), *(ROOT / "docs" / "pictures" / "gallery").glob("*.svg")]:
        assert path.stat().st_size < 64_000, path.name
        text = path.read_text("utf-8")
        assert "<script" not in text
        assert not re.findall(r'href="(?!#)', text)


@pytest.mark.slow
def test_a_picture_is_what_its_page_draws(script, tmp_path, monkeypatch):
    monkeypatch.setattr(script, "FOLDER", tmp_path)
    script.draw(["skill"])
    assert (tmp_path / "skill.svg").read_text("utf-8") == (FOLDER / "skill.svg").read_text("utf-8")
