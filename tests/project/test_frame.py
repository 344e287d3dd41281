"""The site's frame: groups fold, pictures follow the theme, outputs flow, and the landing page quotes its pages."""

import importlib
import re
import runpy

import pytest

from pages import DOCS, pages

CLAIMS = runpy.run_path(str(DOCS / "claims.py"))
LANDING = (DOCS / "index.md").read_text("utf-8")
PICTURES = sorted(DOCS.rglob("*.svg"))


@pytest.fixture
def of_docs(monkeypatch):
    """Import a module of the site's own."""
    pytest.importorskip("sphinx", reason="the site is built with it")
    monkeypatch.syspath_prepend(DOCS)
    return importlib.import_module


def group(name, *pages, current=""):
    links = "".join(f'<li class="toctree-l1{" current" * (page == current)}">{page}</li>\n' for page in pages)
    return f'<p class="caption" role="heading"><span class="caption-text">{name}</span></p>\n<ul>\n{links}</ul>\n'


@pytest.mark.parametrize("current", ["a", "d", "e", ""])
def test_groups_fold_and_only_the_one_of_the_page_is_open(of_docs, current):
    folded = of_docs("frame").folded
    tree = group("Learn", "a", "b", current=current) + group("Do", "c", "d", current=current) + group("Look up", "e")
    made = folded(f'<div class="sidebar-tree">{tree}</div>')
    assert re.findall("<summary>(.*?)</summary>", made) == ["Learn", "Do", "Look up"]
    opened = re.findall("<details open>(.*?)</details>", made, re.DOTALL)
    assert len(opened) == (current in ("a", "d") and current != "")
    assert all(f">{current}<" in each for each in opened)
    assert made.count("<details") == made.count("</details>") == 3


def test_the_sidebar_has_seven_groups_with_each_page_once():
    trees = re.findall(r"^```\{toctree\}\n(.*?)^```", LANDING, re.DOTALL | re.MULTILINE)
    assert len(trees) == 7
    listed = [page for tree in trees for page in re.findall(r"<([\w/-]+)>$", tree, re.MULTILINE)]
    assert sorted(listed) == sorted(
        path.relative_to(DOCS).with_suffix("").as_posix() for path in pages() if path.name != "index.md"
    )


def test_colours_for_dark_pages_are_light_on_dark(of_docs):
    dark = of_docs("inline").dark

    def light(colour):
        return sum(int(colour[at : at + 2], 16) for at in (1, 3, 5)) / (3 * 255)

    assert light(dark("#ffffff")) < 0.1
    assert light(dark("#000000")) > 0.9
    assert light(dark("#efe3d0")) < 0.2
    found = {colour for path in PICTURES for colour in re.findall(r"#[0-9a-f]{6}\b", path.read_text("utf-8"))}
    assert len(found) > 8
    for colour in found:
        assert light(colour) < 0.9 or light(dark(colour)) < 0.25, colour
        assert light(colour) > 0.2 or light(dark(colour)) > 0.5, colour


@pytest.mark.parametrize("path", PICTURES, ids=lambda path: path.stem)
def test_a_picture_in_a_page_has_no_colours_of_its_own(of_docs, path):
    inline = of_docs("inline")
    made = inline.inlined(path.read_text("utf-8"), "p1", "What it shows")
    left = re.sub(r"var\(--x([0-9a-f]{6}),#\1\)", "", made)
    assert not re.search(r"#[0-9a-f]{6}\b|rgb\(|\bwhite\b|<style|<image|<!DOCTYPE|<metadata", left)
    assert made.startswith("<svg ")
    assert made.endswith("</svg>")
    assert made.count("<svg") == made.count("</svg>") == 1
    assert 'role="img" aria-label="What it shows"' in made
    ids = set(re.findall(r' id="([^"]*)"', made))
    assert set(re.findall(r'(?:url\(#|href="#)([^)"]*)', made)) == ids
    assert all(each.startswith("p1-") for each in ids)
    style = inline.palette(inline.colours_of(made))
    assert all(style.count(f"--x{each[1:]}:") == 3 for each in inline.colours_of(made))


