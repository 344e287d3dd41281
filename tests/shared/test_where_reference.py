"""The search for groups beside its executable reference: statistics, adjusted p-values and names."""

import sys

import numpy as np
import pytest
from scipy.special import expit, logit

from real_data import DATA
from unperplexed.calibration.where.chance import simulated
from unperplexed.calibration.where.conditions import columns_of_values
from unperplexed.calibration.where.naming import Search
from unperplexed.calibration.where.rules import Model, Scores, SearchedRows, root


@pytest.fixture(scope="module")
def reference():
    sys.path.insert(0, str(DATA.parent / "reference"))
    try:
        import where_reference
    finally:
        sys.path.pop(0)
    return where_reference


def rows(seed, n=700):
    """Random columns of every kind, and outcomes with a planted group in every other set."""
    rng = np.random.default_rng(seed)
    table = {
        "x": rng.normal(size=n),
        "few": rng.integers(0, 4, n).astype(float),
        "kind": rng.choice(list("abcde"), n),
        "gaps": np.where(rng.random(n) < 0.1, np.nan, rng.exponential(size=n)),
    }
    s = rng.normal(0, 1.2, n)
    inside = (table["x"] > -0.4) & (table["gaps"] < 1.2) if seed % 2 else table["kind"] == "b"
    effect = (0.0, 1.4, -1.6)[seed % 3] * inside
    y = (rng.random(n) < expit(s + effect)).astype(float)
    return y, s, table, rng.integers(0, 60, n) if seed % 4 == 3 else None


def searched(y, s, cluster=None, weight=None):
    return SearchedRows.of(np.clip(s, *(np.array([-1, 1]) * logit(1 - 0.01 / len(s)))), y, weight, cluster)


def columns_of(table):
    return [column for name, values in table.items() for column in columns_of_values(name, values)]


@pytest.mark.parametrize("seed", range(20))
def test_p_values_names_and_effects_are_those_of_the_reference(reference, seed):
    y, s, table, cluster = rows(seed)
    theirs, null = reference.find_groups(y, expit(s), table, clusters=cluster, seed=seed)
    ours = Search(columns_of(table), seed=seed).found(searched(y, s, cluster))
    assert ours.p_value == pytest.approx(null.p_value, rel=1e-4)
    np.testing.assert_allclose(ours.chance.each.location, null.location, rtol=1e-5)
    np.testing.assert_allclose(ours.chance.each.scale, null.scale, rtol=1e-4)
    if any(other.rows.mean() > 0.5 for other in theirs):  # the reference drops bounds until more than half is left
        assert max(group.rows for group in ours.groups) < 0.6 * len(y)
        return
    assert [group.rule for group in ours.groups] == [group.rule for group in theirs]
    for mine, other in zip(ours.groups, theirs, strict=True):
        assert mine.error == ("confidence" if other.kind == "slope" else "bias")
        assert (mine.rows, mine.observed) == (other.n, pytest.approx(other.observed))
        assert mine.mean_predicted == pytest.approx(other.predicted)
        assert mine.mean_recalibrated == pytest.approx(other.corrected, rel=1e-5)
        assert mine.effect == pytest.approx(other.effect, rel=1e-5)
        assert mine.p_adjusted == pytest.approx(other.adjusted_p, rel=1e-3)
        if cluster is None:  # the reference's standard errors leave dependence out
            assert mine.effect_shrunken == pytest.approx(other.shrunk, rel=1e-3)
            assert mine.cost == pytest.approx(other.cost, rel=1e-3)
            assert mine.effect_interval == pytest.approx(other.interval, rel=1e-4)


def test_some_of_these_sets_have_groups_and_some_have_none(reference):
    found = [len(Search(columns_of(table)).found(searched(y, s)).groups) for y, s, table, _ in map(rows, range(4))]
    assert min(found) == 0 < max(found)


def test_scores_of_all_rules_are_those_of_the_reference(reference):
    y, s, table, _ = rows(1)
    columns, theirs = columns_of(table), [reference.Column(name, values) for name, values in table.items()]
    x = reference.curve(s, expit(s) * expit(-s))
    _, q, _, _ = reference.fit(x, y, s, x.shape[1])
    ours = Scores(columns, Model.of(searched(y, s)))
    known = dict(reference.Scores(theirs, ours.pairs, x, y, q, s).roots())
    for pair, both in ours.scores(ours.scored):
        for score, moments, z in zip(both, ours.of[pair].kinds, known[pair], strict=True):
            mine = root(score[0], moments)
            np.testing.assert_allclose(mine[: len(z), : z.shape[1]], z[..., 0], rtol=1e-5, atol=1e-6)


def test_samples_raise_the_largest_root_as_all_roots_do(reference):
    """Roots are taken only of scores that may be the largest; the reference takes them all."""
    y, s, table, _ = rows(2, 400)
    x = reference.curve(s, expit(s) * expit(-s))
    _, q, _, _ = reference.fit(x, y, s, x.shape[1])
    columns = [reference.Column(name, values) for name, values in table.items()]
    ours = Scores(columns_of(table), Model.of(searched(y, s)))
    null = reference.Null(reference.Scores(columns, ours.pairs, x, y, q, s), q, np.random.default_rng(5), 40)
    mine = simulated(ours, np.random.default_rng(5), 40)
    np.testing.assert_allclose(mine.each.location, null.location, rtol=1e-5)
    assert (float(mine.best.location), float(mine.best.scale)) == pytest.approx(null.best, rel=1e-4)
