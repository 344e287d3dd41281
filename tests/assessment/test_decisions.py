import json
import math
from dataclasses import replace

import numpy as np
import pytest
from scipy.special import expit, logit
from scipy.stats import binomtest
from scipy.stats import t as student_t

from unperplexed import Forecasts, InputError, Recalibrator, Tally, decide, decision_curve
from unperplexed.assessment.counted_rows import rows_one_by_one
from unperplexed.assessment.decisions import best_threshold
from unperplexed.forecasts.gathered import gathered
from unperplexed.recalibration.averaging import average
from unperplexed.recalibration.fitting import BINARY_METHODS
from unperplexed.results import Costs


def calibrated(rng, n):
    p = rng.beta(1, 3, n)
    return (rng.random(n) < p).astype(int), p


def costs_at(y, p, t, fp, fn):
    return np.where(y == 1, fn * (p < t), fp * (p >= t))


def test_threshold_follows_from_the_costs(rng):
    y, p = calibrated(rng, 200)
    for fp, fn, tp, tn in [(1, 4, 0, 0), (2, 3, 1, 0.5), (10, 1, 5, 0)]:
        found = decide(
            *(y, p),
            cost_fp=fp,
            cost_fn=fn,
            cost_tp=-tp,
            cost_tn=-tn,
            recalibrated=None,
        )
        t = found.threshold
        assert t == pytest.approx((fp + tn) / (fp + tn + fn + tp), rel=1e-15)
        assert t * -tp + (1 - t) * fp == pytest.approx(t * fn + (1 - t) * -tn)  # acting and not acting cost the same


def test_costs_a_row_are_those_of_the_rows(rng):
    y, p = calibrated(rng, 500)
    found = decide(y, p, cost_fp=1, cost_fn=4, recalibrated=None)
    rows = costs_at(y, p, 0.2, 1, 4)
    assert found.cost.value == pytest.approx(rows.mean())
    assert found.cost.interval.high - found.cost.value == pytest.approx(1.96 * rows.std() / math.sqrt(500), rel=0.01)
    assert found.cost_all.value == pytest.approx((y == 0).mean())
    assert found.cost_none.value == pytest.approx(4 * y.mean())


@pytest.mark.slow
def test_of_calibrated_forecasts_no_threshold_is_cheaper(rng):
    y, p = calibrated(rng, 100_000)
    found = decide(y, p, cost_fp=1, cost_fn=3, recalibrated=None)
    for t in np.arange(0.05, 0.6, 0.05):
        assert found.cost.value <= costs_at(y, p, t, 1, 3).mean() + 1e-3
    assert found.best_threshold == pytest.approx(0.25, abs=0.05)


def test_cost_is_linear_in_net_benefit(rng):

    y, p = calibrated(rng, 300)
    found = decide(y, p, cost_fp=1, cost_fn=4, recalibrated=None)
    benefit = decision_curve(y, p, thresholds=[0.2]).models["model"].net_benefit[0]
    assert found.cost_none.value - found.cost.value == pytest.approx(4 * benefit)


def test_confusion_has_wilson_intervals(rng):
    y, p = calibrated(rng, 300)
    c = decide(y, p, cost_fp=1, cost_fn=4, recalibrated=None).confusion
    counts = [c.true_positives, c.false_positives, c.false_negatives, c.true_negatives]
    assert counts == [
        ((p >= 0.2) & (y == 1)).sum(),
        ((p >= 0.2) & (y == 0)).sum(),
        *(((p < 0.2) & (y == outcome)).sum() for outcome in (1, 0)),
    ]
    for share, hits, of in [
        (c.sensitivity, counts[0], counts[0] + counts[2]),
        (c.specificity, counts[3], counts[3] + counts[1]),
        (c.positive_predictive_value, counts[0], counts[0] + counts[1]),
        (c.negative_predictive_value, counts[3], counts[3] + counts[2]),
        (c.acted_on, counts[0] + counts[1], 300),
    ]:
        expected = binomtest(int(hits), int(of)).proportion_ci(method="wilson")
        assert share.value == pytest.approx(hits / of)
        assert share.interval == pytest.approx((expected.low, expected.high), rel=1e-9)


