"""Recalibrated probabilities for comparison: cross-fitted, by a fitted map, or as the user passes them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._lib.errors import InputError, listed, rows_text
from .._lib.typing import Floats
from ..forecasts.gathered import GatheredRows, gathered
from ..forecasts.labels import Label
from ..kernels.logarithms import log_odds
from ..recalibration.averaging import average
from ..recalibration.fitting import BINARY_METHODS
from .counted_rows import FEWEST_UNITS, CountedRows

RECALIBRATED = "recalibrated"


@dataclass(frozen=True, eq=False)
class Recalibrated:
    """Rows with their predicted probabilities, and with recalibrated ones."""

    rows: CountedRows
    p: Floats
    """Recalibrated probability of the positive class, of each lot of the rows."""


Reader = Callable[[Any], Floats]
"""Reads recalibrated probabilities of the positive class that a user passes for the same rows."""


def recalibrated_beside(
    given: Any, columns: Mapping[str, CountedRows], read: Reader | None = None, seed: int = 0
) -> tuple[dict[str, Recalibrated], tuple[str, ...]]:
    """Return recalibrated probabilities by forecaster, as far as there are any, and warnings.

    Parameters
    ----------
    given : object
        What `decide` and `decision_curve` take as ``recalibrated``.
    columns : mapping of str to CountedRows
        Rows with the probabilities of each forecaster.
    read : callable, optional
        Reads probabilities of the same rows; without it none may be passed.
    seed : int, default 0
        Random seed of the folds.

    Returns
    -------
    recalibrated : dict of str to Recalibrated
    warnings : tuple of str

    Raises
    ------
    InputError
        For a forecaster that there is not, a recalibrator of other classes, and probabilities of other rows.
    """
    if given is None or given is False:
        return {}, ()
    if given is True:
        found = {name: cross_fitted(rows, seed) for name, rows in columns.items()}
        return {name: each for name, each in found.items() if each is not None}, _warnings(found.values())
    if len(columns) == 1 and not isinstance(given, Mapping):
        given = {next(iter(columns)): given}
    if not isinstance(given, Mapping) or (unknown := [name for name in given if name not in columns]):
        named = "a mapping by the forecasters' names" if not isinstance(given, Mapping) else f"no {unknown[0]!r}"
        raise InputError(f"recalibrated: expected {named}; they are {', '.join(map(repr, columns))}.")
    return {name: _of_one(each, columns[name], read) for name, each in given.items()}, ()


def _of_one(given: Any, rows: CountedRows, read: Reader | None) -> Recalibrated:
    """Return probabilities by a fitted map, or those handed over for the same rows."""
    if hasattr(given, "transform"):
        _check_classes(getattr(given, "labels_", ()), rows.labels)
        p = given.transform(np.stack([1 - rows.p, rows.p], axis=1))[:, 1]
        return Recalibrated(rows, np.asarray(p, dtype=np.float64))
    if read is None:
        raise InputError("recalibrated: a tally has no rows to pass probabilities of; pass True, or a Recalibrator.")
    return Recalibrated(rows, read(given))


def _warnings(found: Iterable[Recalibrated | None]) -> tuple[str, ...]:
    if all(each is not None for each in found):
        return ()
    return (
        f"nothing was recalibrated: folds of fewer than {FEWEST_UNITS} independent units determine no map; pass"
        " recalibrated= with a Recalibrator fitted on other rows",
    )


def same_rows(y_true: Any, rows: GatheredRows, reading: Mapping[str, Any]) -> Reader:
    """Return what reads probabilities for the same rows, which were read with the options ``reading``."""

    def read(given: Any) -> Floats:
        # The forecasters' probabilities may be on another scale, and rescaled; these are probabilities.
        plain = {
            **reading,
            "scale": "probability",
            "invalid": "drop" if "drop" in reading.get("invalid", "") else "refuse",
        }
        found = gathered({RECALIBRATED: given}, y_true, plain, RECALIBRATED)
        at = np.searchsorted(found.index, rows.index)
        same = np.append(found.index, -1)[at] == rows.index
        if not same.all():
            raise InputError(
                f"recalibrated: no valid probability in {rows_text(rows.index[~same])}, where y_prob has one. Repair"
                " these rows, or leave them out of all arrays."
            )
        return np.asarray(found.values[RECALIBRATED][at, 1], dtype=np.float64)

    return read


def _check_classes(fitted: Iterable[Label | None], labels: Sequence[Label | None]) -> None:
    """Refuse a recalibrator of other classes, or of the same classes in another order."""
    if any(a != b for a, b in zip(fitted, labels, strict=False) if a is not None and b is not None):
        raise InputError(
            f"recalibrated: the recalibrator is of the classes {listed(list(fitted))} (negative, positive), the"
            f" forecasts are of {listed(list(labels))}. Fit it with the same pos_label or labels as here."
        )


def cross_fitted(rows: CountedRows, seed: int = 0) -> Recalibrated | None:
    """Recalibrate rows by the maps that were fitted to the other folds; None for too few rows."""
    dealt = rows.in_folds(seed)
    if dealt is None:
        return None
    held_out = average(dealt.rows, BINARY_METHODS).held_out
    s = log_odds(dealt.lots.p[:, None], "probability")
    return Recalibrated(dealt.lots, held_out.in_folds(s, dealt.fold)[:, 1])
