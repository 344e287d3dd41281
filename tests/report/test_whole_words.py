"""Words, tables and charts of parts that are made by hand, on both sides of what they turn at."""

import math
from types import SimpleNamespace as Of

import numpy as np
import pytest

from unperplexed.describe import assessment_charts as charts
from unperplexed.describe import assessment_metrics as metrics
from unperplexed.describe import assessment_tables as tables
from unperplexed.describe import assessment_words as words
from unperplexed.describe import groups
from unperplexed.describe.assessment import Described
from unperplexed.report.axes import drawable, type_size
from unperplexed.report.chart import Line
from unperplexed.report.document import Column, Metric, inside, listed, lookup, metrics_table
from unperplexed.report.numbers import (
    amount,
    between,
    count,
    estimate,
    evidence_text,
    figure,
    level_text,
    number,
    points,
    rounded,
    same_decimals,
    share,
    share_estimate,
    small,
    told_apart,
)
from unperplexed.report.tables import aside, ci, curve_estimates, estimates, how, noted, reproduce
from unperplexed.statistics.intervals import Interval

NAN, INF = math.nan, math.inf
UNKNOWN = Interval(NAN, NAN)

NUMBERS = [
    (figure, (0.0005,), "0.001"),
    (figure, (0.000499,), "0.0005"),
    (figure, (99999.9,), "99999.900"),
    (figure, (1e5,), "1.00e+05"),
    (figure, (1e-3, 7), "0.0010000"),
    (figure, (9e-4, 7), "9.00e-04"),
    (figure, (9e-4, 6), "0.000900"),
    (figure, (0.0,), "0.000"),
    (figure, (0.05, 1), "0.1"),
    (figure, (0.049, 1), "0.049"),
    (number, (1.5, 0), "2"),
    (number, (-0.0004,), "−0.0004"),
    (estimate, (0.5, (NAN, NAN)), ("0.500", "")),
    (estimate, (0.5, (0.4, 0.6)), ("0.500", "0.400 to 0.600")),
    (estimate, (0.5, (0.4999, 0.5001)), ("0.50000", "0.49990 to 0.50010")),
    (estimate, (0.5, (0.4999, 0.5001), 4), ("0.5000", "0.4999 to 0.5001")),
    (estimate, (0.5, (0.5, 0.5)), ("0.500", "0.500 to 0.500")),
    (estimate, (0.5, (-INF, INF)), ("0.500", "−∞ to ∞")),
    (estimate, (0.5, (0.4987, 0.5013)), ("0.500", "0.499 to 0.501")),
    (estimate, (0.5, (0.4988, 0.5012)), ("0.5000", "0.4988 to 0.5012")),
    (amount, (41512.4,), "41,512"),
    (amount, (1000,), "1,000"),
    (amount, (999.94,), "999.9"),
    (amount, (100,), "100.0"),
    (amount, (99.994,), "99.99"),
    (amount, (10,), "10.00"),
    (amount, (9.9994,), "9.999"),
    (amount, (-119.7,), "−119.7"),
    (amount, (1e15,), "1.00e+15"),
    (amount, (0.0,), "0.000"),
    (level_text, (0.025,), "2.5%"),
    (level_text, (0.95,), "95%"),
    (rounded, (1e-9,), "1e−09"),
    (rounded, (9e-10,), "0.000"),
    (rounded, (-9e-10,), "0.000"),
    (small, (9.5e-7,), "0.000001"),
    (small, (8e-7,), "8e−07"),
    (small, (-2.5e-5,), "−0.000025"),
    (small, (1e-4,), "0.0001"),
    (small, (9.99e-5,), "0.000100"),
    (share, (0.9995,), "99.95%"),
    (share, (0.99949,), "99.9%"),
    (share, (0.99995,), "> 99.99%"),
    (share, (0.99994,), "99.99%"),
    (share, (0.09995,), "10.0%"),
    (share, (0.0999,), "9.99%"),
    (share, (0.00005,), "0.01%"),
    (share, (0.000049,), "< 0.01%"),
    (share, (1.2,), "100%"),
    (points, (0.001,), "+0.1"),
    (points, (0.0009,), "+0.09"),
    (points, (-0.001,), "−0.1"),
    (points, (0.0,), "0.0"),
    (same_decimals, ("1", "2.50"), "1 to 2.50"),
    (same_decimals, ("0.5%", "2.50%"), "0.50% to 2.50%"),
    (same_decimals, ("< 0.01%", "2.5%"), "< 0.01% to 2.5%"),
    (same_decimals, ("1e−05", "0.5"), "1e−05 to 0.5"),
    (between, (0.01, 0.09995, share), "1.0% to 10.0%"),
    (between, (0.0099, 0.2, share), "0.99% to 20.00%"),
    (between, (0.2, NAN), ""),
    (between, (0.2, 0.3, lambda x: f"<{x}>"), "<0.2> to <0.3>"),
    (share_estimate, (0.5, (NAN, NAN)), ("50.0%", "")),
    (share_estimate, (0.5, (0.49, 0.51)), ("50.0%", "49.0% to 51.0%")),
    (share_estimate, (0.5, (0.4987, 0.5013)), ("50.0%", "49.9% to 50.1%")),
    (share_estimate, (0.5, (0.499, 0.501)), ("50.00%", "49.90% to 50.10%")),
    (share_estimate, (0.5, (0.499999, 0.500001)), ("50.000%", "50.000% to 50.000%")),
    (share_estimate, (0.5, (0.495, 0.505)), ("50.0%", "49.5% to 50.5%")),
    (share_estimate, (0.5, (0.5, 0.5)), ("50.0%", "50.0% to 50.0%")),
    (count, (999.5,), "999.5"),
    (count, (1000.4,), "1,000"),
    (count, (-1000.4,), "-1,000"),
    (count, (3.0000009,), "3"),
    (count, (3.000002,), "3"),
    (count, (3.002,), "3.002"),
    (evidence_text, (math.log(1e6),), "1,000,000"),
    (evidence_text, (math.log(1.1e6),), "> 1,000,000"),
    (evidence_text, (math.log(9.95) + 1e-9,), "10"),
    (evidence_text, (math.log(9.94),), "9.9"),
    (evidence_text, (-3.0,), "0.05"),
    (ci, ("95% CI", (0.1, 0.2)), "95% CI 0.100 to 0.200"),
    (ci, ("95% CI", (NAN, NAN)), ""),
    (aside, ("a", "", "b"), " (a, b)"),
    (aside, ("",), ""),
    (inside, ("Accuracy",), "accuracy"),
    (inside, ("AUC",), "AUC"),
    (inside, ("Brier score",), "Brier score"),
    (inside, ("ECe",), "ECe"),
    (inside, ("A",), "a"),
    (listed, (["a", "b", "c"],), "a, b and c"),
    (listed, (["a", "b"], "or"), "a or b"),
    (listed, (["a"],), "a"),
    (drawable, ("_a$b",), " _a\\$b"),
    (drawable, ("x" * 61,), f"{'x' * 28}...{'x' * 29}"),
    (type_size, (9,), 9.0),
    (lookup, ([],), None),
]


