"""Laws that every scoring rule keeps, run over one list of them, and values from outside."""

import pickle
import re
from functools import partial

import mpmath
import numpy as np
import pytest
import scoringrules
import sklearn.metrics as skm

from helpers import softmax_forecasts
from pages import DOCS
from unperplexed import SCORES, InputError, Tally, assess
from unperplexed.forecasts.forecasts import Block, Given, Notes
from unperplexed.kernels.rows import row_primitives
from unperplexed.scores import (
    brier_score,
    generalized_surprisal,
    log_loss,
    penalized_brier_score,
    penalized_log_loss,
    power_score,
    ranked_probability_score,
    row_scores,
    score_named,
    spherical_score,
)
from unperplexed.scores.differentiable import _order
from unperplexed.scores.functions import mean_score
from unperplexed.statistics import generalized_mean

ORDERS = (-0.95, -0.5, -1e-12, 0.0, 1e-9, 0.5, 1.0, 2.0, 5.0)
PUBLISHED = {"variant": "published-code"}

# Mean of each rule by its name; the names of the first part are those of row_scores too. A rule that is added to the
# registry is held to the laws by its name, and to its value in `reference`.
NAMED = {
    **{name: partial(mean_score, name) for name in SCORES},
    "log_loss": log_loss,
    "brier_score": brier_score,
    "spherical_score": spherical_score,
    "penalized_brier_score": penalized_brier_score,
    "penalized_log_loss": penalized_log_loss,
    "ranked_probability_score": ranked_probability_score,
    **{f"power_score({r:g})": partial(power_score, r=r) for r in ORDERS},
    **{f"generalized_surprisal({r:g})": partial(generalized_surprisal, r=r) for r in ORDERS},
}
RULES = {
    **NAMED,
    "brier_score half": partial(brier_score, normalize="half"),
    "brier_score mean": partial(brier_score, normalize="mean"),
    "ranked_probability_score mean": partial(ranked_probability_score, normalize="mean"),
    "penalized_brier_score published": partial(penalized_brier_score, **PUBLISHED),
    "penalized_log_loss published": partial(penalized_log_loss, **PUBLISHED),
}
PROPER = [name for name in NAMED if score_named(name).proper]
RULES_TABLE = (DOCS / "reference" / "rules.csv").read_text("utf-8")
NOT_STRICTLY = re.findall(r"^\"?`(\w+)`.*,not strictly$", RULES_TABLE, re.MULTILINE)

every_rule = pytest.mark.parametrize("rule", RULES.values(), ids=RULES.keys())
every_name = pytest.mark.parametrize("name", NAMED)


def base(name):
    return name.partition(" ")[0].partition("(")[0]


def order(name):
    return float(name.partition("(")[2].rstrip(")"))


def expected(rule, truth, q):
    """Expected score of forecasts (rows of q) when outcomes are drawn from truth; never 0 times infinity."""
    q = np.atleast_2d(q)
    return sum(t * rule(np.full(len(q), c), q) for c, t in enumerate(truth) if t > 0)


def rows_by(name):
    return lambda y, p: row_scores(y, p, name)


def rows_through(mean):
    return lambda y, p: np.array([mean([a], [b]) for a, b in zip(y, p, strict=True)])


