"""Scores by hand and by brute force, at the places where formulas turn, and their gradients' twins."""

import math
from functools import partial

import numpy as np
import pytest
from scipy import stats
from scipy.integrate import quad
from scipy.special import digamma

from unperplexed import PIT, Distribution, InputError, Ordered, Quantiles, Samples, scores
from unperplexed.forecasts.forecasts import Forecasts
from unperplexed.scores import differentiable as of_gradients
from unperplexed.scores.distributions import climatology as clim
from unperplexed.scores.distributions import closed_forms
from unperplexed.scores.distributions import rules as of_numbers
from unperplexed.scores.functions import mean_score
from unperplexed.scores.rules import (
    SCORES,
    checked_order,
    is_printed,
    rule_at_floor,
    score_named,
    score_reach,
    scores_at_floor,
    scores_by_outcome,
    scores_kept,
)

P = np.array([[0.2, 0.5, 0.3], [0.4, 0.4, 0.2], [0.7, 0.1, 0.2], [0.0, 1.0, 0.0]])
Y = np.array([1, 0, 2, 0])
C = P[np.arange(4), Y]
S = (P**2).sum(axis=1)
HIT = np.array([1.0, 0.5, 0.0, 0.0])


def block(p=P, y=Y, classes=3):
    [found] = Forecasts(y, p, known_labels=tuple(range(classes))).blocks()
    return found


def _power(r):
    with np.errstate(divide="ignore"):
        local = -(1 + r) / r * (C**r - 1)
    return local + (P ** (1 + r)).sum(axis=1) - 1


with np.errstate(divide="ignore"):
    BY_HAND = {
        "log_loss": -np.log(C),
        "brier_score": ((P - np.eye(3)[Y]) ** 2).sum(axis=1),
        "spherical_score": C / np.sqrt(S),
        "penalized_brier_score": ((P - np.eye(3)[Y]) ** 2).sum(axis=1) + 2 / 3 * (1 - HIT),
        "penalized_log_loss": -np.log(C) + math.log(3) * (1 - HIT),
        "ranked_probability_score": ((P.cumsum(axis=1) - np.eye(3)[Y].cumsum(axis=1))[:, :-1] ** 2).sum(axis=1),
        "generalized_surprisal(1)": -2 * (C - 1),
        "generalized_surprisal(-0.5)": 1 * (C**-0.5 - 1),
        "power_score(1)": ((P - np.eye(3)[Y]) ** 2).sum(axis=1),
        "power_score(2.5)": _power(2.5),
        "power_score(-0.5)": _power(-0.5),
    }


@pytest.mark.parametrize("name", BY_HAND)
def test_scores_are_their_formulas(name):
    np.testing.assert_allclose(score_named(name).rows(block()), BY_HAND[name], rtol=1e-13, atol=1e-15)
    by_outcome = scores_by_outcome(score_named(name), block(), 0.0)
    assert by_outcome.shape == (4, 3)
    np.testing.assert_allclose(by_outcome[np.arange(4), Y], BY_HAND[name], rtol=1e-13, atol=1e-15)


def test_floors_are_for_surprisals_alone():
    floored = scores_at_floor(SCORES["log_loss"], block(), 0.3)
    assert floored == pytest.approx(-np.log(np.maximum(C, 0.3)))
    assert scores_at_floor(SCORES["brier_score"], block(), 0.3) == pytest.approx(BY_HAND["brier_score"])
    assert rule_at_floor("log_loss", 0.005) == "log loss at the floor 0.005"
    assert rule_at_floor("log_loss", 0.0) == "log loss"
    assert rule_at_floor("brier_score", 0.005) == "Brier score"
    assert scores.log_loss(Y, P, floor=0.3) == pytest.approx(-np.log(np.maximum(C, 0.3)).mean())


