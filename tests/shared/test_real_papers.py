"""[CM]'s forms on networks whose outputs are public."""

import pytest

from papers import cm

EXHIBITS = {exhibit.name: exhibit for exhibit in cm.EXHIBITS}


@pytest.fixture(scope="module")
def figures():
    made = EXHIBITS["cm-figure-1-networks"].make(lambda: None)
    assert made.picture is not None
    return {line.what: line.values for line in made.lines}


def test_networks_are_assessed_as_in_the_paper(figures):
    name = "wideresnet-16-4-cifar-10"
    assert figures[f"{name}: prediction accuracy"] == pytest.approx([0.911], abs=5e-4)
    means = zip(
        *(
            figures[f"{name}: {mean}, reported and measured"]
            for mean in ("decisiveness", "geometric accuracy", "robustness")
        ),
        strict=True,
    )
    reported, measured = means
    assert reported == pytest.approx((0.903, 0.733, 0.301), abs=5e-4)
    assert measured == pytest.approx((0.865, 0.738, 0.371), abs=5e-4)
    assert figures[f"{name}: slope, by these bins and by our default estimator"][0] == pytest.approx(0.82, abs=0.01)
    for other, accuracy in {
        "densenet-bc-100-cifar-100": 0.754,
        "lenet-5-cifar-100": 0.125,
        "vgg16_cifar10": 0.936,
    }.items():
        assert figures[f"{other}: prediction accuracy"] == pytest.approx([accuracy], abs=5e-4)


def test_the_floor_moves_robustness_most(figures):
    lines = EXHIBITS["cm-table-2-networks"].make(lambda: None).lines
    for name in ("wideresnet-16-4-cifar-10", "lenet-5-cifar-100"):
        high, *_, low = (line.values for line in lines if line.what.startswith(f"{name}, floor"))
        moved = [a - b for a, b in zip(high, low, strict=True)]
        assert moved[0] > moved[1] > moved[2] >= 0
        assert moved[2] < 0.05
