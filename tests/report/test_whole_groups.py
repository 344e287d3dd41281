"""Groups in which forecasts are wrong, and what is said of distributions of numbers: parts that are made by hand."""

import math
from types import SimpleNamespace as Of

import numpy as np
import pytest

from unperplexed.describe import decisions, where
from unperplexed.describe import distribution_charts as charts
from unperplexed.describe import distributions as words
from unperplexed.report.document import Code
from unperplexed.report.result import Naming
from unperplexed.statistics.intervals import Interval
from unperplexed.statistics.intervals import Metric as Estimate

NAN, INF = math.nan, math.inf


class Found(Of):
    """Groups that were found, true if there are any."""

    def __bool__(self):
        return bool(self.items)


def item(error="bias", effect=0.4, label=1, rule="site = 3", **more):
    given = {
        "rows": 40,
        "mean_predicted": 0.3,
        "observed": 0.4,
        "mean_recalibrated": 0.35,
        "effect_interval": Interval(0.1, 0.7),
        "effect_shrunken": -0.2,
        "cost": 0.01234,
        "p_adjusted": 0.02,
        "observed_interval": Interval(0.3, 0.5),
    }
    return Of(error=error, effect=effect, label=label, rule=rule, **given | more)


def found(*items, **more):
    given = {
        "form": "",
        "labels": (0, 1),
        "items": items,
        "n_rows": 500,
        "mean_predicted": 0.31,
        "observed": 0.33,
        "median_spread": 2.0,
        "miscalibrated": False,
        "p_value": 0.01,
        "p_value_all": 0.2,
        "columns": ("site", "day"),
        "rules_searched": 12,
        "gain": None,
        "detectable_bias": 0.25,
        "observed_interval": Interval(0.3, 0.36),
    }
    return Found(**given | more)


@pytest.mark.parametrize(
    ("form", "error", "effect", "text"),
    [
        ("", "bias", 0.4, "too low"),
        ("", "bias", -0.4, "too high"),
        ("normal", "bias", -0.456, "0.46 spreads too high"),
        ("", "confidence", 0.1, "underconfident"),
        ("", "confidence", -0.1, "overconfident"),
        ("normal", "width", 1.25, "1.25 times too narrow"),
        ("normal", "width", 0.8, "1.25 times too wide"),
        ("normal", "width", 1.0, "1.00 times too wide"),
    ],
)
def test_errors_of_groups(form, error, effect, text):
    assert where._error(found(form=form), item(error, effect)) == text


def shown(g, brief=False):
    return {each.heading: list(each.values) for each in where._table(g, brief).columns}


def test_groups_stand_below_all_rows():
    table = shown(found(item(), item("confidence", -0.3, rule="day > 2")))
    assert table["group"] == ["all rows", "site = 3", "day > 2"]
    assert table["rows"] == ["500", "40", "40"]
    assert table["error"] == ["", "too low", "overconfident"]
    assert table["mean predicted"] == ["31.0%", "30.0%", "30.0%"]
    assert table["observed frequency"] == ["33.0%", "40.0%", "40.0%"]
    assert table["effect"] == ["", "0.40", "−0.30"]
    assert table["shrunken effect"] == ["", "−0.20", "−0.20"]
    assert table["cost in nats"] == ["", "0.0123", "0.0123"]
    assert "after common curve" not in table
    common = shown(found(item(), miscalibrated=True))
    assert common["after common curve"] == ["33.0%", "35.0%"]
    alone = shown(found(item(), observed=NAN, labels=("a", "b", "c")))
    assert alone["group"] == ["1: site = 3"]
    numbers = shown(found(item(effect=0.5), item("width", 1.5), form="normal", miscalibrated=True))
    assert numbers["in units"] == ["", "1.000", ""]
    assert numbers["after common map"] == ["", "35.0%", "35.0%"]
    assert where._table(found(item()), True).caption == "Groups of rows"
    assert "log-odds" in where._table(found(item()), False).caption