@pytest.mark.parametrize(
    ("name", "classes", "floor", "reach"),
    [
        ("log_loss", 2, 0.01, (0, -math.log(0.01))),
        ("log_loss", 3, 0.0, (0, math.inf)),
        ("brier_score", 5, 0.0, (0, 2)),
        ("spherical_score", 3, 0.0, (0, 1)),
        ("penalized_brier_score", 4, 0.0, (0, 2.75)),
        ("ranked_probability_score", 4, 0.0, (0, 3)),
        ("power_score(2)", 3, 0.0, (0, 1.5)),
        ("generalized_surprisal(1)", 3, 0.0, (0, 2)),
    ],
)
def test_scores_reach_from_right_to_wrong(name, classes, floor, reach):
    assert score_reach(score_named(name), classes, floor) == pytest.approx(reach)


def test_published_scores_are_those_of_their_code():
    """A mean over classes, Keras' clipping, and no penalty where classes tie."""
    beaten = np.array([0.0, 0.0, 1.0, 1.0])
    brier = ((P - np.eye(3)[Y]) ** 2).mean(axis=1) + 2 / 3 * beaten
    loss = -np.log(np.clip(C, 1e-7, 1 - 1e-7)) + math.log(3) * beaten
    assert scores.penalized_brier_score(Y, P, variant="published-code") == pytest.approx(brier.mean())
    assert scores.penalized_log_loss(Y, P, variant="published-code") == pytest.approx(loss.mean())
    np.testing.assert_allclose(of_gradients.published_brier_score(P, np)[np.arange(4), Y], brier)
    np.testing.assert_allclose(of_gradients.published_log_loss(P, np)[np.arange(4), Y], loss)
    twice = np.array([[0.5, 1.5, 0.0]])
    assert of_gradients.published_log_loss(twice, np)[0, 1] == pytest.approx(-math.log(0.75))
    for name in ("penalized_brier_score", "penalized_log_loss"):
        with pytest.raises(InputError, match="variant: expected one of 'proper', 'published-code'"):
            getattr(scores, name)(Y, P, variant="x")


def test_normalized_scores():
    brier, ranked = BY_HAND["brier_score"].mean(), BY_HAND["ranked_probability_score"].mean()
    for how, part in (("sum", 1), ("half", 2), ("mean", 3)):
        assert scores.brier_score(Y, P, normalize=how) == pytest.approx(brier / part)
    for how, part in (("sum", 1), ("mean", 2)):
        assert scores.ranked_probability_score(Y, P, normalize=how) == pytest.approx(ranked / part)
    assert mean_score("half_brier_score", [1, 0], [0.8, 0.3]) == pytest.approx((0.04 + 0.09) / 2)
    assert scores.generalized_surprisal(Y[:3], P[:3], 2.0) == pytest.approx((-1.5 * (C[:3] ** 2 - 1)).mean())
    assert scores.generalized_surprisal(Y, P, -0.5, floor=0.1) == pytest.approx((np.maximum(C, 0.1) ** -0.5 - 1).mean())
    assert scores.power_score(Y, P, 2.5) == pytest.approx(BY_HAND["power_score(2.5)"].mean())
    assert scores.spherical_score(Y, P, sample_weight=[1, 2, 0, 1]) == pytest.approx(
        (BY_HAND["spherical_score"] @ [1, 2, 0, 1]) / 4
    )
    for call in (
        partial(scores.brier_score, normalize="x"),
        partial(scores.ranked_probability_score, normalize="half"),
    ):
        with pytest.raises(InputError, match="normalize: expected one of"):
            call(Y, P)
    with pytest.raises(InputError, match="is of two classes; take brier_score"):
        mean_score("half_brier_score", Y, P)
    with pytest.raises(InputError, match="labels, pos_label: they belong to class probabilities"):
        scores.row_scores([0.0], Samples([[0.0, 1.0]]), "crps", labels=[0, 1])


