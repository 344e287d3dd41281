"""Diagnosis of more than two classes: laws of its sums, tests against exact distributions, and what it names."""

from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import erfc, softmax
from scipy.stats import binom, chi2

from many_classes import bent, blocks, diagnose, prepared, simulate, statistics_of
from unperplexed import Tally, assess
from unperplexed.calibration.diagnosis import class_rows, multiclass
from unperplexed.calibration.diagnosis.class_rows import PreparedRows, count
from unperplexed.calibration.diagnosis.class_scores import RowLikelihoods
from unperplexed.calibration.diagnosis.class_search import forward, prior_of
from unperplexed.calibration.diagnosis.class_statistics import ClassStatistics
from unperplexed.calibration.diagnosis.class_tails import attained, upper_tail
from unperplexed.calibration.diagnosis.class_tests import combined, gate
from unperplexed.calibration.diagnosis.gate import weighted_chi2_sf
from unperplexed.calibration.diagnosis.kind import ClassMeans, OfClasses
from unperplexed.calibration.diagnosis.kinds import KINDS
from unperplexed.calibration.diagnosis.kinds.bias import biased_classes
from unperplexed.maps.classes import ClassMap
from unperplexed.maps.fit import fitted


def same(a, b, rel=1e-9):
    """Same findings and the same numbers."""
    assert a.errors == b.errors
    assert a.p_value == pytest.approx(b.p_value, rel=1e-6)
    assert a.cost == pytest.approx(b.cost, rel=rel, abs=1e-9)
    for one, other in zip(a.findings, b.findings, strict=True):
        assert one.parameter == pytest.approx(other.parameter, rel=rel, nan_ok=True)
        assert one.cost == pytest.approx(other.cost, rel=rel, abs=1e-9, nan_ok=True)


# ---- statistics


def each_field(statistics):
    clusters = vars(statistics.clusters) if statistics.clusters else {}
    return {**{k: v for k, v in vars(statistics).items() if k != "clusters"}, **clusters}


@pytest.mark.parametrize("clustered", [False, True])
def test_merge_is_whole(rng, clustered):
    p, y = simulate(rng, 300, 5)
    kinds = {"weights": rng.exponential(size=300), "cluster": rng.integers(0, 40, 300) if clustered else None}
    (chunk,) = prepared(p, y, **kinds)
    first, second = chunk.only(np.arange(120)), chunk.only(np.arange(120, 300))
    whole, a, b = (ClassStatistics.of(each) for each in (chunk, first, second))
    for merged, expected in ((a + b, whole), (b + a, whole), (ClassStatistics.none(5) + a, a), (whole - b, a)):
        for name, value in each_field(expected).items():
            np.testing.assert_allclose(each_field(merged)[name], value, rtol=1e-10, atol=1e-9, err_msg=name)