class TestPropriety:
    def truths(self, rng, classes):
        """Random ones, on a grid with ties and zeros, ties at the top, and points a hair from such ties."""
        yield from rng.dirichlet(np.ones(classes), 5)
        yield from rng.dirichlet(np.full(classes, 0.2), 4)
        yield from rng.multinomial(4, np.full(classes, 1 / classes), 5) / 4
        tied = np.r_[0.4, 0.4, np.full(classes - 2, 0.2 / max(1, classes - 2))] if classes > 2 else np.full(2, 0.5)
        yield tied
        for step in (1e-12, 1e-9, 1e-3):
            yield tied + step * np.r_[1, -1, np.zeros(classes - 2)]
        yield np.full(classes, 1 / classes)
        yield np.eye(classes)[0]

    def candidates(self, rng, truth):
        """Random ones, vertices, ties of every size, and small steps from the truth and from ties beside it."""
        classes = len(truth)
        vectors = [*rng.dirichlet(np.ones(classes), 20), *np.eye(classes)]
        for k in range(2, classes + 1):
            vectors.append(rng.permutation(np.r_[np.full(k, 1 / k), np.zeros(classes - k)]))
        order = np.argsort(-truth)
        level = truth.copy()
        level[order[:2]] = truth[order[:2]].mean()
        for start in (truth, level):
            for step in (0, 1e-12, 1e-9, 1e-6, 1e-3, 0.1):
                for i, j in rng.integers(0, classes, (4, 2)):
                    moved, part = start.copy(), min(step, start[j])
                    moved[j] -= part
                    moved[i] += part
                    vectors.append(moved)
        return np.clip(vectors, 0, 1)

    @pytest.mark.parametrize("name", PROPER)
    @pytest.mark.parametrize("classes", [2, 4])
    def test_no_forecast_is_expected_to_do_better_than_the_truth(self, rng, name, classes):
        sign = -1 if score_named(name).larger_is_better else 1
        for truth in self.truths(rng, classes):
            q = self.candidates(rng, truth)
            honest = sign * expected(rows_by(name), truth, truth)
            gap = sign * expected(rows_by(name), truth, q) - honest
            assert gap.min() > -1e-13 * (1 + abs(honest))
            far = np.abs(q - truth).max(axis=1) >= 0.05
            assert (gap[far] > 1e-9).all() or base(name) in NOT_STRICTLY

    @pytest.mark.parametrize("r", ORDERS)
    def test_power_score_is_proper_for_rows_of_any_sum(self, rng, r):
        name = f"power_score({r})"
        for truth in self.truths(rng, 3):
            q = np.outer([1 - 9e-4, 1 - 1e-6, 1 + 1e-6, 1 + 9e-4], truth)
            q = q[(q <= 1).all(axis=1)]
            gap = expected(rows_by(name), truth, q) - expected(rows_by(name), truth, truth)
            assert gap.min() > -1e-13
        assert expected(row_scores, [0.5, 0.5], [0.5001, 0.5001]) < np.log(2)  # which the log loss is not

    def test_a_floor_costs_propriety(self):
        floored = rows_through(partial(log_loss, floor=0.05))
        assert expected(floored, [0.97, 0.03], [1.0, 0.0]) < expected(floored, [0.97, 0.03], [0.97, 0.03]) - 0.02

    def test_which_claim_it(self):
        assert all(score.proper for score in SCORES.values())
        assert score_named("ranked_probability_score").proper
        for r in ORDERS:
            assert score_named(f"power_score({r})").proper
            assert score_named(f"generalized_surprisal({r})").proper == (r == 0)

    @pytest.mark.parametrize("r", [r for r in ORDERS if abs(r) > 1e-3])
    def test_generalized_surprisal_is_improper(self, r):
        """Its best forecast is proportional to truth^(1/(1-r)): too cautious for r < 0, too sure for r > 0."""
        truth = np.array([0.7, 0.3])
        best = truth ** (1 / (1 - r)) if r < 1 else np.array([1.0, 0.0])
        rule = rows_by(f"generalized_surprisal({r})")
        gain = expected(rule, truth, truth) - expected(rule, truth, best / best.sum())
        assert gain > 0.003

    def test_the_published_code_is_improper(self):
        truth, tie = [0.49, 0.51], [0.5, 0.5]
        brier = rows_through(RULES["penalized_brier_score published"])
        assert expected(brier, truth, truth) == pytest.approx(0.4949, abs=1e-12)
        assert expected(brier, truth, tie) == pytest.approx(0.25, abs=1e-12)
        log = rows_through(RULES["penalized_log_loss published"])
        assert expected(log, truth, truth) == pytest.approx(1.0325895, abs=1e-6)
        assert expected(log, truth, tie) == pytest.approx(np.log(2), abs=1e-12)
        for name in ("penalized_brier_score", "penalized_log_loss"):
            assert expected(rows_by(name), truth, truth) < expected(rows_by(name), truth, tie) - 0.004


