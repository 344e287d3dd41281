"""Charts, tables and documents that are built by hand, as a page, a card, a terminal and matplotlib show them."""

import re
from pathlib import Path

import numpy as np
import pytest
from matplotlib.figure import Figure
from matplotlib.offsetbox import AnnotationBbox
from matplotlib.patches import Rectangle

from kept import drawn, same_as_kept, written
from unperplexed.report import svg
from unperplexed.report.chart import (
    SCALE_STEPS,
    Axis,
    Bars,
    Cells,
    Chart,
    Line,
    Mirror,
    Points,
    Reference,
    cell_opacity,
    chart_size,
    percent_axis,
    percent_end,
    thinned,
    value_axis,
)
from unperplexed.report.charts import Row, forest, heat_map, identity, unit_axis
from unperplexed.report.document import (
    Action,
    Code,
    Column,
    Document,
    Folded,
    Metric,
    Notes,
    Prose,
    Python,
    Reading,
    Section,
    Settings,
    SmallCharts,
    Strip,
    Table,
)
from unperplexed.report.html import card, page
from unperplexed.report.matplotlib_chart import draw_below, draw_multiples, draw_reliability, multiples_size
from unperplexed.report.matplotlib_draw import draw
from unperplexed.report.terminal import text

KEPT = Path(__file__).with_name("charts.json")

X = np.array([0.0, 0.25, 0.5, 1.0])
CURVE = Line(X, X**2, "observed", "Observed", X**2 - 0.05, X**2 + 0.1, "Frequency")
AFTER = Line(X, np.array([0.1, np.nan, 0.6, 0.9]), "remedy", "", label="After")
GROUPS = Points(
    np.array([0.2, np.nan, 0.7]), np.array([0.1, 0.5, 0.6]), np.array([0.05, 0.2, np.nan]), np.array([0.3, 0.6, 0.9])
)
RINGS = Points(
    np.array([0.4, 0.8]), np.array([0.9, 1.3]), role="second", labels=("R", "G"), texts=("r", "g"), hollow=True
)
MIRROR = Mirror(
    np.linspace(0, 1, 5), np.array([0.1, 0.0005, 0.2, 0.7]), np.array([0.6, 0.3, 0.1, 0.0]), "7 with $", "9 without"
)


def _reliability(**more):
    return Chart(
        "High ones <too> high",
        "what is seen & said",
        percent_axis("Predicted"),
        percent_axis("Observed"),
        lines=(CURVE, AFTER),
        points=(GROUPS,),
        references=(identity(),),
        subtitle="95% band; 2 groups",
        shape="square",
        mirror=MIRROR,
        **more,
    )


def _histogram():
    bars = Bars(np.array([0.0, 0.1, 0.6]), np.array([0.1, 0.6, 1.2]), np.array([0.2, np.nan, 0.5]), ["a", "b", "c"])
    high = Bars(np.array([0.2]), np.array([0.3]), np.array([0.7]), solid=True)
    return Chart(
        "Bars", "bars", unit_axis("x"), value_axis(0, 0.6, "y"), bars=(bars, high), points=(RINGS,),
        references=(Reference((0.0, 1.0), (0.3, 0.3), "even"),),
    )  # fmt: skip


def _forest():
    rows = [
        Row("a", 0.3, (0.1, 0.5), "a 0.3"),
        Row("b$", -2.0, (-9.0, 0.2), "b −2", role="second"),
        Row("c", 0.1, (np.nan, np.nan), "c 0.1"),
        Row("d", -5.0, (np.nan, np.nan), "d"),
    ]
    return forest(
        rows,
        title="One differs",
        subtitle="95% CI",
        label="Forest",
        axis="difference",
        at=0.0,
        within=(0.9,),
        least=-3.0,
    )


def _heat_map():
    cells = Cells(
        np.array([0.0, 1.0, 2.0, 0.0]), np.array([2.0, 2.0, 1.0, 1.0]), np.array([-1.0, 0.5, 0.0, 2.0]),
        ["−9", "4", "0", "$5"], ["w", "x", "y", "z"], ("less", "more"), (-0.5, 1.5, 0.5, 1.5),
    )  # fmt: skip
    return heat_map(
        cells, ["first", "second"], ["a", "b", "c"], title="Two", subtitle="of", label="map", axis="columns"
    )


