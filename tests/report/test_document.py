"""Documents and charts as a page shows them, without any result."""

import ast
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import unperplexed
from unperplexed.report.chart import Axis, Chart, Line, Mirror, Points, Reference, percent_axis, placed_labels, thinned
from unperplexed.report.document import Code, Column, Document, Metric, Notes, Prose, Reading, Section, Settings, Table
from unperplexed.report.html import card, page
from unperplexed.report.numbers import between, count, number, points, share, signed
from unperplexed.report.svg import plot
from unperplexed.report.terminal import text as plain_text

COLUMNS = [Column("name", ["a", "b"]), Column("rows", ["1", "2"], ["few", ""], meaning="How many.")]


def document(*blocks, **more):
    return Document("title", "facts", "headline", "lead", sections=[Section("x", "X", blocks, "X")], **more)


def chart(**more):
    x = np.linspace(0, 1, 50)
    line = Line(x, x**2, "observed", "Observed", x**2 - 0.05, x**2 + 0.05, "Observed frequency")
    fields = {"lines": (line,), "references": (Reference((0.0, 1.0), (0.0, 1.0), "Identity line"),), **more}
    return Chart("t", "what is seen", percent_axis("predicted"), percent_axis("observed"), shape="square", **fields)


def test_every_block_is_shown():
    blocks = (
        Prose("words & more"),
        Code("run <this>", "Command"),
        Settings([("floor", "0.01")]),
        Notes("Warnings", ["few rows"]),
        Table("a table", COLUMNS),
        chart(),
    )
    html = page(document(*blocks, metrics=[Metric("m", "meaning", "1", "0 to 2", "3", "4")]))
    for text in ("words &amp; more", "run &lt;this&gt;", "<dd>0.01</dd>", "<li>few rows</li>", "a table", "<strong>3"):
        assert text in html
    several = page(document(metrics=[Metric("m", "", readings=[Reading("one", "1", ""), Reading("two", "2", "")])]))
    assert several.index("<b>1</b>") < several.index("<b>2</b>")


def test_a_further_column_is_one_line():
    more = [*COLUMNS, Column("share", ["10%", "90%"])]
    html = page(document(Table("t", more)))
    assert "<td>10%</td>" in html
    assert '<th scope="col">share</th>' in html
    assert 'td:nth-of-type(2)::before{content:"share"}' in html
    brief = Document("title", "", "headline", "", summary=[Table("t", more)])
    assert "<td>10%</td>" in card(brief)
    assert re.search(r"^name +rows +CI +share\na +1 +few +10%\nb +2 +90%$", plain_text(brief), re.MULTILINE)


def test_details_are_left_out_of_short_forms():
    d = document(Table("t", [*COLUMNS, Column("detail", ["10%", "90%"], detail=True)]), summary=[])
    brief = replace(d, summary=d.sections[0].blocks)
    assert "10%" in page(d)
    for shown in (card(brief), plain_text(brief)):
        assert "detail" not in shown
        assert "10%" not in shown


RENDERINGS = {"html": "page", "terminal": "text", "matplotlib_chart": "plot", "matplotlib_draw": "plot"}


def imported(path, source):
    """Names of the modules of the package that a module imports, anywhere in it."""
    package = ["unperplexed", *path.relative_to(source).parent.parts]
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            module = [*base, *([node.module] if node.module else [])]
            yield ".".join(module)
            yield from (".".join([*module, each.name]) for each in node.names)


@pytest.mark.slow
def test_no_module_knows_two_renderings():
    """A result describes itself once; `report.result` alone lets it be shown in more than one way."""
    source = Path(unperplexed.__file__).parent
    known = {}
    for path in source.rglob("*.py"):
        found = {RENDERINGS.get(name.removeprefix("unperplexed.report.")) for name in imported(path, source)} - {None}
        if found:
            known[path.relative_to(source).as_posix()] = found
    assert known.pop("report/result.py") == {"page", "text", "plot"}
    assert known["describe/over_time.py"] == {"plot"}  # so the search finds what there is
    assert all(len(found) == 1 for found in known.values()), known


def test_headings_cannot_leave_the_style_sheet():
    html = page(document(Table("t", [*COLUMNS, Column('"}</style><script>x', ["1", "2"])])))
    assert html.count("</style>") == html.count("<script>") == 1


def test_long_tables_end_and_say_so():
    table = Table("All.", [Column("name", [f"{'<' * 500}{at}" for at in range(1200)])])
    html = page(document(table))
    assert html.count("<tr>") == 1001
    assert "The first 1,000 of 1,200 rows." in html
    assert len(html.encode()) < 250_000


def test_curves_are_drawn_where_they_lie():
    drawn = plot(chart())
    [curve] = re.findall(r'<path class="cv" d="M([^"]*)"', drawn)
    x, y = np.array([pair.split() for pair in curve.split("L")], dtype=float).T / 1000
    np.testing.assert_allclose(1 - y, x**2, atol=2e-3)
    assert 'role="img" aria-label="what is seen" tabindex="0"' in drawn
    assert drawn.count('class="bd') == 1