@every_rule
class TestLaws:
    def test_weight_2_is_the_row_twice_and_weight_0_no_row(self, rng, rule):
        y, p = softmax_forecasts(rng, 50, 3)
        w = rng.integers(0, 3, 50)
        twice = rule(np.repeat(y, w), np.repeat(p, w, axis=0))
        assert rule(y, p, sample_weight=w) == pytest.approx(twice, rel=1e-12)
        assert rule(y, p) != pytest.approx(twice, rel=1e-6)

    def test_row_of_weight_0_is_absent_even_where_its_score_is_infinite(self, rule):
        assert rule([1, 1], [0.5, 0.0], sample_weight=[1, 0]) == rule([1], [0.5])

    def test_order_of_rows(self, rng, rule):
        y, p = softmax_forecasts(rng, 50, 4)
        shuffled = rng.permutation(50)
        assert rule(y[shuffled], p[shuffled]) == pytest.approx(rule(y, p), rel=1e-12)

    def test_float32_is_its_values_in_float64(self, rng, rule):
        y, p = softmax_forecasts(rng, 500, 5, dtype=np.float32)
        assert rule(y, p) == pytest.approx(rule(y, p.astype(float)), rel=1e-13)

    def test_one_column_is_two(self, rng, rule):
        y, p = softmax_forecasts(rng, 50, 2)
        two = np.stack([1 - p[:, 1], p[:, 1]], axis=1)
        assert rule(y, p[:, 1]) == rule(y, two)
        assert rule(np.array(["no", "yes"])[y], two, labels=["no", "yes"]) == rule(y, two)
        assert rule(np.array(["no", "yes"])[y], p[:, 1], pos_label="yes") == rule(y, two)

    def test_never_nan(self, rule):
        rows = [[1, 0, 0], [0, 0.5, 0.5], [1, 5e-324, 0], [1, 1e-310, 1e-200], [1 - 1e-16, 1e-16, 0], [1 / 3] * 3]
        for p in (np.array(rows), np.array(rows, dtype=np.float32), np.array(rows, dtype=np.float16)):
            for row in p:
                values = [rule([c], row[None]) for c in range(3)]
                assert not np.isnan(values).any()
                assert min(values) >= 0

    def test_no_rows(self, rule):
        with pytest.raises(InputError, match="no rows to score"):
            rule([], [])


@pytest.mark.parametrize("name", [name for name in RULES if base(name) != "ranked_probability_score"])
def test_order_of_classes(rng, name):
    y, p = softmax_forecasts(rng, 50, 4)
    classes = rng.permutation(4)
    assert RULES[name](np.argsort(classes)[y], p[:, classes]) == pytest.approx(RULES[name](y, p), rel=1e-12)


def test_order_of_classes_counts_in_the_ranked_score_but_not_its_direction(rng):
    y, p = softmax_forecasts(rng, 50, 4)
    value = ranked_probability_score(y, p)
    assert ranked_probability_score(3 - y, p[:, ::-1]) == pytest.approx(value, rel=1e-12)
    swap = np.array([0, 2, 1, 3])
    assert ranked_probability_score(swap[y], p[:, swap]) != pytest.approx(value, rel=1e-3)