CHARTS = {"reliability": _reliability, "histogram": _histogram, "forest": _forest, "heat-map": _heat_map}


@pytest.mark.parametrize("name", CHARTS)
def test_charts(name):
    chart = CHARTS[name]()
    ax = draw(chart, Figure(figsize=chart_size(chart)).subplots())
    parts = [
        written(chart),
        _lined(svg.figure(chart, main=name == "forest")),
        _lined(svg.small(chart)),
        drawn(ax.figure),
    ]
    same_as_kept(KEPT, f"chart-{name}", "\n\n".join([*parts, ""]))


def _lined(html):
    """One tag a line."""
    return re.sub("(?<=.)<(?!/)", "\n<", html)


def test_reliability_diagrams_over_one_another():
    figure = Figure(figsize=(5.2, 6.4))
    ax = draw_reliability(_reliability(), figure.subplots())
    draw_reliability(_reliability(), ax)
    draw_reliability(_reliability(), ax, name="$third_", c="black", lw=3)
    small = draw_reliability(_reliability(), Figure(figsize=(3, 3)).subplots(), name="mine")
    shown = [drawn(figure), drawn(small.figure)]
    low = Chart("", "", percent_axis("p", 0.1), percent_axis("o", 0.1), lines=(Line(X / 10, X / 20, label="low"),))
    ax = draw_reliability(low, Figure().subplots())
    draw_reliability(_reliability(), ax)
    same_as_kept(KEPT, "chart-overlaid", "\n\n".join([*shown, drawn(ax.figure), ""]))


@pytest.mark.parametrize("n", [1, 4, 5])
def test_diagrams_beside_one_another(n):
    found = draw_multiples(
        [(f"_{at}", "of " * 30, _reliability()) for at in range(n)], "2 more", Figure(figsize=multiples_size(n))
    )
    size = f"{multiples_size(n)}"
    below = draw_below([_histogram()] * n, (6, 3 * n), Figure())
    same_as_kept(KEPT, f"chart-multiples-{n}", "\n\n".join([size, drawn(found), drawn(below), ""]))


STRIPS = [Strip(0.2, 0.3, 0.25, 0.35), Strip(0.3, 0.1, 0.2, 0.2), Strip(0.01, 0.02, 0.005, 0.29)]
SHORT = Table.of(
    "Three & more",
    Column("name", ["a", "b", "<c>"], ["few rows", "", ""], meanings=["first", "", "third"]),
    Column("rows", ["1", "< 22", "333"], ["0 to 2", "", "1 to 4"], meaning="How many."),
    Column("words of it", ["long words that take some room", "short", ""], words=True),
    Column("", ["x", "y", "z"]),
    Column("strip", ["1", "2", "3"], strips=STRIPS),
    Column("hidden", ["7", "8", "9"], detail=True),
    notes="90% CI",
)
SORTED = Table.of("Sorted", Column("", ["a", "b"]), Column("v w", ["2", "1"], meaning="M"), sortable=True)
FOLDED = Table.of("Folded", *(Column(f"c{at}", ["1"]) for at in range(7)), sortable=True, folded=True)
LONG = Table.of(
    "Long", Column("name", [f"{'n' * 90}{at}" for at in range(25)]), Column("v", [f"{at}" for at in range(25)])
)


def _document(**more):
    blocks = [
        Prose("Plain."), Prose("Quiet.", quiet=True), Code("unperplexed x --one 1\nsecond", "Shell"),
        Settings([("floor", "0.01"), ("view", "each")]), Settings([("a", "b")], ""), Notes("Warnings", ["one", "two"]),
        Folded("More", [Prose("inside")]), _histogram(), SmallCharts([_reliability()]), SHORT, SORTED, FOLDED,
    ]  # fmt: skip
    return Document(
        title="rain.csv: too high",
        facts="rain.csv · 9 rows",
        headline="Too <high>",
        lead="Observed in 70%, predicted 80%. " * 4,
        actions=[Action("What it costs", "Much. " * 20, "Cost"), Action("What to do", "Little.", "Remedy")],
        command=Code("unperplexed recalibrate rain.csv --prob 'p rain' --truth y --clusters day -o map.json", "Fits"),
        further=Action("More", "unperplexed explain bias", "More"),
        figure=_reliability(),
        figure_table=FOLDED,
        metrics=[
            Metric("Log loss", "Minus", "0.6", "0.5 to 0.7", "0.5", "base rate 0.7", "smaller"),
            Metric("AUC", "Ranks", "0.8", "", "", "", "larger"),
            Metric("Accuracy", "", "0.7", "", "0.7", "", "larger"),
            Metric("Brier score", "", "0.2", "", "", "", "smaller"),
            Metric("Slope", "", "0.9", best="1"),
        ],
        first=Section("findings", "Findings", [Prose("found")], "Findings"),
        sections=[
            Section("all", "All", blocks, "All", 6),
            Section("halves", "Halves", [Code(Python("x = 1"), "Python"), Prose("beside")], "", halved=True),
            Section("half", "Only", [Prose("alone")], halved=True),
        ],
        summary=[SHORT, SORTED, LONG, *blocks[:7], _histogram()],
        remarks=["A remark. " * 12],
        settings="test p = 0.02, " * 9 + "seed 0",
        more="page.html",
        warnings=["few rows", "none."],
        **more,
    )