@pytest.mark.parametrize(("of", "given", "shown"), NUMBERS)
def test_numbers(of, given, shown):
    assert of(*given) == shown


def test_columns_and_sections():
    assert noted("h", [("1", "a"), ("2", "")], meaning="m", detail=True) == Column(
        "h", ["1", "2"], ["a", ""], meaning="m", detail=True
    )
    assert estimates("h", [(0.5, (0.4, 0.6)), (0.2, (NAN, NAN))]).notes == ["0.400 to 0.600", ""]
    assert estimates("h", [(0.5, (0.4, 0.6))], share).notes == ["40.0% to 60.0%"]
    assert estimates("h", [(0.5, (0.4, 0.6))], points).notes == ["0.400 to 0.600"]
    found = curve_estimates("h", np.array([0.5]), np.array([0.4]), np.array([0.6]), share)
    assert (found.values, found.notes) == (["50.0%"], ["40.0% to 60.0%"])
    assert [type(each).__name__ for each in how("s", {"Warnings": ["w"], "None": []}, "c").blocks] == [
        "Prose",
        "Notes",
        "Code",
    ]
    assert len(how("s", {}, "").blocks) == 1
    assert [type(each).__name__ for each in reproduce("", "p", [("a", "b")], {"W": ["w"]}).blocks] == [
        "Code",
        "Settings",
        "Notes",
    ]
    assert reproduce("c", "p", [], {}).halved
    assert not reproduce("c", "p", [], {}, halved=False).halved
    captions = [
        metrics_table([Metric(name, "", "1", better=better) for name, better in of]).caption
        for of in (
            [("AUC", "larger"), ("Loss", "smaller")],
            [("AUC", "larger"), ("Loss", "smaller"), ("Brier score", "smaller")],
            [("X", "")],
        )
    ]
    assert captions == ["Larger is better; for loss, smaller.", "Smaller is better; for AUC, larger.", ""]


@pytest.mark.parametrize(
    ("p", "text"), [(0.001, "0.001"), (0.00099, "9.9e−04"), (0.0, "0.000"), (0.9995, "> 0.999"), (0.99949, "0.999")]
)
def test_probabilities_turn_at_their_limits(p, text):
    assert tables._probability(p) == text


def diagnosed(bias=0.3, slope=0.4, classes=2):
    return Of(detectable=Of(bias=bias, slope=slope), n_classes=classes, n_rows=1234)


@pytest.mark.parametrize(
    ("found", "in_points", "names", "sizes"),
    [
        (
            diagnosed(),
            0.0512,
            ["Bias", "Overconfidence", "Underconfidence"],
            [
                "5.1 points (0.30 in log-odds), either way",
                "calibration slope below 0.60, with the level right",
                "calibration slope above 1.40, with the level right",
            ],
        ),
        (
            diagnosed(slope=1.0),
            NAN,
            ["Bias", "Underconfidence"],
            ["0.30 in log-odds, either way", "calibration slope above 2.00, with the level right"],
        ),
        (
            diagnosed(slope=0.999),
            NAN,
            ["Bias", "Overconfidence", "Underconfidence"],
            [
                "0.30 in log-odds, either way",
                "calibration slope below 0.001, with the level right",
                "calibration slope above 2.00, with the level right",
            ],
        ),
        (
            diagnosed(classes=3),
            NAN,
            ["Bias", "Overconfidence", "Underconfidence"],
            ["0.30 in log-odds, either way", "temperature above 1.67", "temperature below 0.71"],
        ),
        (
            diagnosed(classes=3, slope=1.0),
            NAN,
            ["Bias", "Underconfidence"],
            ["0.30 in log-odds, either way", "temperature below 0.50"],
        ),
        (diagnosed(slope=NAN), NAN, ["Bias"], ["0.30 in log-odds, either way"]),
    ],
)
def test_smallest_errors_that_are_seen(found, in_points, names, sizes):
    table = tables.detectable_table(found, in_points)
    assert list(table.columns[0].values) == names
    assert list(table.columns[1].values) == sizes
    assert "1,234 rows" in table.caption
    assert tables.detectable_table(diagnosed(bias=INF), NAN) is None