@every_name
class TestRows:
    def test_mean_is_of_the_rows(self, rng, name):
        y, p = softmax_forecasts(rng, 50, 4)
        w = rng.exponential(size=50)
        rows = row_scores(y, p, name)
        assert rows.shape == (50,)
        assert rows.dtype == np.float64
        assert NAMED[name](y, p, sample_weight=w) == pytest.approx(np.average(rows, weights=w), rel=1e-12)
        assert rows[7] == row_scores(y[7:8], p[7:8], name)[0]

    def test_blocks_do_not_show(self, rng, name, monkeypatch):
        y, p = softmax_forecasts(rng, 50, 4)
        whole = row_scores(y, p, name)
        monkeypatch.setattr("unperplexed.forecasts.forecasts.BLOCK_ELEMENTS", 28)
        assert (row_scores(y, p, name) == whole).all()

    def test_travels(self, rng, name):
        y, p = softmax_forecasts(rng, 5, 3)
        block = Block(p, y, None, row_primitives(p, y), np.arange(len(y)), Given(p, "probabilities"), Notes())
        score = pickle.loads(pickle.dumps(score_named(name)))
        assert (score.rows(block) == row_scores(y, p, name)).all()
        assert score.name == score_named(score.name).name

    def test_no_rows(self, name):
        assert row_scores([], [], name).shape == (0,)

    def test_perfect_is_exactly_perfect(self, name):
        best = 1.0 if score_named(name).larger_is_better else 0.0
        for classes in (2, 3, 40):
            for dtype in (np.float64, np.float32, np.float16):
                p = np.eye(classes, dtype=dtype)
                values = row_scores(np.arange(classes), p, name)
                assert (values == best).all()
                assert not np.signbit(values).any()

    def test_rounding_never_passes_the_best(self, rng, name):
        u = 10.0 ** rng.uniform(-17, -6, 2000)
        p = np.stack([u, 1 - u, np.zeros(2000)], axis=1)
        for off in (p, p * (1 + rng.uniform(-5e-4, 5e-4, (2000, 1))).clip(0, 1 / (1 - u[:, None]))):
            values = row_scores(np.ones(2000, dtype=int), off.clip(0, 1), name)
            assert values.max() <= 1 if score_named(name).larger_is_better else values.min() >= 0

    def test_certain_and_wrong(self, name):
        r = order(name) if "(" in name else None
        worst = {
            "log_loss": np.inf,
            "brier_score": 2,
            "spherical_score": 0,
            "penalized_brier_score": 2 + 2 / 3,
            "penalized_log_loss": np.inf,
            "ranked_probability_score": 1,
        }.get(name)
        if worst is None and r is not None:
            worst = (1 + r) / r if r > 0 else np.inf
        elif worst is None:
            worst = float(reference(name, np.array([1.0, 0.0, 0.0]), 1))
        assert row_scores([1], [[1.0, 0.0, 0.0]], name)[0] == pytest.approx(worst, rel=1e-15)

    @pytest.mark.parametrize("classes", [2, 3, 10])
    def test_random_guess(self, name, classes):
        r, u = order(name) if "(" in name else 0, 1 / classes
        surprisal = np.log(classes) if abs(r) < 1e-6 else (1 + r) / r * (1 - u**r)
        value = {
            "log_loss": np.log(classes),
            "brier_score": 1 - u,
            "spherical_score": classes**-0.5,
            "penalized_brier_score": (1 - u) * (2 - u),
            "penalized_log_loss": np.log(classes) * (2 - u),
            "ranked_probability_score": sum((k * u) ** 2 for k in range(1, classes)),  # when the last class happens
            "power_score": surprisal + u**r - 1,
            "generalized_surprisal": surprisal,
        }.get(base(name))
        guess = np.full((1, classes), u)
        value = float(reference(name, guess[0], classes - 1)) if value is None else value
        assert row_scores([classes - 1], guess, name)[0] == pytest.approx(value, rel=1e-7)


@pytest.mark.parametrize("name", SCORES)
class TestInTallies:
    def test_needs_the_primitives_only(self, rng, name):
        y, p = softmax_forecasts(rng, 20, 3)
        rows, none = row_primitives(p, y), np.empty((20, 0))
        blind = Block(
            none, np.empty(0, dtype=int), None, rows, np.arange(len(y)), Given(none, "probabilities"), Notes()
        )
        assert (SCORES[name].rows(blind) == row_scores(y, p, name)).all()

    def test_a_tally_has_it(self, rng, name):
        y, p = softmax_forecasts(rng, 200, 3)
        w = rng.integers(0, 3, 200)
        p[0], w[0] = np.eye(3)[(y[0] + 1) % 3], 0  # infinite where it can be, and as if absent
        value = Tally.of(y, p, sample_weight=w).score(name)
        assert np.isfinite(value)
        assert value == pytest.approx(NAMED[name](y, p, sample_weight=w), rel=1e-12)
        assert SCORES[name].name == name

    def test_an_assessment_has_it_and_prints_the_headline_ones(self, name):
        result = assess([1, 0], [0.8, 0.3])
        assert result.to_dict()["scores"][name] == pytest.approx(NAMED[name]([1, 0], [0.8, 0.3]))
        lines = str(result).casefold().splitlines()
        shown = any(re.match(rf"{name.replace('_', ' ')}(  | \()", line) for line in lines)
        assert shown == SCORES[name].headline


def test_selected_rows_of_a_block(rng):
    y, p = softmax_forecasts(rng, 20, 3)
    w = rng.exponential(size=20)
    block = Block(p, y, w, row_primitives(p, y), np.arange(len(y)), Given(p, "probabilities"), Notes(ignored=2))
    keep = w > 0.5
    part = block[keep]
    assert (part.probabilities == p[keep]).all()
    assert (part.truth == y[keep]).all()
    assert (part.weights == w[keep]).all()
    assert (part.rows.correct == block.rows.correct[keep]).all()
    assert part.notes == block.notes
    np.testing.assert_array_equal(part[2:5].log_probabilities, np.log(p[keep][2:5]))
    assert Block(p, y, None, block.rows, block.index, block.given, Notes())[:3].weights is None