def _body(found):
    """The page without its script and the style sheet that all pages have, one tag a line."""
    html = page(found)
    rules = html[
        html.rindex("@media (max-width:599px){#") if "{#" in html else html.index("</style>") : html.index("</style>")
    ]
    return _lined(rules + re.sub(r"<script>.*?</script>", "", html[html.index("<body>") :], flags=re.DOTALL))


def test_a_document_as_a_page_and_a_card():
    found = _document()
    several = Document(
        "Two",
        "",
        "Equal",
        "",
        calm=True,
        settings="seed 0",
        warnings=["few"],
        summary=[Prose("s")],
        metrics=[
            Metric(
                "log loss", "M", readings=[Reading("one", "0.5", "0.4 to 0.6", "second"), Reading("two", "0.7", "")]
            ),
            Metric("AUC", "", readings=[Reading("one", "0.8", "")]),
        ],
    )
    bare = Document("Bare", "", "Bare", "", warnings=["few"])
    pages = [_body(each) for each in (found, several, bare, Document("Empty", "", "Empty", ""))]
    same_as_kept(KEPT, "page", re.sub("unperplexed \\d[^ ]*\\. One", "unperplexed. One", "\n\n".join([*pages, ""])))
    same_as_kept(KEPT, "card", "\n\n".join([*(_lined(card(each)) for each in (found, several, bare)), ""]))


@pytest.mark.parametrize("columns", [40, 61, 80, 200])
def test_a_document_in_a_terminal(columns):
    same_as_kept(KEPT, f"terminal-{columns}", f"{text(_document(), columns)}\n")


def test_a_headline_is_coloured():
    assert text(Document("", "", "Too high", ""), 80, colour=True) == "\x1b[33mToo high.\x1b[0m"
    assert text(Document("", "", "None", "", calm=True), 80, colour=True) == "\x1b[36mNone.\x1b[0m"


def test_wide_letters_take_two_columns():
    table = Table.of("", Column("", ["雨", "a"]), Column("", ["1", "2"]))
    shown = text(Document("", "", "雨" * 25, "", summary=[table]), 40).splitlines()
    assert shown == ["雨" * 20, "雨" * 5 + ".", "", "雨  1", "a   2"]


@pytest.mark.parametrize("rows", [100, 101, 1000, 1001])
def test_long_tables_have_short_names_and_an_end(rows):
    names = [f"{'name' * 20}{at}" for at in range(rows)]
    html = page(
        Document(
            "t",
            "",
            "h",
            "",
            sections=[Section("x", "X", [Table.of("All.", Column("n", names), Column("w", names, words=True))])],
        )
    )
    assert html.count("<tr>") == min(rows, 1000) + 1
    assert ("The first 1,000 of" in html) == (rows > 1000)
    assert ("name" * 20 in html) == (rows <= 100)
    assert max(map(len, re.findall(">(name[^<]*)<", html))) == (82 if rows == 100 else 60)


@pytest.mark.parametrize(
    ("largest", "end"),
    [
        (0.0, 0.01), (0.01, 0.01), (0.0101, 0.02), (0.03, 0.03), (0.05, 0.05), (0.051, 0.1), (0.15, 0.15), (0.151, 0.2),
        (0.3, 0.3), (0.31, 0.4), (0.5, 0.5), (0.501, 1.0), (np.nan, 1.0),
    ],
)  # fmt: skip
def test_axes_of_small_probabilities_end_early(largest, end):
    assert percent_end(np.array([largest, np.nan]), np.array([np.nan])) == end