def test_what_stands_beneath():
    text = where._beneath(found(item(), item("confidence", 0.1)))
    assert text.startswith("Underconfident: high predictions are too low")
    assert "0.0247 together on the rows searched." in text
    assert "all 12 rules of one or two conditions, by bias and slope, on 2 columns (site, day)." in text
    many = where._beneath(found(item(), columns=tuple("abcdefghijk"), miscalibrated=True, gain=Of(value=0.0123)))
    assert "(a, b, c, d, e, f, g, h, i, j, ...)" in many
    assert "where the gain on rows held out is 0.012." in many
    assert many.startswith("The common curve is")
    assert "(a, b, c, d, e, f, g, h, i, j)." in where._beneath(found(item(), columns=tuple("abcdefghij")))


@pytest.mark.parametrize(
    ("g", "headline", "titles"),
    [
        (found(), "No group shown (500 rows, 2 columns, 12 rules, p = 0.010)", []),
        (found(miscalibrated=True), "No group shown (500 rows, 2 columns, 12 rules, p = 0.010)", ["All rows"]),
        (found(item()), "Wrong in 1 group of rows (p = 0.010)", ["Remedy", "Limits", "All rows"]),
        (
            found(item(), item(), miscalibrated=True),
            "Wrong in 2 groups of rows, beyond the error that all rows share (p = 0.010)",
            ["Remedy", "Limits", "All rows"],
        ),
    ],
)
def test_headlines_and_actions(g, headline, titles):
    assert where._headline(g) == headline
    assert [each.title for each in where._actions(g)] == titles


def test_remedies_are_those_that_are_shown_to_help():
    def remedy(**more):
        return next(each.text for each in where._actions(found(item(), **more)) if each.title == "Remedy")

    gain = {"of": lambda what: f"gain in {what}", "value": 0.1}
    assert remedy() == remedy(gain=Of(significant=True, **gain)) == where._REMEDY
    assert remedy(gain=Of(significant=False, **gain)) == where._UNCERTAIN
    assert remedy(form="normal", gain=Of(significant=False, **gain)) == where._BY_THEMSELVES
    first = next(where._actions(found(item(), gain=Of(significant=True, **gain), miscalibrated=True)))
    assert first.text == "Correcting the groups after a recalibration of all rows: gain in log loss."
    last = [*where._actions(found(item(), miscalibrated=True))][-1]
    assert "perhaps by these groups" in last.text
    assert "which is no error of groups" in [*where._actions(found(miscalibrated=True))][-1].text
    assert "No rule has rows enough" in where._detectable(found(detectable_bias=NAN))
    assert where._detectable(found()).startswith("A bias of 0.25 in log-odds in")
    assert where._detectable(found(form="normal")).startswith("A bias of 0.25 spreads in")


def test_a_forest_of_groups():
    chart = where.groups_chart(found(item(), item("confidence", 0.1, rule="r")))
    assert [text for _, text in chart.y.ticks] == ["all rows", "site = 3", "r: slope"]
    rings, dots = chart.points
    assert rings.x.tolist() == [0.31, 0.3, 0.3]
    assert dots.x.tolist() == [0.33, 0.4, 0.4]
    assert "an error of the slope shows in the table alone" in chart.subtitle
    assert "slope" not in where.groups_chart(found(item())).subtitle
    assert next(text for _, text in chart.x.ticks).endswith("%")
    assert where._percent(0.125, 3) == "12.5%"
    assert where._percent(0.12, 2) == where._percent(0.12, 1) == "12%"
    numbers = where.groups_chart(found(item(), item("width", 2.0), form="normal"))
    assert [text for _, text in numbers.y.ticks] == [
        "all rows: above median",
        "site = 3: above median",
        "site = 3: in 80% intervals",
    ]


def test_a_map_of_residuals():
    r = Of(
        rows=[[40, 5], [0, 25]],
        means=[[0.1, 0.5], [0.0, -0.2]],
        parts=(["a", "b"], ["x", "y"]),
        columns=("site", "day"),
        group=((0, 1), (1, 2)),
        label=None,
    )
    chart = where.residuals_chart(found(item()), r)
    cells = chart.cells
    assert cells.x.tolist() == [0, 1, 1]
    assert cells.y.tolist() == [2, 2, 1]
    assert cells.strength == pytest.approx([0.5, 0.0, -1.0])
    assert cells.shown == ["+10.0", "·", "−20.0"]
    assert cells.outline == pytest.approx((-0.48, 0.48, 0.55, 1.45))
    assert chart.title == "Residuals by day and site"
    assert ". Dot: under 20 rows" in chart.subtitle
    assert "a, x: residual +10.0 percentage points in 40 rows" in chart.label
    assert chart.x.label == "site"
    one = Of(
        rows=[[40], [25]],
        means=[[0.0], [0.0]],
        parts=(["a"], ["x", "y"]),
        columns=("day",),
        group=((0, 1), (0, 1)),
        label=2,
    )
    alone = where.residuals_chart(found(item(), labels=(0, 1, 2)), one)
    assert alone.x.label == "All rows"
    assert alone.cells.strength.tolist() == [0, 0]
    assert alone.title == "Residuals of class 2 by day"
    assert "Dot" not in alone.subtitle