def test_the_best_threshold_is_the_best_of_all(rng):
    for _ in range(30):
        n = int(rng.integers(2, 12))
        p, y, w = rng.integers(0, 6, n) / 5, rng.integers(0, 2, n), rng.integers(1, 4, n).astype(float)
        t = best_threshold(p, y, w, Costs(1.0, 2.0))
        every = [0.0, *(p + 1e-9), *(p - 1e-9)]
        assert w @ costs_at(y, p, t, 1, 2) == pytest.approx(min(w @ costs_at(y, p, each, 1, 2) for each in every))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_best_threshold_parts_neighbouring_values(dtype):
    for bits in range(20):
        low = dtype(0.3) + bits * np.spacing(dtype(0.3))
        p = np.array([low, np.nextafter(low, dtype(1))], dtype=dtype)
        t = best_threshold(p, np.array([0, 1]), np.ones(2), Costs(1.0, 2.0))
        assert (p >= dtype(t)).tolist() == [False, True]


def test_the_tuned_threshold_is_optimistic(rng):
    gaps = []
    for _ in range(60):
        y, p = calibrated(rng, 100)
        found = decide(y, p, cost_fp=1, cost_fn=3, recalibrated=None)
        assert found.best_cost <= found.cost.value
        gaps.append(found.optimism)
    assert np.mean(gaps) > 0.02


def test_miscalibration_costs_what_decisions_by_the_true_probabilities_save(rng):
    y, p = calibrated(rng, 20_000)
    found = decide(y, np.sqrt(p), cost_fp=1, cost_fn=3, recalibrated=p)
    saved = costs_at(y, np.sqrt(p), 0.25, 1, 3) - costs_at(y, p, 0.25, 1, 3)
    assert found.miscalibration.value == pytest.approx(saved.mean())
    assert found.miscalibration.interval.low == pytest.approx(saved.mean() - 1.96 * saved.std() / 20_000**0.5, rel=1e-3)
    saving = f"(cost {found.recalibrated.value:.3f} a row instead of {found.cost.value:.3f})"
    assert found.verdict.startswith(f"Recalibrate, then act where the probability of '1' is at least 0.25 {saving}.")
    own = decide(y, p, cost_fp=1, cost_fn=3, recalibrated=p)
    assert own.miscalibration.value == 0
    assert "No evidence that recalibration would lower it" in own.verdict


@pytest.mark.slow
def test_lines_recalibrate_and_decide(rng):
    y, p = calibrated(rng, 1100)
    costs = {"cost_fp": 1, "cost_fn": 3}
    q = np.sqrt(p)
    for two in (False, True):
        text = str(decide(y, np.stack([1 - q, q], axis=1) if two else q, **costs))
        fit = "recalibrated = Recalibrator().fit(y_true, y_prob).transform(new_y_prob)"
        assert f"{fit}\n" in text
        lines = text[text.index(fit) :].splitlines()[:2]
        known = {"y_true": y, "y_prob": q, "new_y_prob": q, "Recalibrator": Recalibrator}
        if two:
            known |= {name: np.stack([1 - q, q], axis=1) for name in ("y_prob", "new_y_prob")}
        exec("\n".join(line.strip() for line in lines), known)
        assert costs_at(y, known["act"], 0.5, 1, 3).mean() < costs_at(y, q, 0.25, 1, 3).mean()
    assert "Recalibrator()" not in str(decide(y, p, **costs))
    tally = str(decide(Tally.of(y, q), **costs))
    assert "Recalibrator().fit(tally)" in tally


def test_copies_in_clusters_are_single_rows(rng):
    y, p = calibrated(rng, 100)
    options = {"cost_fp": 1, "cost_fn": 3, "recalibrated": None}
    one = decide(y, p, clusters=np.arange(100), **options)
    three = decide(*(np.repeat(x, 3) for x in (y, p)), clusters=np.repeat(np.arange(100), 3), **options)
    assert three.cost.interval == pytest.approx(one.cost.interval)
    assert three.confusion.sensitivity.interval == pytest.approx(one.confusion.sensitivity.interval)
    assert three.best_cost_cross_fitted.value != three.best_cost


