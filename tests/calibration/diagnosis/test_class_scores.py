"""Fits from sums alone: where no rows tell how the likelihood bends, it is a parabola, whose maximum is known."""

import numpy as np
import pytest
from scipy.optimize import minimize, minimize_scalar

from many_classes import bent, prepared, simulate, statistics_of
from unperplexed import Tally
from unperplexed.calibration.diagnosis.choice import FAR
from unperplexed.calibration.diagnosis.class_scores import PARAMETERS, SumLikelihoods, _values
from unperplexed.calibration.diagnosis.class_search import BIAS_SD, SMALL_SD, prior_of
from unperplexed.calibration.diagnosis.class_statistics import information_of, statistics_of_sums
from unperplexed.kernels.rows import COARSE
from unperplexed.maps.classes import ClassMap
from unperplexed.maps.fit import fitted
from unperplexed.tally.counter import RowSample

EFFECT = 1.4
AT = {"confidence": [0], "tail": [1], "bias": [2, 3, 4, 5]}


def fit(likelihoods, errors, start=None, only=None, sd=BIAS_SD):
    """A set of errors of four classes, fitted; and the map."""
    start = ClassMap() if start is None else start
    of = likelihoods.of([PARAMETERS[name] for name in errors], start)
    found = fitted(of, prior_of(4, EFFECT, only, sd), of.theta_of(start))
    return found, of.map_of(found.theta)


def of_shape(slope, tail):
    return ClassMap("", {"slope": slope, "tail": tail})


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(4)
    return simulate(rng, 600, 4, confidence=-0.2)


@pytest.fixture(scope="module")
def likelihoods(rows):
    p, y = rows
    observed = p[np.arange(len(y)), y], np.ones(len(y))
    return SumLikelihoods(statistics_of(prepared(p, y)), None, observed)


@pytest.fixture(scope="module")
def statistics(rows):
    return statistics_of(prepared(*rows))


SETS = [
    (("confidence",), None, BIAS_SD),
    (("tail",), None, BIAS_SD),
    (("confidence", "tail"), None, BIAS_SD),
    (("bias",), None, BIAS_SD),
    (("bias",), None, SMALL_SD),
    (("confidence", "bias"), None, BIAS_SD),
    (("confidence", "tail", "bias"), None, SMALL_SD),
    (("tail", "bias"), np.array([1, 3]), BIAS_SD),
]


@pytest.mark.parametrize(("errors", "only", "sd"), SETS)
def test_a_fit_is_the_maximum_of_a_parabola(likelihoods, statistics, errors, only, sd):
    score = np.concatenate([statistics.shape_score, statistics.observed - statistics.predicted])
    information = information_of(statistics)
    here = [at for name in errors for at in AT[name]]
    deviations = np.full(6, 1e-6)
    deviations[:2] = FAR
    deviations[2:] = sd if only is None else np.where(np.isin(np.arange(4), only), sd, 1e-6)
    precision = deviations[here] ** -2.0
    theta = np.zeros(6)
    theta[here] = np.linalg.solve(information[np.ix_(here, here)] + EFFECT * np.diag(precision), score[here])
    found, mapping = fit(likelihoods, errors, None, only, sd)
    biases = np.zeros(4) if mapping.biases is None else mapping.biases
    at = [mapping.value("slope"), mapping.value("tail"), *biases]
    np.testing.assert_allclose(at, theta, rtol=1e-5, atol=1e-9)
    assert mapping.lapse == 0
    assert found.penalty == pytest.approx(0.5 * EFFECT * precision @ theta[here] ** 2, rel=1e-4)
    assert found.value == pytest.approx(score @ theta - theta @ information @ theta / 2, rel=1e-5)
    np.testing.assert_allclose(bent(likelihoods, mapping)[0], (score - information @ theta)[2:], rtol=1e-4, atol=1e-4)


def test_no_errors_are_the_forecasts_as_they_are(likelihoods, statistics):
    found, mapping = fit(likelihoods, ())
    assert (found.theta.size, found.penalty, found.value) == (0, 0, 0)
    np.testing.assert_allclose(bent(likelihoods, mapping)[0], statistics.observed - statistics.predicted)


