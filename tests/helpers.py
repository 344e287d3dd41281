"""Forecasts and slow definitions that tests of several subjects share."""

import importlib.util
import json
import sys

import numpy as np


def module_of(path):
    """A script as a module, such as a study of benchmarks, which may import its neighbours."""
    spec = importlib.util.spec_from_file_location(f"script_{path.stem}", path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # where a dataclass looks for its annotations
    sys.path.insert(0, str(path.parent))
    try:
        spec.loader.exec_module(module)
    finally:
        sys.path.remove(str(path.parent))
    return module


def softmax_forecasts(rng, n, classes, spread=2.0, temperature=1.0, dtype=np.float64):
    """Forecasts softmax(temperature * z) of outcomes drawn from softmax(z): calibrated at temperature 1."""
    z = spread * rng.normal(size=(n, classes))
    truth = np.exp(z - z.max(axis=1, keepdims=True))
    truth /= truth.sum(axis=1, keepdims=True)
    p = np.exp(temperature * (z - z.max(axis=1, keepdims=True)))
    p /= p.sum(axis=1, keepdims=True)
    y = (truth.cumsum(axis=1) < rng.uniform(size=(n, 1))).sum(axis=1).clip(max=classes - 1)
    return y, p.astype(dtype)


def sixteenths(rng, n, classes):
    """Rows of multiples of 1/16 that sum to 1 exactly, some of them 0 or 1, and outcomes less certain than they say."""
    p = rng.multinomial(16, rng.dirichlet(np.full(classes, 0.5), n)) / 16
    mixed = 0.7 * p + 0.3 / classes
    return (mixed.cumsum(axis=1) < rng.uniform(size=(n, 1))).sum(axis=1).clip(max=classes - 1), p


def pairs_by_rows(y, p, view):
    """Pairs of each group of a view, one for each row and class: reported, did it happen, weight."""
    n, classes = p.shape
    happened = (y[:, None] == np.arange(classes)).astype(float)
    if view == "each-class":
        return [(p[:, j], happened[:, j], np.ones(n)) for j in (range(classes) if classes > 2 else [1])]
    if view == "all-classes":
        return [(p.ravel(), happened.ravel(), np.ones(n * classes))]
    top = p == p.max(axis=1, keepdims=True)
    return [(p.max(axis=1), (happened * top).sum(axis=1) / top.sum(axis=1), np.ones(n))]


def maps_of_groups(y, p, site, by="site"):
    """Saved maps of groups: one temperature for all rows, and one for what it makes of each group's.

    GroupRecalibrator fits averages of many maps, which takes seconds, and holds them to the same form.
    """
    from unperplexed import Recalibrator

    def fitted(y, p):
        return Recalibrator("temperature").fit(y, p)

    shared = fitted(y, p)
    q = shared.transform(p)
    loss = {"log_loss_of_one_map": 0.7, "log_loss": 0.6}
    groups = [
        {"key": [name], "rows": int((site == name).sum()), "map": fitted(y[site == name], q[site == name]).to_dict()}
        for name in np.unique(site).tolist()
    ]
    return {
        "format": "unperplexed recalibration maps of groups",
        "version": 1,
        "by": [by],
        "settings": {"folds": None, "seed": 0},
        "map": shared.to_dict(),
        "groups": [each | loss for each in groups],
        "gain": {"log_loss": 0.7, "recalibrated": 0.6, "gain": 0.1, "interval": [0.05, 0.15], "rows": y.size},
    }


def without_dependence(result):
    """A result's JSON but for what was looked at for dependence: rows have an order and columns, tallies have none."""

    def kept(pairs):
        return {name: value for name, value in pairs if name != "dependence"}

    text = json.dumps(result) if isinstance(result, dict) else result
    return json.loads(text if isinstance(text, str) else text.to_json(), object_pairs_hook=kept)


def averages_text(result):
    """What ``--show averages`` prints of an assessment, in one line."""
    from unperplexed.describe.assessment_metrics import averages_blocks
    from unperplexed.report.document import Document
    from unperplexed.report.terminal import text

    return " ".join(text(Document("", summary=averages_blocks(result))).split())