def summed(weighted=False, clustered=False):
    sums = {
        "predicted": np.array([20.0, 30.0, 50.0]),
        "observed": np.array([25.0, 35.0, 40.0]),
        "information": np.array([16.0, 9.0, 25.0]),
    }
    return Of(
        source=Of(tally=Of(diagnosis=sums, weight=100.0)),
        n_classes=3,
        weighted=weighted,
        clustered=clustered,
        uncertainty=Of(confidence=0.95),
        labels=("a", None, "c"),
    )


def test_classes_from_sums():
    table = tables._summed_classes(summed())
    shown = {each.heading: list(each.values) for each in table.columns}
    assert shown["class"] == ["c", "a", "column 1"]
    assert shown["support"] == ["40", "25", "35"]
    assert shown["mean predicted"] == ["50.0%", "20.0%", "30.0%"]
    assert shown["observed frequency"] == ["40.0%", "25.0%", "35.0%"]
    assert shown["difference in points"] == ["+10.0", "−5.0", "−5.0"]
    assert table.columns[4].notes == ["+0.2 to +19.8", "−12.8 to +2.8", "−10.9 to +0.9"]
    assert max(max(each) for each in table.columns[5].strips) == 1
    assert min(min(each) for each in table.columns[5].strips) == 0
    assert table.notes == "95% CI"
    for more in ({"weighted": True}, {"clustered": True}):
        other = tables._summed_classes(summed(**more))
        assert other.columns[4].notes == []
        assert other.notes == ""
        assert other.columns[5].strips[0].low == other.columns[5].strips[0].observed
    few = summed()
    few.n_classes = 2
    assert tables._summed_classes(few) is None


def test_strips_reach_from_the_smallest_to_the_largest():
    found = tables._strips(np.array([0.2, 0.6]), np.array([0.3, 0.4]), np.array([0.2, np.nan]))
    assert found[0] == pytest.approx((0.2, 0.4, 0.0, 0.8))
    assert found[1] == pytest.approx((1.0, 0.6, 0.6, 0.6))
    assert tables._strips(np.array([0.5]), np.array([0.5]), np.array([0.0]))[0] == pytest.approx((0, 0, 0, 0))


class Table:
    """Columns by name, of so many rows."""

    def __init__(self, n, **columns):
        self.n = n
        vars(self).update(columns)

    def __len__(self):
        return self.n


def confusions(n):
    ones = np.ones(n)
    return Table(
        n,
        predicted=["p" * 41] * n,
        observed=["o" * 40] * n,
        weight=ones,
        probability=ones / 4,
        loss=ones / 8,
        share=ones / n,
    )


@pytest.mark.parametrize(("n", "folded"), [(20, False), (21, True)])
def test_confused_classes_fold_when_they_are_many(n, folded):
    table = tables.confusions_table(Of(confusions=confusions(n), floor=0.01))
    assert table.folded == folded
    assert table.columns[0].values[0] == f"{'p' * 18}...{'p' * 19}"
    assert table.columns[1].values[0] == "o" * 40
    assert tables.confusions_table(Of(confusions=confusions(0), floor=0.0)) is None
    assert tables.confusions_table(Of(confusions=None, floor=0.0)) is None


def counted(n=3):
    """Classes of which one is never observed, and one never predicted."""
    index = np.arange(n)
    happened = np.r_[0.0, np.arange(1.0, n)]
    c = Table(
        n,
        index=index,
        label=["a", None, *"c" * (n - 2)],
        happened=happened,
        mean_reported=np.full(n, 0.3),
        frequency=np.full(n, 0.25),
        gap=np.full(n, 0.05),
        gap_standard_error=np.full(n, 0.02),
        gap_p_value=np.full(n, 0.04),
        miscalibration=np.full(n, 0.1),
    )
    predicted = Of(
        index=index[::-1].copy(),
        predicted=np.r_[[4.0] * (n - 1), 0.0],
        right=np.r_[[0.5] * (n - 1), np.nan],
        mean_confidence=np.full(n, 0.6),
    )
    return c, predicted


def test_recall_is_known_of_classes_that_occur():
    c, predicted = counted()
    table = tables._counted_classes(Of(uncertainty=Of(confidence=0.95)), c, predicted)
    shown = {each.heading: list(each.values) for each in table.columns}
    assert shown["class"] == ["a", "column 1", "c"]
    assert shown["precision"] == ["–", "50.0%", "50.0%"]
    assert shown["recall"] == ["–", "100%", "100%"]
    assert table.columns[4].notes[0] == "+1.1 to +8.9"
    for n, strips in ((100, True), (101, False)):
        c, predicted = counted(n)
        many = tables._counted_classes(Of(uncertainty=Of(confidence=0.95)), c, predicted)
        assert any(each.strips for each in many.columns) == strips


