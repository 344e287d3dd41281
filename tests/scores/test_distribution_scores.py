"""Scores of predictive distributions beside integrals, mpmath, scoringrules and published values; and their laws."""

from itertools import pairwise

import mpmath
import numpy as np
import pytest
import scoringrules
from scipy import stats
from scipy.integrate import quad

from unperplexed import InputError
from unperplexed.forecasts.distributions.distribution import Distribution
from unperplexed.forecasts.distributions.ordered import Ordered
from unperplexed.forecasts.distributions.partitions import Quantiles, Samples
from unperplexed.forecasts.distributions.pit import PIT
from unperplexed.kernels.compiled import kernel
from unperplexed.scores import (
    crps,
    interval_score,
    log_score,
    quantile_loss,
    row_scores,
    threshold_weighted_crps,
    weighted_interval_score,
)
from unperplexed.scores.distributions import rules as rules_module
from unperplexed.scores.distributions.climatology import climatology_crps
from unperplexed.scores.distributions.closed_forms import closed_crps
from unperplexed.scores.distributions.rules import (
    DISTRIBUTION_SCORES,
    crps_rows,
    distribution_row_scores,
    distribution_score_named,
    scores_that_apply,
    threshold_weighted_crps_rows,
)

N = 60
LEVELS = np.r_[0.01, 0.025, np.arange(1, 20) / 20, 0.975, 0.99]


@pytest.fixture
def rng():
    return np.random.default_rng(0)


def some_parameters(rng):
    """Means, spreads and degrees of freedom, some of which are extreme."""
    return rng.normal(size=N) * 3, rng.gamma(2, size=N) + 0.01, rng.uniform(0.6, 9, N)


def families(rng):
    """Outcomes, forecasts by name of the family, and the same of SciPy."""
    mean, sd, df = some_parameters(rng)
    y, p = rng.normal(size=N) * 4, rng.uniform(0.1, 0.99, N)
    count, few = rng.poisson(6, N), rng.gamma(0.7, 9, N)
    ends = mean - sd / np.sqrt(0.4), 2 * sd / np.sqrt(0.4)
    return {
        "normal": (y, Distribution("normal", mean=mean, sd=sd), stats.norm(mean, sd)),
        "t": (y, Distribution("t", df=df, location=mean, scale=sd), stats.t(df, mean, sd)),
        "lognormal": (
            np.abs(y),
            Distribution("lognormal", log_mean=mean, log_sd=sd / 3),
            stats.lognorm(sd / 3, scale=np.exp(mean)),
        ),
        "gamma": (np.abs(y), Distribution("gamma", shape=sd / 2, scale=df), stats.gamma(sd / 2, scale=df)),
        "poisson": (count, Distribution("poisson", mean=few), stats.poisson(few)),
        "negative-binomial": (count, Distribution("negative-binomial", size=sd, probability=p), stats.nbinom(sd, p)),
        "coupled above 0": (
            y,
            Distribution("coupled-gaussian", mean=mean, scale=sd, coupling=1 / df),
            stats.t(df, mean, sd),
        ),
        "coupled below 0": (
            y,
            Distribution("coupled-gaussian", mean=mean, scale=sd, coupling=-0.4),
            stats.beta(1.75, 1.75, *ends),
        ),
    }


NAMES = list(families(np.random.default_rng(0)))


def integral(law, row, y, low=-np.inf, high=np.inf):
    """CRPS of one row by adaptive quadrature."""
    low, high = (np.clip(end, low, high)[()] for end in np.broadcast_to(law.support(), (2, N))[:, row])
    inside = np.clip(y, low, high)
    middle = np.broadcast_to(law.median(), N)[row]
    under = [end for end in (low, middle, inside) if end <= inside]
    over = [end for end in (inside, middle, high) if end >= inside]
    return abs(y - inside) + sum(
        quad(lambda x, of: np.broadcast_to(of(x), N)[row] ** 2, *ends, (of,), epsabs=1e-12, limit=200)[0]
        for of, points in ((law.cdf, under), (law.sf, over))
        for ends in pairwise(points)
    )