def test_pictures_of_pixels_have_a_twin_for_dark_pages():
    shown = {path for page in pages() for path in re.findall(r"!\[[^\]]*\]\(([^)\s]+\.png)\)", page.read_text("utf-8"))}
    for name in {path.rpartition("/")[2] for path in shown}:
        [path] = DOCS.rglob(name)
        assert path.with_name(f"{path.stem}-dark.png").exists(), name


OUTPUT = """\
Overconfident (calibration slope 0.60, 95% CI 0.48 to 0.73).
Where &#39;yes&#39; was assigned 85% to 95% (mean 91.3%), it was observed in 80% (95% CI
68% to 88%) of 64 forecasts.

Remedy  Recalibration (an average of maps, mainly temperature 1.66) reduces the
        log loss from 0.587 to 0.553.
          unperplexed recalibrate examples/gallery/diabetes.csv \\
              --truth progressed --prob yes=boosted -o diabetes-map.json

                            value           95% CI  remedy  reference
Log loss                    0.587   0.517 to 0.657   0.553  base rate 0.693
Brier score (both classes)  0.389   0.339 to 0.439   0.373  base rate 0.500
"""


def test_the_prose_of_an_output_flows_and_its_words_stay(of_docs):
    made = of_docs("frame").flowing(OUTPUT)
    words = re.sub(r" (?=\n)", "", re.sub("<[^>]*>", "", made))
    assert words == OUTPUT
    prose = re.findall('<span class="prose">(.*?)</span>(?=\n)', made, re.DOTALL)
    assert len(prose) == 3
    assert prose[2].startswith('<span class="label">Remedy  </span>Recalibration')
    assert [each.count("break") for each in prose] == [0, 1, 1]


def test_drawings_of_the_landing_page_are_drawn(of_docs):
    landing = of_docs("landing")
    named = re.findall(r"^```\{drawing\} (.*)$", LANDING, re.MULTILINE)
    assert {name for name in named if " " not in name} == {*landing.DRAWINGS}
    for name in named:
        made = landing.curve(name.split()[1]) if " " in name else landing.DRAWINGS[name]()
        assert re.search(r'role="img" aria-label="[^"]{15,}"', made), name
        assert "nan" not in made, name
    assert "95%" in landing.hero()
    assert "86%" in landing.hero()
    assert "73 predictions above 95%, of which 9 are wrong" in landing.dots()


CARDS = re.findall(r"^### \[([^\]]*)\]\(([^)]*)\)\n(.*?)(?=^#|^\{\.)", LANDING, re.DOTALL | re.MULTILINE)


@pytest.mark.parametrize(("page", "card"), [card[1:] for card in CARDS], ids=[card[0] for card in CARDS])
def test_numbers_of_a_card_stand_on_its_page(page, card):
    lines = (DOCS / page).read_text("utf-8").splitlines()
    for number in CLAIMS["measurements"](card):
        share = f"{float(number['digits']) / 100:g}" if number["percent"] else number["digits"]
        [other] = CLAIMS["measurements"](f"It is {share}")
        assert any(CLAIMS["_stands"](each, line) for each in (number, other) for line in lines), number[0]


def test_fields_have_cards():
    assert len(CARDS) == 6


def test_numbers_of_evidence_stand_on_its_pages():
    strip = LANDING[LANDING.index("## Why you can rely on the verdict") :]
    linked = "".join((DOCS / page).read_text("utf-8") for page in re.findall(r"\((evidence/[\w-]+\.md)\)", strip))
    tables = re.findall(r"^:file: (\S+)$", linked, re.MULTILINE)
    linked += "".join((DOCS / "evidence" / table).read_text("utf-8") for table in tables)
    numbers = re.findall(r"^(\S.*)\n: ", strip, re.MULTILINE)
    assert len(numbers) == 4
    assert all(number in linked for number in numbers)