def reference(name, p, c):
    """Score of one row from its formula, in 50 digits."""
    p = [mpmath.mpf(float(x)) for x in p]
    classes, top = len(p), max(p)
    brier = mpmath.fsum((x - (j == c)) ** 2 for j, x in enumerate(p))
    log = -mpmath.log(p[c]) if p[c] else mpmath.inf
    wrong = 1 - mpmath.mpf(p[c] == top) / p.count(top)
    published = mpmath.mpf(p[c] < top)
    match base(name):
        case "log_loss":
            return log
        case "brier_score":
            return brier / {"": 1, "half": 2, "mean": classes}[name.partition(" ")[2]]
        case "spherical_score":
            return p[c] / mpmath.sqrt(mpmath.fsum(x * x for x in p))
        case "ranked_probability_score":
            steps = mpmath.fsum((mpmath.fsum(p[:k]) - (c < k)) ** 2 for k in range(1, classes))
            return steps / (classes - 1 if name.endswith("mean") else 1)
        case "penalized_brier_score":
            if name.endswith("published"):
                return brier / classes + published * (classes - 1) / classes
            return brier + wrong * (classes - 1) / classes
        case "penalized_log_loss":
            if name.endswith("published"):
                epsilon = mpmath.mpf(1e-7)
                clipped = min(max(p[c] / mpmath.fsum(p), epsilon), 1 - epsilon)
                return -mpmath.log(clipped) + published * mpmath.log(classes)
            return log + wrong * mpmath.log(classes)
    r = mpmath.mpf(order(name))
    if r:
        surprisal = -(1 + r) / r * (p[c] ** r - 1) if p[c] or r > 0 else mpmath.inf
    else:
        surprisal = log
    if base(name) == "generalized_surprisal":
        return surprisal
    return surprisal + mpmath.fsum(x ** (1 + r) for x in p) - 1


def reference_rows(rng):
    """Ordinary rows, tiny probabilities, ties, zeros, and sums within the tolerance of 1."""
    for classes in (2, 3, 8):
        yield from rng.dirichlet(np.ones(classes), 6)
        for exponent in (-5, -17, -100, -300):
            small = 10.0**exponent * rng.uniform(1, 9, classes - 1)
            yield np.r_[small, 1 - small.sum()]
        yield np.r_[0.5, 0.5, np.zeros(classes - 2)]
        yield np.full(classes, 1 / classes)
        yield np.eye(classes)[0]
        yield rng.dirichlet(np.ones(classes)) * 0.9992


@pytest.mark.parametrize("name", RULES)
def test_against_50_digits(rng, name):
    with mpmath.workdps(50):
        for p in reference_rows(rng):
            for c in {0, 1, len(p) - 1}:
                value = float(reference(name, p, c))
                assert RULES[name]([c], p[None]) == pytest.approx(value, rel=2e-13, abs=4e-15), (p, c)


@pytest.mark.parametrize("r", [-1e-3, -1e-6, -1e-9, -1e-15, -1e-100, -1e-250, -1e-310, 1e-300, 1e-15, 1e-6, 1e-3])
def test_near_order_0(rng, r):
    p = np.r_[10.0 ** rng.uniform(-300, -3, 8), rng.uniform(0.001, 1, 8), 1 - 10.0 ** rng.uniform(-15, -1, 8)]
    with mpmath.workdps(400):
        for x in p:
            row = np.array([[x, 1 - x]])
            for name in (f"power_score({r!r})", f"generalized_surprisal({r!r})"):
                value = float(reference(name, row[0], 0))
                assert row_scores([0], row, name)[0] == pytest.approx(value, rel=2e-13, abs=4e-15)


@pytest.mark.parametrize(("r", "classes"), [(-0.999, range(4)), (-1 + 2.0**-52, range(1, 4))])
def test_order_near_minus_1(r, classes):
    row = np.array([[5e-324, 1e-300, 1 - 1e-3, 1e-3]])  # the first overflows, and so is infinite
    with mpmath.workdps(50):
        for c in classes:
            value = float(reference(f"power_score({r!r})", row[0], c))
            assert power_score([c], row, r) == pytest.approx(value, rel=2e-13, abs=4e-15)