def pit(share, expected, fitted=None, outside=None):
    share, expected = np.array(share), np.array(expected)
    edges = np.concatenate([[0.0], np.cumsum(expected)])
    return Of(
        share=share,
        expected=expected,
        fitted=expected if fitted is None else np.array(fitted),
        edges=edges,
        low=expected * 0.8,
        high=expected * 1.2,
        outside=np.array(outside or [False] * share.size),
    )


def numbers(p, level=(0.1, 0.5, 0.9), at=(0.2, 0.5, 0.7)):
    return Of(pit=p, headline="H", verdict="V", confidence=0.9, quantiles=Of(level=np.array(level), share=np.array(at)))


def test_histograms_of_equal_and_unequal_bars():
    chart = charts.pit_chart(numbers(pit([0.2, 0.3, 0.25, 0.25], [0.25] * 4, outside=[True, False, False, False])))
    calm, solid = chart.bars
    assert solid.height.tolist() == [0.2]
    assert calm.height.tolist() == [0.3, 0.25, 0.25]
    assert (solid.left[0], solid.right[0]) == pytest.approx((0.015, 0.235))
    assert solid.texts == ["0% to 25%: 20.0%, expected 25%"]
    assert chart.y.percent
    assert (chart.y.high, [text for _, text in chart.y.ticks][:2]) == (pytest.approx(0.3), ["0", "5%"])
    assert len(chart.lines) == 1
    [band] = chart.lines
    assert band.x.tolist() == [0, 0.25, 0.25, 0.5, 0.5, 0.75, 0.75, 1]
    assert band.low == pytest.approx([0.2] * 8)
    uneven = charts.pit_chart(numbers(pit([0.3, 0.5, 0.2], [0.1, 0.8, 0.1], fitted=[0.2, 0.6, 0.2])))
    assert uneven.bars[0].height.tolist() == pytest.approx([3.0, 0.625, 2.0])
    assert not uneven.y.percent
    assert [text for _, text in uneven.y.ticks] == ["0", "0.5", "1", "1.5", "2", "2.5", "3"]
    assert uneven.lines[1].y.tolist() == pytest.approx([2.0, 0.75, 2.0])
    assert uneven.lines[1].x.tolist() == pytest.approx([0.05, 0.5, 0.95])
    assert charts.sides(numbers(pit([1.0], [1.0]))) == (
        "20.0% below the 10% quantile, 50.0% inside, 30.0% above the 90% quantile (expected 10%, 80%, 10%)"
    )


@pytest.mark.parametrize(
    ("top", "unit", "last", "n"),
    [
        (0.06, 0.1, 0.06, 7),
        (0.061, 0.1, 0.08, 5),
        (0.12, 0.1, 0.12, 7),
        (0.3, 0.5, 0.3, 7),
        (1.2, 0.5, 1.2, 7),
        (3.0, 1.0, 3, 7),
        (3.1, 1.0, 4, 5),
        (300.0, 1.0, 300, 7),
        (301.0, 1.0, 350, 8),
        (0.0, 1.0, 0.0, 1),
    ],
)
def test_bars_have_six_steps_at_most(top, unit, last, n):
    axis = charts._heights(top, unit)
    assert axis.high == pytest.approx(last)
    assert len(axis.ticks) == n


def covered(mean_width=2.0, held=0.7, expected=0.8, name="80% intervals"):
    return Of(
        expected=expected,
        held=Estimate(held, interval=Interval(held - 0.1, held + 0.1)),
        mean_width=mean_width,
        name=name,
    )