@pytest.mark.parametrize(
    ("n", "shown"),
    [(60, "The 60 bins of the curve"), (61, "The 60 bins of the curve with the largest contribution, of 61")],
)
def test_bins_of_the_largest_contribution_are_kept(n, shown):
    ones = np.ones(n)
    part = np.r_[0.0, -ones[1:]]
    bins = Table(
        n,
        lowest=np.arange(n) / 100,
        highest=ones,
        mean_reported=ones,
        measured=ones,
        happened=ones,
        total=ones,
        contribution=part,
        label=(),
    )
    table = metrics.bins_table(Of(bins=bins))
    assert table.caption == shown
    assert table.columns[0].values[0] == ("0.000" if n == 60 else "0.010")
    bins.label = [f"k{at}" for at in range(n)]
    named = metrics.bins_table(Of(bins=bins)).columns[0]
    assert (named.heading, named.values[-1]) == ("class", f"k{n - 1}")


@pytest.mark.parametrize(("limit", "text"), [("floor", ""), ("both", ", those above 0.98 lowered to it")])
def test_ceilings_are_named(limit, text):
    assert metrics._ceiling(Of(limit=limit, floor=0.02)) == text


def means(**given):
    return Of(**dict.fromkeys(words.MEANS, 0.5) | given)


def test_ratios_are_of_means_above_0():
    a = Of(
        reported=means(robustness=0.25),
        measured=means(robustness=0.5, decisiveness=0.0),
        view="each-class",
        advised=means(robustness=0.3),
        floor=0.0,
        limit="floor",
        intervals={f"{kind}_{name}": UNKNOWN for kind in ("reported", "measured") for name in words.MEANS},
        uncertainty=Of(confidence=0.9),
    )
    shown = {each.heading: list(each.values) for each in metrics.averages_table(a).columns}
    assert shown["ratio"] == ["–", "1.000", "0.500"]
    assert shown["after remedy"] == ["0.500", "0.500", "0.300"]
    assert metrics.averages_table(a).caption.startswith("No floor")
    short = metrics._short_averages_table(a)
    assert [each.heading for each in short.columns] == ["", "predicted", "calibrated"]
    a.view = "top-label"
    assert "after remedy" not in [each.heading for each in metrics.averages_table(a).columns]


def noticed_slope(**more):
    given = {
        "averages_slope": 0.9,
        "view": "each-class",
        "measured": Of(spread=0.1),
        "zero_given": 0.0,
        "floor": 0.0,
        "diagnosis": Of(findings=[]),
    }
    return Of(**given | more)


@pytest.mark.parametrize(
    ("a", "note"),
    [
        (noticed_slope(), "1 is best"),
        (noticed_slope(averages_slope=NAN, view="top-label"), "none in this view"),
        (noticed_slope(averages_slope=NAN), "reported means are all equal"),
        (noticed_slope(measured=Of(spread=0.0)), "measured means are all equal"),
        (noticed_slope(zero_given=3.0), "0 assigned to 3 observed"),
        (noticed_slope(zero_given=3.0, floor=0.1), "1 is best"),
        (noticed_slope(diagnosis=Of(findings=[Of(error="bias")])), "1 is best; a bias moves it too"),
        (noticed_slope(diagnosis=Of(findings=[Of(error="bias"), Of(error="confidence")])), "1 is best"),
        (noticed_slope(diagnosis=Of(findings=[Of(error="tail")])), "1 is best"),
    ],
)
def test_slopes_of_averages_have_a_note(a, note):
    assert words.slope_note(a) == note


def test_papers_metrics_say_what_is_best():
    a = noticed_slope(
        divergence_probability=0.8,
        intervals={"averages_slope": Interval(0.7, 1.1), "divergence_probability": UNKNOWN},
        uncertainty=Of(confidence=0.9),
    )
    assert [*metrics.papers_metrics(a)] == [
        "Slope of the averages 0.900 (90% CI 0.700 to 1.100; 1 is best)",
        "divergence probability 0.800 (1 is best)",
    ]
    a = noticed_slope(
        averages_slope=NAN,
        view="top-label",
        divergence_probability=NAN,
        intervals={"averages_slope": UNKNOWN, "divergence_probability": UNKNOWN},
        uncertainty=Of(confidence=0.9),
    )
    assert [*metrics.papers_metrics(a)] == [
        "Slope of the averages – (none in this view)",
        "divergence probability – (none in this view)",
    ]


def event(p, happened, total, two=True, errors=(), weighted=False, mean=0.6, frequency=0.5, top=None):
    pairs = tuple(map(np.asarray, (p, happened, total)))
    a = Of(
        weighted=weighted,
        bias=Of(mean_reported=mean, frequency=frequency) if two else None,
        diagnosis=Of(errors=errors),
        source=Of(tally=Of(pairs=lambda _: tuple(map(np.asarray, top or (p, happened, total))))),
    )
    return Of(assessment=a, two=two, pairs=pairs, name="'x'")