def test_rules_are_found_by_their_names():
    assert score_named("power_score(.50)").name == "power_score(0.5)"
    assert score_named("generalized_surprisal(0)").proper
    assert not score_named("generalized_surprisal(1)").proper
    assert score_named("power_score(1.0)").name == "power_score(1)"
    assert [each.name for each in scores_kept(["power_score(3)", "brier_score", "power_score(2)"])][5:] == [
        "power_score(2)", "power_score(3)"
    ]  # fmt: skip
    assert [
        is_printed(*each)
        for each in (("brier_score", []), ("spherical_score", []), ("spherical_score", ["spherical_score"]), ("x", []))
    ] == [True, False, True, True]
    assert checked_order(-0.999) == -0.999
    assert math.copysign(1, checked_order(-0.0)) == 1
    for order in (-1, math.inf, "x", math.nan):
        with pytest.raises(InputError, match="r: the order must be a finite number above -1"):
            checked_order(order)
    for name, says in (
        ("brier", "did you mean 'brier_score'"),
        ("zzz", r"no scoring rule 'zzz'\. Known: log_loss"),
        ("accuracy", "is no scoring rule: assessments print it"),
        ("power_score(-1)", "above -1"),
        (3, "no scoring rule 3"),
    ):
        with pytest.raises(InputError, match=says):
            score_named(name)
    with pytest.raises(InputError, match=r"expected a list of names, got 'auc'; one is \['auc'\]"):
        scores_kept("auc")


BEND = of_gradients.linearize_below(np.finfo(np.float64).max)


def test_gradients_begin_to_be_straight_where_their_squares_would_overflow():
    assert pytest.approx(math.log(np.finfo(np.float64).max) / 3) == BEND
    assert of_gradients.linearize_below(65504.0) == pytest.approx(10.0)
    assert of_gradients.linearize_below(math.exp(9)) == pytest.approx(8.0)
    assert of_gradients.linearize_below(math.exp(33)) == pytest.approx(11.0)


RULES = {
    "log_loss": of_gradients.LOG,
    "brier_score": of_gradients.BRIER,
    "power_score(1)": of_gradients.power_rule(1),
    "power_score(2.5)": of_gradients.power_rule(2.5),
    "power_score(-0.5)": of_gradients.power_rule(-0.5),
    "generalized_surprisal(1)": of_gradients.surprisal_rule(1),
    "generalized_surprisal(-0.5)": of_gradients.surprisal_rule(-0.5),
    "log_loss ": of_gradients.power_rule(1e-30),
    "log_loss  ": of_gradients.surprisal_rule(0),
}


@pytest.mark.parametrize("name", RULES)
def test_rules_of_log_probabilities_are_the_scores(name):
    log_p = np.log(P[:3])
    found = RULES[name].score(np.log(C[:3, None]), log_p, np, BEND)[:, 0]
    np.testing.assert_allclose(found, BY_HAND[name.strip()][:3], rtol=1e-12)


@pytest.mark.parametrize("r", [-0.5, -0.9])
def test_beyond_the_bend_scores_go_on_straight(r):
    """Value and slope in ln p are those at the bend; the proper part is straight in p."""
    bend = 5.0
    at = bend / r
    local = partial(of_gradients.surprisal_rule(r).score, log_p=None, xp=np, bend=bend)
    there, slope = -(1 + r) / r * math.expm1(bend), -(1 + r) * math.exp(bend)
    for log_c in (at, at - 1, at - 30):
        assert local(np.array([log_c]))[0] == pytest.approx(there + slope * (log_c - at))
    inside = at + 0.5
    assert local(np.array([inside]))[0] == pytest.approx(-(1 + r) / r * math.expm1(r * inside))
    rest = math.log1p(-math.exp(at - 2))
    log_p = np.array([[at - 2, rest]])
    straight = (1 + r) * math.exp(bend) * math.exp(at - 2) - r * math.exp(bend + bend / r)
    power = of_gradients.power_rule(r).score(log_p[:, :1], log_p, np, bend)[0, 0]
    assert power == pytest.approx(there + slope * -2 + straight + math.exp((1 + r) * rest) - 1)


def test_risk_rules_are_weighted_means():
    log_c, log_p = np.log(C[:3, None]), np.log(P[:3])
    for proper, of in ((True, of_gradients.power_rule), (False, of_gradients.surprisal_rule)):
        mixed = of_gradients.risk_rule(1.0, 2.0, 5.0, proper).score(log_c, log_p, np, BEND)
        parts = [of(r).score(log_c, log_p, np, BEND) for r in (1.0, 0.0, -2 / 3)]
        np.testing.assert_allclose(mixed, (parts[0] + 2 * parts[1] + 5 * parts[2]) / 8)
    alone = of_gradients.risk_rule(0.0, 3.0, 0.0, True).score(log_c, log_p, np, BEND)
    np.testing.assert_allclose(alone, -log_c)
    for weights, says in (
        ((-1, 1, 1), "decisiveness: expected a weight"),
        ((1, math.inf, 1), "accuracy: expected"),
        ((0, 0, 0), "one of the weights"),
    ):
        with pytest.raises(InputError, match=says):
            of_gradients.risk_rule(*weights, True)
    for order in (-1, math.inf, True, "1", math.nan):
        with pytest.raises(InputError, match="r: the order must be a finite number above -1"):
            of_gradients.power_rule(order)
    assert of_gradients.power_rule(-1e-30).score.keywords == {"r": 0.0}
    assert of_gradients.power_rule(2e-30).score.keywords == {"r": 2e-30}