def test_intervals_over_their_width():
    a = Of(coverage=[covered(), covered(4.0, 0.4, 0.5)], confidence=0.95, verdict="V", thresholds=())
    chart = charts.width_chart(a)
    held, predicted = chart.lines
    assert (held.x.tolist(), held.y.tolist(), predicted.y.tolist()) == ([2, 4], [0.7, 0.4], [0.8, 0.5])
    assert held.low == pytest.approx([0.6, 0.3])
    assert chart.subtitle.startswith("95% band; ")
    assert chart.references == ()
    assert charts.coverage_chart(a).lines[0].x.tolist() == [0.8, 0.5]
    assert words.known_widths(a)
    for width in (0.0, INF):
        a.coverage[0] = covered(width)
        assert not words.known_widths(a)
    assert not words.known_widths(Of(coverage=[covered()], thresholds=(1,)))
    table = words.coverage_table(a, "95% CI")
    assert [each.heading for each in table.columns] == ["interval", "expected", "held"]


@pytest.mark.parametrize(("n", "named"), [(10, 10), (11, 6), (20, 10), (21, 7)])
def test_ten_thresholds_are_named(n, named):
    one = Of(
        mean_prediction=0.5,
        frequency=0.6,
        interval=Interval(-0.1, 0.6),
        label="c",
        name="c or above",
        excess=0.1,
        adjusted_p_value=0.2,
    )
    chart = charts.thresholds_chart(Of(thresholds=[one] * n, confidence=0.95))
    assert len(chart.x.ticks) == named
    assert (chart.x.low, chart.x.high) == (0.5, n + 0.5)
    assert (chart.points[0].low[0], chart.points[0].high[0]) == pytest.approx((0.4, 1.0))
    assert chart.points[0].x[0] == 1


def surprising(**more):
    given = {
        "outcome": np.array([9.0, 1.0]),
        "median": np.array([5.0, 1.0]),
        "low": np.array([3.0, 1.0]),
        "high": np.array([7.0, 1.0]),
        "row": np.array([1234, 5]),
        "loss": np.array([4.0, 2.0]),
        "score": "crps",
        "beside": {},
    }
    return Of(**given | more)


def test_surprising_outcomes_are_beside_their_intervals():
    chart = charts.surprises_chart(surprising())
    [points] = chart.points
    assert (points.x.tolist(), points.low.tolist(), points.high.tolist()) == ([1.0], [-0.5], [0.5])
    assert points.texts == ["row 1,234 (from 0): outcome 9.000"]
    table = words.surprises_table(surprising())
    assert list(table.columns[3].values) == ["3.000 to 7.000", "1.000 to 1.000"]
    assert table.brief == 5
    named = words.surprises_table(
        surprising(beside={"day": ["a", "b"], "site": ["x", "y"]}, outcome=np.array(["p", "q"]))
    )
    assert list(named.columns[1].values) == ["a, x", "b, y"]
    assert list(named.columns[2].values) == ["p", "q"]


def test_groups_in_a_chart_end():
    each = Of(key=("g",), assessment=Of(width=Estimate(1.5, interval=Interval(1.2, 1.8))))
    b = Of(groups=[Of(key=(f"g{at}",), assessment=each.assessment) for at in range(41)], whole=Of(confidence=0.95))
    assert len(charts.groups_chart(b).y.ticks) == 40


def broken(*costs, p=0.2, worst=None, findings=()):
    groups = [
        Of(
            key=(f"g{at}",),
            adjusted_p_value=p,
            assessment=Of(
                cost_interval=Interval(low, high),
                diagnosis=Of(findings=(1,) * (low > -1), in_brief="too narrow"),
                cost=0.05 * (at < 9),
                confidence=0.95,
            ),
        )
        for at, (low, high) in enumerate(costs)
    ]
    return Of(
        groups=groups,
        worst=None if worst is None else groups[worst],
        by=("site",),
        whole=Of(diagnosis=Of(findings=findings)),
    )