@pytest.mark.parametrize(
    ("end", "last", "ticks"),
    [
        (0.01, "1%", 6), (0.02, "2%", 5), (0.03, "3%", 4), (0.05, "5%", 6), (0.1, "10%", 6), (0.15, "15%", 4),
        (0.2, "20%", 5), (0.3, "30%", 4), (0.4, "40%", 5), (0.5, "50%", 6), (1.0, "100%", 6),
    ],
)  # fmt: skip
def test_ticks_of_probabilities_are_even(end, last, ticks):
    found = percent_axis("p", end).ticks
    assert [text for _, text in found][:: ticks - 1] == ["0", last]
    assert np.diff([at for at, _ in found]) == pytest.approx(end / (ticks - 1))
    assert len(found) == ticks


@pytest.mark.parametrize(
    ("low", "high", "texts"),
    [
        (0, 1, "0 0.2 0.4 0.6 0.8 1.0"),
        (0, 6, "0 1 2 3 4 5 6"),
        (0, 6.1, "0 2 4 6 8"),
        (0, 12, "0 2 4 6 8 10 12"),
        (0, 12.1, "0 5 10 15"),
        (-3, 3, "−3 −2 −1 0 1 2 3"),
        (0, 31, "0 10 20 30 40"),
        (0.13, 0.29, "0.10 0.15 0.20 0.25 0.30"),
        (2, 2, "1.8 1.9 2.0 2.1 2.2"),
        (0, 0, "−0.01 0 0.01"),
        (-5, -5, "−5.6 −5.4 −5.2 −5.0 −4.8 −4.6 −4.4"),
        (0, 0.1, "0 0.02 0.04 0.06 0.08 0.10"),
    ],
)
def test_ticks_are_round_and_hold_both_ends(low, high, texts):
    assert " ".join(text for _, text in value_axis(low, high, "x").ticks) == texts


def test_curves_are_thinned_where_they_are_dense():
    x = np.concatenate([np.linspace(0, 0.001, 89), [0.5, 1.0]])
    kept, y = thinned(x, x + 1)
    assert kept.tolist() == [0.0, 0.5, 1.0]
    assert y.tolist() == [1.0, 1.5, 2.0]
    for n in (90, 91):
        assert thinned(np.linspace(0, 1, n))[0].size == 90
    even = np.linspace(2, 4, 1000)
    assert thinned(even, most=11)[0] == pytest.approx(np.linspace(2, 4, 11), abs=0.002)
    assert thinned(np.zeros(91))[0].size == 2


@pytest.mark.parametrize(
    ("strength", "opacity"), [(0.0, 0.0), (1.0, 0.5), (-1.0, 0.5), (2.0, 0.5), (0.5, 0.29), (-1e-9, 0.08)]
)
def test_cells_are_the_darker_the_further_from_0(strength, opacity):
    assert cell_opacity(strength) == pytest.approx(opacity)


def test_pictures_suit_their_charts():
    small = Chart("", "", Axis(0.0, 1.0), Axis(0.0, 1.0, [(0.0, "a"), (1.0, "b")]), shape="forest")
    assert chart_size(small) == pytest.approx((6.8, 2.1))
    assert chart_size(_heat_map()) == pytest.approx((6.8, 2.45))
    assert chart_size(_reliability()) == (5.2, 5.6)
    assert chart_size(_histogram()) == (6.4, 4.4)


def test_a_scale_of_colours_goes_from_one_end_to_the_other():
    ax = draw(_heat_map(), Figure().subplots())
    [scale] = [each for each in ax.get_children() if isinstance(each, AnnotationBbox)]
    boxes = scale.findobj(lambda each: isinstance(each, Rectangle) and each.get_height() == 8)
    assert [each.get_x() for each in boxes] == [11 * at for at in range(8)]
    assert [each.get_facecolor()[3] for each in boxes] == pytest.approx([cell_opacity(each) for each in SCALE_STEPS])
    assert (
        len({each.get_facecolor()[:3] for each in boxes[:4]})
        == len({each.get_facecolor()[:3] for each in boxes[4:]})
        == 1
    )
    assert boxes[3].get_facecolor()[:3] != boxes[4].get_facecolor()[:3]