def test_wrong_top_classes_share_the_penalty_of_ties():
    found = of_gradients.wrong(C[:, None], P, np)[:, 0]
    np.testing.assert_allclose(found, 1 - HIT)
    assert of_gradients.PENALIZED_LOG.penalty(3) == pytest.approx(math.log(3))
    assert of_gradients.PENALIZED_BRIER.penalty(4) == 0.75
    assert of_gradients.LOG.penalty is of_gradients.BRIER.penalty is None


def _crps_by_integral(cdf, y, low=-np.inf, high=np.inf, ends=60.0):
    """Integrate the squared error of a distribution function."""
    low, high = max(low, -ends), min(high, ends)
    y = min(max(y, low), high)
    parts = [
        quad(lambda x: cdf(x) ** 2, low, y, limit=400)[0],
        quad(lambda x: (1 - cdf(x)) ** 2, y, high, limit=400)[0],
    ]
    return sum(parts)


LAWS = {
    "normal": (("normal", {"mean": 0.3, "sd": 1.4}), stats.norm(0.3, 1.4)),
    "t": (("t", {"df": 3.0, "location": 0.3, "scale": 1.2}), stats.t(3, 0.3, 1.2)),
    "lognormal": (("lognormal", {"log_mean": 0.2, "log_sd": 0.5}), stats.lognorm(0.5, scale=math.exp(0.2))),
    "gamma": (("gamma", {"shape": 2.2, "scale": 0.7}), stats.gamma(2.2, scale=0.7)),
}


@pytest.mark.parametrize("y", [-1.0, 0.0, 0.4, 2.5])
@pytest.mark.parametrize("name", ["normal", "lognormal", "gamma"])
def test_closed_forms_are_integrals(name, y):
    (family, parameters), law = LAWS[name]
    given = _distribution(family, parameters)
    assert of_numbers.crps_rows(np.array([y]), given)[0] == pytest.approx(_crps_by_integral(law.cdf, y), abs=1e-6)


def _distribution(family, parameters):
    return Distribution(family, **{key: np.array([value]) for key, value in parameters.items()})


@pytest.mark.parametrize("y", [-1.0, 0.0, 0.5, 2.0, 7.0])
def test_counts_are_sums(y):
    for given, law in (
        (Distribution("poisson", mean=np.array([2.3])), stats.poisson(2.3)),
        (Distribution("negative-binomial", size=np.array([1.7]), probability=np.array([0.4])), stats.nbinom(1.7, 0.4)),
    ):
        x = np.arange(400)
        p = law.pmf(x)
        expected = p @ np.abs(x - y) - p @ np.abs(x[:, None] - x) @ p / 2
        assert of_numbers.crps_rows(np.array([y]), given)[0] == pytest.approx(expected, abs=1e-8)
        above, below = 1.5, 4.0
        grid = np.arange(1.5, 4.0, 1e-4) + 5e-5
        seen = ((law.cdf(grid) - (grid >= y)) ** 2).sum() * 1e-4
        found = of_numbers.threshold_weighted_crps_rows(np.array([y]), given, above=above, below=below)[0]
        assert found == pytest.approx(seen, abs=2e-4)