def test_the_worst_group_is_sure_where_intervals_lie_apart():
    b = broken((0.3, 0.5), (0.1, 0.2), (0.0, 0.3), worst=0, p=0.001)
    assert words.worst(b) == (
        "Worst by cost: site g0, too narrow. This costs 0.050 nats a forecast (95% CI 0.300 to 0.500, p = 0.001"
        " adjusted for 3 groups). Another may be worse: its interval overlaps with 1 of 2 others."
    )
    assert words.worst(broken((0.3, 0.5), (0.1, 0.299), worst=0)).endswith(
        "This is sure: all other intervals lie below."
    )
    none = words.worst(broken((0.0, 0.5), (0.0, 0.2)))
    assert none == "No group by itself is shown to be miscalibrated (smallest p = 0.200, adjusted for 2 groups)."
    assert "Intervals of the cost are of one group each" in words.worst(broken((0.01, 0.5), (0.0, 0.2)))
    assert "; all rows together are." in words.worst(broken((0.0, 0.5), findings=(1,)))


def gained(value=0.1, before=2.0, after=1.5, advised=True, score="crps"):
    return Of(
        gain=Estimate(value, interval=Interval(0.05, 0.15)),
        score=score,
        before=before,
        after=after,
        advised=advised,
        words="widen",
    )


def test_remedies_say_what_they_lower():
    assert [*words._remedy(gained())] == [
        "Widen. That lowers the CRPS from 2.000 to 1.500 and the log score by 0.100 nats (cross-fitted, 95% CI 0.050 to"
        " 0.150)."
    ]
    assert ", but raises the CRPS from 2.000 to 2.500" in next(words._remedy(gained(after=2.5)))
    assert " and the log score" in next(words._remedy(gained(after=2.0)))
    assert next(words._remedy(gained(score=""))).startswith("Widen. That lowers the log score by")
    doubtful = next(words._remedy(gained(advised=False)))
    assert doubtful.startswith("What recalibration gains is uncertain: 0.100 nats")
    assert doubtful.endswith(" It would bring the CRPS from 2.000 to 1.500.")
    assert "It would" not in next(words._remedy(gained(advised=False, score="")))
    assert words._command(Of(remedy=None), Naming()) is None
    assert words._command(Of(remedy=gained(advised=False)), Naming()) is None
    code = words._command(Of(remedy=gained()), Naming(recalibrate="c"))
    assert isinstance(code, Code)
    assert code.text == "c"
    assert words._command(Of(remedy=gained()), Naming()).text.startswith("recalibrated = ")


def test_settings_say_what_rows_are_worth():
    def said(**more):
        given = {
            "n_clusters": 12,
            "windows": False,
            "effective_rows": 11.6,
            "thresholds": (),
            "weighted": False,
            "confidence": 0.9,
        }
        return words.settings(Of(**given | more))

    assert said() == (
        "12 clusters of dependent rows, effective sample size 12; spread = interquartile range / 1.349; confidence 0.9"
    )
    assert said(windows=True, thresholds=(1,), weighted=True) == (
        "12 times of issue, forecasts of times that overlap may depend, effective sample size 12, weighted; confidence"
        " 0.9"
    )
    assert words.settings(
        Of(n_clusters=3, windows=False, thresholds=(1,), weighted=False, confidence=0.5), "worth 2"
    ) == ("3 clusters of dependent rows, worth 2; confidence 0.5")
    assert words.worth_text(11.0) == "worth 12 independent rows (11 degrees of freedom)"
    assert words._times(Estimate(2.0, interval=Interval(1.0, 4.0)), -0.5) == Estimate(
        -1.0, interval=Interval(-2.0, -0.5)
    )
    assert words.two_decimals(0.126) == "0.13"


def rule(useful, benefit=(0.1, 0.05, -0.02), avoided=(0.1, 0.2, 0.3)):
    benefit = np.array(benefit)
    return Of(
        useful=np.array(useful, bool),
        net_benefit=benefit,
        low=benefit - 0.01,
        high=benefit + 0.01,
        avoided=np.array(avoided),
        acted_on=np.array([0.5, 0.25, 0.125]),
        band=lambda low, high: (low, high),
        standardized=benefit * 5,
        standardized_low=benefit * 5 - 0.05,
        standardized_high=benefit * 5 + 0.05,
    )


def curve(**models):
    return Of(
        thresholds=np.array([0.1, 0.2, 0.3]),
        models=models,
        all=rule([0, 0, 0], (0.12, 0.02, -0.5)),
        confidence=0.95,
        frequency=0.2,
        labels=(0, "rain"),
        drawn=(0.1, 0.3),
    )


