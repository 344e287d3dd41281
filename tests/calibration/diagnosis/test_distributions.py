"""The diagnosis of predictive distributions: laws, planted errors, dependent rows, counts and weights."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.special import ndtr, ndtri

from unperplexed.assessment.pit_shares import PitShares
from unperplexed.calibration.diagnosis import pit_search
from unperplexed.calibration.diagnosis.distributions import diagnose_distributions
from unperplexed.calibration.diagnosis.kind import OfDistributions
from unperplexed.calibration.diagnosis.kinds import KINDS
from unperplexed.calibration.diagnosis.pit_search import PitScored, pit_gate
from unperplexed.calibration.diagnosis.result import Finding
from unperplexed.calibration.diagnosis.row_groups import RowGroups, Windows
from unperplexed.calibration.distribution_rows import RowMeans
from unperplexed.forecasts.distributions.pit_rows import PitRows
from unperplexed.maps.pit import PitMap
from unperplexed.statistics.normal_scores import information_of

LEVELS = np.array([0.025, 0.1, 0.25, 0.5, 0.75, 0.9, 0.975])
EDGES = np.array([0, *LEVELS, 1])


def exact(z, level=None, log_spread=None, **more):
    """Rows of continuous distributions."""
    n = len(z)
    return PitRows(z, z, np.eye(4)[None], np.zeros(n, int), np.zeros(n, bool), level, log_spread, **more)


def by_quantiles(z, level=None, log_spread=None, **more):
    """Rows of which the cell between quantiles is known."""
    at, ends = np.searchsorted(LEVELS, ndtr(z)), ndtri(EDGES)
    rows = exact(z, level, log_spread, **more)
    return replace(rows, low=ends[at], high=ends[at + 1], information=information_of(EDGES)[None])


GRID = np.linspace(-30, 30, 60_001)
FORMS = {"exact": exact, "quantiles": by_quantiles}
PLANTED = {
    "bias": lambda e, x, s: e + 0.4,
    "spread": lambda e, x, s: e * np.exp(0.4),
    "level": lambda e, x, s: e + 0.4 * x,
    "follow": lambda e, x, s: e * np.exp(0.4 * s),
    "skew": lambda e, x, s: np.interp(e, PitMap({"skew": 0.4}).scores(GRID), GRID),
    "tail": lambda e, x, s: np.interp(e, PitMap({"tail": 0.4}).scores(GRID), GRID),
}


@pytest.mark.parametrize(
    ("form", "error"), [*(("exact", error) for error in PLANTED), ("quantiles", "spread"), ("quantiles", "skew")]
)
def test_a_planted_error_is_named_and_measured(rng, form, error):
    e, x, s = rng.normal(size=(3, 2000))
    found = diagnose_distributions(FORMS[form](PLANTED[error](e, x, s), x, s))
    assert found.errors == (error,)
    (finding,) = found.findings
    assert finding.parameter == pytest.approx(0.4, abs=0.1)
    assert finding.interval[0] < finding.parameter < finding.interval[1]
    assert found.p_value < 1e-3
    assert finding.cost == pytest.approx(found.cost)
    assert finding.words.lower() in found.verdict.lower()


def test_the_gate_rejects_calibrated_forecasts_in_about_a_case_of_20(rng):
    for form in FORMS.values():
        rejected = [pit_gate(PitScored.of(form(*rng.normal(size=(3, 100))))).p_value < 0.05 for _ in range(100)]
        assert 1 <= sum(rejected) <= 12


def test_mirrored_outcomes_have_mirrored_errors(rng):
    z, s = 0.3 + rng.gumbel(size=500), rng.normal(size=500)
    one, other = diagnose_distributions(exact(z, None, s)), diagnose_distributions(exact(-z, None, s))
    sign = {"bias": -1, "skew": -1}
    assert one.errors == other.errors
    assert one.p_value == pytest.approx(other.p_value)
    assert one.cost == pytest.approx(other.cost)
    for a, b in zip(one.findings, other.findings, strict=True):
        assert b.parameter == pytest.approx(sign.get(a.error, 1) * a.parameter, abs=1e-5)


def test_equal_rows_may_be_counted_together(rng):
    z, x, s = rng.normal(0.3, 1.2, 400), *rng.integers(0, 2, (2, 400)).astype(float)
    rows = by_quantiles(z, x, s)
    each, count = np.unique(np.stack([rows.low, rows.high, x, s]), axis=1, return_counts=True)
    few, zero = len(count), np.zeros(len(count), int)
    counted = PitRows(*each[:2], rows.information, zero, np.zeros(few, bool), *each[2:], count=count.astype(float))
    one, other = diagnose_distributions(rows), diagnose_distributions(counted)
    assert few < 40
    assert (one.errors, one.n_rows) == (other.errors, other.n_rows)
    assert (one.p_value, one.cost) == pytest.approx((other.p_value, other.cost))
    assert one.findings[0].interval == pytest.approx(other.findings[0].interval, abs=1e-6)
    assert held(rows, 0.8).interval == pytest.approx(held(counted, 0.8).interval)


def test_only_ratios_of_weights_matter_and_unequal_ones_widen_intervals(rng):
    z, w = rng.normal(0.4, 1, 1000), rng.exponential(size=1000)
    plain, twice = diagnose_distributions(exact(z)), diagnose_distributions(exact(z, weight=np.full(1000, 2.0)))
    assert plain == twice
    weighted = diagnose_distributions(exact(z, weight=w)).findings[0]
    width = np.diff([each.interval for each in (plain.findings[0], weighted)])
    assert width[1] / width[0] == pytest.approx(np.sqrt((w**2).sum() * 1000) / w.sum(), rel=0.01)
    assert weighted.parameter == pytest.approx(np.average(z, weights=w), abs=0.01)


def test_repeated_rows_of_clusters_show_no_more_than_one(rng):
    z, x = rng.normal(0.3, 1, (2, 300))
    once, many = exact(z, x), exact(np.repeat(z, 4), np.repeat(x, 4))
    clusters = np.repeat(np.arange(300), 4)
    calm = exact(np.repeat(z - z.mean(), 4))
    assert pit_gate(PitScored.of(calm), clusters).design_effect == pytest.approx(4, rel=0.4)
    one, found = diagnose_distributions(once), diagnose_distributions(many, clusters)
    assert one.errors == found.errors
    assert found.findings[0].parameter == pytest.approx(one.findings[0].parameter, abs=1e-4)
    assert np.ptp(found.findings[0].interval) == pytest.approx(np.ptp(one.findings[0].interval), rel=0.2)
    assert found.independent_p_value < found.p_value


def test_scores_of_overlapping_windows_are_summed_as_by_a_matrix(rng):
    issued, ahead = rng.integers(0, 40, 200), rng.integers(1, 5, 200)
    groups, scores, one = RowGroups.of(Windows(issued, issued + ahead)), rng.normal(size=(2, 200)), np.ones(200)
    begin, end = issued[:, None], (issued + ahead)[:, None]
    overlap = (begin < end.T) & (end > begin.T)
    assert groups.between(scores, one, one) == pytest.approx(scores @ overlap @ scores.T - scores @ scores.T)
    windows = np.unique(np.hstack([begin, end]), axis=0)
    overlap = (windows[:, :1] < windows[:, 1]) & (windows[:, 1:] > windows[:, :1].T)
    assert groups.degrees == pytest.approx(len(windows) ** 2 / overlap.sum())


def test_windows_may_be_dates_and_a_horizon_of_0_is_a_step_ahead():
    issued = np.datetime64("2024-01-06") + 7 * np.arange(5)
    windows = Windows(np.repeat(issued, 2), np.repeat(issued, 2) + np.tile([0, 7], 5))
    begin, end = windows.numbers()
    assert (end - begin).tolist() == [7, 14] * 5


def test_the_shortest_horizon_is_named_beside_all_and_all_are_fitted_at_once(rng):
    dates, ahead = np.repeat(np.arange(150), 4), np.tile(np.arange(1, 5), 150)
    z = rng.normal(0.5, 1, 600) * np.where(ahead == 1, 2.0, 1.0)
    found = diagnose_distributions(exact(z), Windows(dates, dates + ahead))
    assert {"bias", "spread"} <= {*found.errors}
    assert found.clauses[-1].words.startswith("the shortest horizon alone: ")
    assert found.n_clusters == 150


def test_impossible_outcomes_are_counted_and_stay_out_of_the_rest(rng):
    z = rng.normal(size=300)
    rows = exact(z)
    rows.impossible[[3, 5]] = True
    found, rest = diagnose_distributions(rows), diagnose_distributions(exact(np.delete(z, [3, 5])))
    assert found.errors == ("certainty",)
    assert found.findings[0].rows == (3, 5)
    assert "2 outcomes of 300 outside of all that was held possible" in found.verdict
    assert found.p_value == rest.p_value > 0.05


def test_outcomes_that_carry_all_the_evidence_are_shown(rng):
    z = rng.normal(size=300)
    z[7] = 9.0
    found = diagnose_distributions(exact(z))
    assert found.errors == ("rows",)
    assert found.findings[0].rows == (7,)


@pytest.mark.slow
def test_many_rows_are_fitted_in_cells_as_they_would_be_one_by_one(rng, monkeypatch):
    z, x, s = rng.normal(0.1, 1.2, 4200), *rng.normal(size=(2, 4200))
    z += 0.2 * x
    for form in FORMS.values():
        rows = form(z, x, s)
        assert PitScored.of(rows).at is not None
        cells = diagnose_distributions(rows)
        with monkeypatch.context() as patched:
            patched.setattr(pit_search, "_ONE_BY_ONE", 10_000)
            each = diagnose_distributions(rows)
        assert cells.errors == each.errors
        assert cells.cost == pytest.approx(each.cost, rel=0.01)
        for a, b in zip(cells.findings, each.findings, strict=True):
            assert a.parameter == pytest.approx(b.parameter, abs=0.003)


def test_too_little_gives_no_verdict(rng):
    z = rng.normal(size=60)
    assert diagnose_distributions(exact(z[:9])).reason == "the test takes 10 rows or more, here 9"
    assert "six clusters" in diagnose_distributions(exact(z), np.arange(60) // 12).reason
    constant = diagnose_distributions(exact(z, np.full(60, 0.1), np.full(60, np.log(3.0))))
    assert constant.p_value == diagnose_distributions(exact(z)).p_value


def held(rows, share, groups=None):
    """Share of the outcomes inside a central interval."""
    shares = PitShares(PitScored.of(rows), RowMeans.of(rows, groups), None, 0.95)
    return next(each.held for each in shares.coverage() if each.expected == pytest.approx(share))


def test_coverage_counts_what_is_known_and_clusters_widen_it(rng):
    z = rng.normal(size=2000)
    for form in FORMS.values():
        for share in (0.5, 0.9):
            found = held(form(z), share)
            assert found.value == pytest.approx(share, abs=0.04)
            assert found.interval.low < share < found.interval.high
    low = ndtri(np.array([0.0, 0.8]))
    ties = replace(exact(low), low=low, high=ndtri(np.array([0.2, 1.0])))
    assert held(ties, 0.8).value == pytest.approx(0.5)
    rows, clusters = exact(np.repeat(z[:200], 9)), np.repeat(np.arange(200), 9)
    alone, within = (np.ptp(held(rows, 0.5, groups).interval) for groups in (None, clusters))
    assert within / alone == pytest.approx(3, rel=0.05)


@pytest.mark.slow
@pytest.mark.filterwarnings("error")
def test_outcomes_that_bound_no_size_are_named_all_the_same(rng):
    x = rng.normal(size=200)
    far = np.array([3.0, -3.0])[rng.integers(0, 2, 200)]
    for rows, name in (
        (by_quantiles(np.full(200, 5.0)), "too low"),
        (by_quantiles(np.full(200, -5.0), x, x), "too high"),
        (by_quantiles(far), "too narrow"),
        (exact(np.zeros(200)), "too wide"),
    ):
        found = diagnose_distributions(rows)
        assert found.clauses[0].name == name
        assert "its size is not determined" in found.clauses[0].detail
        assert np.isnan(found.findings[0].interval).all()
    infinite = diagnose_distributions(exact(np.where(x > 1, np.inf, x)))
    assert "nan" not in infinite.verdict
    assert infinite.mended
    assert "the points at 10%, 50% and 90% are on average those at" in infinite.verdict
    unknown = replace(exact(x), low=np.full(200, -np.inf), high=np.full(200, np.inf), information=np.zeros((1, 4, 4)))
    assert diagnose_distributions(unknown).reason == "too little is known of the outcomes"


OF = [kind for kind in KINDS.values() if kind.distributions]


@pytest.mark.parametrize("kind", OF, ids=lambda kind: kind.error)
@pytest.mark.parametrize("value", [-0.2, 0.2])
def test_what_is_said_is_explained_and_mended(kind, value):
    e = OfDistributions(value, (value - 0.1, value + 0.1), (kind.error,), True, 0.7, (9.0, 4.0), (-0.2, 0.4))
    finding = Finding(kind.error, *kind.distributions(e), value)
    assert finding.explanation.meaning
    assert finding.advice.fitted
    assert kind.error == "tail" or "95% CI" in finding.words
    unknown = Finding(kind.error, *kind.distributions(replace(e, determined=False)), value)
    assert kind.error == "tail" or "its size is not determined" in unknown.words
    three = replace(e, together=("bias", "spread", "skew"))
    assert "95% CI" not in Finding(kind.error, *kind.distributions(three), value).words