@pytest.mark.parametrize(("above", "below"), [(-np.inf, 0.5), (-0.4, np.inf), (-1.0, 1.0), (0.9, 1.1)])
def test_thresholds_bound_the_integral(above, below):
    given, law = Distribution("normal", mean=np.array([0.3]), sd=np.array([1.4])), stats.norm(0.3, 1.4)
    for y in (-2.0, 0.3, 0.95, 3.0):
        found = of_numbers.threshold_weighted_crps_rows(np.array([y]), given, above=above, below=below)[0]
        assert found == pytest.approx(_crps_by_integral(law.cdf, y, above, below), abs=1e-6)


def test_students_t_turns_at_a_half_and_at_1():
    for df, z in ((0.5, 1.0), (0.4, 1.0)):
        assert closed_forms._t(np.array([z]), np.array([df]))[0] == math.inf
    assert np.isnan(closed_forms._t(np.array([1.0]), np.array([1.0005]))[0])
    assert np.isnan(closed_forms._t(np.array([1.0]), np.array([0.999]))[0]) == (abs(0.999 - 1) <= 1e-3)
    law = stats.t(3)
    x = np.linspace(-400, 400, 40_001)
    distance = np.trapezoid(np.abs(x - 0.7) * law.pdf(x), x)
    assert closed_forms._t(np.array([0.7]), np.array([3.0]))[0] == pytest.approx(distance, rel=1e-3)
    assert closed_forms._t_draws(np.array([3.0]))[0] == pytest.approx(np.trapezoid(law.cdf(x) * law.sf(x), x), rel=1e-4)


MEMBERS = np.array([[1.0, 4.0, 2.0, 2.0], [0.0, 0.0, 0.0, 5.0]])
OUT = np.array([2.5, -1.0])


@pytest.mark.parametrize(("fair", "pairs"), [(True, 12), (False, 16)])
def test_ensembles_are_mean_distances(fair, pairs):
    apart = np.abs(MEMBERS[:, :, None] - MEMBERS[:, None]).sum(axis=(1, 2))
    expected = np.abs(MEMBERS - OUT[:, None]).mean(axis=1) - apart / (2 * pairs)
    np.testing.assert_allclose(of_numbers.ensemble_crps(OUT, MEMBERS, fair), expected)
    assert scores.crps(OUT, Samples(MEMBERS), fair=fair) == pytest.approx(expected.mean())
    assert scores.crps(OUT, MEMBERS, fair=fair, sample_weight=[3, 1]) == pytest.approx(
        (3 * expected[0] + expected[1]) / 4
    )


LEVELS = np.array([0.1, 0.5, 0.9])
VALUES = np.array([[-1.0, 0.5, 2.0], [0.0, 1.0, 3.0]])


def _loss(level, value, y):
    return np.where(y >= value, level * (y - value), (1 - level) * (value - y))


def test_quantiles_are_mean_losses():
    by_level = np.stack([_loss(level, VALUES[:, at], OUT) for at, level in enumerate(LEVELS)], axis=1)
    given = Quantiles(LEVELS, VALUES)
    np.testing.assert_allclose(of_numbers.quantile_losses(OUT, VALUES, LEVELS), by_level.sum(axis=1))
    np.testing.assert_allclose(of_numbers.crps_rows(OUT, given), 2 * by_level.mean(axis=1))
    np.testing.assert_allclose(of_numbers.weighted_interval_score_rows(OUT, given), 2 * by_level.mean(axis=1))
    assert scores.quantile_loss(OUT, given, 0.9) == pytest.approx(by_level[:, 2].mean())
    low, high = VALUES[:, 0], VALUES[:, 2]
    interval = high - low + 10 * np.maximum(low - OUT, 0) + 10 * np.maximum(OUT - high, 0)
    assert scores.interval_score(OUT, given, 0.8) == pytest.approx(interval.mean())
    for level, says in (
        (0.91, "no quantile at 0.91. The forecasts have 0.1, 0.5, 0.9"),
        (1.0, "level: expected a share between 0 and 1"),
        (0.0, "level: expected"),
    ):
        with pytest.raises(InputError, match=says):
            scores.quantile_loss(OUT, given, level)
    assert scores.quantile_loss(OUT, given, 0.9 + 5e-10) == pytest.approx(scores.quantile_loss(OUT, given, 0.9))
    with pytest.raises(InputError, match="the levels 0.1, 0.5 are not the ends of central intervals"):
        scores.weighted_interval_score(OUT, Quantiles(LEVELS[:2], VALUES[:, :2]))