class TestIdentities:
    def test_power_score_at_1_is_brier_and_at_0_log_loss(self, rng):
        p = rng.multinomial(64, [0.5, 0.3, 0.1, 0.1], 200) / 64  # sums that are exactly 1
        y = rng.integers(0, 4, 200)
        np.testing.assert_allclose(row_scores(y, p, "power_score(1)"), row_scores(y, p, "brier_score"), atol=1e-15)
        np.testing.assert_allclose(row_scores(y, p, "power_score(0)"), row_scores(y, p, "log_loss"), atol=1e-15)
        given = p[np.arange(200), y] > 0
        for r in (-1e-9, 1e-9):
            near = row_scores(y[given], p[given], f"power_score({r})")
            np.testing.assert_allclose(near, row_scores(y[given], p[given], "log_loss"), atol=5e-8)

    def test_what_a_row_sums_to_is_neither_lost_nor_amplified(self):
        row = np.array([[0.25, 0.75 + 2.0**-12]])
        for r in (-1e-12, 0, 1e-12):
            assert power_score([0], row, r) - log_loss([0], row) == pytest.approx(2.0**-12, rel=1e-8)

    def test_surprisal_of_order_0_is_log_loss(self, rng):
        y, p = softmax_forecasts(rng, 50, 3)
        assert generalized_surprisal(y, p, 0) == generalized_surprisal(y, p, -0.0) == log_loss(y, p)
        assert generalized_surprisal(y, p, 0, floor=0.1) == log_loss(y, p, floor=0.1) != log_loss(y, p)

    @pytest.mark.parametrize("r", ORDERS)
    @pytest.mark.parametrize("floor", [0.0, 0.05])
    def test_surprisal_is_the_generalized_mean(self, rng, r, floor):
        y, p = softmax_forecasts(rng, 50, 3)
        w = rng.exponential(size=50)
        surprisal = generalized_surprisal(y, p, r, sample_weight=w, floor=floor)
        mean = np.exp(-surprisal if r == 0 else np.log1p(-r * surprisal / (1 + r)) / r)  # risk_exp(-surprisal, r)
        correct = p[np.arange(50), y]
        assert mean == pytest.approx(generalized_mean(correct, r, sample_weight=w, floor=floor), rel=1e-12)

    def test_two_classes(self, rng):
        y, p = softmax_forecasts(rng, 50, 2)
        assert 2 * ranked_probability_score(y, p[:, 1]) == pytest.approx(brier_score(y, p[:, 1]), rel=1e-12)
        assert brier_score(y, p[:, 1], normalize="half") == pytest.approx(np.mean((p[:, 1] - y) ** 2), rel=1e-12)

    def test_floor(self):
        assert log_loss([1, 1], [0.0, 1.0], floor=0.01) == pytest.approx(-np.log(0.01) / 2)
        assert generalized_surprisal([1, 1], [0.0, 1.0], -0.5, floor=0.25) == pytest.approx(0.5)


