"""What the page of papers publishes of networks whose outputs are public: [CM]'s forms, made from those outputs."""

import pytest

from papers import cm
from papers.page import PUBLISHED, differing

EXHIBITS = {exhibit.name: exhibit for exhibit in cm.EXHIBITS}
MEANS = ("decisiveness", "geometric accuracy", "robustness")


@pytest.fixture(scope="module")
def made():
    return {name: (EXHIBITS[name], EXHIBITS[name].make(lambda: None)) for name in ("cm-figure-1", "cm-table-2")}


@pytest.fixture(scope="module")
def figures(made):
    return {line.what: line.values for _, shown in made.values() for line in shown.lines}


def test_the_page_says_what_comes_out(made):
    assert not any(shown.old for _, shown in made.values())
    assert differing(made, PUBLISHED) == []


def test_networks_are_assessed_as_in_the_paper(figures):
    name = "WideResNet-16-4, CIFAR-10"
    reported, measured = zip(*(figures[f"{name}: {mean}, reported and measured"] for mean in MEANS), strict=True)
    assert reported == pytest.approx((0.903, 0.733, 0.301), abs=5e-4)
    assert measured == pytest.approx((0.865, 0.738, 0.371), abs=5e-4)
    accuracies = [figures[f"{name}: prediction accuracy"][0] for name in cm.NETWORKS]
    assert accuracies == pytest.approx([0.754, 0.125, 0.911, 0.936], abs=5e-4)


def test_the_finding_of_the_paper_holds(figures):
    """Little difference between reported and measured geometric accuracy, and all slopes below 1."""
    for name in cm.NETWORKS:
        reported, measured = figures[f"{name}: geometric accuracy, reported and measured"]
        assert abs(reported - measured) < 0.0065
        slopes = figures[f"{name}: slope, by these bins and by our default estimator"]
        assert all(slope < 1 for slope in slopes)
        assert slopes[1] < slopes[0] or name.startswith("LeNet-5")


def test_the_floor_moves_robustness_most(figures):
    for name in cm.NETWORKS:
        high, *_, low = (values for what, values in figures.items() if what.startswith(f"{name}, floor"))
        moved = [a - b for a, b in zip(high, low, strict=True)]
        assert moved[0] > moved[1] > moved[2] >= 0
        assert moved[2] < 0.05
