"""Diagnosis of real forecasts of more than two classes."""

import csv
import os
from itertools import permutations
from pathlib import Path

import numpy as np
import pytest

from unperplexed.calibration.diagnosis.class_rows import PreparedRows, RowBlock, RowCounts
from unperplexed.calibration.diagnosis.multiclass import diagnose_classes
from unperplexed.calibration.diagnosis.permutations import OutcomeSums, permutation_of

DATA = Path(os.environ.get("UNPERPLEXED_DATA", ""))


def diagnose(p, y, cluster=None):
    block = RowBlock(p, y.astype(int).ravel(), None, cluster)
    with np.errstate(all="raise"):
        return diagnose_classes(lambda: iter([block]), tuple(range(p.shape[1])))


def network(name):
    with np.load(DATA / "netcal_cifar" / f"{name}.npz") as file:
        return diagnose(file["predictions"], file["ground_truth"])


def world_cup(name):
    with (DATA / "fte_worldcup" / name).open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    columns = ("prob1", "probtie", "prob2")
    p, happened = (np.array([[float(row[c + end]) for c in columns] for row in rows]) for end in ("", "_outcome"))
    matches = [(row["season"], row["team1"], row["team2"]) for row in rows]
    numbers = {match: at for at, match in enumerate(dict.fromkeys(matches))}
    return p, happened.argmax(axis=1), np.array([numbers[match] for match in matches])


def test_wide_network_is_overconfident_and_biased():
    found = network("wideresnet-16-4-cifar-10")
    assert found.errors == ("confidence", "bias", "certainty")  # 8 rows cost at least 8 ln(100 n)/n = .011 nats
    confidence, bias, certain = found.findings
    assert certain.parameter == 8
    assert confidence.words.startswith("overconfident (temperature 2.05 alone, 95% CI 1.99")
    assert confidence.cost == pytest.approx(0.096, abs=0.002)  # five folds: 0.103, with the certain rows
    assert bias.cost == pytest.approx(0.033, abs=0.002)
    assert bias.words.startswith("underpredicts '5' (mean prediction 8.05%, observed frequency 10.0%)")
    assert "overpredicts '3' (mean prediction 11.4%, observed frequency 10.0%)" in bias.words


def test_vgg_is_overconfident():
    with np.load(DATA / "vgg16_cifar10" / "vgg16_cifar10.npz") as file:
        found = diagnose(file["probs"], file["labels"])
    assert found.errors[0] == "confidence"
    assert found.findings[0].cost == pytest.approx(0.057, abs=0.002)
    assert "bias" in found.errors


def test_networks_of_a_hundred_classes():
    lenet, densenet = network("lenet-5-cifar-100"), network("densenet-bc-100-cifar-100")
    assert lenet.errors[0] == "bias"  # one bias a class brings .094 there, temperature .009
    assert lenet.findings[0].cost == pytest.approx(0.094, abs=0.004)
    assert densenet.errors[0] == "confidence"
    assert densenet.findings[densenet.errors.index("certainty")].parameter == 35
    assert "tail" not in densenet.errors  # one slope suffices: raised to a floor, log-probabilities would bend
    assert "(temperature 2.12 alone, 95% CI 2.08 to 2.15)" in densenet.verdict


def test_world_cup():
    p, y, _ = world_cup("world_cup_matches_men.csv")
    assert diagnose(p, y).verdict.startswith("No evidence of miscalibration (n = 176, p = ")
    during = diagnose(*world_cup("world_cup_matches_in_game_men.csv"))  # 128 matches
    assert not during.miscalibrated


# ---- permuted columns


def forecasts(name):
    if name == "world cup":
        return world_cup("world_cup_matches_men.csv")[:2]
    if name == "vgg16":
        with np.load(DATA / "vgg16_cifar10" / "vgg16_cifar10.npz") as file:
            return file["probs"], file["labels"].astype(int).ravel()
    with np.load(DATA / "netcal_cifar" / f"{name}.npz") as file:
        return file["predictions"], file["ground_truth"].astype(int).ravel()


NETWORKS = ["vgg16", "wideresnet-16-4-cifar-10", "lenet-5-cifar-100", "densenet-bc-100-cifar-100"]


def holding(kind, classes):
    """Which class each column holds."""
    at = np.arange(classes)
    if kind in ("exchange", "three-cycle"):
        some = [3, 5] if kind == "exchange" else [2, 3, 5]
        at[some] = np.roll(some, 1)
        return at
    text = np.array(sorted(at, key=str))
    return {"nothing": at, "shift": np.roll(at, 1), "reverse": at[::-1], "text": text}[kind]


@pytest.mark.parametrize("kind", ["nothing", "exchange", "three-cycle", "shift", "reverse", "text"])
@pytest.mark.parametrize("name", NETWORKS)
def test_columns_permuted_of_networks(name, kind):
    p, y = forecasts(name)
    holds = holding(kind, p.shape[1])
    sums = OutcomeSums.none(p.shape[1])
    PreparedRows(lambda: iter([RowBlock(p[:, holds], y)]), RowCounts(*p.shape, float(len(y))), every=[sums.read])
    moved = permutation_of(sums, range(p.shape[1]))
    if (holds == np.arange(p.shape[1])).all():  # ten classes are in the same order as text
        assert moved is None
    else:
        assert moved.right(range(p.shape[1])) == tuple(holds)


def test_an_exchange_is_said_before_what_else_is_wrong():
    """It was said that extremes were overstated, as if 22% of the outcomes were drawn at random."""
    p, y = forecasts("wideresnet-16-4-cifar-10")
    right, wrong = diagnose(p, y), diagnose(p[:, holding("exchange", 10)], y)
    assert wrong.verdict.startswith("Columns '3' and '5' look exchanged: log loss ")
    assert wrong.findings[1:] == right.findings


def test_teams_exchanged():
    p, y = forecasts("world cup")
    right, wrong = diagnose(p, y), diagnose(p[:, [2, 1, 0]], y)
    assert wrong.errors == ("permuted",)
    assert wrong.findings[0].column_labels == (2, 1, 0)
    assert wrong.clauses[1].detail == right.clauses[0].detail


@pytest.mark.parametrize("holds", [holds for holds in permutations(range(3)) if holds != (0, 2, 1)])
def test_columns_permuted_of_128_matches(holds):
    """A hundred forecasts of a match have one outcome, so that each match counts as one.

    So few do not tell that draws and the second team were exchanged: the first team is the favourite in most.
    """
    p, y, match = world_cup("world_cup_matches_in_game_men.csv")
    found = diagnose(p[:, list(holds)], y, match)
    if holds == (0, 1, 2):
        assert not found.miscalibrated
        return
    assert found.errors == ("permuted",)
    assert found.findings[0].column_labels == holds