@pytest.mark.parametrize("name", NAMES)
def test_families_have_the_integral_of_their_squared_errors(name, rng):
    y, forecast, law = families(rng)[name]
    scores = distribution_row_scores(y, forecast, crps_rows)
    if forecast.discrete:
        k = np.arange(3000)[:, None]
        assert scores == pytest.approx(np.where(k < y, law.cdf(k) ** 2, law.sf(k) ** 2).sum(axis=0), rel=1e-10)
    else:
        rows = np.arange(0, N, 12)
        assert scores[rows] == pytest.approx([integral(law, row, y[row]) for row in rows], rel=1e-7)


@pytest.mark.parametrize("name", NAMES)
def test_objects_of_other_packages_score_as_families_do(name, rng):
    y, forecast, law = families(rng)[name]
    assert crps(y, Distribution(law)) == pytest.approx(crps(y, forecast), rel=1e-5)
    assert log_score(y, Distribution(law)) == pytest.approx(log_score(y, forecast), rel=1e-9)


def test_families_agree_with_scoringrules(rng):
    mean, sd, df = some_parameters(rng)
    y, df, p = rng.normal(size=N), df + 1, rng.uniform(0.02, 0.99, N)
    k = rng.poisson(5, N)
    expected = {
        "normal": (y, scoringrules.crps_normal(y, mean, sd), (mean, sd)),
        "t": (y, scoringrules.crps_t(y, df, mean, sd), (mean, sd, df)),
        "lognormal": (np.abs(y), scoringrules.crps_lognormal(np.abs(y), mean, sd), (mean, sd)),
        "gamma": (np.abs(y), scoringrules.crps_gamma(np.abs(y), sd, scale=df), (sd, df)),
        "poisson": (k, scoringrules.crps_poisson(k, sd), (sd,)),
        "negative-binomial": (k, scoringrules.crps_negbinom(k, sd, p), (sd, p)),
    }
    for family, (outcomes, theirs, parameters) in expected.items():
        assert closed_crps(family, outcomes.astype(float), parameters) == pytest.approx(theirs, rel=1e-10), family


@pytest.mark.parametrize("shape", [1e-3, 0.5, 30.0, 1e4, 1e6])
def test_closed_forms_hold_for_extreme_parameters(shape):
    with mpmath.workdps(50):
        half = mpmath.gamma(mpmath.mpf(shape) + 0.5) / (mpmath.gamma(shape) * mpmath.sqrt(mpmath.pi))
        distance = 2 * mpmath.gammainc(mpmath.mpf(shape) + 1, 0, shape, regularized=True)
        below = mpmath.gammainc(shape, 0, shape, regularized=True)
        expected = float(shape * (2 * below - distance) - half)
    found = closed_crps("gamma", np.array([shape]), (np.array([shape]), np.ones(1)))
    assert found == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("size", [0.01, 2.0, 40.0, 1e3])
@pytest.mark.parametrize("p", [0.999, 0.3, 1e-3])
def test_negative_binomial_draws_are_as_far_apart_as_mpmath_says(size, p):
    with mpmath.workdps(40):
        c = -4 * (1 - mpmath.mpf(p)) / mpmath.mpf(p) ** 2
        half = size * (1 - mpmath.mpf(p)) / mpmath.mpf(p) ** 2 * mpmath.hyp2f1(size + 1, 0.5, 2, c)
    [found] = closed_crps("negative-binomial", np.array([-1.0]), (np.array([size]), np.array([p])))
    mean = size * (1 - p) / p
    assert found == pytest.approx(float(1 + mean - half), rel=1e-11)


