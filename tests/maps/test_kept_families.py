"""Maps of every family, and saved ones that cannot be right, figure by figure, beside those that are kept."""

import json
from pathlib import Path

import numpy as np
import pytest

from fitted import NEW_THREE, NEW_TWO, fit, three, two
from kept import same_as_kept
from opened import opened, told
from unperplexed import Tally
from unperplexed.maps.parameters import MANY_CLASSES, TWO_CLASSES
from unperplexed.maps.saved import binary_map_of, class_map_of, class_map_of_version_1

KEPT = Path(__file__).with_name("families.json")


@pytest.mark.parametrize("method", [*TWO_CLASSES])
def test_maps_of_two_classes(method):
    y, p = two()
    weight = np.arange(240) % 4 + 1.0
    found = {"rows": fit(y, p, NEW_TWO, method)}
    if method in ("logistic", "lapse"):
        found["weights"] = fit(y, p, NEW_TWO, method, sample_weight=weight)
        found["clusters"] = fit(y, p, NEW_TWO, method, clusters=np.arange(240) // 5)
        found["tally"] = fit(Tally.of(y, p), None, NEW_TWO, method)
        found["few"] = fit(y[6:26], p[6:26], NEW_TWO, method)
    same_as_kept(KEPT, f"two {method}", found)


@pytest.mark.parametrize("method", [*MANY_CLASSES])
def test_maps_of_three_classes(method):
    y, p = three()
    found = {"rows": fit(y, p, NEW_THREE, method)}
    if method == "logistic":
        found["weights"] = fit(y, p, NEW_THREE, method, sample_weight=np.arange(210) % 3 + 1.0)
        found["clusters"] = fit(y, p, NEW_THREE, method, clusters=np.arange(210) // 3)
        found["zeros"] = fit(y, np.round(p, 1) / np.round(p, 1).sum(axis=1, keepdims=True), NEW_THREE, method)
        found["few"] = [fit(y[:k], p[:k], NEW_THREE, method) for k in (9, 30)]
    same_as_kept(KEPT, f"three {method}", found)


def changes(plain):
    """Yield a saved map with one value of each kind of another kind, too large, missing, or beside one too many."""
    for key in plain:
        if key == "name":
            yield from (plain | {key: other} for other in ("x", "bias", "matrix"))
            continue
        yield {name: each for name, each in plain.items() if name != key}
        for other in (None, 7, -7.5, 1e7, "x", [], [[1.0, 2.0]], {"slope": -3.0}, {"bias": 1e6}, {"bias": 1.1e6}):
            yield plain | {key: other}
    yield plain | {"more": 1}


def _short(found):
    """Write a refusal without the words that all have, or a map."""
    words = found if isinstance(found, str) else json.dumps(found, default=str)
    return words.replace("refused: the recalibration map is damaged: ", "").replace(
        "cannot be right. Fit it anew.", ""
    )[:70]


def test_saved_maps_that_cannot_be_right():
    two_classes = [
        {"name": "lapse", "coefficients": {"bias": 0.1, "slope": -0.2}, "lapse": 0.99},
        {"name": "lapse", "coefficients": {"bias": 0.1, "slope": -1.01}, "lapse": 0.1},
        {"name": "tail", "coefficients": {"bias": 0.1, "slope": -0.5, "tail": 0.3}, "lapse": 0.0},
        {"name": "isotonic", "points": [[-1.0, -0.5], [0.5, 0.25], [2.0, 0.25]]},
        {"name": "isotonic", "points": [[-1.0, -0.5], [-1.0, 0.25]]},
        {"name": "isotonic", "points": [[-1.0, 0.5], [1.0, 0.25]]},
        {"name": "isotonic", "points": [[-1.0, 0.5], [1.0, 1000.0], [1.5, 1001.0]]},
    ]
    plain = {
        "name": "logistic",
        "shared": {"slope": -0.3},
        "biases": [0.1, 0.0, -0.1],
        "slopes": None,
        "matrix": None,
        "lapse": 0.0,
        "zero": 1e-5,
    }
    curves = {"name": "isotonic", "base": plain, "knots": [{"x": [0.1, 0.4], "y": [0.2, 0.3]}] * 3}
    earlier = {
        "name": "tail",
        "log_floor": -12.0,
        "slope": 0.8,
        "biases": [0.1, 0, 0],
        "slopes": None,
        "matrix": None,
        "lapse": 0.1,
        "curves": [0.1, 0.2],
    }
    found = {
        "two": [
            [opened(told(binary_map_of, each, 1e-6), (), 2) for each in (data, *changes(data))]
            for data in two_classes[:4]
        ],
        "more": [opened(told(binary_map_of, each, 1e-6), (), 2) for each in two_classes[4:]],
        "classes": [
            opened(told(class_map_of, each, 3), (), 2) for data in (plain, curves) for each in (data, *changes(data))
        ],
        "knots": [
            str(told(class_map_of, curves | {"knots": [{"x": x, "y": y}] * 3}, 3))[:80]
            for x, y in (
                ([0.1, 0.1], [0, 1]),
                ([0.1, 0.2], [0.3, 0.2]),
                ([0.1], [0.2, 0.3]),
                ([], []),
                ([0, 1], [0, 1.01]),
            )
        ],
        "earlier": [
            told(class_map_of_version_1, each)
            for each in (earlier, *changes(earlier), {"name": "isotonic", "base": earlier})
        ],
    }
    words = {name: [*map(_short, of)] for name, of in found.items()}
    same_as_kept(KEPT, "saved", words)
