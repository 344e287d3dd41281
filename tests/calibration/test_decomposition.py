import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.isotonic import IsotonicRegression

from helpers import pairs_by_rows, sixteenths, softmax_forecasts
from unperplexed import InputError, Tally, assess, decompose
from unperplexed.calibration.errors import _DIVERGENCES, _parts
from unperplexed.results import Decomposition
from unperplexed.scores import brier_score, log_loss
from unperplexed.tally.tables import PairTable, pooled
from unperplexed.tally.tally import PAIR_VIEWS

SCORES = ["brier_score", "log_loss"]
PARTS = ["score", "miscalibration", "discrimination", "uncertainty"]


def parts(*arguments, **keywords):
    found = decompose(*arguments, **keywords)
    return np.array([getattr(found, name) for name in PARTS])


def test_figures_printed_by_reliabilitydiag():
    """Six forecasts whose decomposition by the R package is printed in the tests of model-diagnostics."""
    found = parts([0, 0, 0, 1, 1, 1], [0.4, 0.3, 0.2, 0.1, 0.5, 0.9]) / 2  # CORP's scale is half of ours
    assert found.round(3).tolist() == [0.227, 0.102, 0.125, 0.25]


def uniforms_of_r(seed, n):
    """What runif(n) gives in R after set.seed(seed)."""
    words = []
    for _ in range(50 + 625):
        seed = (69069 * seed + 1) % 2**32
        words.append(seed)
    generator = np.random.MT19937()
    state = generator.state
    state["state"] = {"key": np.array(words[51:], dtype=np.uint32), "pos": 624}
    generator.state = state
    return generator.random_raw(n) * 2.3283064365386963e-10


def test_figures_printed_in_the_readme_of_reliabilitydiag():
    """set.seed(42); X <- runif(100); Y <- rbinom(100, 1, X): score .153, MCB .0242, DSC .120, UNC .249."""
    p, draw = np.split(uniforms_of_r(42, 200), 2)
    assert p[0] == pytest.approx(0.914806, abs=5e-7)  # as R prints it
    rare = draw >= 1 - np.minimum(p, 1 - p)  # rbinom draws the rarer of the two
    y = np.where(p > 0.5, ~rare, rare)
    order = np.argsort(p)
    happened = y[order].astype(float)
    table = PairTable(p[order], np.ones(100), happened, happened)
    found = np.array(_parts(_DIVERGENCES["brier_score"], pooled(table, np.arange(100)))) / 100
    assert [f"{x:.3g}" for x in found] == ["0.153", "0.0242", "0.12", "0.249"]


def rule(name, q, o):
    """Score of pairs that happened in a share o of their weight, written out."""
    if name == "brier_score":
        return o * (1 - q) ** 2 + (1 - o) * q**2
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(o > 0, -o * np.log(q), 0) + q - o


def decomposed_by_rows(name, groups, n):
    score = recalibrated = reference = 0.0
    for p, o, w in groups:
        f = IsotonicRegression(y_min=0, y_max=1).fit_transform(p, o, sample_weight=w)
        score += w @ rule(name, p, o)
        recalibrated += w @ rule(name, np.where(f < 1e-12, 0, f), o)
        reference += w @ rule(name, np.full_like(p, np.average(o, weights=w)), o)
    return np.array([score, score - recalibrated, reference - recalibrated, reference]) / n


@pytest.mark.parametrize("view", PAIR_VIEWS)
@pytest.mark.parametrize("name", SCORES)
@pytest.mark.parametrize("classes", [2, 3, 6])
def test_parts_are_those_of_the_definition_by_rows(rng, view, name, classes):
    y, p = sixteenths(rng, 400, classes)
    p = 0.75 * p + 0.25 / 2 ** np.ceil(np.log2(classes))  # no zeros, and still exact in cells
    p[:, 0] += 1 - p.sum(axis=1)
    groups = pairs_by_rows(y, p, view)
    if view != "all-classes" and len(groups) == 1:  # what happens and what does not are two classes
        groups = [*groups, *[(1 - q, 1 - o, w) for q, o, w in groups]]
    expected = decomposed_by_rows(name, groups, 400)
    tally = Tally.of(y, p, parts=["classes"])
    assert parts(tally, score=name, view=view) == pytest.approx(expected, rel=1e-9, abs=1e-12)


def test_default_views(rng):
    for classes, view in ((2, "each-class"), (3, "all-classes")):
        y, p = sixteenths(rng, 100, classes)
        assert decompose(y, p).view == view
        assert decompose(y, p) == decompose(y, p, view=view, score="brier_score")


@st.composite
def forecasts(draw):
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    return (*sixteenths(rng, draw(st.integers(1, 60)), draw(st.integers(2, 5))), rng)