def test_student_t_is_continuous_where_its_terms_are_not(rng):
    degrees = np.array([0.9985, 0.9995, 1, 1.0005, 1.0015])
    forecast = Distribution("t", df=degrees, location=0.0, scale=1.0)
    scores = distribution_row_scores(np.full(5, 0.7), forecast, crps_rows)
    assert np.polyval(np.polyfit(degrees[[0, 4]], scores[[0, 4]], 1), degrees) == pytest.approx(scores, rel=1e-5)
    assert crps([0.7], Distribution("t", df=[0.4], location=0.0, scale=1.0)) == np.inf


@pytest.mark.parametrize("name", ["normal", "gamma", "poisson"])
def test_atoms_mix_with_their_family(name, rng):
    y, forecast, _ = families(rng)[name]
    y = np.where(rng.random(N) < 0.4, 0, y)
    zero = rng.uniform(0, 0.9, N)
    mixed = Distribution(name, **forecast.parameters, zero=zero)
    x = np.linspace(-40, 150, 19_001)  # whole numbers among them
    squares = (mixed.cdf(x[:, None]) - (y <= x[:, None])) ** 2
    by_steps = squares[:-1].sum(axis=0) * (x[1] - x[0])
    assert distribution_row_scores(y, mixed, crps_rows) == pytest.approx(by_steps, abs=0.02)
    assert crps(y, Distribution(name, **forecast.parameters, zero=0.0)) == pytest.approx(crps(y, forecast), rel=1e-12)


@pytest.mark.skipif(kernel is None, reason="built without a compiler")
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("shape", [(1, 1), (7, 1), (8, 23), (2051, 3)])
def test_quantile_losses_without_the_kernel_are_the_same_to_the_last_digit(shape, dtype, monkeypatch, rng):
    values, y, levels = rng.normal(size=shape).astype(dtype), rng.normal(size=shape[0]), rng.uniform(size=shape[1])
    compiled = rules_module.quantile_losses(y, values, levels)
    monkeypatch.setattr(rules_module, "_kernel", None)
    assert (rules_module.quantile_losses(y, np.asfortranarray(values), levels) == compiled).all()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("size", [2, 7, 50])
def test_ensembles_agree_with_scoringrules(dtype, size, rng):
    members = rng.normal(size=(3000, size)).round(1).astype(dtype)  # with ties
    y = rng.normal(size=3000).round(1)
    for fair, estimator in ((True, "pwm"), (False, "qd")):
        theirs = scoringrules.crps_ensemble(y, members.astype(float), estimator=estimator)
        ours = distribution_row_scores(y, Samples(members), lambda *of, fair=fair: crps_rows(*of, fair=fair))
        assert ours == pytest.approx(theirs, abs=1e-10)


def test_an_offset_costs_ensembles_no_digits(rng):
    members, y = rng.integers(-9, 9, (200, 11)), rng.integers(-9, 9, 200)
    assert crps(y + 2.0**40, members + 2.0**40) == crps(y, members)


def test_the_fair_score_of_draws_is_that_of_their_distribution(rng):
    draws = rng.normal(size=(200_000, 3))
    y = rng.normal(size=200_000)
    expected = 1 / np.sqrt(np.pi)
    assert crps(y, draws) == pytest.approx(expected, abs=0.01)  # 5 standard errors
    assert crps(y, draws, fair=False) == pytest.approx(expected * (1 + 1 / 3), abs=0.01)


def test_quantiles_agree_with_scoringrules(rng):
    values, y = np.sort(rng.normal(size=(3000, 23)), axis=1), rng.normal(size=3000)
    forecast = Quantiles(LEVELS, values)
    assert distribution_row_scores(y, forecast, crps_rows) == pytest.approx(
        scoringrules.crps_quantile(y, values, LEVELS), abs=1e-10
    )
    theirs = scoringrules.quantile_score(y, values[:, 4], LEVELS[4]).mean()
    assert quantile_loss(y, forecast, LEVELS[4]) == pytest.approx(theirs, abs=1e-12)
    theirs = scoringrules.interval_score(y, values[:, 2], values[:, -3], 0.1).mean()
    assert interval_score(y, forecast, 0.9) == pytest.approx(theirs, abs=1e-12)


