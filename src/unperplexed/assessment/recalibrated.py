"""Recalibrated probabilities for comparison: cross-fitted, by a fitted map, or as the user passes them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from .._lib.errors import InputError, listed, rows_text
from .._lib.typing import AnyFloats, Floats, Ints
from ..forecasts.gathered import GatheredRows, gathered
from ..forecasts.labels import Label
from ..recalibration.held_out import held_out, independent_units

RECALIBRATED = "recalibrated"

FOLDS = 5
FEWEST_UNITS = 10
"""Rows, or clusters, from which on recalibrated probabilities are cross-fitted."""

_FORMS = ("percent", "from_logits", "from_log_probs", "renormalize", "drop_invalid")
"""How the forecasters' probabilities are read; the recalibrated ones are probabilities."""


def recalibrated_beside(
    given: Any, y_true: Any, rows: GatheredRows, reading: Mapping[str, Any], single: bool, seed: int = 0
) -> tuple[dict[str, Floats], tuple[str, ...]]:
    """Return recalibrated probabilities of the positive class by forecaster, as far as there are any, and warnings.

    ``reading`` has the options of `Forecasts` by which the rows were read.
    """
    forecasters = rows.probabilities
    if given is None or given is False:
        return {}, ()
    if given is True:
        found = {name: cross_fitted(p, rows, seed) for name, p in rows.probabilities.items()}
        return {name: p for name, p in found.items() if p is not None}, _warnings(rows, found)
    if single and not isinstance(given, Mapping):
        given = {next(iter(forecasters)): given}
    if not isinstance(given, Mapping) or (unknown := [name for name in given if name not in forecasters]):
        named = "a mapping by the forecasters' names" if not isinstance(given, Mapping) else f"no {unknown[0]!r}"
        raise InputError(f"recalibrated: expected {named}; they are {', '.join(map(repr, forecasters))}.")
    return {name: _of_one(each, name, y_true, rows, reading) for name, each in given.items()}, ()


def _warnings(rows: GatheredRows, found: Mapping[str, Floats | None]) -> tuple[str, ...]:
    if all(p is not None for p in found.values()):
        return ()
    return (
        f"nothing was recalibrated: {FOLDS} folds of fewer than {FEWEST_UNITS} independent units determine no map; pass"
        " recalibrated= with a Recalibrator fitted on other rows",
    )


def _of_one(given: Any, name: str, y_true: Any, rows: GatheredRows, reading: Mapping[str, Any]) -> Floats:
    """Return probabilities by a fitted map, or those handed over for the same rows."""
    if hasattr(given, "transform"):
        _check_classes(getattr(given, "labels_", ()), rows.labels)
        return np.asarray(given.transform(rows.probabilities[name]), dtype=np.float64)[:, 1]
    plain = {key: value for key, value in reading.items() if key not in _FORMS}
    read = gathered("recalibrated", {RECALIBRATED: given}, y_true, plain, RECALIBRATED)
    at = np.searchsorted(read.index, rows.index)
    same = np.append(read.index, -1)[at] == rows.index
    if not same.all():
        raise InputError(f"recalibrated: no probability in {rows_text(rows.index[~same])}.")
    return np.asarray(read.probabilities[RECALIBRATED][at, 1], dtype=np.float64)


def _check_classes(fitted: Iterable[Label | None], labels: Sequence[Label | None]) -> None:
    """Refuse a recalibrator of other classes, or of the same classes in another order."""
    if any(a != b for a, b in zip(fitted, labels, strict=False) if a is not None and b is not None):
        raise InputError(
            f"recalibrated: the recalibrator is of the classes {listed(list(fitted))} (negative, positive), the"
            f" forecasts are of {listed(list(labels))}. Fit it with the same pos_label or labels as here."
        )


def cross_fitted(p: AnyFloats, rows: GatheredRows, seed: int = 0) -> Floats | None:
    """Recalibrate each row by a `Recalibrator` fitted on the other folds; None for too few rows.

    Returns the probability of the positive class. Clusters stay together.
    """
    from ..recalibration.recalibrator import Recalibrator

    if independent_units(rows) < FEWEST_UNITS:
        return None
    found = np.empty(rows.n_rows)
    for out in held_out(rows, FOLDS, seed):
        fitted = Recalibrator(seed=seed).fit(rows.truth[~out], p[~out], **_known(rows, ~out))
        found[out] = fitted.transform(p[out])[:, 1]
    return found


def _known(rows: GatheredRows, kept: np.ndarray) -> dict[str, Any]:
    groups: Ints | None = None if rows.groups is None else rows.groups[kept]
    return {"labels": [0, 1], "sample_weight": rows.weights[kept] if rows.weighted else None, "groups": groups}