@pytest.mark.slow
@given(forecasts(), st.sampled_from(SCORES), st.sampled_from(PAIR_VIEWS))
def test_laws_of_every_decomposition(case, score, view):
    y, p, rng = case
    n, classes = p.shape
    settings = {"score": score, "view": view, "labels": range(classes)}
    expected = parts(y, p, **settings)
    total, miscalibration, discrimination, uncertainty = expected
    assert miscalibration >= 0
    assert discrimination >= 0
    assert uncertainty >= 0
    assert math.isfinite(discrimination)
    assert miscalibration - discrimination + uncertainty == pytest.approx(total, rel=1e-12, abs=1e-14)
    order = rng.permutation(n)
    assert parts(y[order], p[order], **settings) == pytest.approx(expected, rel=1e-12, abs=1e-14)
    weights = np.ones(n)
    weights[0] = 2
    twice = np.append(np.arange(n), 0)
    for scale in (1, 0.1):
        assert parts(y, p, sample_weight=weights * scale, **settings) == pytest.approx(
            parts(y[twice], p[twice], **settings), rel=1e-9, abs=1e-10
        )
    columns = rng.permutation(classes)
    assert parts(np.argsort(columns)[y], p[:, columns], **settings) == pytest.approx(expected, rel=1e-9, abs=1e-12)
    cut = rng.integers(0, n + 1)
    whole = sum((Tally.of(y[part], p[part], parts=["classes"]) for part in (slice(cut), slice(cut, n))), Tally())
    assert parts(whole, score=score, view=view) == pytest.approx(expected, rel=1e-12, abs=1e-14)


@pytest.mark.slow
@given(forecasts())
def test_the_score_is_the_score(case):
    y, p, _ = case
    labels = range(p.shape[1])
    for view in PAIR_VIEWS[1:] if p.shape[1] > 2 else PAIR_VIEWS:
        assert decompose(y, p, view=view, labels=labels).score == pytest.approx(brier_score(y, p, labels=labels))
        assert decompose(y, p, score="log_loss", view=view, labels=labels).score == pytest.approx(
            log_loss(y, p, labels=labels)
        )


@pytest.mark.slow
@given(forecasts())
def test_uncertainty_is_that_of_the_reference(case):
    y, p, _ = case
    classes = p.shape[1]
    base = np.bincount(y, minlength=classes) / len(y)
    entropy = -sum(b * math.log(b) for b in base if b > 0)
    for score, of_base, of_uniform in (
        ("brier_score", 1 - base @ base, 1 - 1 / classes),
        ("log_loss", entropy, math.log(classes)),
    ):
        for view, expected in (("each-class", of_base), ("all-classes", of_uniform)):
            found = decompose(y, p, score=score, view=view, labels=range(classes))
            assert found.uncertainty == pytest.approx(expected, rel=1e-12, abs=1e-14)


@pytest.mark.parametrize("off", [0.0, 8e-4])
@pytest.mark.parametrize("exact_limit", [1 << 16, 0])
def test_miscalibration_is_the_divergence_probability(rng, off, exact_limit):
    """SPEC section 6: of the log loss, all-classes, it is -ln(divergence probability) + mean(row sum) - 1."""
    y, p = softmax_forecasts(rng, 3000, 4, 2.0, 1.5)
    p *= 1 - off * rng.uniform(0.5, 1, (3000, 1))
    tally = Tally.of(y, p, exact_limit=exact_limit)
    found = decompose(tally, score="log_loss", view="all-classes")
    excess = p.sum(axis=1).mean() - 1
    expected = -math.log(assess(tally, measured="isotonic", floor=0).divergence_probability) + excess
    assert found.miscalibration == pytest.approx(expected, abs=1e-12 if exact_limit else 1e-5)
    assert found.score == pytest.approx(tally.score("log_loss") + excess, abs=1e-12 if exact_limit else 1e-5)


def test_factors_of_the_log_loss(rng):
    y, p = sixteenths(rng, 500, 3)
    p = 0.75 * p + 0.25 / 3
    found = decompose(y, p, score="log_loss")
    factors = found.factors
    result = assess(y, p, measured="isotonic", floor=0)
    assert factors["geometric_accuracy"] == pytest.approx(result.reported.geometric_accuracy)
    assert factors["divergence_probability"] == pytest.approx(result.divergence_probability)
    assert factors["reference"] == pytest.approx(1 / 3)
    assert factors["reference"] * factors["gain"] * factors["divergence_probability"] == pytest.approx(
        factors["geometric_accuracy"]
    )
    with pytest.raises(InputError, match="factors: only a log loss has them, not a brier score"):
        _ = decompose(y, p).factors


@pytest.mark.parametrize("view", PAIR_VIEWS)
@pytest.mark.parametrize("score", SCORES)
def test_forecasts_whose_frequencies_are_their_probabilities(score, view):
    p = np.repeat(np.arange(17) / 16, 16)
    y = np.concatenate([np.arange(16) < k for k in range(17)]).astype(int)
    found = decompose(y, p, score=score, view=view)
    assert found.miscalibration == pytest.approx(0, abs=1e-15)
    assert found.discrimination > 0.04


def test_constant_forecasts_do_not_discriminate():
    for score in SCORES:
        found = decompose([1, 0, 0, 0], [0.625] * 4, score=score)
        assert found.discrimination == 0
        assert found.miscalibration > 0