@pytest.mark.parametrize(
    ("useful", "text"),
    [
        ([0, 0, 0], "is at no threshold significantly better than both"),
        ([1, 0, 0], "on none at threshold 0.1"),
        ([1, 1, 0], "on none at thresholds 0.1 to 0.2"),
        ([1, 0, 1], "on none at thresholds 0.1, 0.3"),
        ([0, 1, 1], "on none at thresholds 0.2 to 0.3"),
    ],
)
def test_thresholds_at_which_a_model_is_useful(useful, text):
    assert text in decisions.useful_words("a", rule(useful), np.array([0.1, 0.2, 0.3]))
    assert decisions.useful_words("a", rule(useful), np.array([0.1, 0.2, 0.3])).startswith("'a' is ")


def test_benefits_are_drawn_from_a_half_below_0_at_most():
    chart = decisions.benefits_chart(curve(a=rule([1, 0, 0])))
    assert [each.name for each in chart.lines] == ["a", "all"]
    assert chart.lines[1].x.tolist() == [0.1, 0.2, pytest.approx(0.3 / 1.1)]  # where it leaves the frame
    assert chart.lines[0].low is not None
    assert (chart.y.low, chart.y.high) == (pytest.approx(-0.1), pytest.approx(0.2))
    deep = decisions.benefits_chart(curve(a=rule([0, 0, 0], (0.1, 0.0, -0.3))), standardized=True)
    assert deep.y.low == pytest.approx(-0.5)
    assert deep.lines[0].y.tolist() == pytest.approx([0.5, 0.0, -1.5])
    assert deep.title == "Standardized net benefit"
    many = decisions.benefits_chart(curve(**{name: rule([1, 0, 0]) for name in "abcdefgh"}))
    assert [each.low is None for each in many.lines[:5]] == [False, False, False, True, True]
    assert [each.role for each in many.lines] == [*decisions._ROLES, "other", "other", "third"]


def test_tables_of_benefits():
    one = decisions.benefits_table(curve(a=rule([1, 0, 0])), every=False)
    shown = {each.heading: list(each.values) for each in one.columns}
    assert shown["threshold"] == ["0.1", "0.2", "0.3"]
    assert shown["a"] == ["0.100", "0.050", "−0.020"]
    assert shown["avoided"] == ["10.0", "20.0", "30.0"]
    assert shown["acted on"] == ["50.0%", "25.0%", "12.5%"]
    assert one.notes == "95% CI"
    assert one.columns[1].notes == ()
    two = decisions.benefits_table(curve(a=rule([1, 0, 0]), b=rule([0, 0, 0])), every=False)
    assert (two.notes, two.columns[2].notes) == ("", ())
    assert decisions.benefits_table(curve(a=rule([1, 0, 0])), every=True).folded


@pytest.mark.parametrize(
    ("rate", "rows", "least"), [(0.1, 99, "100"), (0.1, 100, ""), (0.75, 39, "40"), (0.5, 9, "20")]
)
def test_plans_of_few_rows_are_warned_of(rate, rows, least):
    p = Of(auc=None, rate=rate, design_effect=1.0, rows=rows, needs={"q": rows})
    page = decisions.plan_document(p, Naming(), brief=True)
    assert (f"take at least {least} rows" in "".join(page.warnings)) == bool(least)
    assert f"about {rows * rate:,.0f} events" in page.headline


def test_settings_of_decisions_name_benefits():
    costs = Of(false_positive=1.0, false_negative=4.5, true_positive=-2.0, true_negative=0.0)
    said = decisions._settings(Of(costs=costs, thresholds=Interval(NAN, NAN)))
    assert said == "cost of a false positive 1, of a false negative 4.5, benefit of a true positive 2"
    assert decisions._settings(Of(costs=costs, thresholds=Interval(0.1, 0.2))).endswith("(means: costs differ by row)")
    best = {"best_cost": 0.1, "best_cost_cross_fitted": Of(value=0.15), "optimism": 0.05}
    assert decisions._best(Of(best_threshold=INF, **best)).startswith(
        "Best on these very rows (in-sample): never acting"
    )
    assert "expect 0.150" in decisions._best(Of(best_threshold=0.25, **best))
    assert "optimistic" not in decisions._best(Of(best_threshold=0.25, **best | {"optimism": 0.0}))
    assert decisions._best(Of(best_threshold=NAN, **best)) == "Costs differ by row, so no threshold was tuned."