@pytest.mark.parametrize("lapse", [0.003, 0.05, 0.3])
def test_outcomes_at_random_are_fitted_to_the_observed_probabilities(lapse):
    """The likelihood of (1 - e) p + e / C, however few or many they are; and the information on the log-odds of e."""
    rng = np.random.default_rng(6)
    p, y = simulate(rng, 3000, 4)
    y = np.where(rng.random(3000) < lapse, rng.integers(0, 4, 3000), y)
    mine, weight = p[np.arange(3000), y], rng.uniform(0.5, 1.5, 3000)
    likelihoods = SumLikelihoods(statistics_of(prepared(p, y)), None, (mine, weight))

    def log_likelihood(e):
        return weight @ np.log(((1 - e) * mine + e / 4) / mine)

    def fall(e):
        return EFFECT * np.log(e / (1 - e)) ** 2 / (2 * 15**2) - log_likelihood(e)

    best = minimize_scalar(fall, bounds=(1e-5, 0.6), method="bounded", options={"xatol": 1e-9})
    found, mapping = fit(likelihoods, ("noise",))
    e = mapping.lapse
    assert e == pytest.approx(best.x, rel=1e-5)
    assert found.value - found.penalty == pytest.approx(-best.fun, rel=1e-9)
    by_log_odds = e * (1 - e) * (0.25 - mine) / ((1 - e) * mine + e / 4)
    information = bent(likelihoods, mapping, ["lapse"])[1]
    assert information.item() == pytest.approx(weight @ by_log_odds**2, rel=1e-9)
    expected = information_of(statistics_of(prepared(p, y)))
    np.testing.assert_allclose(bent(likelihoods, ClassMap())[1], expected, rtol=1e-9)


@pytest.mark.parametrize("kind", ["no rows", "forecasts that say nothing"])
def test_where_the_rows_that_are_kept_tell_nothing_the_likelihood_is_a_parabola(rows, kind):
    p, y = rows
    p = p if kind == "no rows" else np.full_like(p, 0.25)
    kept = Tally.of(y, p, labels=range(4)).row_sample
    sample = RowSample(kept.key[:0], kept.count[:0], kept.cells[:0]) if kind == "no rows" else kept
    statistics, observed = statistics_of(prepared(p, y)), (p[np.arange(len(y)), y], np.ones(len(y)))
    (found, _), (expected, _) = (
        fit(SumLikelihoods(statistics, each, observed), ("confidence", "bias")) for each in (sample, None)
    )
    assert found.value == expected.value
    np.testing.assert_array_equal(found.theta, expected.theta)


# ---- where rows that are kept tell how the likelihood bends


class Bent:
    """Overconfident rows of four classes with a bias, many or few; and the formulas of their fits."""

    def __init__(self, n):
        p, y = simulate(np.random.default_rng(8), n, 4, confidence=-0.3, biases=np.array([0.5, 0, 0, -0.4]))
        self.statistics = statistics_of(prepared(p, y))
        sample = Tally.of(y, p, labels=range(4)).row_sample
        self.likelihoods = SumLikelihoods(self.statistics, sample, (p[np.arange(n), y], np.ones(n)))
        self.curve = self.likelihoods._curve
        self.information = information_of(self.statistics)
        self.score = self.statistics.observed - self.statistics.predicted

    def seen(self, shape):
        """The score along the direction in which mean predictions move is noise of known variance, given the others."""
        growth, used = self.curve.growth(shape), np.flatnonzero(shape)
        across = max(1 + 1.9 * (growth - 1), 0.1) * self.information[2:, :2]
        known, direction = growth * self.information[2:, 2:], self.information[2:, :2] @ shape
        own = known - across[:, used] @ np.linalg.inv(self.curve(shape)[2][np.ix_(used, used)]) @ across[:, used].T
        own += 1e-6 * np.trace(known) / 4 * np.eye(4)
        variance = (0.6 * (growth - 1)) ** 2
        gained = variance * direction @ np.linalg.inv(own + variance * np.outer(direction, direction))
        along, share = gained @ (self.score - across @ shape), variance - variance * gained @ direction
        return self.score - along * direction, across, known - share * np.outer(direction, direction)

    def height(self, theta, seen, sd):
        """Penalised log-likelihood of confidence, tail and biases; and it without the penalty."""
        shape, biases = theta[:2], theta[2:]
        score, across, known = seen
        rise = shape @ self.statistics.shape_score - self.curve(shape)[0]
        rise += biases @ (score - across @ shape) - biases @ known @ biases / 2
        return rise - EFFECT / 2 * (shape @ shape / FAR**2 + biases @ biases / sd**2), rise