def test_every_form_has_the_same_figures(rng):
    y, p = calibrated(rng, 300)
    found = decide(y, p, cost_fp=1, cost_fn=4, recalibrated=None)
    read = json.loads(found.to_json())
    assert read["verdict"] == found.verdict
    assert " ".join(str(found).split()).startswith(found.verdict)
    assert read["cost"]["value"] == found.cost.value
    assert f"{found.confusion.true_positives:.0f}" in str(found)


def test_few_rows_have_no_cross_fitted_figures():
    found = decide([0, 1, 1], [0.2, 0.3, 0.9], cost_fp=1, cost_fn=1, recalibrated=None)
    assert found.best_cost_cross_fitted is None
    assert math.isnan(found.optimism)
    assert "in-sample" in str(found)
    none = decide([0, 0, 0], [0.2, 0.3, 0.9], cost_fp=1, cost_fn=1, recalibrated=None)
    assert none.best_threshold == math.inf
    assert math.isnan(none.confusion.sensitivity.value)
    assert "never acting" in str(none)


@pytest.mark.parametrize(
    ("costs", "message"),
    [
        ((0, 1), "cost_fp and cost_tn: .* got 0 and 0; .* one would always act"),
        ((1, -1), "cost_fn and cost_tp: .* got -1 and 0; .* one would never act"),
        ((math.nan, 1), "cost_fp: expected a finite number"),
        ((1, "4"), "cost_fn: expected a finite number"),
    ],
)
def test_costs_without_a_decision_are_refused(costs, message):
    with pytest.raises(InputError, match=message):
        decide([0, 1], [0.2, 0.6], cost_fp=costs[0], cost_fn=costs[1])


def test_miscalibration_is_cross_fitted_by_default(rng):
    y, p = calibrated(rng, 600)
    off = expit(logit(p) + 1.5)
    found = decide(y, off, cost_fp=1, cost_fn=3)
    best = costs_at(y, p, 0.25, 1, 3).mean()
    assert found.recalibrated.value == pytest.approx(best, abs=0.05)
    assert found.miscalibration.interval.low > 0
    assert found.miscalibration.value == pytest.approx(found.cost.value - found.recalibrated.value)
    few = decide(y[:9], off[:9], cost_fp=1, cost_fn=3)
    assert few.miscalibration is None
    assert "nothing was recalibrated" in few.warnings[0]


def test_a_recalibrator_fitted_on_other_rows_is_applied(rng):
    y, p = calibrated(rng, 500)
    fitted = Recalibrator("temperature").fit(y[:250], np.sqrt(p[:250]))
    options = {"cost_fp": 1, "cost_fn": 3}
    found = decide(y[250:], np.sqrt(p[250:]), recalibrated=fitted, **options)
    same = decide(y[250:], np.sqrt(p[250:]), recalibrated=fitted.transform(np.sqrt(p[250:])), **options)
    assert found.recalibrated == same.recalibrated


def test_a_recalibrator_of_other_classes_is_refused(rng):
    y, p = calibrated(rng, 500)
    named = np.where(y == 1, "fraud", "ok")
    options = {"pos_label": "fraud", "cost_fp": 1, "cost_fn": 4}
    right = Recalibrator("logistic").fit(named, p, pos_label="fraud")
    assert decide(named, p, recalibrated=right, **options).recalibrated is not None
    for other in (
        Recalibrator("logistic").fit(named, 1 - p, pos_label="ok"),
        Recalibrator("logistic").fit(np.where(y == 1, "cat", "dog"), p, pos_label="cat"),
    ):
        with pytest.raises(InputError, match="'ok', 'fraud'"):
            decide(named, p, recalibrated=other, **options)


@pytest.mark.slow
def test_cross_fitting_keeps_clusters_together(rng):
    y, p = (np.repeat(x, 3) for x in calibrated(rng, 100))
    curve = decision_curve(y, np.sqrt(p), clusters=np.repeat(np.arange(100), 3), recalibrated=True, thresholds=[0.25])
    shares = curve.models["recalibrated"].acted_on * 100
    assert shares == pytest.approx(shares.round())  # the three copies of a row get the same probability


def test_recalibrated_probabilities_of_other_rows_are_refused(rng):
    y, p = calibrated(rng, 50)
    with pytest.raises(InputError, match="y_true has 50 rows, recalibrated 49"):
        decide(y, p, cost_fp=1, cost_fn=3, recalibrated=p[1:])
    with pytest.raises(InputError, match="recalibrated: NaN"):
        decide(y, p, cost_fp=1, cost_fn=3, recalibrated=np.r_[np.nan, p[1:]])