class TestPenalty:
    right, wrong = np.array([0.33, 0.34, 0.33]), np.array([0.51, 0.49, 0.0])

    def test_values_of_the_specification(self):
        """The README of Ahmadian, Ghatee and Wahlström; its log loss is base 10."""
        for row, brier, log in ((self.right, 0.6534, 0.4685), (self.wrong, 0.5202, 0.3098)):
            assert brier_score([1], row[None]) == pytest.approx(brier, abs=1e-12)
            assert log_loss([1], row[None]) / np.log(10) == pytest.approx(log, abs=5e-5)

    @pytest.mark.parametrize("classes", [2, 3, 10])
    @pytest.mark.parametrize("variant", ["proper", "published-code"])
    @pytest.mark.parametrize("rule", [penalized_brier_score, penalized_log_loss])
    def test_strictly_wrong_is_worse_than_strictly_right(self, rng, classes, variant, rule):
        p = np.concatenate(
            [
                rng.dirichlet(np.ones(classes), 50),
                rng.dirichlet(np.full(classes, 50.0), 50),  # near-uniform: the worst that is right
                [np.r_[0.5 + 1e-9, 0.5 - 1e-9, np.zeros(classes - 2)]],  # the best that is wrong
            ]
        )
        y = np.r_[rng.integers(0, classes, 100), 1]
        values = np.array([rule(y[i : i + 1], p[i : i + 1], variant=variant) for i in range(101)])
        right = p.argmax(axis=1) == y
        assert values[right].max() < values[~right].min()
        if classes == 10:
            plain = row_scores(y, p, "brier_score")
            assert plain[right].max() > plain[~right].min()  # which the rule without penalty does not keep

    @pytest.mark.parametrize(("name", "penalty"), [("brier_score", 0.75), ("log_loss", np.log(4))])
    def test_ties_share_it(self, name, penalty):
        for row, share in (([0.4, 0.4, 0.1, 0.1], 1 / 2), ([0.3, 0.3, 0.3, 0.1], 2 / 3), ([0.25] * 4, 3 / 4)):
            given = row_scores([0], [row], f"penalized_{name}") - row_scores([0], [row], name)
            assert given[0] == pytest.approx(share * penalty, rel=1e-12)
        wrong = [0.1, 0.45, 0.45, 0.0]  # a tie without the class that happened
        given = row_scores([0], [wrong], f"penalized_{name}") - row_scores([0], [wrong], name)
        assert given[0] == pytest.approx(penalty, rel=1e-12)

    def test_ties_lie_between_or_not(self):
        def rows(name, *p):
            return row_scores(np.zeros(len(p), dtype=int), p, name)

        wrong, tie, right = rows("penalized_brier_score", [0.4, 0.6], [0.5, 0.5], [0.6, 0.4])
        assert wrong > tie > right
        tie, wrong = rows("penalized_brier_score", [0.25] * 4, [0.49, 0.51, 0, 0])
        assert tie > wrong
        tie, wrong = rows("penalized_log_loss", [1 / 3] * 3, [0.499, 0.501, 0])
        assert tie > wrong
        tie, right = rows("penalized_log_loss", [0.5, 0.5, 0, 0, 0], [0.204, 0.199, 0.199, 0.199, 0.199])
        assert tie < right

    def test_ties_escape_the_published_code(self):
        assert penalized_brier_score([0], [[0.5, 0.5]], **PUBLISHED) == 0.25
        assert penalized_log_loss([0], [[0.5, 0.5]], **PUBLISHED) == pytest.approx(np.log(2))

    def test_published_log_loss_is_clipped_after_division_by_the_sum(self):
        assert penalized_log_loss([0], [[1.0, 0.0]], **PUBLISHED) == pytest.approx(-np.log1p(-1e-7), rel=1e-8)
        assert penalized_log_loss([1], [[1.0, 0.0]], **PUBLISHED) == pytest.approx(-np.log(1e-7) + np.log(2))
        assert penalized_log_loss([1], [[0.2, 0.7995]], **PUBLISHED) == pytest.approx(-np.log(0.7995 / 0.9995))


class TestPeers:
    @pytest.mark.parametrize("classes", [2, 3, 20])
    def test_scikit_learn(self, rng, classes):
        y, p = softmax_forecasts(rng, 500, classes)
        w = rng.exponential(size=500)
        labels = list(range(classes))
        expected = skm.log_loss(y, p, sample_weight=w, labels=labels)
        assert log_loss(y, p, sample_weight=w) == pytest.approx(expected, rel=1e-12)
        for normalize, half in (("sum", False), ("half", True)):
            expected = skm.brier_score_loss(y, p, sample_weight=w, labels=labels, scale_by_half=half)
            assert brier_score(y, p, sample_weight=w, normalize=normalize) == pytest.approx(expected, rel=1e-12)

    def test_scikit_learn_one_column(self, rng):
        y, p = softmax_forecasts(rng, 500, 2)
        expected = skm.brier_score_loss(y, p[:, 1])  # halved unless told otherwise
        for normalize in ("half", "mean"):
            assert brier_score(y, p[:, 1], normalize=normalize) == pytest.approx(expected, rel=1e-12)

    def test_scikit_learn_clips(self):
        assert skm.log_loss([1, 0], [[1.0, 0.0], [1.0, 0.0]]) == pytest.approx(18.02, abs=0.01)
        assert log_loss([1, 0], [[1.0, 0.0], [1.0, 0.0]]) == np.inf

    def test_scoringrules(self, rng):
        y, p = softmax_forecasts(rng, 500, 2)
        np.testing.assert_allclose(
            row_scores(y, p[:, 1], "brier_score") / 2, scoringrules.brier_score(y, p[:, 1]), rtol=1e-12, atol=1e-15
        )
        np.testing.assert_allclose(row_scores(y, p[:, 1]), scoringrules.log_score(y, p[:, 1]), rtol=1e-12, atol=1e-15)

    @pytest.mark.parametrize("classes", [2, 3, 20])
    def test_scoringrules_ranked(self, rng, classes):
        y, p = softmax_forecasts(rng, 500, classes)
        expected = scoringrules.rps_score(y + 1, p)  # its categories count from 1
        np.testing.assert_allclose(row_scores(y, p, "ranked_probability_score"), expected, rtol=1e-12, atol=1e-14)
        mean = ranked_probability_score(y, p, normalize="mean")
        assert mean == pytest.approx(expected.mean() / (classes - 1), rel=1e-12)