@pytest.mark.parametrize(
    ("happened", "total", "text"),
    [
        (95.5, 100.0, "4 of 100 predictions above 99% are wrong; about 0.5 were expected."),
        (96.1, 100.0, ""),
        (15.0, 20.0, "5 of 20 predictions above 99% are wrong; about 0.1 was expected."),
        (14.0, 19.0, ""),
    ],
)
def test_confident_predictions_that_went_wrong_are_counted(happened, total, text):
    found = event([0.6, 0.995], [0.0, happened], [0.0, total], two=False)
    shown = words.wrong_predictions(found)
    assert shown.replace("were", "was") == text.replace("were", "was")
    found.assessment.weighted = True
    assert words.wrong_predictions(found) == ""


def test_confident_predictions_are_looked_at_from_99_percent_down():
    p, total = [0.91, 0.951, 0.991], [30.0, 30.0, 30.0]
    assert "above 95%" in words.wrong_predictions(event(p, [28.0, 15.0, 30.0], total, two=False))
    assert "above 90%" in words.wrong_predictions(event(p, [5.0, 30.0, 30.0], total, two=False))
    assert words.wrong_predictions(event([0.9, 0.2], [0.0, 0.0], [40.0, 1.0], two=False)) == ""


@pytest.mark.parametrize(
    ("mean", "happened", "text"),
    [
        (
            0.6,
            [5.0, 10.0],
            "'x' was observed in 10 (33.3%) of the 30 rows predicted above 50%; about 21 were expected.",
        ),
        (
            0.4,
            [15.0, 10.0],
            "'x' was observed in 15 (50.0%) of the 30 rows predicted below 50%; about 6 were expected.",
        ),
        (0.6, [5.0, 15.0], ""),
        (0.4, [10.0, 10.0], ""),
    ],
)
def test_a_bias_is_shown_on_its_side_of_a_half(mean, happened, text):
    """30 rows at 20% and at 70%; the limits are two standard errors and two rows away."""
    assert words._on_a_side(event([0.2, 0.7], happened, [30.0, 30.0], mean=mean)) == text


def test_few_rows_on_a_side_show_no_bias():
    assert words._on_a_side(event([0.2, 0.7], [0.0, 0.0], [30.0, 19.0])) == ""
    assert "of the 20 rows" in words._on_a_side(event([0.2, 0.7], [0.0, 0.0], [30.0, 20.0]))
    assert "of the 20 rows" in words.wrong_predictions(event([0.2, 0.7], [0.0, 0.0], [30.0, 20.0], errors=("bias",)))
    assert words._on_a_side(event([0.5], [0.0], [50.0])) == ""


@pytest.mark.parametrize(
    ("counts", "text"),
    [
        ({0.85: 20, 0.75: 99}, "85% to 95%"),
        ({0.85: 19, 0.75: 20}, "75% to 85%"),
        ({0.45: 20}, "45% to 55%"),
        ({0.995: 25}, "99.5% to 100%"),
        ({0.45: 19}, ""),
    ],
)
def test_the_first_range_with_twenty_forecasts_is_evidence(counts, text):
    def observed(low, high):
        n = float(counts.get(low, 0))
        return Of(
            total=n,
            lowest=low,
            highest=high,
            mean_reported=(low + high) / 2,
            interval=Interval(0.5, 0.75),
            happened=0.625,
        )

    a = Of(
        observed=observed,
        view="all-classes",
        n_classes=3,
        weighted=False,
        uncertainty=Of(confidence=0.95),
        labels=(0, 1, 2),
    )
    found = words.evidence(a)
    assert (f"Where a class was assigned {text} (mean" in found) == bool(text)
    assert ("62%" in found and "95% CI 50% to 75%" in found) == bool(text)


@pytest.mark.parametrize(("width", "exactly"), [(0.0, True), (2e-9, False)])
def test_one_probability_is_no_range(width, exactly):
    found = Of(total=20.0, lowest=0.9, highest=0.9 + width, mean_reported=0.9, interval=UNKNOWN, happened=0.5)
    a = Of(
        observed=lambda *_: found,
        view="each-class",
        n_classes=2,
        weighted=True,
        uncertainty=Of(confidence=0.95),
        labels=(0, "rain"),
    )
    assert ("assigned probability 90%" in words.evidence(a)) == exactly
    assert "forecasts of weight 20." in words.evidence(a)
    assert words.evidence(a).startswith("Where 'rain' was assigned")
    a.labels = (None, None)
    assert words.evidence(a).startswith("Where column 1 was assigned")
    a.view = "top-label"
    assert words.evidence(a).startswith("Where the most probable class was assigned")


def sized(n_rows=1000, bias=0.5, slope=0.5, two=True, **more):
    d = Of(detectable=Of(bias=bias, slope=slope))
    a = Of(diagnosis=d, clustered=False, weighted=False, n_rows=n_rows, **more)
    return Of(assessment=a, two=two, pairs=(np.array([0.5]), None, np.array([10.0])))