def test_rows_left_out_of_the_forecasts_need_no_recalibrated_probability(rng):
    y, p = calibrated(rng, 50)
    outcome, gaps, options = y.astype(float), p.copy(), {"cost_fp": 1, "cost_fn": 3}
    outcome[4], gaps[7] = np.nan, np.nan
    kept = np.setdiff1d(np.arange(50), [4, 7])
    found = decide(outcome, gaps, recalibrated=np.sqrt(gaps), invalid="drop", **options)
    assert found.recalibrated == decide(y[kept], p[kept], recalibrated=np.sqrt(p[kept]), **options).recalibrated
    assert "left out" in found.to_html()
    gaps[9] = np.nan
    with pytest.raises(InputError, match=r"no valid probability in 1 row \(9; counted from 0\), where y_prob has one"):
        decide(outcome, np.where(np.arange(50) == 7, np.nan, p), recalibrated=gaps, invalid="drop", **options)


def test_weighted_decisions_are_sums_of_weights(rng):
    y, p = calibrated(rng, 80)
    w = rng.uniform(0.5, 2, 80)
    found = decide(y, p, cost_fp=1, cost_fn=1, sample_weight=w, recalibrated=None).confusion
    acted = p >= 0.5
    for name, rows in (("true_positives", acted & (y == 1)), ("false_negatives", ~acted & (y == 1))):
        assert getattr(found, name) == pytest.approx(w[rows].sum())


def test_the_bound_of_a_tally_in_cells_holds_the_rows_and_is_said(rng):
    y, p = calibrated(rng, 500)
    tally, options = Tally.of(y, p, exact_limit=16, fraction_bits=3), {"recalibrated": None}
    costs = {"cost_fp": 1, "cost_fn": 4}
    exact, found = (decide(*each, **costs, **options) for each in ((y, p), (tally,)))
    assert 0 < abs(found.cost.value - exact.cost.value) <= found.bound
    assert found.warnings[0].startswith("the tally counted probabilities in cells, and that of the threshold has")
    assert exact.bound == 0
    curve, rows = decision_curve(tally), decision_curve(y, p)
    off = np.abs(curve.models["model"].net_benefit - rows.models["model"].net_benefit)
    assert (off <= curve.bounds + 1e-12).all()
    assert "use the rows for more digits" in curve.warnings[0]


def test_a_tally_of_an_earlier_version_cannot_decide(rng):
    """It did not keep the positive class apart."""
    y, p = calibrated(rng, 50)
    earlier = replace(Tally.of(y, p), binary=None)
    with pytest.raises(InputError, match="does not keep the positive class apart, as those of earlier versions; count"):
        decide(earlier, cost_fp=1, cost_fn=1)
    with pytest.raises(InputError, match="does not keep the positive class apart, as those of earlier versions; count"):
        Recalibrator().fit(earlier)


def test_many_different_probabilities_are_recalibrated_in_the_cells_of_a_tally(rng, monkeypatch):
    y, p = calibrated(rng, 300)
    rows = rows_one_by_one(gathered({"model": np.sqrt(p)}, y, {}), "model")
    monkeypatch.setattr("unperplexed.assessment.counted_rows.EXACT_LIMIT", 10)
    fitted = Recalibrator().fit(Tally.of(y, np.sqrt(p), exact_limit=10))
    dealt = rows.in_folds(0)
    assert average(dealt.rows, BINARY_METHODS).weights == pytest.approx(fitted.weights_, rel=1e-9)
    assert dealt.lots.weight.sum() == pytest.approx(300, rel=1e-12)
    np.testing.assert_allclose(np.bincount(dealt.fold, dealt.lots.weight), 15, atol=3)  # near the ends of cells


