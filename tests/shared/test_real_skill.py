"""Skill scores of real forecasts, against figures written out here."""

import numpy as np
import pytest

from real_data import DATA
from unperplexed import Ordered, assess, compare, skill


def test_influenza_by_horizon_against_the_base_rate_and_another_team():
    ours, theirs = (np.load(DATA / "flusight_2015_16" / f"{team}.npz") for team in ("Delphi-Stat", "KOT"))
    y, horizon, week = ours["labels"], ours["horizon"], ours["ew"]
    assert all((ours[key] == theirs[key]).all() for key in ("labels", "horizon", "ew", "location"))
    p, q = (each["probs"] / each["probs"].sum(axis=1, keepdims=True) for each in (ours, theirs))
    one_hot = np.eye(27)[y]

    def ranked(forecast):
        return ((forecast - one_hot).cumsum(axis=1) ** 2).sum(axis=1)

    rule, settings = "ranked_probability_score", {"by": horizon, "clusters": week, "labels": range(27)}
    for baseline, reference in (("base-rate", np.tile(one_hot.mean(axis=0), (y.size, 1))), ("KOT", q)):
        forecasts = {"Delphi-Stat": p, "KOT": q}
        found = skill(y, forecasts, reference=baseline, metrics=[rule], **settings)
        expected = [1 - ranked(p)[horizon == h].mean() / ranked(reference)[horizon == h].mean() for h in (1, 2, 3, 4)]
        scores = [group.scores["Delphi-Stat"][rule] for group in found.groups]
        assert [each.skill for each in scores] == pytest.approx(expected)
        assert found.n_clusters == 29
        assert all(each.interval.low < each.skill < each.interval.high for each in scores)


def test_influenza_forecasts_are_too_wide():
    with np.load(DATA / "flusight_2015_16" / "Delphi-Stat.npz") as file:
        y, p, week = file["labels"], file["probs"].astype(float), file["ew"]
    found = assess(y, Ordered(p, range(27), invalid="rescale"), clusters=week)
    p = p / p.sum(axis=1, keepdims=True)
    assert found.scores["log_score"].value == pytest.approx(-np.log(p[np.arange(y.size), y]).mean())
    assert set(found.diagnosis.errors) == {"spread", "level"}
    assert found.width.interval.high < 1
    assert found.n_clusters == 29


def test_skill_and_its_test_are_those_of_scores():
    """Against Brier score and Diebold-Mariano test (HLN, Student's t) of scores 2.7.0, on the first 500 games."""
    p, y = np.loadtxt(DATA / "fte_games" / "nba_games.csv", delimiter=",", skiprows=1, usecols=(4, 5))[:500].T
    found = skill(y, p).whole.scores["forecast"]["brier_score"]
    assert (found.score / 2, found.reference_score / 2) == pytest.approx((0.21352733449588043, 0.24823599999999998))
    assert found.skill == pytest.approx(0.1398212406907925, abs=1e-14)
    other = np.clip(p * 0.8 + 0.1, 0, 1)
    apart = compare(y, {"p": p, "other": other}).between("p", "other").differences["brier_score"]
    assert apart.difference == pytest.approx(0.003288825144809019, abs=1e-15)
    assert [*apart.interval] == pytest.approx([-0.0036226900659017346, 0.010200340355519772], abs=1e-15)
    assert apart.p_value == pytest.approx(2 * (1 - 0.824856812020652))
    behind = compare(y, {"p": p, "other": other}, lag=4).between("p", "other").differences["brier_score"]
    assert behind.standard_error == pytest.approx(0.0038869865181573363, rel=1e-12)  # of scores: h = 5