def test_what_is_not_finite_is_left_out():
    x = np.array([0.0, 0.5, 1.0])
    drawn = plot(chart(lines=(Line(x, np.array([0.1, np.nan, 0.9]), name="n"),), points=(Points(x, x * np.nan),)))
    assert "nan" not in drawn
    assert "&quot;x&quot;:[0.0,1.0]" in drawn


def test_labels_keep_clear_of_curves_and_of_one_another():
    found = placed_labels(chart())
    assert {each.text for each in found} == {"Observed frequency", "Identity line"}
    x = np.linspace(0, 1, 400)
    boxes = [(each.x, each.x + 0.021 * len(each.text), each.y, each.y + 0.052) for each in found]
    for left, right, low, high in boxes:
        assert 0 <= left < right <= 1
        assert 0 <= low < high <= 1
        for y in (x, x**2, x**2 + 0.05, x**2 - 0.05):
            assert not ((x > left) & (x < right) & (y > low) & (y < high)).any()
    (a, b, c, d), (e, f, g, h) = boxes
    assert b <= e or f <= a or d <= g or h <= c


def test_the_histogram_below_shares_the_axis():
    mirror = Mirror(np.array([0.0, 0.5, 1.0]), np.array([0.2, 0.8]), np.array([0.9, 0.1]), "3 rows with", "5 without")
    html = page(document(chart(mirror=mirror)))
    assert html.count("<rect") == 4
    heights = [float(each) for each in re.findall(r'height="([\d.]+)"/>', html)]
    np.testing.assert_allclose(np.array(heights) / max(heights), np.array([0.2, 0.8, 0.9, 0.1]) / 0.9, atol=1e-3)


def test_thinning_keeps_the_ends():
    x = np.sort(np.random.default_rng(0).random(1000))
    kept, y = thinned(x, x**2, most=50)
    assert kept.size <= 51
    assert (kept[0], kept[-1]) == (x[0], x[-1])
    np.testing.assert_array_equal(y, kept**2)


def test_an_axis_places_its_ends():
    np.testing.assert_allclose(Axis(-3.0, 3.0).place(np.array([-3, 0, 3])), [0, 0.5, 1])


@pytest.mark.parametrize(
    ("shown", "expected"),
    [
        (share(0.338), "33.8%"), (share(0.0355), "3.55%"), (share(0.1), "10.0%"), (share(0.0), "0.00%"),
        (share(1.0), "100%"), (share(0.99999), "> 99.99%"), (share(1e-6), "< 0.01%"), (share(np.nan), "–"),
        (number(-0.5), "−0.500"), (number(np.nan), "–"), (number(np.inf), "∞"), (number(-np.inf), "−∞"),
        (number(2e-5), "2e−05"), (signed(0.25), "+0.250"), (points(0.013), "+1.3"), (points(-0.013), "−1.3"),
        (between(0.1, 0.2), "0.100 to 0.200"), (between(np.nan, 1.0), ""),
        (between(0.00042, 0.012), "0.00042 to 0.01200"), (between(-0.5, 0.00042), "−0.50000 to 0.00042"),
        (between(0.0955, 0.123, share), "9.6% to 12.3%"), (between(0.0955, 0.0999, share), "9.55% to 9.99%"),
        (between(0.003, 0.2, share), "0.30% to 20.00%"), (between(0.02, 1.0, share), "2.0% to 100%"),
        (between(0.1, 0.2, share), "10.0% to 20.0%"),
        (count(1234.0), "1,234"), (count(2.5), "2.5"),
    ],
)  # fmt: skip
def test_numbers_have_three_digits_and_a_minus_sign(shown, expected):
    assert shown == expected


def test_what_is_not_finite_is_not_drawn():
    x, gone = np.linspace(0, 1, 3), np.full(3, np.nan)
    lines = (Line(x, x, "observed", "Observed", gone, gone, "Observed frequency"), Line(x[:1], x[:1], label="A place"))
    drawn = plot(
        chart(lines=lines, points=(Points(np.array([0.2, np.nan]), np.array([0.4, 0.6]), texts=("in", "out")),))
    )
    assert 'class="bd' not in drawn  # the band
    assert "A place" in drawn
    marks = plot(chart(lines=(), points=(Points(np.array([0.2, np.nan]), np.array([0.4, 0.6]), texts=("in", "out")),)))
    assert "in&quot;" in marks
    assert "out&quot;" not in marks


def test_text_leaves_charts_out_and_needs_no_headings():
    brief = Document(
        "t", "", "headline", "", summary=[chart(), Table("", [Column("", ["a", "b"]), Column("", ["1", "2"])])]
    )
    assert plain_text(brief).splitlines()[-2:] == ["a  1", "b  2"]
    assert "what is seen" not in plain_text(brief)


def test_metrics_of_several_forecasters_have_a_row_for_each():
    metrics = [
        Metric("log loss", "", readings=[Reading("one", "0.5", ""), Reading("two", "0.7", "")]),
        Metric("AUC", "", readings=[Reading("one", "0.8", "")]),
    ]
    shown = plain_text(Document("t", "", "headline", "", metrics=metrics))
    assert re.search(r"^one +0\.5 +0\.8$", shown, re.MULTILINE)
    assert re.search(r"^two +0\.7$", shown, re.MULTILINE)