@pytest.mark.slow
@pytest.mark.parametrize("clustered", [False, True], ids=["rows", "clusters"])
@pytest.mark.parametrize("grid", [False, True], ids=["distinct", "few values"])
def test_recalibrated_costs_are_those_of_the_held_out_rows_of_the_recalibrator(rng, grid, clustered):
    y, p = calibrated(rng, 600)
    p = np.round(np.sqrt(p), 1 if grid else 9).clip(0.05, 0.95)
    groups = {"clusters": rng.integers(0, 70, 600)} if clustered else {}
    found = decide(y, p, cost_fp=1, cost_fn=4, **groups)
    q, truth = Recalibrator().fit(y, p, **groups).held_out.recalibrated(Forecasts(y, p, **groups).blocks())
    np.testing.assert_array_equal(truth, y)
    assert found.recalibrated.value == pytest.approx(costs_at(y, q[:, 1], 0.2, 1, 4).mean(), rel=1e-12)


def test_costs_of_each_row_give_it_a_threshold_of_its_own(rng):
    y, p = calibrated(rng, 2000)
    loss = rng.gamma(2, 5, 2000)
    found = decide(y, p, cost_fp=1, cost_fn=loss, recalibrated=None)
    acted = p >= 1 / (1 + loss)
    costs = np.where(acted, 1.0 * (y == 0), loss * y)
    assert found.cost.value == pytest.approx(costs.mean())
    error = costs.std(ddof=1) / np.sqrt(costs.size)
    low, high = found.cost.interval
    assert (high - low) / 2 == pytest.approx(student_t.ppf(0.975, costs.size - 1) * error)
    assert found.cost.value < decide(y, p, cost_fp=1, cost_fn=loss.mean(), recalibrated=None).cost.value * 1.2
    assert found.thresholds == pytest.approx((1 / (1 + loss.max()), 1 / (1 + loss.min())))
    assert found.confusion.true_positives == (acted & (y == 1)).sum()
    assert math.isnan(found.best_threshold)
    assert found.n_clusters is None
    same = decide(y, p, cost_fp=np.full(2000, 1.0), cost_fn=np.full(2000, 4.0), recalibrated=None)
    assert same.cost == decide(y, p, cost_fp=1, cost_fn=4, recalibrated=None).cost


def test_costs_of_rows_that_are_left_out_do_not_count(rng):
    y, p = calibrated(rng, 300)
    loss, gaps = rng.gamma(2, 5, 300), np.where(np.arange(300) % 3, p, np.nan)
    found = decide(y, gaps, cost_fp=1, cost_fn=loss, invalid="drop", recalibrated=None)
    kept = np.arange(300) % 3 > 0
    assert found.cost == decide(y[kept], p[kept], cost_fp=1, cost_fn=loss[kept], recalibrated=None).cost


def test_recalibration_is_compared_at_the_thresholds_of_rows(rng):
    y, p = calibrated(rng, 1500)
    loss = rng.gamma(2, 2, 1500)
    found = decide(y, expit(logit(p) + 2), cost_fp=1, cost_fn=loss)
    assert found.miscalibration.interval.low > 0
    best = np.where(p >= 1 / (1 + loss), 1.0 * (y == 0), loss * y).mean()
    assert found.recalibrated.value == pytest.approx(best, abs=0.05)
    assert "cost_fn" in found._code


@pytest.mark.parametrize(
    ("loss", "message"),
    [
        ([1, np.nan], r"cost_fn: expected a finite number.* 1 row \(1"),
        ([1, 0], r"cost_fn and cost_tp: .* got 0 and 0 in 1 row \(1"),
        ([1, 2, 3], "of different lengths"),
        ([[1, 2]], "cost_fn: expected a finite number, or one for each row"),
        ([], r"cost_fn: expected a finite number, or one for each row, got \[\]"),
    ],
)
def test_costs_of_rows_name_the_rows_that_cannot_be(loss, message):
    with pytest.raises(InputError, match=message):
        decide([0, 1], [0.2, 0.6], cost_fp=[1, 1], cost_fn=loss)


@pytest.mark.parametrize("loss", [[2.0], [2.0] * 3])
def test_costs_are_one_for_each_row(loss):
    with pytest.raises(InputError, match=f"costs: of {len(loss)} rows, for 2 outcomes; give one, or one for each"):
        decide([0, 1], [0.2, 0.6], cost_fp=1, cost_fn=loss)