class TestNames:
    @pytest.mark.parametrize(
        ("given", "canonical"),
        [
            ("power_score(.50)", "power_score(0.5)"),
            ("power_score(1.0)", "power_score(1)"),
            ("power_score(-0.0)", "power_score(0)"),
            ("power_score(1e-9)", "power_score(1e-09)"),
            ("generalized_surprisal( -.5 )", "generalized_surprisal(-0.5)"),
            ("ranked_probability_score", "ranked_probability_score"),
            ("log_loss", "log_loss"),
        ],
    )
    def test_canonical(self, given, canonical):
        assert score_named(given).name == canonical
        assert score_named(canonical).name == canonical

    def test_headline_and_note(self):
        assert [name for name, score in SCORES.items() if score.headline] == ["log_loss", "brier_score"]
        assert all(score_named(name).note for name in NAMED)

    @pytest.mark.parametrize(
        ("name", "near"),
        [
            ("brier", "brier_score"),
            ("logloss", "log_loss"),
            ("power_score", "power_score(r)"),
            ("power_scor(0.5)", "power_score(r)"),
            ("Spherical_Score", "spherical_score"),
        ],
    )
    def test_typos(self, name, near):
        with pytest.raises(InputError) as raised:
            score_named(name)
        assert f"no scoring rule {name!r}; did you mean {near!r}?" in str(raised.value)
        for known in (*SCORES, "ranked_probability_score", "power_score(r)", "generalized_surprisal(r)"):
            assert known in str(raised.value)

    @pytest.mark.parametrize("name", ["xyz", "", "log_loss(1)", "(1)", None, 3, ["log_loss"]])
    def test_unknown(self, name):
        with pytest.raises(InputError, match="no scoring rule"):
            row_scores([1], [0.5], name)


BAD_ORDERS = [-1, -1.5, float("nan"), float("inf"), float("-inf"), "x", None, [1]]


class TestBadInput:
    @pytest.mark.parametrize("rule", [power_score, generalized_surprisal])
    @pytest.mark.parametrize("r", BAD_ORDERS)
    def test_order(self, rule, r):
        with pytest.raises(InputError, match="r: the order must be a finite number above -1, got"):
            rule([1], [0.5], r)

    @pytest.mark.parametrize("r", ["-1", "nan", "inf", "x", ""])
    def test_order_in_a_name(self, r):
        with pytest.raises(InputError, match="r: the order must be a finite number above -1, got"):
            score_named(f"power_score({r})")

    @pytest.mark.parametrize("value", ["published", None, 1, ["proper"]])
    def test_choices(self, value):
        for rule in (penalized_brier_score, penalized_log_loss):
            with pytest.raises(InputError, match="variant: expected one of 'proper', 'published-code', got"):
                rule([1], [0.5], variant=value)
        with pytest.raises(InputError, match="normalize: expected one of 'sum', 'half', 'mean', got"):
            brier_score([1], [0.5], normalize=value)
        with pytest.raises(InputError, match="normalize: expected one of 'sum', 'mean', got"):
            ranked_probability_score([1], [0.5], normalize=value)

    @pytest.mark.parametrize("floor", [-0.1, 1.1, float("nan"), "x"])
    def test_floor(self, floor):
        for rule in (log_loss, partial(generalized_surprisal, r=-0.5)):
            with pytest.raises(InputError, match="floor: expected a probability"):
                rule([1], [0.5], floor=floor)

    @every_rule
    def test_forecasts(self, rule):
        for p in ([float("nan")], [1.5], [-0.5]):
            with pytest.raises(InputError, match="y_prob"):
                rule([1], p)
        with pytest.raises(InputError, match="sum"):
            rule([1], [[0.5, 0.4]])


@pytest.mark.parametrize(("order", "kept"), [(0.5, 0.5), (-0.5, -0.5), (1e-20, 1e-20), (1e-40, 0.0), (0, 0.0)])
def test_orders_that_no_power_tells_from_0_are_0(order, kept):
    assert _order(order) == kept
