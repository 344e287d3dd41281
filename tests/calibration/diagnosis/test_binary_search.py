"""The search over sets of errors of two classes: what each is worth, and which are tried."""

import itertools
from copy import copy
from dataclasses import replace

import numpy as np
import pytest
from scipy.special import expit
from scipy.stats import chi2

from unperplexed.calibration.diagnosis.binary import PARAMETERS, Search, in_cells
from unperplexed.calibration.diagnosis.choice import Candidate, as_good, gains, p_value
from unperplexed.calibration.diagnosis.gate import Gate, Scored


def rows_of(s, y):
    one = np.ones_like(s)
    return Scored(s, one, y, one, y, one)


@pytest.fixture(scope="module")
def search():
    """Overconfident forecasts with a bias, and a design effect of 1.5."""
    rng = np.random.default_rng(1)
    s = np.sort(rng.normal(0, 2, 1500))
    y = (rng.random(1500) < expit(0.4 + 0.6 * s)).astype(float)
    return Search(rows_of(s, y), Gate(9.0, 0.01, 1.5, 150.0, 8), 3)


def test_a_set_is_worth_its_likelihood_ratio_less_what_its_errors_cost(search):
    c = search.counted
    information = (c.total * expit(c.s) * expit(-c.s)).sum()
    cost = np.log(4 * information / 1.5)
    assert cost > 3.84

    def log_likelihood(p):
        return c.positive @ np.log(p) + (c.total - c.positive) @ np.log1p(-p)

    for names, fitted in search.found.items():
        ratio = 2 * (fitted.fit.value - log_likelihood(expit(c.s))) / 1.5
        assert fitted.ratio == pytest.approx(max(ratio, 0), rel=1e-9, abs=1e-9)
        costs = sum(cost + 2 * (name not in ("bias", "confidence")) for name in names)
        assert fitted.worth == pytest.approx(fitted.ratio - costs, rel=1e-9)


def test_all_sets_of_at_most_three_errors_are_tried_but_noise_with_tails(search):
    expected = {
        names
        for size in (1, 2, 3)
        for names in itertools.combinations(PARAMETERS, size)
        if not {"noise", "tail"} <= set(names)
    }
    assert set(search.found) <= expected
    assert {(name,) for name in PARAMETERS} <= set(search.found)
    assert max(map(len, search.found)) == 3


def test_more_errors_fit_better_and_the_best_set_is_worth_most(search):
    for names, other in itertools.product(search.found, repeat=2):
        if set(names) < set(other) and "noise" not in other:
            assert search.found[other].ratio >= search.found[names].ratio - 1e-5
    best = search.best()
    assert best == ("bias", "confidence")
    assert search.found[best].worth == max(each.worth for each in search.found.values())


def test_gains_are_half_the_ratio_less_twice_the_parameters(search):
    both, scale = ("bias", "confidence"), 1.5 / (2 * 1500)
    found = gains(search.found, both, scale)
    (first, gain), (second, more) = found.items()
    alone = {name: search.found[name,].ratio for name in both}
    assert alone[first] >= alone[second]
    assert gain == pytest.approx((alone[first] - 2) * scale, rel=1e-9)
    assert gain + more == pytest.approx((search.found[both].ratio - 4) * scale, rel=1e-9)
    assert p_value(search.found, both, second) == pytest.approx(
        chi2.sf(search.found[both].ratio - alone[first], 1), rel=1e-9
    )


def made(search, ratios, costs=()):
    """Sets of errors with these likelihood ratios."""
    costs = costs or [0.0] * len(ratios)
    one = search.found["bias",]
    return {
        errors: Candidate(errors, one.fit, one.mapping, ratio, 0.0, cost, len(errors))
        for (errors, ratio), cost in zip(ratios.items(), costs, strict=True)
    }


def test_gains_never_fall_and_add_up_where_sets_were_not_tried_or_errors_offset_one_another(search):
    ratios = {("bias",): 1.0, ("tail",): 30.0, ("bias", "tail"): 20.0, ("bias", "tail", "noise"): 26.0}
    found = gains(made(search, ratios), ("bias", "tail", "noise"), 0.5)
    assert list(found.items()) == [("tail", 10.0), ("bias", 0.0), ("noise", 0.0)]
    offset = {("bias",): 1.0, ("confidence",): 1.5, ("bias", "confidence"): 40.0}
    assert gains(made(search, offset), ("bias", "confidence"), 1.0) == {"confidence": 0.0, "bias": 36.0}


def test_sets_worth_nearly_as_much_are_as_good_unless_they_have_more_errors(search):
    best, others = ("bias", "tail"), [("tail", "noise"), ("bias",), ("tail",), ("confidence",), ("asymmetry",)]
    more = ("bias", "confidence", "tail")
    ratios = dict(zip([best, *others, more], [60.0, 56.01, 57.0, 58.0, 55.9, 56.5, 70.0], strict=True))
    found = as_good(made(search, ratios), best)
    assert found == (("tail",), ("bias",), ("asymmetry",))
    assert as_good(made(search, ratios, [0, 0, 9, 0, 0, 0, 0]), best) == (("tail",), ("asymmetry",), ("tail", "noise"))


@pytest.mark.parametrize(("share", "tried"), [(0.049, False), (0.051, True)])
def test_an_asymmetry_needs_both_sides_of_even_odds(share, tried):
    """A twentieth of the information on each."""
    rng = np.random.default_rng(2)
    s = np.concatenate([rng.uniform(-1, -0.5, 200), rng.uniform(0.5, 1, 200)])
    v = expit(s) * expit(-s)
    w = np.where(s < 0, share / v[s < 0].sum(), (1 - share) / v[s > 0].sum()) * 60
    y = (rng.random(400) < expit(s)) * w
    found = Search(Scored(s, w, y, w, y, w), Gate(1.0, 0.5, 1.0, 60.0, 8), 1)
    assert (("asymmetry",) in found.found) == tried
    other = Search(Scored(-s, w, w - y, w, w - y, w), Gate(1.0, 0.5, 1.0, 60.0, 8), 1)
    assert (("asymmetry",) in other.found) == tried