# Rows, and (score, MCB, DSC, UNC) of the Brier score and of the log loss, by hand.
CORNERS = {
    "one row": ([1], [0.5], (0.5, 0.5, 0, 0), (math.log(2), math.log(2), 0, 0)),
    "two rows": (
        [1, 0],
        [0.75, 0.5],
        (0.3125, 0.3125, 0.5, 0.5),
        (np.log(8 / 3) / 2, np.log(8 / 3) / 2, *[np.log(2)] * 2),
    ),
    "all right": ([1, 0], [1.0, 0.0], (0, 0, 0.5, 0.5), (0, 0, math.log(2), math.log(2))),
    "all wrong": ([1, 0], [0.0, 1.0], (2, 1.5, 0, 0.5), (math.inf, math.inf, 0, math.log(2))),
    "atoms": ([1, 0, 1, 0], [0.0, 0.0, 1.0, 1.0], (1, 0.5, 0, 0.5), (math.inf, math.inf, 0, math.log(2))),
    "tie": ([1, 0], [0.5, 0.5], (0.5, 0, 0, 0.5), (math.log(2), 0, 0, math.log(2))),
}


@pytest.mark.parametrize("corner", CORNERS)
@pytest.mark.parametrize("exact_limit", [0, 1 << 16])
def test_corners(corner, exact_limit):
    y, p, *expected = CORNERS[corner]
    tally = Tally.of(y, p, parts=["classes"], exact_limit=exact_limit)
    for score, figures in zip(SCORES, expected, strict=True):
        assert parts(tally, score=score) == pytest.approx(figures, abs=1e-12)
        for view in PAIR_VIEWS:
            found = decompose(tally, score=score, view=view)
            assert found.score == pytest.approx(figures[0], abs=1e-3)
            assert found.miscalibration >= 0
            assert math.isfinite(found.discrimination)


@pytest.mark.parametrize("score", SCORES)
@pytest.mark.parametrize("view", ["all-classes", "top-label"])
def test_cells_are_close(score, view):
    y, p = softmax_forecasts(np.random.default_rng(11), 20_000, 5, 2.0, 1.4)
    exact, cells = (decompose(Tally.of(y, p, exact_limit=limit), score=score, view=view) for limit in (1 << 20, 0))
    assert cells.score == pytest.approx(exact.score, abs=2e-6)
    assert cells.uncertainty == pytest.approx(exact.uncertainty, abs=1e-12)
    assert cells.miscalibration == pytest.approx(exact.miscalibration, abs=2e-4)
    assert cells.discrimination == pytest.approx(exact.discrimination, abs=2e-4)
    assert cells.miscalibration - cells.discrimination + cells.uncertainty == pytest.approx(cells.score, rel=1e-12)


@pytest.mark.parametrize("score", SCORES)
def test_miscalibration_of_calibrated_forecasts_vanishes(score):
    found = []
    for n in (500, 50_000):
        y, p = softmax_forecasts(np.random.default_rng(12), n, 3, 1.5)
        found.append(decompose(y, p, score=score).miscalibration)
    assert found[1] < 0.1 * found[0]
    assert found[1] < 2e-3


def test_bad_arguments():
    with pytest.raises(InputError, match="score: expected one of 'brier_score', 'log_loss', got 'brier'"):
        decompose([1, 0], [0.5, 0.4], score="brier")
    with pytest.raises(InputError, match="view: expected one of"):
        decompose([1, 0], [0.5, 0.4], view="classes")
    two = Tally.of([1, 0], [0.5, 0.4])  # whose rows are counted by outcome
    assert decompose(two) == decompose([1, 0], [0.5, 0.4])
    tally = Tally.of([1, 0, 2], np.full((3, 3), 1 / 3))
    with pytest.raises(InputError, match="--parts classes"):
        decompose(tally, view="each-class")
    with pytest.raises(InputError, match="labels: a tally's rows are already counted"):
        decompose(tally, labels=[0, 1])
    assert isinstance(decompose(tally, view="all-classes"), Decomposition)


def test_subnormal_probabilities_have_finite_parts():
    parts = decompose([1, 0, 1, 0], [1e-310, 0.5, 0.4, 0.3], score="log_loss")
    assert parts.score == pytest.approx(parts.miscalibration - parts.discrimination + parts.uncertainty)
    assert math.isfinite(parts.miscalibration)


@pytest.mark.slow
def test_parts_are_never_below_0(rng):
    for n in (1, 2, 20):
        for _ in range(50):
            parts = decompose(np.ones(n, dtype=int), rng.uniform(size=n), labels=[0, 1], score="log_loss")
            assert min(parts.miscalibration, parts.discrimination, parts.uncertainty) >= 0


def test_an_infinite_score_has_no_share():
    assert str(decompose([0, 1, 1], [0.0, 0.0, 0.5], score="log_loss")).startswith(
        "Miscalibration is ∞ of ∞ in log loss."
    )
    assert str(decompose([0, 1, 1], [0.0, 0.0, 0.5])).startswith("Miscalibration is 60.0% of the Brier score")
