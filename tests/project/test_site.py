"""The documentation's site: its length, its links, its notebooks, and nothing from other hosts."""

import ast
import re
import runpy

import pytest

from pages import DOCS, pages

NOTEBOOKS = runpy.run_path(str(DOCS / "notebooks.py"))
PAGES, WORDS = 50, 40_000
"""At most, the words with all tables, code and outputs."""


def test_no_two_pages_have_the_same_name():
    names = [path.stem for path in pages()]
    assert len(names) == len(set(names))


def test_the_site_is_short():
    """Words as `wc -w` counts them, without directives for docstrings, files, lists of pages and search words."""
    directive = re.compile(r"^(```|:::)\{(?:eval-rst|toctree|csv-table|index)\}.*?^\1\s*$", re.DOTALL | re.MULTILINE)
    assert len(pages()) <= PAGES
    assert sum(len(directive.sub("", path.read_text("utf-8")).split()) for path in pages()) <= WORDS


@pytest.mark.parametrize("path", pages(), ids=lambda path: path.stem)
def test_links_within_the_site_lead_somewhere(path):
    prose = re.sub(r"^```.*?^```$|`[^`\n]*`", "", path.read_text("utf-8"), flags=re.DOTALL | re.MULTILINE)
    for target in re.findall(r"\]\((?!https?:|#)([^)\s#]+)", prose):
        assert (path.parent / target).exists(), target


def test_old_addresses_lead_to_pages():
    moved = runpy.run_path(str(DOCS / "moved.py"))["MOVED"]
    assert len(moved) > 70
    assert all((DOCS / f"{new}.md").exists() and not (DOCS / f"{old}.md").exists() for old, new in moved.items())


def test_nothing_is_fetched_from_other_hosts():
    """Mathematics and styles are the site's own."""
    settings = (DOCS / "conf.py").read_text("utf-8")
    assert 'html_math_renderer = "mathml"' in settings
    assert "http" not in settings
    assert "url(" not in (DOCS / "_static" / "site.css").read_text("utf-8")


@pytest.mark.parametrize("path", NOTEBOOKS["tutorials"](), ids=lambda path: path.stem)
def test_a_notebook_has_the_code_and_the_words_of_its_page(path):
    text = path.read_text("utf-8")
    made = NOTEBOOKS["notebook"](text)
    code = [cell["source"] for cell in made["cells"] if cell["cell_type"] == "code"]
    typed = [line for line in text.splitlines() if line.startswith((">>> ", "... "))]
    assert typed == [] or {line[4:] for line in typed} <= {line for cell in code for line in cell.splitlines()}
    for cell in code:
        ast.parse("\n".join(line for line in cell.splitlines() if not line.startswith("!")))
    assert made["cells"][0]["source"].startswith("# ")
    lines = [line for cell in made["cells"] for line in cell["source"].splitlines()]
    assert not any(line.startswith(("%", ":::", "```{")) for line in lines)
    assert len({cell["id"] for cell in made["cells"]}) == len(made["cells"])


TERMS = (
    "geometric accuracy",
    "decisiveness",
    "robustness",
    "divergence probability",
    "risk profile",
    "measured probability",
)
"""Words of the house that no other field has."""

TAUGHT = [path for path in pages() if path.parent.name in ("learn", "do", "fields", "tools", "understand")]


@pytest.mark.parametrize("path", TAUGHT, ids=lambda path: path.stem)
def test_a_page_links_the_glossary_before_or_where_it_first_uses_a_word_of_the_house(path):
    prose = re.sub(r"^```.*?^```$|^:::.*?^:::$", "", path.read_text("utf-8"), flags=re.DOTALL | re.MULTILINE)
    linked = False
    for paragraph in re.split(r"\n\s*\n", prose):
        words = " ".join(paragraph.split()).lower()
        linked = linked or "glossary.md" in words
        if not paragraph.startswith(("#", "![")):
            assert linked or not any(term in words for term in TERMS), paragraph