def test_a_capacity_takes_the_most_probable_rows_of_each_period(rng):
    y, p = calibrated(rng, 1000)
    day = np.arange(1000) % 10
    best = decide(y, p, cost_fp=1, cost_fn=4, capacity=20, period=day, recalibrated=None).capacity
    acted = np.zeros(1000, bool)
    for each in range(10):
        of_day = np.flatnonzero(day == each)
        acted[of_day[np.argsort(-p[of_day])[:20]]] = True
    assert (best.periods, best.acted_on) == (10, 200)
    assert best.precision.value == pytest.approx(y[acted].mean())
    assert best.recall.value == pytest.approx(y[acted].sum() / y.sum())
    assert best.threshold == p[acted].min()
    assert best.cost.value == pytest.approx(np.where(acted, y == 0, 4 * y).mean())
    whole = decide(y, p, cost_fp=1, cost_fn=4, capacity=200, recalibrated=None).capacity
    assert whole.precision.value == pytest.approx(y[np.argsort(-p)[:200]].mean())
    assert whole.precision.value >= best.precision.value


def test_a_capacity_takes_the_rows_that_save_the_most(rng):
    y, p = calibrated(rng, 1000)
    loss = rng.gamma(2, 5, 1000)
    best = decide(y, p, cost_fp=1, cost_fn=loss, capacity=100, recalibrated=None).capacity
    acted = np.argsort(-(p * loss - (1 - p)))[:100]
    assert best.precision.value == pytest.approx(y[acted].mean())


def test_of_ties_at_a_capacity_the_expectation_is_taken(rng):
    y, p = np.repeat([1, 0], 500), np.full(1000, 0.5)
    found = decide(y, p, cost_fp=1, cost_fn=2, capacity=200, recalibrated=None).capacity
    assert (found.precision.value, found.recall.value, found.acted_on) == pytest.approx((0.5, 0.2, 200))
    y, p = calibrated(rng, 300)
    p, day = p.round(1), np.arange(300) % 3
    given = {"cost_fp": 1, "cost_fn": 30, "recalibrated": None}
    best = decide(y, p, capacity=20, period=day, **given).capacity
    drawn = []
    for _ in range(400):
        order = np.lexsort((rng.uniform(size=300), -p))
        acted = np.concatenate([order[day[order] == each][:20] for each in range(3)])
        drawn.append((y[acted].mean(), (y[acted] == 0).sum() + 30 * (y.sum() - y[acted].sum())))
    precision, cost = np.mean(drawn, axis=0)
    assert best.precision.value == pytest.approx(precision, abs=0.01)
    assert best.cost.value == pytest.approx(cost / 300, rel=0.02)
    turned = decide(y[::-1], p[::-1], capacity=20, period=day[::-1], seed=5, **given).capacity
    assert turned.cost.value == pytest.approx(best.cost.value)


def test_with_costs_a_capacity_is_a_limit(rng):
    y, p = calibrated(rng, 1000)
    for loss in (4, rng.gamma(2, 5, 1000)):
        found = decide(y, p, cost_fp=1, cost_fn=loss, capacity=1000, recalibrated=None)
        assert found.capacity.cost == pytest.approx(found.cost)
        assert found.capacity.precision.value == pytest.approx(found.confusion.positive_predictive_value.value)
    never = decide(y, p / 10, cost_fp=1e6, cost_fn=1, capacity=5, recalibrated=None)
    assert (never.capacity.acted_on, never.capacity.cost) == (0, never.cost_none)
    assert "Capacity: up to 5 rows" in str(never)
    with pytest.raises(InputError, match="period: goes with a capacity"):
        decide(y, p, cost_fp=1, cost_fn=4, period=np.arange(1000) % 3)


@pytest.mark.parametrize("capacity", [0, 1001, 2.5, "9"])
def test_a_capacity_is_a_number_of_rows(rng, capacity):
    y, p = calibrated(rng, 1000)
    with pytest.raises(InputError, match=r"--capacity.*1 to 1,000"):
        decide(y, p, cost_fp=1, cost_fn=4, capacity=capacity, recalibrated=None)


def test_a_tally_has_no_costs_of_rows_and_no_periods():
    tally = Tally.of([0, 1, 1], [0.2, 0.6, 0.6])
    with pytest.raises(InputError, match="costs"):
        decide(tally, cost_fp=1, cost_fn=[1, 2, 3])
    with pytest.raises(InputError, match="decide by the rows"):
        decide(tally, cost_fp=1, cost_fn=1, capacity=1)