def test_wis_is_the_weighted_mean_of_interval_scores(rng):
    forecast, y = Quantiles(LEVELS, np.sort(rng.normal(size=(50, 23)), axis=1)), rng.normal(size=50)
    coverages = 1 - 2 * LEVELS[:11]
    total = sum((1 - c) / 2 * interval_score(y, forecast, c) for c in coverages) + quantile_loss(y, forecast, 0.5)
    assert weighted_interval_score(y, forecast) == pytest.approx(total / 11.5, rel=1e-12)


@pytest.mark.parametrize("name", NAMES)
def test_many_quantiles_score_as_their_distribution_does(name, rng):
    y, forecast, _ = families(rng)[name]
    if name in ("t", "coupled above 0"):
        forecast = Distribution("t", df=3.0, location=forecast.canonical[0], scale=forecast.canonical[1])
    levels = (np.arange(1000) + 0.5) / 1000
    assert crps(y, Quantiles(levels, forecast.quantile(levels))) == pytest.approx(crps(y, forecast), rel=5e-3)


@pytest.mark.parametrize("name", [*NAMES, "members", "quantiles"])
def test_threshold_weighted_scores_add_up(name, rng):
    y, forecast, _ = families(rng)["normal" if name in ("members", "quantiles") else name]
    if name == "members":
        forecast = Samples(forecast.quantile([0.1, 0.3, 0.6, 0.7, 0.95]))
    elif name == "quantiles":
        forecast = Quantiles(LEVELS, forecast.quantile(LEVELS))
    parts = [{"below": -1.5}, {"above": -1.5, "below": 2.25}, {"above": 2.25}]
    total = sum(threshold_weighted_crps(y, forecast, **part) for part in parts)
    assert total == pytest.approx(crps(y, forecast), rel=1e-5)
    assert threshold_weighted_crps(y, forecast) == pytest.approx(crps(y, forecast), rel=1e-5)


def test_threshold_weighted_scores_of_an_atom(rng):
    y, forecast, _ = families(rng)["gamma"]
    mixed = Distribution("gamma", **forecast.parameters, zero=0.3)
    y = np.where(np.arange(N) % 3, y, 0)
    parts = [threshold_weighted_crps(y, mixed, **part) for part in ({"below": 1.0}, {"above": 1.0})]
    assert sum(parts) == pytest.approx(crps(y, mixed), rel=1e-9)


def test_large_counts_are_integrated():
    forecast = Distribution("negative-binomial", mean=[3e3, 1e5, 1e9], size=[1.0, 3.0, 30.0])
    y = np.array([1234.0, 2e5, 1e9])
    scores = distribution_row_scores(y, forecast, threshold_weighted_crps_rows)
    assert scores == pytest.approx(distribution_row_scores(y, forecast, crps_rows), rel=1e-5)


class Humps:
    """Two narrow humps far apart, with a gap between their quantiles."""

    shape = (5,)

    def cdf(self, x):
        return (stats.norm.cdf(x, 0, 0.01) + stats.norm.cdf(x, 10, 0.01)) / 2 * np.ones(self.shape)

    def logpdf(self, x):
        return np.log((stats.norm.pdf(x, 0, 0.01) + stats.norm.pdf(x, 10, 0.01)) / 2 * np.ones(self.shape))


def test_distributions_without_quantile_functions_or_mass_in_the_middle():
    y = np.array([-1.0, 0.005, 3.0, 10.0, 11.0])
    near, far = (closed_crps("normal", y, (np.full(5, at), np.full(5, 0.01))) for at in (0.0, 10.0))
    # The pairs of one hump are in the scores of both; those of two humps are 10 apart.
    expected = (near + far) / 2 + 0.01 / np.sqrt(np.pi) / 2 - 10 / 4
    assert distribution_row_scores(y, Distribution(Humps()), crps_rows) == pytest.approx(expected, rel=1e-3)