@pytest.mark.parametrize("n", [1, 2047, 2048, 2049, 4097])
def test_blocks_of_rows_are_scored_alike(n, monkeypatch):
    rng = np.random.default_rng(n)
    y, values = rng.normal(size=n), np.sort(rng.normal(size=(n, 3)), axis=1)
    with_kernel = of_numbers.quantile_losses(y, values, LEVELS)
    monkeypatch.setattr(of_numbers, "_kernel", None)
    np.testing.assert_allclose(of_numbers.quantile_losses(y, values, LEVELS), with_kernel, rtol=1e-12)
    expected = sum(_loss(level, values[:, at], y) for at, level in enumerate(LEVELS))
    np.testing.assert_allclose(with_kernel, expected, rtol=1e-12)
    ensemble = of_numbers.ensemble_crps(y, values)
    apart = np.abs(values[:, :, None] - values[:, None]).sum(axis=(1, 2)) / 12
    np.testing.assert_allclose(ensemble, np.abs(values - y[:, None]).mean(axis=1) - apart, rtol=1e-9)


def test_other_scores_of_numbers():
    normal = Distribution("normal", mean=np.zeros(2), sd=np.full(2, 2.0))
    np.testing.assert_allclose(of_numbers.log_score_rows(OUT, normal), -stats.norm(0, 2).logpdf(OUT))
    ordered = Ordered([[0.2, 0.5, 0.3], [1.0, 0.0, 0.0]], [0, 1, 2])
    np.testing.assert_allclose(of_numbers.log_score_rows(np.array([1.0, 0.0]), ordered), [-math.log(0.5), 0.0])
    np.testing.assert_allclose(of_numbers.crps_rows(np.array([1, 0]), ordered), [0.2**2 + 0.3**2, 0.0])
    counts, y = Samples(np.array([[1.0, 3.0, 0.0], [2.0, 2.0, 8.0]])), np.array([2.0, 0.0])
    np.testing.assert_allclose(
        of_numbers.log1p_crps_rows(y, counts), of_numbers.ensemble_crps(np.log1p(y), np.log1p(counts.members))
    )
    assert [each.name for each in of_numbers.scores_that_apply(counts, y)] == ["crps", "log1p_crps"]
    assert [each.name for each in of_numbers.scores_that_apply(counts, y + 0.5)] == ["crps"]
    assert [each.name for each in of_numbers.scores_that_apply(counts, np.array([2.0, -1.0]))] == ["crps"]
    assert [each.title for each in of_numbers.scores_that_apply(Quantiles(LEVELS, VALUES), OUT)] == ["WIS", "Log score"]
    assert [each.name for each in of_numbers.scores_that_apply(Quantiles(LEVELS[:2], VALUES[:, :2]), OUT)] == [
        "crps",
        "log_score",
    ]
    assert [each.name for each in of_numbers.scores_that_apply(ordered, y)] == ["ranked_probability_score", "log_score"]
    assert of_numbers.scores_that_apply(PIT([0.5]), y) == ()
    titles = {
        ("crps", "3 members"): "Fair CRPS", ("crps", ""): "CRPS", ("log_score", "quantiles"): "Log score of own cells",
        ("log1p_crps", ""): "CRPS of log(1 + y)", ("interval_score(0.8)", ""): "Score of 0.8 intervals",
        ("quantile_loss(0.25)", ""): "Quantile loss at 0.25",
    }  # fmt: skip
    for (name, form), title in titles.items():
        assert of_numbers.title_beside(name, (), form) == title
    assert of_numbers.title_beside("log1p_crps", ["weighted_interval_score"]) == "WIS of log(1 + y)"
    assert of_numbers.distribution_score_named("wis").name == "weighted_interval_score"
    for score, given, says in (
        (scores.crps, PIT([0.5, 0.5]), "crps: it is not known of forecasts by"),
        (scores.log_score, PIT([0.5, 0.5]), "log_score"),
        (scores.weighted_interval_score, Samples(MEMBERS), "it is a score of Quantiles"),
        (scores.threshold_weighted_crps, PIT([0.5, 0.5]), "threshold_weighted_crps"),
    ):
        with pytest.raises(InputError, match=says):
            score(OUT, given)
    with pytest.raises(InputError, match="Swap them"):
        scores.threshold_weighted_crps(OUT, Samples(MEMBERS), above=1.0, below=1.0)
    with pytest.raises(InputError, match="there are numbers below 0"):
        of_numbers.log1p_crps_rows(np.array([-1.0, 0.0]), counts)
    with pytest.raises(InputError, match="no scoring rule 'crsp' of predictive distributions; did you mean 'crps'"):
        of_numbers.distribution_score_named("crsp")
    with pytest.raises(InputError, match="interval_score: expected a share between 0 and 1"):
        of_numbers.distribution_score_named("interval_score(1)")
    with pytest.raises(InputError, match="y_true: got forecasts"):
        scores.crps(Samples(MEMBERS), OUT)
    clipped = np.abs(np.clip(MEMBERS, 0.5, 3) - np.clip(OUT, 0.5, 3)[:, None]).mean(axis=1)
    inside = np.clip(MEMBERS, 0.5, 3)
    expected = clipped - np.abs(inside[:, :, None] - inside[:, None]).sum(axis=(1, 2)) / 24
    assert scores.threshold_weighted_crps(OUT, Samples(MEMBERS), above=0.5, below=3) == pytest.approx(expected.mean())