BENT = {n: Bent(n) for n in (5, 300)}


@pytest.mark.parametrize(
    ("n", "shape"), [*((n, x) for n in BENT for x in ((-0.3, 0.1), (-0.3, 0.0), (0.0, 0.2))), (300, (2.0, 0.0))]
)
def test_class_biases_beside_confidence_and_tail(n, shape):
    data, mapping = BENT[n], of_shape(*shape)
    found, expected = data.likelihoods.seen(mapping), data.seen(np.array(shape))
    for name, one, other in zip(found._fields, found, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-6, atol=1e-9 * np.abs(other).max(), err_msg=name)
    information = bent(data.likelihoods, mapping)[1]
    np.testing.assert_allclose(information[:2, :2], data.curve(np.array(shape))[2], rtol=1e-12)
    np.testing.assert_allclose(information[2:, :2], expected[1], rtol=1e-12)
    np.testing.assert_allclose(information[:2, 2:], expected[1].T, rtol=1e-12)
    np.testing.assert_allclose(information[2:, 2:], found.known, rtol=1e-12)


@pytest.mark.parametrize("n", BENT)
@pytest.mark.parametrize("start", [ClassMap(), of_shape(-0.3, 0.1)])
@pytest.mark.parametrize(("errors", "only", "sd"), [each for each in SETS if each[1] is None])
def test_a_fit_is_the_maximum_of_a_likelihood_that_bends(n, start, errors, only, sd):
    data = BENT[n]
    curved = start.value("tail") != 0
    seen = data.seen(np.array([start.value("slope"), start.value("tail")])) if curved else data.likelihoods.seen(start)
    here = [at for name in errors for at in AT[name]]

    def fall(some):
        theta = np.zeros(6)
        theta[here] = some
        return -data.height(theta, seen, sd)[0]

    best = minimize(fall, np.zeros(len(here)), method="BFGS", options={"gtol": 1e-6})
    found, mapping = fit(data.likelihoods, errors, start, only, sd)
    biases = np.zeros(4) if mapping.biases is None else mapping.biases
    theta = np.array([mapping.value("slope"), mapping.value("tail"), *biases])
    np.testing.assert_allclose(theta[here], best.x, rtol=1e-3, atol=2e-5)
    assert not np.delete(theta, here).any()
    penalised, rise = data.height(theta, seen, sd)
    assert found.value == pytest.approx(rise, rel=1e-9)
    assert found.penalty == pytest.approx(rise - penalised, rel=1e-9)
    score, across, known = data.likelihoods.seen(mapping)
    left = score - across @ theta[:2] - known @ biases
    np.testing.assert_allclose(bent(data.likelihoods, mapping)[0], left, rtol=1e-6, atol=1e-9)


def test_rows_in_the_middle_of_their_cells_are_as_they_were():
    """But for how an eighth of an octave is rounded: its middle is 2**15 of 2**16 steps from where it begins."""
    rest, _ = COARSE.values(np.array([20, 40, 60, 90]), np.full(4, 2.0**15))
    p = np.column_stack([rest, rest, 1 - 2 * rest])
    cells = COARSE.places(p.ravel())[0].reshape(p.shape).astype(np.uint8)
    sample = RowSample(np.arange(4), np.ones(4), np.sort(cells, axis=1))
    assert _values(sample, np.full(1, 1e-6)) == pytest.approx(np.sort(p, axis=1), rel=1e-12)


def test_the_covariance_of_the_classes_is_that_of_their_indicators(rows):
    p, y = rows
    kept = Tally.of(y, p, labels=range(4), parts=["diagnosis"]).diagnosis
    expected = np.diag(p.sum(axis=0)) - p.T @ p
    assert statistics_of_sums(kept)[0].covariance == pytest.approx(expected, rel=1e-5)