def test_mixtures_of_pytorch_which_have_no_quantile_function():
    torch = pytest.importorskip("torch")
    equal = torch.distributions.Categorical(torch.ones(3, 2, dtype=torch.float64))
    parts = torch.distributions.Normal(torch.zeros(3, 2, dtype=torch.float64), torch.ones(3, 2, dtype=torch.float64))
    forecast = Distribution(torch.distributions.MixtureSameFamily(equal, parts))
    y = [0.0, 1.0, 5.0]
    assert crps(y, forecast) == pytest.approx(crps(y, Distribution("normal", mean=[0.0] * 3, sd=1.0)), rel=1e-8)


def test_thresholds_of_each_row(rng):
    y, forecast, law = families(rng)["normal"]
    above = rng.normal(size=N)
    rows = [integral(law, row, max(y[row], above[row]), low=above[row]) for row in range(0, N, 10)]
    subset = forecast.subset(np.arange(0, N, 10))
    assert threshold_weighted_crps(y[::10], subset, above=above[::10]) == pytest.approx(np.mean(rows), rel=1e-9)


@pytest.mark.parametrize("rule", [*DISTRIBUTION_SCORES, "quantile_loss(0.9)", "interval_score(0.8)"])
def test_nobody_is_expected_to_score_better_than_the_truth(rule, rng):
    score, y = distribution_score_named(rule), np.exp(rng.normal(size=20_000) / 4)
    assert score.proper
    assert score.better == "smaller"

    edges = np.array([0.7, 0.9, 1.0, 1.2, 1.5])

    def expected(shift, scale):
        law = Distribution("lognormal", log_mean=np.full(20_000, shift / 4), log_sd=scale / 4)
        if rule == "ranked_probability_score":
            p = np.diff(law.subset([0]).cdf(edges), prepend=0, append=1)
            return score.rows(np.searchsorted(edges, y), Ordered(np.tile(p, (20_000, 1)))).mean()
        known = (
            law
            if rule in ("crps", "log_score")
            else Quantiles(LEVELS, np.tile(law.subset([0]).quantile(LEVELS), (20_000, 1)))
        )
        return score.rows(y, known).mean()

    truth = expected(0, 1)
    for other in ((0.5, 1), (-0.5, 1), (0, 0.6), (0, 1.6)):
        assert truth < expected(*other)


def test_log_scores_of_quantiles_and_members_are_those_of_cells():
    forecast = Quantiles([0.1, 0.5, 0.9], [[1.0, 2.0, 3.0]] * 4)
    rows = distribution_row_scores([0.5, 1.5, 2.0, 9.0], forecast, DISTRIBUTION_SCORES["log_score"].rows)
    assert rows == pytest.approx(-np.log([0.1, 0.4, 0.8, 0.1]), rel=1e-12)  # at a quantile: both of its cells
    assert log_score([0.0, 2.5], [[1.0, 2.0, 3.0]] * 2) == pytest.approx(np.log(4))


def test_rows_by_name(rng):
    y, members = rng.normal(size=5), Samples(rng.normal(size=(5, 4)))
    assert (row_scores(y, members, "crps") == crps_rows(y, members)).all()
    assert row_scores(y, members, "quantile_loss(0.2)").mean() == pytest.approx(quantile_loss(y, members, 0.2))
    with pytest.raises(InputError, match="Known: crps"):
        row_scores(y, members, "brier_score")
    with pytest.raises(InputError, match="class probabilities"):
        row_scores(y, members, "crps", labels=[0, 1])


def test_weights_count_rows(rng):
    y, members = rng.normal(size=5), rng.normal(size=(5, 4))
    rows = distribution_row_scores(y, members, crps_rows)
    weights = [2, 0, 1, 1, 0]
    assert crps(y, members, sample_weight=weights) == pytest.approx(np.average(rows, weights=weights))
    forecast = Distribution("gamma", shape=[1.0, 2.0], scale=1.0)
    assert np.isfinite(log_score([1.0, -1.0], forecast, sample_weight=[1, 0]))
    assert log_score([1.0, -1.0], forecast) == np.inf