@pytest.mark.parametrize("sign", [-1, 1])
def test_even_odds_are_on_neither_side(sign):
    rng = np.random.default_rng(2)
    s = sign * np.append(0, np.sort(rng.uniform(0.5, 2, 99)))
    w = np.append(50, np.ones(99))
    found = Search(Scored(s, w, w / 2, w, w / 2, w), Gate(1.0, 0.5, 1.0, 40.0, 8), 1)
    assert {("bias",), ("confidence",)} <= set(found.found)
    assert ("asymmetry",) not in found.found


def test_of_errors_that_mean_the_same_the_plainest_is_named():
    """All of them, where every row has the same forecast."""
    s = np.full(1, -1.0)
    rows = Scored(s, *(np.array([x]) for x in (400.0, 180.0, 400.0, 180.0, 400.0)))
    found = Search(rows, Gate(9.0, 0.01, 1.0, 80.0, 8), 2)
    assert found.best() == ("bias",)


def test_many_log_odds_are_fitted_in_narrow_cells():
    """Of a 128th, which keep their sums and means; 4096 and fewer stay as they are."""
    rng = np.random.default_rng(3)
    s = np.sort(rng.normal(0, 2, 4097))
    y = (rng.random(4097) < expit(s)).astype(float)
    cells = in_cells(rows_of(s, y))
    assert cells.s.size < 2000
    assert (cells.total.sum(), cells.positive.sum()) == (4097, y.sum())
    assert cells.total @ cells.s == pytest.approx(s.sum(), rel=1e-9)
    assert len(np.unique(np.rint(cells.s * 128))) == cells.s.size
    at = np.searchsorted(np.unique(np.rint(s * 128)), np.rint(s * 128))
    np.testing.assert_allclose(cells.positive, np.bincount(at, y))
    few = in_cells(rows_of(s[1:], y[1:]))
    np.testing.assert_array_equal(few.s, s[1:])


@pytest.mark.parametrize(("more", "best"), [(1e-7, ("bias",)), (0.01, ("confidence",))])
def test_sets_that_differ_by_rounding_alone_are_worth_the_same(search, more, best):
    other = copy(search)
    alone = search.found["bias",]
    other.found = {("bias",): alone, ("confidence",): replace(alone, ratio=alone.ratio + more)}
    assert other.best() == best


@pytest.mark.parametrize(
    ("ratios", "best"),
    [
        ({"bias": 4.9, "confidence": 3, "bias confidence": 14}, ("bias", "confidence")),
        ({"bias": 6, "bias confidence": 9}, ("bias",)),
        ({"bias": 4.9, "bias asymmetry": 14}, ("bias",)),
        ({"bias": 5, "tail": 6}, ("bias",)),
        ({"bias": 1, "tail": 5}, ("tail",)),
        ({"bias": 3.8, "bias confidence": 7.6}, ()),
    ],
)
def test_where_no_set_pays_a_significant_error_or_bias_with_confidence_is_named(search, ratios, best):
    """For which a test at 5% asks 3.84 each, and 2 more for an error that is not plain."""
    other = copy(search)
    sets = {tuple(names.split()): ratio for names, ratio in ratios.items()}
    other.found = {x: replace(search.found[x], ratio=ratio, held=0.0, cost=8.0 * len(x)) for x, ratio in sets.items()}
    assert other.best() == best


def test_an_error_of_few_rows_costs_what_a_test_at_five_percent_asks():
    rng = np.random.default_rng(5)
    s = np.sort(rng.normal(0, 1, 30))
    y = (rng.random(30) < expit(s)).astype(float)
    found, base = Search(rows_of(s, y), Gate(1.0, 0.5, 1.0, 6.0, 8), 1), -np.logaddexp(0, np.where(y, -s, s)).sum()
    for names, fitted in found.found.items():
        cost = 3.84 + 2 * (names[0] not in ("bias", "confidence"))
        assert fitted.ratio - fitted.worth == pytest.approx(cost, abs=0.002)
        assert fitted.ratio == pytest.approx(2 * (fitted.fit.value - base), rel=1e-9, abs=1e-9)
    assert min(each.ratio for each in found.found.values()) < 0.9


def test_without_events_the_bias_is_named_and_sizes_are_bounded():
    """Every bias would explain that none was seen, by any large size."""
    s = np.sort(np.random.default_rng(6).normal(-4, 1, 300))
    found = Search(rows_of(s, np.zeros(300)), Gate(9.0, 0.01, 1.0, 8.0, 8), 3)
    assert found.best() == ("bias",)
    assert all(each.fit.separated == ("bias" in names) for names, each in found.found.items())
    assert all(abs(value) < 20 for each in found.found.values() for value in each.mapping.coefficients.values())


def test_three_errors_that_single_out_one_event_are_not_named():
    """A curve through the only event explains it perfectly, with sizes beyond all bounds."""
    s = np.sort(np.random.default_rng(7).normal(-6, 1.5, 1000))
    y = (np.arange(1000) == 600).astype(float)
    found = Search(rows_of(s, y), Gate(9.0, 0.01, 1.0, 8.0, 8), 3)
    assert len(found.best()) == 1
    assert all(abs(value) < 20 for each in found.found.values() for value in each.mapping.coefficients.values())