def test_more_rows_show_smaller_errors():
    """A bias of 0.5 in the log-odds is one of 12.2 points at 50%."""
    assert words.bias_in_points(sized()) == pytest.approx(1 / (1 + math.exp(-0.5)) - 0.5)
    assert math.isnan(words.bias_in_points(sized(bias=INF)))
    assert math.isnan(words.bias_in_points(sized(two=False)))
    assert [*words.rows_needed(sized())] == [
        "a bias of 5 points about 6,000 rows",
        "a calibration slope of 0.8 about 6,200 rows",
    ]
    assert [*words.rows_needed(sized(slope=0.2199, bias=0.2))] == []
    assert [*words.rows_needed(sized(slope=0.2201, bias=0.2))] == ["a calibration slope of 0.8 about 1,200 rows"]
    assert [*words.rows_needed(sized(two=False))] == []
    dependent = sized()
    dependent.assessment.clustered = True
    assert [*words.rows_needed(dependent)] == []
    assert [words._rounded(x) for x in (1234.0, 95.4, 999.0)] == [1200, 95, 1000]


def alone(slope=(0.9, 1.1), intercept=(-0.1, 0.1), negligible=-1.0, p=0.2, classes=2, detectable=0.3):
    return Of(
        slope=Of(interval=Interval(*slope)),
        intercept=Of(interval=Interval(*intercept)),
        n_classes=classes,
        uncertainty=Of(confidence=0.95),
        diagnosis=Of(p_value=p, negligible=negligible, detectable=Of(slope=detectable)),
    )


@pytest.mark.parametrize(
    ("a", "text"),
    [
        (alone(), ""),
        (alone(slope=(1.0, 1.2)), ""),
        (alone(slope=(0.8, 1.0)), ""),
        (alone(slope=(1.01, 1.2), negligible=0.0), ""),
        (alone(slope=(1.01, 1.2), p=NAN), ""),
        (
            alone(slope=(1.01, 1.2)),
            "By itself the 95% CI of the calibration slope excludes 1. The test considers several errors at once and is"
            " not significant (p = 0.200).",
        ),
        (
            alone(slope=(0.5, 0.9), intercept=(0.1, 0.2)),
            "the calibration slope excludes 1 and calibration intercept excludes 0. The test considers several",
        ),
        (
            alone(intercept=(-0.2, -0.1), detectable=NAN),
            "excludes 0. The test, with so few events, considers the level alone, and is not significant",
        ),
        (alone(intercept=(-0.2, -0.1), detectable=NAN, classes=3), "The test considers several errors"),
        (alone(intercept=(0.0, 0.1)), ""),
        (alone(intercept=(-0.1, 0.0)), ""),
    ],
)
def test_an_interval_alone_is_explained(a, text):
    assert (text in words.alone(a)) if text else words.alone(a) == ""


@pytest.mark.parametrize(
    ("loss", "two", "text"),
    [
        (0.7, True, "A constant forecast of the base rate has a smaller log loss (0.693 against 0.700)."),
        (0.6931, True, ""),
        (0.69311, False, "A uniform forecast has a smaller log loss (0.69310 against 0.69311)."),
        (NAN, True, ""),
    ],
)
def test_a_constant_forecast_may_be_better(loss, two, text):
    assert (
        words.against_reference(
            Of(assessment=Of(scores={"log_loss": loss}, reference_scores={"log_loss": 0.6931}), two=two)
        )
        == text
    )


def test_two_costs_need_both():
    def costs(cost=0.1, divergence=0.9, made=True, view="all-classes", classes=3, floor=0.01):
        return words.two_costs(
            Of(
                diagnosis=Of(cost=cost, made=made),
                divergence_probability=divergence,
                view=view,
                n_classes=classes,
                floor=floor,
            )
        )

    assert "a factor of 0.905" in costs()
    assert "instead, pooled over the classes, at the floor 0.01." in costs()
    assert "curve instead." in costs(classes=2, floor=0.0)
    assert "curve instead, at" in costs(view="each-class")
    assert costs(cost=0.0) == costs(divergence=NAN) == costs(made=False) == ""


def remarked(**more):
    given = {
        "uncertainty": Of(warnings=(), debiased={}),
        "n_classes": 2,
        "intervals": {"prediction_accuracy": (0.1, 0.5)},
        "labels": (0, 1),
        "prediction_accuracy": 0.3,
        "class_average": None,
        "effective_rows": 900,
        "floor": 0.0,
        "estimator": "kernel",
    }
    return [*words.remarks(Of(**given | more))]


def test_remarks_turn_at_their_limits():
    assert remarked() == []
    assert (
        "in 0.300 of the rows only: is '1' the positive label?"
        in remarked(intervals={"prediction_accuracy": (0.1, 0.4999)})[0]
    )
    assert remarked(intervals={"prediction_accuracy": (0.1, 0.3)}, n_classes=3) == []
    assert remarked(n_classes=3, class_average=Of(n_classes=3)) == []
    assert "few rows a class" in remarked(n_classes=3, class_average=Of(n_classes=3), effective_rows=899)[0]
    assert remarked(n_classes=2, class_average=Of(n_classes=3), effective_rows=10) == []
    assert "the floor is not below 1/4" in remarked(n_classes=4, floor=0.25)[0]
    assert remarked(n_classes=4, floor=0.2499) == remarked(n_classes=2, floor=0.5) == []
    assert (
        "biased on such data; without the estimated bias: a b 0.500"
        in remarked(uncertainty=Of(warnings=("w",), debiased={"a_b": 0.5}))[1]
    )