def test_blocks_add_up(rng):
    p, y = simulate(rng, 300, 5)
    p[:20] = [0, 1, 0, 0, 0]
    rows = blocks(p, y, cluster=np.arange(300) // 4, size=77)
    counts = count(rows)
    whole, parts = statistics_of(PreparedRows(rows, counts)), ClassStatistics.none(5)
    for block in rows():
        parts = parts + statistics_of(PreparedRows(partial(iter, [block]), counts))
    for name, value in each_field(whole).items():
        np.testing.assert_allclose(each_field(parts)[name], value, rtol=1e-10, atol=1e-9, err_msg=name)
    assert whole.rows == 280


def test_moments_by_enumeration(rng):
    p, y = simulate(rng, 40, 4)
    (chunk,) = prepared(p, y)
    s = ClassStatistics.of(chunk)
    f = np.stack([chunk.log_p, chunk.curve("tail")])  # (2, rows, classes)
    centred = f - (f * p).sum(axis=2, keepdims=True)
    np.testing.assert_allclose(s.shape_score, centred[:, np.arange(40), y].sum(axis=1))
    np.testing.assert_allclose(s.shape_covariance, np.einsum("ic,aic,bic->ab", p, centred, centred))
    a, b = centred
    np.testing.assert_allclose(s.shape_third, [(p * t).sum() for t in (a**3, a * a * b, a * b * b, b**3)])
    residual = np.eye(4)[None] - p[:, None, :]  # outcome by class
    np.testing.assert_allclose(s.covariance, np.einsum("iy,iyc,iyd->cd", p, residual, residual), atol=1e-12)
    np.testing.assert_allclose(s.shape_classes, np.einsum("iy,aiy,iyc->ac", p, centred, residual), atol=1e-12)
    assert s.cells.sum() == 160
    np.testing.assert_allclose(s.cell_sums.sum(axis=1), p.sum(axis=0))


def test_cells_keep_sides_apart():
    p = np.array([[0.5, 0.5, 0.0], [0.99, 0.01, 0.0], [0.01, 0.01, 0.98]])
    (chunk,) = prepared(p, np.array([0, 0, 2]))
    counts = ClassStatistics.of(chunk).cells
    assert (counts.sum(axis=1) == 3).all()
    assert counts.max(axis=1).tolist() == [1, 2, 2]


# ---- tests against exact distributions


def poisson_binomial(p):
    f = np.ones(1)
    for each in p:
        f = np.convolve(f, [1 - each, each])
    return f


@pytest.mark.parametrize("scale", [0.002, 0.05, 0.4])
def test_saddlepoint_is_the_exact_tail(rng, scale):
    p = scale * rng.choice([0.2, 0.5, 1.0], size=200)
    exact = poisson_binomial(p)[::-1].cumsum()[::-1]
    values, n = np.unique(p, return_counts=True)
    counts = np.arange(0, 100)
    counts = counts[exact[counts] > 1e-12]
    found = upper_tail(
        counts.astype(float), np.tile(n, (len(counts), 1)).astype(float), np.tile(values, (len(counts), 1))
    )
    np.testing.assert_allclose(found, exact[counts], rtol=0.06)


@pytest.mark.parametrize("x", [0.1, 1.0, 1.5, 4.0, 12.0, 40.0])
def test_weighted_chi2(x):
    def above(z):  # P(z^2 + Z^2 / 2 > x)
        rest = max(x - z * z, 0.0)
        return 2 * np.exp(-z * z / 2) / np.sqrt(2 * np.pi) * erfc(np.sqrt(rest))

    exact = quad(above, 0, 12, points=[np.sqrt(x)], limit=200)[0]
    assert weighted_chi2_sf(x, np.array([1.0, 0.5])) == pytest.approx(exact, rel=0.12)  # in the far tail
    assert weighted_chi2_sf(x, np.ones(1)) == pytest.approx(chi2.sf(x, 1))


@pytest.mark.parametrize("mean", [0.001, 0.3, 2.0, 30.0])
def test_attained_levels_are_those_of_a_binomial_count(mean):
    n, p = 5000, mean / 5000
    possible = binom.sf(np.arange(200) - 1, n, p)
    for level in (0.3, 0.02, 1e-4):
        exact = possible[possible <= level].max()
        assert attained(level, np.array([[float(n)]]), np.array([[p]]))[0] == pytest.approx(exact, rel=0.02)


@pytest.mark.parametrize("count", [1.0, 2.0])
def test_rare_counts_are_exact(count):  # the saddlepoint misses one event by a factor of five where 0.001 are expected
    n, p = np.array([[700.0, 300.0]]), np.array([[1e-6, 1e-6]])
    assert upper_tail(np.array([count]), n, p)[0] == pytest.approx(binom.sf(count - 1, 1000, 1e-6), rel=1e-6)


@pytest.mark.parametrize("weight", [0.5, 2 / 3])
def test_combined_p_value_is_that_of_independent_ones(weight):
    u = (np.arange(1500) + 0.5) / 1500
    mean = weight / u[:, None] + (1 - weight) / u
    for p, q in ((0.03, 0.4), (0.2, 0.01), (0.9, 0.7)):
        exact = (mean >= weight / p + (1 - weight) / q).mean()
        assert combined(p, q, weight) == pytest.approx(exact, rel=0.01)
    assert combined(1.0, 1.0, weight) == 1
    assert 0 < combined(0.0, 1.0, weight) < 1e-290


@pytest.mark.parametrize("rows", [60, 600])
def test_the_spread_of_equal_classes_has_the_moments_of_pearsons_statistic(rows):
    """Its variance is 2 (C - 1) (1 - 1 / n), if more classes than rows are equally probable too."""
    classes = 120
    statistics = statistics_of(prepared(np.full((rows, classes), 1 / classes), np.zeros(rows, dtype=int)))
    events = rows / classes * (1 - 1 / classes)
    share, counts = events / (1 + events), np.stack([np.arange(classes) < rows % classes, np.arange(classes) < 1])
    counts = np.array([0.5 + rows // classes, rows])[:, None] * counts
    squares = share * ((counts - rows / classes) ** 2).sum(axis=1) / events
    found = [gate(replace(statistics, observed=each)).statistic for each in counts]
    sd = np.diff(squares)[0] / np.diff(found)[0]
    assert sd == pytest.approx(share * np.sqrt(2 * (classes - 1) * (1 - 1 / rows)) * classes / (classes - 1), rel=0.02)
    assert squares[0] - found[0] * sd == pytest.approx(share * classes)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["rows", "weights", "clusters"])
def test_size_of_the_gate(rng, kind):
    rejected, runs, n = 0, 80, 400
    for _ in range(runs):
        p, y = simulate(rng, n, 6)
        weights = rng.exponential(size=n) if kind == "weights" else None
        cluster = None
        if kind == "clusters":
            p, y, cluster = np.repeat(p[:200], 2, axis=0), np.repeat(y[:200], 2), np.repeat(np.arange(200), 2)
        rejected += gate(statistics_of(prepared(p, y, weights=weights, cluster=cluster))).p_value < 0.05
    assert rejected <= 10  # 4 are expected: probability 0.003


def test_twice_the_rows_in_clusters_are_no_more_evidence(rng):
    p, y = simulate(rng, 600, 5, confidence=-0.08)
    twice = {"cluster": np.repeat(np.arange(600), 2)}
    once = gate(statistics_of(prepared(p, y)))
    found = gate(statistics_of(prepared(np.repeat(p, 2, axis=0), np.repeat(y, 2), **twice)))
    assert found.effect == pytest.approx(2, abs=0.6)
    assert np.log(found.shape) == pytest.approx(np.log(once.shape), abs=0.5 + 0.2 * abs(np.log(once.shape)))


# ---- the fit


def test_fit_is_the_maximum(rng):
    p, y = simulate(rng, 3000, 5, confidence=-0.3, biases=np.array([0.4, 0, 0, -0.4, 0]))
    rows = prepared(p, y)
    likelihoods = RowLikelihoods(rows, statistics_of(rows))
    of = likelihoods.of(("slope", "biases"), ClassMap())
    fit = fitted(of, prior_of(5, 1.0), of.theta_of(ClassMap()), likelihoods.known)
    np.testing.assert_allclose(of.ascent(fit.theta)[1], fit.precision * fit.theta, atol=1e-3)
    mapping = of.map_of(fit.theta)
    np.testing.assert_allclose(bent(likelihoods, mapping)[0], mapping.biases * 4, atol=1e-3)
    assert mapping.value("slope") == pytest.approx(-0.3, abs=0.06)
    assert mapping.biases[0] - mapping.biases[3] == pytest.approx(0.8, abs=0.2)


def test_weight_two_is_the_row_twice(rng):
    p, y = simulate(rng, 1500, 4, confidence=-0.4, biases=np.array([0.5, 0, 0, -0.5]))
    weights = rng.integers(1, 3, 1500)
    weighted = diagnose(p, y, weights.astype(float))
    twice = diagnose(np.repeat(p, weights, axis=0), np.repeat(y, weights))
    assert set(weighted.errors) == set(twice.errors) == {"confidence", "bias"}
    one, other = (next(f for f in d.findings if f.error == "confidence") for d in (weighted, twice))
    assert one.parameter == pytest.approx(other.parameter, abs=0.003)  # the prior of the biases weighs differently
    one, other = (next(f for f in d.findings if f.error == "bias") for d in (weighted, twice))
    assert one.words.split(",")[0] == other.words.split(",")[0]


# ---- laws of the diagnosis


@pytest.fixture(scope="module")
def biased():
    rng = np.random.default_rng(3)
    return simulate(rng, 2500, 6, confidence=-0.25, biases=np.array([0.4, 0, -0.4, 0, 0, 0]))


@pytest.mark.slow
def test_same_again(biased):
    assert diagnose(*biased).to_json() == diagnose(*biased).to_json()


@pytest.mark.slow
@pytest.mark.parametrize("size", [7, 1000])
def test_blocks_of_any_size(biased, size):
    p, y = biased[0][:700], biased[1][:700]
    same(diagnose(p, y, size=size), diagnose(p, y))


@pytest.mark.slow
def test_rows_that_are_not_kept(biased, monkeypatch):
    found = diagnose(*biased)
    monkeypatch.setattr(class_rows, "KEPT_VALUES", 0)
    monkeypatch.setattr(class_rows, "CHUNK_VALUES", 1000)
    same(diagnose(*biased), found, rel=1e-6)


@pytest.mark.slow
def test_order_of_rows_and_classes(biased, rng):
    p, y = biased
    found = diagnose(p, y)
    order = rng.permutation(len(y))
    same(diagnose(p[order], y[order]), found, rel=1e-4)
    classes = rng.permutation(6)
    moved = diagnose(p[:, classes], np.argsort(classes)[y], labels=tuple(classes.tolist()))
    same(moved, found, rel=1e-4)
    assert [f.words for f in moved.findings] == [f.words for f in found.findings]


@pytest.mark.slow
def test_single_precision(biased):
    p, y = biased
    same(diagnose(p.astype(np.float32), y), diagnose(p, y), rel=1e-2)


def test_gains_add_up(biased):
    found = diagnose(*biased)
    assert found.errors == ("confidence", "bias")
    assert found.cost == pytest.approx(sum(f.cost for f in found.findings))
    assert found.findings[0].cost >= found.findings[1].cost > 0
    low, high = found.findings[0].interval
    assert low < -0.25 < high


# ---- what is named


@pytest.mark.parametrize(
    ("error", "settings"),
    [
        ("confidence", {"confidence": -0.3}),
        ("confidence", {"confidence": 0.4}),
        ("tail", {"tails": -0.25}),
        ("noise", {"noise": 0.1}),
        ("bias", {"biases": np.array([0.5, -0.3, 0.2, 0.4, -0.6, 0, 0.1, -0.2, 0.3, -0.4])}),
    ],
)
def test_names(rng, error, settings):
    found = diagnose(*simulate(rng, 4000, 10, **settings))
    assert [e for e in found.errors if e != "certainty"] == [error]
    assert found.p_value < 0.001
    named = next(f for f in found.findings if f.error == error)
    true = next(iter(settings.values()))
    if error != "bias":
        assert named.parameter == pytest.approx(true, rel=0.35)
        assert named.interval[0] < true < named.interval[1]


def test_names_the_class(rng):
    p, y = simulate(rng, 5000, 10, biases=np.array([0, 0, 0, 0.7, 0, 0, 0, 0, 0, 0]))
    (found,) = diagnose(p, y, labels=("a", "b", "c", None, *"efghij")).findings
    assert (found.error, found.label) == ("bias", None)
    assert found.words.startswith("underpredicts column 3 (mean prediction ")
    assert found.parameter == pytest.approx(0.7, abs=0.2)
    (found,) = diagnose(p, y, labels=tuple("abcdefghij")).findings
    assert found.label == "d"
    assert "underpredicts 'd' (mean" in found.words


def test_no_evidence(rng):
    found = diagnose(*simulate(rng, 1000, 5))
    assert not found.miscalibrated
    assert found.verdict.startswith("No evidence of miscalibration (n = 1,000, p = 0.")
    assert 0 < found.detectable.slope < found.detectable.bias < 1


@pytest.mark.slow
def test_many_classes_with_one_wrong(rng):
    biases = np.zeros(100)
    biases[17] = 1.2
    found = diagnose(*simulate(rng, 4000, 100, biases=biases))
    assert found.errors == ("bias",)
    assert found.findings[0].label == 17


def test_forward_names_no_class_through_the_others(rng):
    p = np.tile([0.4, 0.3, 0.3], (3000, 1))
    observed = np.array([1500, 750, 750])  # class 0 is biased: the others are by what is left
    score, covariance = observed - p.sum(axis=0), 3000 * (np.diag(p[0]) - np.outer(p[0], p[0]))
    assert forward(score, covariance, np.zeros(3), np.ones(3), 1.0, 0.05).tolist() == [0]


# ---- certain outcomes and single rows


@pytest.mark.slow
def test_overconfidence_is_no_bias_of_classes(rng):
    """Logarithms are twice what they should be, so that classes vary more about their predictions than predicted."""
    for _ in range(3):
        z = 3 * rng.normal(size=(200, 100))
        y = (z + rng.gumbel(size=z.shape)).argmax(axis=1)
        found = diagnose(softmax(2 * z, axis=1), y)
        assert "confidence" in found.errors
        assert "bias" not in found.errors, found.verdict


def test_certain_and_wrong(rng):
    p, y = simulate(rng, 800, 4)
    p[:3] = [1 - 1e-9, 1e-9, 0, 0]
    y[:3] = [1, 2, 0]
    found = diagnose(p, y)
    assert found.errors == ("certainty",)
    assert found.findings[0].rows == (1, 0)  # the worst first
    words = "certain and wrong twice (fewer than 0.01 expected)"
    assert found.findings[0].words == words
    assert found.findings[0].p_value < 1e-12


def test_of_many_that_were_certain_and_wrong_the_worst_are_named(rng):
    p, y = simulate(rng, 800, 3)
    small = 10.0 ** -np.arange(9, 39)  # the later, the worse
    p[:30], y[:30] = np.stack([1 - small, small, 0 * small], axis=1), 1
    assert diagnose(p, y).findings[0].rows == tuple(range(29, 9, -1))


def test_zeros_of_other_classes_are_harmless(rng):
    p, y = simulate(rng, 1500, 5, confidence=-0.3)
    p[:, 4] = 0
    p /= p.sum(axis=1, keepdims=True)
    y[y == 4] = p[y == 4].argmax(axis=1)
    found = diagnose(p, y)
    assert "certainty" not in found.errors
    assert 0 < found.cost < 1


def test_a_surprising_row_carries_the_evidence(rng):
    p, y = simulate(rng, 500, 3)
    p[7], y[7] = [0.99997, 2.5e-5, 0.5e-5], 1
    found = diagnose(p, y)
    assert found.errors == ("rows",)
    assert found.findings[0].rows == (7,)
    assert found.verdict == (
        "1 surprising outcome carries all the evidence of miscalibration (assigned probability 2.5e-05)."
    )


def test_separated_outcomes_are_bounded(rng):
    p, _ = simulate(rng, 500, 4)
    found = diagnose(p, p.argmax(axis=1))
    assert found.errors[0] == "confidence"
    assert found.headline.startswith("Underconfident")
    assert np.isfinite(found.findings[0].parameter)


def test_only_certain_rows():
    p = np.tile([1.0, 0, 0], (50, 1))
    assert not diagnose(p, np.zeros(50, dtype=int)).miscalibrated
    assert diagnose(p, np.ones(50, dtype=int)).errors == ("certainty",)
    assert not diagnose(p[:0], np.zeros(0, dtype=int)).made


# ---- words


def bias_words(means, classes):
    return biased_classes(means, classes).words


def said(error, value, low=np.nan, high=np.nan, together=(), fitted="beside"):
    return KINDS[error].classes(OfClasses(value, (low, high), together, means=None, fitted=fitted))[0].words


def test_words_of_many_classes():
    means = ClassMeans(tuple("abcdef"), np.full(6, 0.114), np.full(6, 0.1))
    words = bias_words(means, range(6))
    each = "(mean prediction 11.4%, observed frequency 10.0%)"
    assert words == f"overpredicts 'a' {each} and 'b' {each} and 'c' {each}; 3 more classes are biased"
    means = ClassMeans((*"abc", None), np.array([0.2, 0.3, 0.5, 0.3]), np.array([0.1, 0.39, 0.5, 0.0012]))
    first = "'a' (mean prediction 20.0%, observed frequency 10.0%)"
    second = "'b' (mean prediction 30.0%, observed frequency 39.0%)"
    assert bias_words(means, [1, 0]) == f"overpredicts {first}, underpredicts {second}"
    last = "column 3 (mean prediction 30.0%, observed frequency 0.120%)"
    assert bias_words(means, [3]) == f"overpredicts {last}"
    predicted, observed = np.array([0.1, 0.2, 0.3, 0.15, 0.25]), np.array([0.11, 0.25, 0.34, 0.17, 0.13])
    words = bias_words(ClassMeans(tuple("abcde"), predicted, observed), range(5))
    assert [words.index(f"'{each}'") for each in "ebc"] == sorted(words.index(f"'{each}'") for each in "ebc")
    assert words.startswith("overpredicts 'e' (mean prediction 25.0%, observed frequency 13.0%), underpredicts 'b' (")
    assert words.endswith("; 2 more classes are biased")
    observed = np.array([0.15, 0.26, 0.37, 0.13, 0.09])  # the one of the other direction is the least biased
    words = bias_words(ClassMeans(tuple("abcde"), np.array([0.1, 0.2, 0.3, 0.15, 0.05]), observed), range(5))
    assert words.startswith("underpredicts 'c' (mean prediction 30.0%, observed frequency 37.0%) and 'b' (")
    assert "), overpredicts 'd' (mean prediction 15.0%, observed frequency 13.0%); 2 more" in words
    assert bias_words(means, []) == "biased between classes (no single class stands out)"


def test_words_of_biases_that_other_errors_offset():
    """A class is named only if its mean prediction differs from its frequency beyond chance, and as it is shown."""
    predicted = np.array([0.1, 0.2, 0.1, 0.1, 0.5])
    means = ClassMeans(tuple("abcde"), predicted, np.array([0.1, 0.3, 0.1, 0.1, 0.4]))
    for classes in ([2], [0, 3]):
        assert bias_words(means, classes) == "class biases that cancel"
    named = "underpredicts 'b' (mean prediction 20.0%, observed frequency 30.0%)"
    assert bias_words(means, [0, 1]) == named
    chance = replace(means, apart=np.array([False, True, False, False, False]))
    assert bias_words(chance, range(5)) == named
    assert bias_words(chance, [4]) == "class biases that cancel"


def test_words_of_alternatives(rng):
    p, y = simulate(rng, 1000, 4, confidence=-0.4)
    found = replace(diagnose(p, y), alternatives=(("tail",), ("confidence", "noise")))
    text = found.to_text(columns=1000)
    assert (
        "\nOther explanations fit these rows about as well: misstated extremes (only probabilities near 0 and 1 are"
        " over- or understated); or over- or underconfidence and random outcomes (some occur whatever was predicted).\n"
    ) in text
    assert "explanation" not in replace(found, alternatives=()).to_text()


def test_words_of_the_slope():
    assert said("confidence", -0.51, -0.53, -0.5) == "overconfident (temperature 2.04 alone, 95% CI 2.00 to 2.13)"
    words = said("confidence", -0.04, -0.1, 0.02, fitted="all rows")
    assert words == "perhaps overconfident (temperature 1.04 alone, 95% CI 0.98 to 1.11)"
    assert said("confidence", 0.04, fitted="opposed") == "underconfident (beside the other errors)"
    words = said("confidence", -0.98, -1.1, -0.9)
    assert words == "overconfident (slope of the log-probabilities 0.02, 95% CI −0.10 to 0.10)"
    words = said("confidence", -1.2, -1.3, -1.1)
    assert words == "pointing away from the outcomes (slope of the log-probabilities −0.20, 95% CI −0.30 to −0.10)"
    words = said("confidence", 10, 9, 11)
    assert words == "underconfident (temperature below 0.1: the most probable class nearly always occurs)"
    assert said("noise", 0.012) == (
        "extreme probabilities are overstated, as if 1.2% of the outcomes were drawn at random"
    )
    assert said("tail", 0.1) == "extreme probabilities are understated"
    words = said("tail", -0.1, together=("confidence", "tail"))
    assert words == "extreme probabilities are overstated after correcting the slope"


# ---- anything that can come in


def odd_forecasts(seed):
    rng = np.random.default_rng(seed)
    n, classes = int(rng.choice([1, 2, 5, 20, 100])), int(rng.choice([2, 3, 12]))
    p = np.exp(rng.choice([0.3, 2, 10, 60]) * rng.normal(size=(n, classes)))
    kind = rng.integers(0, 4)
    if kind == 0:
        p[rng.uniform(size=p.shape) < 0.4] = 0
        p[p.sum(axis=1) == 0, 0] = 1
    if kind == 1:
        p[:] = 1
    p /= p.sum(axis=1, keepdims=True)
    if kind == 2:
        p *= 1 + rng.uniform(-1e-3, 1e-3, size=(n, 1))
    y = [rng.integers(0, classes, n), p.argmax(axis=1), p.argmin(axis=1), np.zeros(n, dtype=int)][rng.integers(0, 4)]
    weights = rng.choice([0, 1, 3.0], size=n) + 1e-3 if rng.uniform() < 0.4 else None
    cluster = 999 * rng.integers(0, max(1, n // 4), n) if rng.uniform() < 0.4 else None
    return p.astype(rng.choice([np.float32, np.float64])), y, weights, cluster


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(40))
def test_odd_forecasts(seed):
    found = diagnose(*odd_forecasts(seed))
    assert np.isfinite(found.cost)
    assert found.cost >= 0
    assert np.isnan(found.p_value) or 0 <= found.p_value <= 1
    assert "nan" not in found.verdict


def test_rows_are_the_same_whether_kept_or_read_again(rng, monkeypatch):
    p, y = simulate(rng, 120, 3)
    kept = [*prepared(p, y)]
    monkeypatch.setattr(class_rows, "KEPT_VALUES", 0)
    for one, other in zip(kept, prepared(p, y), strict=True):
        np.testing.assert_array_equal(one.p, other.p)
        np.testing.assert_array_equal(one.truth, other.truth)


def test_no_rows_of_clusters_have_no_sums(rng):
    """Of chunks that hold some of the surprising rows, others may hold none of the first of them."""
    p, y = simulate(rng, 30, 3)
    (chunk,) = prepared(p, y, cluster=np.arange(30) // 3)
    nothing = ClassStatistics.of(chunk.only(np.arange(0)))
    assert all(np.all(value == 0) for value in each_field(nothing).values())


def test_more_classes_than_it_takes_are_said(rng, monkeypatch):
    monkeypatch.setattr(multiclass, "MOST_CLASSES", 2)
    found = diagnose(*simulate(rng, 30, 3))
    assert not found.made
    assert "it takes at most 2 classes" in found.verdict


def of_sums(p, y, **settings):
    return assess(Tally.of(y, p, labels=[*range(p.shape[1])], **settings), resamples=0).diagnosis


@pytest.fixture(scope="module")
def calibrated():
    rng = np.random.default_rng(0)
    p = rng.dirichlet(np.full(3, 3.0), 3000)
    return p, (p.cumsum(1) < rng.random((3000, 1))).sum(1).clip(max=2)


@pytest.mark.parametrize("few", [2, 3])
def test_sums_tell_surprising_outcomes_with_the_probability_of_each(calibrated, few):
    """Outcomes of one probability are one entry of a tally, and rows of their own."""
    p, y = (each.copy() for each in calibrated)
    p[:few], y[:few] = [3e-6, 0.5, 0.5 - 3e-6], 0
    found = of_sums(p, y)
    assert found.errors == ("rows",)
    given = ", ".join(["3e-06"] * few)
    assert found.verdict.startswith(f"{few} surprising outcomes carry all the evidence of miscalibration")
    assert found.verdict.endswith(f" (assigned probability {given}).")


def test_errors_too_large_for_sums_have_no_price(calibrated):
    """A temperature of 8, and outcomes that come in runs: the sums of scores say little of where errors end."""
    p, y = calibrated
    sharp = p[:800] ** 8 / (p[:800] ** 8).sum(axis=1, keepdims=True)
    found = of_sums(sharp, y[:800])
    assert "the errors are too large to be told apart or priced from counts" in found.verdict
    assert found.findings[-1].remedy == "Diagnose the rows, or the files that hold them."
    assert found.cost == 0
    few = np.tile([[0.5, 0.3, 0.2], [0.2, 0.3, 0.5]], (150, 1))
    assert of_sums(few, np.arange(300) // 7 % 3).errors == ("shape",)


@pytest.mark.slow
def test_errors_of_many_rows_are_named_and_priced_by_some_of_them_and_tested_by_all(rng, monkeypatch):
    p, y = simulate(rng, 24_000, 4)
    bold = softmax(1.6 * np.log(p), axis=1)
    whole = diagnose(bold, y)
    monkeypatch.setattr(multiclass, "_MOST_VALUES", 24_000)
    some = diagnose(bold, y)
    assert some.errors == whole.errors == ("confidence",)
    assert (whole.n_named_by, some.n_rows) == (0, 24_000)
    assert some.n_named_by == pytest.approx(6_000, abs=300)
    assert (some.p_value, some.detectable) == (whole.p_value, whole.detectable)
    slope, of_all = some.findings[0], whole.findings[0]
    low, high = slope.interval
    assert low < of_all.parameter < high
    assert high - low == pytest.approx(2 * (of_all.interval[1] - of_all.interval[0]), rel=0.15)
    assert slope.cost == pytest.approx(of_all.cost, rel=0.2)
    said = " ".join(str(assess(y, bold, resamples=0)).split())
    assert f"errors named and priced by {some.n_named_by:,} rows chosen at random" in said


@pytest.mark.slow
def test_rows_are_counted_and_then_read_once(rng, monkeypatch):
    """Also where some of them name the errors, and only once where they were counted before."""
    p, y = simulate(rng, 6000, 4, confidence=0.6)
    monkeypatch.setattr(class_rows, "KEPT_VALUES", 0)
    monkeypatch.setattr(multiclass, "_MOST_VALUES", 12_000)
    passes = 0

    def rows():
        nonlocal passes
        passes += 1
        return blocks(p, y)()

    assert multiclass.diagnose_classes(rows, (0, 1, 2, 3)).errors == ("confidence",)
    assert passes == 2
    multiclass.diagnose_classes(rows, (0, 1, 2, 3), counts=count(blocks(p, y)))
    assert passes == 3


def test_logits_in_single_precision_are_known_no_better(rng):
    p, y = simulate(rng, 3000, 5, confidence=0.5)
    logits = (np.log(p) + rng.normal(size=(3000, 1))).astype(np.float32)
    single, double = (assess(y, x, scale="logits", resamples=0).diagnosis for x in (logits, logits.astype(float)))
    same(single, double, rel=1e-4)
