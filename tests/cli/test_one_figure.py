"""One figure and one interval for each labelled quantity, whichever command prints it: in JSON, and in text as printed.

Gain, log loss, cost, clusters, calibration slope, temperature and the errors of the verdict, of thirteen sets of
forecasts: with clusters, weights, exact zeros, few values, rare events, and up to fifty classes.
"""

import numpy as np
import pytest
from scipy.special import expit, softmax

from one_figure import Figures, N, hold_temperatures, hold_together

pytestmark = pytest.mark.usefixtures("equal_rows_are_fitted_once")


def with_columns(rng, columns, clusters, weights):
    """Add clusters, weights of four values, and two groups of rows."""
    n = len(columns["y"])
    columns |= {"half": rng.integers(0, 2, n)}
    columns |= {} if clusters is None else {"match": clusters}
    return columns | ({"heft": rng.choice([0.5, 1.0, 2.0, 3.5], n)} if weights else {})


def two_classes(seed, n=600, slope=1.8, bias=0.3, clusters=0, effect=0.6, weights=False, zeros=0, grid=False, centre=0):
    """Overconfident and biased forecasts p, and others q; rows of a match share an effect."""
    rng = np.random.default_rng(seed)
    s, match = rng.normal(centre, 1.5, n), rng.permutation(n) % clusters if clusters else None
    u = s if match is None else s + rng.normal(0, effect, clusters)[match]
    y = (rng.random(n) < expit(u)).astype(int)
    p, q = expit(slope * s + bias), expit(1.2 * s + rng.normal(0, 0.4, n))
    p, q = (np.round(x, 1).clip(0.1, 0.9) if grid else x for x in (p, q))
    p[:zeros] = 1 - y[:zeros]
    return with_columns(rng, {"y": y, "p": p, "q": q}, match, weights)


def more_classes(seed, n=900, classes=3, clusters=0, weights=False, zeros=0, bias=0.0, lapse=0.0):
    rng = np.random.default_rng(seed)
    z, match = rng.normal(0, 1.5, (n, classes)), rng.permutation(n) % clusters if clusters else None
    t = z if match is None else z + rng.normal(0, 0.7, (clusters, classes))[match]
    y = (t + rng.gumbel(size=t.shape)).argmax(axis=1)
    random = rng.random(n) < lapse
    y[random] = rng.integers(0, classes, random.sum())
    p = softmax(1.8 * z + bias * np.arange(classes) / classes, axis=1)
    p[np.arange(zeros), y[:zeros]] = 0
    p /= p.sum(axis=1, keepdims=True)
    q = softmax(1.3 * z + rng.normal(0, 0.3, z.shape), axis=1)
    columns = {"y": y} | {f"{name}{c}": x[:, c] for name, x in (("p", p), ("q", q)) for c in range(classes)}
    return with_columns(rng, columns, match, weights)


SETS = {
    "weights": lambda: two_classes(3, weights=True),
    "weighted clusters": lambda: two_classes(4, clusters=80, weights=True, bias=0.8),
    "zeros": lambda: two_classes(5, n=900, zeros=3),
    "zeros in clusters": lambda: two_classes(6, n=900, zeros=2, clusters=90),
    "few values": lambda: two_classes(7, n=1500, grid=True),
    "few values in clusters": lambda: two_classes(8, n=1500, grid=True, clusters=50),
    "rare": lambda: two_classes(9, n=2000, slope=1, bias=0.7, centre=-3),
    "not shown to gain": lambda: two_classes(11, n=200, slope=1.45, bias=0.0, clusters=100),
    "more clusters than shards": lambda: two_classes(10, n=3000, clusters=1500),
    "ten classes in clusters": lambda: more_classes(12, n=1200, classes=10, clusters=120),
    "zeros of three classes with weights": lambda: more_classes(13, n=1200, weights=True, zeros=4),
    "fifty classes": lambda: more_classes(14, n=800, classes=50, bias=1.0),
    "five classes with a lapse": lambda: more_classes(15, n=1500, classes=5, lapse=0.06),
}
ALL = [pytest.param(name, marks=() if name == "few values" else pytest.mark.slow) for name in SETS]


@pytest.mark.parametrize("name", ALL)
def test_every_command_gives_one_figure_for_a_label(name, tmp_path, capsys):
    hold_together(SETS[name](), tmp_path, capsys)


def test_the_harness_knows_the_label_of_a_temperature():
    figures, alone = Figures(), "overconfident (temperature 1.67 alone, 95% CI 1.60 to 1.75)"
    figures.add("one", **{"temperature alone": 1.672, "interval of temperature alone": (1.601, 1.749)})
    figures.add("one", **{"temperature by auto": 1.663})
    average = "Recalibration (an average of maps, mainly temperature 1.66) reduces the log loss"
    assert hold_temperatures(figures, "one", f"{alone} {average}") == 2
    for wrong in (alone.replace("1.67", "1.66"), average.replace("1.66", "1.67"), "overconfident (temperature 1.67)"):
        with pytest.raises(AssertionError):
            hold_temperatures(figures, "one", wrong)


def test_the_harness_finds_another_figure():
    figures = Figures()
    figures.add("one", cost=0.0123)
    with pytest.raises(AssertionError, match="cost: another against one"):
        figures.add("another", cost=0.0124)
    figures.printed("one", "cost 0.012 nats", rf"cost {N} nats", "cost")
    with pytest.raises(AssertionError, match="prints 0.013"):
        figures.printed("one", "cost 0.013 nats", rf"cost {N} nats", "cost")