def test_rules_that_apply():
    counts, y = Quantiles([0.1, 0.5, 0.9], [[0, 2, 7]]), np.array([3.0])
    assert [score.title for score in scores_that_apply(counts, y)] == ["WIS", "WIS of log(1 + y)", "Log score"]
    assert [score.name for score in scores_that_apply(Samples([[-1, 2]]), y)] == ["crps"]
    assert [score.name for score in scores_that_apply(Samples([[1, 2]]), y + 0.5)] == ["crps"]
    assert scores_that_apply(Quantiles([0.1, 0.5], [[-1, 2]]), y)[0].name == "crps"
    assert scores_that_apply(PIT([0.3]), y) == ()
    assert distribution_score_named("wis") is DISTRIBUTION_SCORES["weighted_interval_score"]
    assert distribution_score_named("interval_score(.80)").name == "interval_score(0.8)"


@pytest.mark.parametrize(
    ("score", "message"),
    [
        (lambda: crps([1.0], PIT([0.5])), "not known of forecasts by PIT values"),
        (lambda: log_score([1.0], PIT([0.5])), "not known of forecasts by PIT values"),
        (lambda: crps([1.0], [1.0, 2.0]), "at least 2"),
        (lambda: crps(Samples([[1.0, 2.0]]), [1.0]), "Outcomes come first"),
        (lambda: crps([1.0, 2.0], [[1.0, 2.0]]), "shape"),
        (lambda: crps([np.nan], [[1.0, 2.0]]), "no outcome in 1 row"),
        (lambda: crps([1.0], Quantiles([0.1, 0.9], [[1.0, np.nan]])), r"subset\(complete\)"),
        (lambda: weighted_interval_score([1.0], [[1.0, 2.0]]), "a score of Quantiles"),
        (lambda: weighted_interval_score([1.0], Quantiles([0.1, 0.5], [[1.0, 2.0]])), "central intervals"),
        (
            lambda: quantile_loss([1.0], Quantiles([0.1, 0.9], [[1.0, 2.0]]), 0.5),
            "no quantile at 0.5. The forecasts have 0.1, 0.9",
        ),
        (lambda: quantile_loss([1.0], [[1.0, 2.0]], 50), "between 0 and 1"),
        (lambda: interval_score([1.0], [[1.0, 2.0]], 95), "between 0 and 1"),
        (lambda: threshold_weighted_crps([1.0], [[1.0, 2.0]], above=2, below=1), "above"),
        (lambda: threshold_weighted_crps([1.0], PIT([0.5]), above=2), "PIT values"),
        (lambda: DISTRIBUTION_SCORES["log1p_crps"].rows(np.array([-1.0]), Samples([[1, 2]])), "below 0"),
        (lambda: distribution_score_named("crsp"), "did you mean 'crps'"),
        (lambda: distribution_score_named("interval_score(80)"), "between 0 and 1"),
    ],
)
def test_bad_input(score, message):
    with pytest.raises(InputError, match=message):
        score()


@pytest.mark.parametrize("form", ["members", "20 members", "quantiles", ""])
@pytest.mark.parametrize("name", ["crps", "log_score"])
def test_the_crps_of_members_alone_is_the_fair_one(name, form):
    fair = rules_module.title_beside(name, (), form).startswith("Fair ")
    assert fair == (name == "crps" and form.endswith("members"))


def test_the_crps_of_climatology_is_that_of_all_other_outcomes():
    y = np.array([0.0, 1.0, 3.0, 3.5, -2.0])
    expected = []
    for at, own in enumerate(y):
        others = np.delete(y, at)
        apart = np.abs(others[:, None] - others).mean()
        expected.append(np.abs(others - own).mean() - apart / 2)
    assert climatology_crps(y) == pytest.approx(expected)