@pytest.mark.parametrize(
    ("low", "high", "more"), [(0.5, 0.6, True), (0.51, 0.6, False), (0.4, 0.5, True), (0.4, 0.49, False)]
)
def test_predictions_without_information_are_explained(low, high, more):
    found = Of(clause=Of(term="biased"), error="bias")
    d = Of(findings=[found], errors=("bias",), rest_p_value=1.0, n_classes=2)
    a = Of(diagnosis=d, auc=Of(interval=Interval(low, high)))
    assert words.terms_of(a) == ["biased", *["uninformative"] * more]


def test_curves_after_a_remedy_have_two_points():
    curve = Of(predicted=np.array([0.2, 0.4]), observed=np.array([0.3, 0.5]))
    remedy = Of(significant=True, recalibrator=Of(transform=lambda p: p / 2))
    [line] = charts._after_remedy(Of(assessment=Of(remedy=remedy), two=True, curve=curve))
    assert (line.x.tolist(), line.y.tolist(), line.role) == ([0.1, 0.2], [0.3, 0.5], "remedy")
    one = Of(predicted=np.array([0.2]), observed=np.array([0.3]))
    assert charts._after_remedy(Of(assessment=Of(remedy=remedy), two=True, curve=one)) == []
    assert charts._after_remedy(Of(assessment=Of(remedy=remedy), two=False, curve=curve)) == []


def finding(error, gap=0.0, parameter=-0.1, two=True, variance=0.01, rows=100.0):
    of = Of(
        total=np.array([60.0, 40.0]),
        mean=np.array([0.5, 0.5]) + gap,
        observed=np.array([0.5, 0.5]),
        variance=np.full(2, variance),
    )
    d = Of(made=True, findings=[Of(error=error, parameter=parameter)])
    return charts._finding(
        Of(assessment=Of(diagnosis=d), name="'x'", groups=of, two=two, tally=Of(independent_rows=rows))
    )


def test_titles_say_what_is_seen():
    assert finding("bias", 0.001) == "'x' occurs less often than predicted"
    assert finding("bias", -0.001) == "'x' occurs more often than predicted"
    assert finding("confidence") == "High predictions are too high, low ones too low"
    assert finding("confidence", parameter=0.1) == "Predictions are too close to the base rate"
    assert finding("tail") == "The curve departs from the identity line"
    assert finding("bias", 0.0197, two=False) == "The top class is observed less often than predicted"
    assert finding("bias", -0.0197, two=False) == "The top class is observed more often than predicted"
    assert finding("bias", 0.0195, two=False) == "Observed frequency of 'x' by predicted probability"


@pytest.mark.parametrize(
    ("low", "high", "ticks"),
    [
        (-3, 3, [-3, -2, -1, 0, 1, 2, 3]),
        (0.5, 0.5, [0, 1]),
        (-6.5, 6.5, [-6, -4, -2, 0, 2, 4, 6]),
        (0, 12, [*range(0, 13, 2)]),
        (0, 11.9, [*range(12)]),
        (-0.4, 0.4, [0]),
    ],
)
def test_orders_have_ticks_at_whole_numbers(low, high, ticks):
    axis = charts._order_axis(low, high)
    assert [at for at, _ in axis.ticks] == ticks
    assert (axis.low, axis.high) == ((0.0, 1.0) if low == high else (low, high))


def test_profiles_without_orders_have_an_axis():
    empty = np.array([])
    with pytest.raises(IndexError):
        charts.profiles_of([Line(empty, empty, name="p")], "Profile from")
    chart = charts.profiles_of([Line(np.array([-1.0, 2.0]), np.array([0.2, 0.7]), name="p")], "Profile from")
    assert chart.label == "Profile from -1 to 2. p 0.200 to 0.700."


def test_bars_are_no_narrower_than_can_be_seen():
    bins = Table(
        3,
        lowest=np.array([0.0, 0.5, 1.0]),
        highest=np.array([0.2, 0.5, 1.0]),
        measured=np.array([0.1, 0.4, 0.9]),
        total=np.array([5.0, 6, 7]),
    )
    found = charts._bars(Of(bins=bins))
    assert found.left == pytest.approx([0.0, 0.498, 0.996])
    assert found.right == pytest.approx([0.2, 0.502, 1.0])
    assert found.texts[0] == "Reported 0.000 to 0.200: measured 0.100, 5 pairs"
    assert charts._bars(
        Of(bins=Table(1, lowest=np.zeros(1), highest=np.zeros(1), measured=np.zeros(1), total=np.ones(1)))
    ).right == pytest.approx([0.004])
    assert (
        charts._title(Of(uncertainty=Of(confidence=0.9)), "Slope 0.50", "0.4 to 0.6")
        == "Slope 0.50 of the averages, 90% CI 0.4 to 0.6"
    )
    assert charts._title(Of(), "", "") == "Measured by reported probability"
    assert charts._title(Of(), "Slope 0.50", "") == "Slope 0.50 of the averages"


class Broken(Of):
    """A breakdown, as far as it is asked."""

    def __len__(self):
        return len(self.groups)


def member(key, cost=0.1):
    return Of(key=key, cost=cost, assessment=Of(n_rows=10, diagnosis=Of(findings=[])))