Z = np.array([3.0, 1.0, 1.0, 7.0, 4.5, -2.0])


def test_a_climatology_leaves_each_row_out():
    others = [np.delete(Z, at) for at in range(Z.size)]
    crps = [np.abs(x - y).mean() - np.abs(x[:, None] - x).mean() / 2 for x, y in zip(others, Z, strict=True)]
    np.testing.assert_allclose(clim.climatology_crps(Z), crps)
    levels = np.array([0.05, 0.25, 0.5, 0.9, 0.99])
    expected = [np.quantile(x, levels, method="median_unbiased") for x in others]
    np.testing.assert_allclose(clim.climatology_quantiles(Z, levels), expected, atol=1e-14)
    pair = np.array([1.0, 5.0])
    np.testing.assert_allclose(clim.climatology_crps(pair), [4.0, 4.0])
    np.testing.assert_allclose(clim.climatology_quantiles(pair, np.array([0.3])), [[5.0], [1.0]])


@pytest.mark.parametrize("n", [4, 11, 40])
def test_densities_are_those_of_the_ten_nearest_others(n):
    x = np.round(np.random.default_rng(n).normal(size=n), 6)
    k = min(10, n - 1)
    reach = np.sort(np.abs(x[:, None] - x), axis=1)[:, k]
    step = np.diff(np.sort(x)).min()
    expected = digamma(k) - digamma(n) - np.log(2 * reach + step)
    np.testing.assert_allclose(clim.climatology_log_density(x), expected)


def test_densities_of_a_grid_and_of_an_atom():
    x = np.array([0.0, 0.0, 1.0, 1.0, 1.0, 2.0, 3.0])
    found = clim.climatology_log_density(x)
    assert found == pytest.approx(digamma(6) - digamma(7) - np.log(2 * np.array([3, 3, 2, 2, 2, 2, 3]) + 1))
    atom = clim.climatology_log_density(x, atom=True)
    assert atom[0] == pytest.approx(math.log(2 / 7 - 0.5 / 7))
    assert atom[2:] == pytest.approx(clim.climatology_log_density(x[2:]) + math.log(5 / 7))
    assert clim.climatology_log_density(np.zeros(3), atom=True) == pytest.approx(math.log(1 - 0.5 / 3))
    low, high = x - 0.5, x + 0.5
    counts = np.array([2, 2, 3, 3, 3, 1, 1])
    assert clim.climatology_log_probability(x, low, high) == pytest.approx(np.log((counts - 0.5) / 7))
    ends = clim.climatology_log_probability(x, x - 1, x + 1)
    halves = [2 + 1.5, 2 + 1.5, 1 + 3 + 0.5, 1 + 3 + 0.5, 1 + 3 + 0.5, 1.5 + 1 + 0.5, 0.5 + 1]
    assert ends == pytest.approx(np.log((np.array(halves) - 0.5) / 7))