@pytest.mark.parametrize(
    ("rows", "columns", "down"),
    [
        (2, 2, 0),
        (1, 3, None),
        (3, 1, None),
        (2, 12, 0),
        (2, 13, 1),
        (13, 13, None),
        (40, 2, 0),
        (41, 2, None),
        (12, 40, 1),
        (12, 41, None),
        (40, 12, 0),
    ],
)
def test_tables_of_two_ways_have_room(rows, columns, down):
    b = Broken(by=("r", "c"), groups=[member((i, j)) for i in range(rows) for j in range(columns)])
    b.cost_shares = {each.key: Of(significant=each.key == (0, 0)) for each in b.groups}
    found = groups.two_way(b)
    assert (found is None) == (down is None)
    if found is not None:
        assert found.down == down
        assert (len(found.rows), len(found.columns)) == ((rows, columns) if down == 0 else (columns, rows))
        assert found.names == (("r", "c") if down == 0 else ("c", "r"))
        assert len(groups.two_way_blocks(found)) == (len(found.columns) <= 8)
        table = groups.two_way_table(found)
        assert [each.values[0] for each in table.columns[1:3]] == ["0.100*", "0.100"]
        assert f"Holm-adjusted for {rows * columns} groups" in table.caption
    assert groups.two_way(Of(by=("r",), groups=b.groups)) is None
    assert groups.two_way_blocks(None) == []


@pytest.mark.parametrize(
    ("between_them", "text"),
    [
        (0.0, "no more than chance"),
        (math.log(1.1), "a factor of 1.100"),
        (math.log(1.11), "a factor of 1.11 "),
        (math.log(2), "a factor of 2.00"),
    ],
)
def test_groups_differ_by_a_factor(between_them, text):
    [prose] = groups._between_groups(Of(shrinkage=Of(centre=0.5, between=between_them)))
    assert text in prose.text
    assert groups._between_groups(Of(shrinkage=None)) == []


def test_groups_without_rows_are_named():
    b = Of(
        sort="rows",
        shrinkage=None,
        small_last=False,
        by=("g",),
        empty=[("x",), ("y",), ("z",)],
        total=Of(small=False),
        groups=[],
        diagnosed=True,
    )
    with_len = Broken(**vars(b))
    assert "3 groups without rows to assess, left out: x, y, z." in groups._caption(with_len)
    with_len.empty = [*b.empty, ("w",)]
    with_len.small_last, with_len.total, with_len.groups = True, Of(small=True), [Of(small=True)]
    found = groups._caption(with_len)
    assert "left out: x, y, z, ...." in found
    assert "the most rows first, small ones last." in found
    assert "Few rows: " in found
    with_len.by, with_len.sort, with_len.small_last, with_len.shrinkage = ("g",), "geometric_accuracy", False, 1
    assert "the lowest shrunken geometric accuracy first" in groups._caption(with_len)


def described(verdict="calm", findings=(), n_rows=1000, made=True, groups=""):
    """As much of an assessment as says which form its verdict takes."""
    d = Of(verdict=verdict, findings=findings, made=made, headline="None")
    found = Described.__new__(Described)
    found.a, found.groups = Of(diagnosis=d, n_rows=n_rows, reported=Of(geometric_accuracy=0.5)), groups
    return found


def test_verdicts_on_few_rows_are_no_approval():
    assert described(n_rows=999).headline == "None, but only 999 rows"
    assert described(n_rows=1000).headline == "None"
    assert described(n_rows=9, findings=(1,)).headline == "None"
    assert described(n_rows=9, made=False).headline == "Geometric accuracy 0.500"
    assert described(groups="2 of 3 groups").headline == "None over all rows, but in groups"
    assert described(groups="2 of 3 groups", findings=(1,)).headline == "None"
    assert [described("x" * n)._short for n in (160, 161)] == [True, False]


def test_signs_of_findings():
    def sign(*errors):
        return groups.sign_of([Of(error=error, parameter=size) for error, size in errors])

    assert [sign(("bias", x)) for x in (0.1, 0.0, -0.1)] == [1, -1, -1]
    assert sign(("bias", 0.1), ("tail", 0.1)) == sign(("certainty", 3)) == -1
    assert estimate(0.5, (0.5 - 1e-12, 0.5 + 1e-12))[0] == "0.500000000"
    assert told_apart(0.1, 0.1 + 1e-12) == ("0.100000000", "0.100000000")
    assert told_apart(0.12345678, 0.12345679) == ("0.12345678", "0.12345679")
    assert told_apart(0.123456781, 0.123456782) == ("0.123456781", "0.123456782")


def test_histograms_are_shares_of_all_events_and_of_all_others():
    found = Of(
        pairs=(np.array([0.1, 0.99]), np.array([0.1, 0.3]), np.array([0.2, 0.3])),
        name="'x'",
        two=True,
        rows=lambda w: f"{w:g} rows",
    )
    mirror = charts._mirror(found, 1.0)
    assert (mirror.up[2], mirror.up[-1]) == pytest.approx((0.25, 0.75))
    assert mirror.down.sum() == mirror.down[2] == 1
    assert (mirror.up_label, mirror.down_label) == ("0.4 rows with 'x'", "0.1 rows without")
    found.two = False
    assert charts._mirror(found, 1.0).up_label == "0.4 rows correct"
