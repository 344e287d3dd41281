"""Recalibration by the groups that `find_groups` names: their corrections, between two maps of all rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._lib.elementary import logit
from .._lib.errors import InputError, listed
from .._lib.serialize import plain_values
from .._lib.typing import Floats, Ints
from ..calibration.where.conditions import PARTS, Condition
from ..calibration.where.naming import Correction
from ..forecasts.group_keys import columns_of
from ..forecasts.labels import Label, label_array
from ..kernels.devices import Scale
from ..maps.saved import number, require
from ..report.result import Result
from .files import SavedFit
from .gain import Gain
from .recalibrator import Recalibrator, in_shape_of
from .saved import FOUND, gain_dict, saved_gain

PREDICTED = "predicted class"
"""Name of the most probable class among the columns."""

_KEYS = {"groups", "gain", "map", "after"}
_OF_CONDITION = {"column", "low", "high", "values", "negated", "missing", "date", "part"}


def event_of(labels: Sequence[Label | None], label: Label | None, log_p: Floats, n_rows: int) -> tuple[Ints, Floats]:
    """Return the class of each row that a label is about, and its log-odds.

    That is the second of two classes, and for None the most probable one. Log-odds are finite: at most as large as so
    many rows of a search may tell.
    """
    each, others, farthest = np.arange(len(log_p)), log_p.copy(), -float(logit(0.01 / n_rows))
    top = len(labels) > 2 and label is None
    places = log_p.argmax(axis=1) if top else np.full(len(log_p), 1 if len(labels) == 2 else labels.index(label))
    others[each, places] = -np.inf
    return places, np.clip(log_p[each, places] - np.logaddexp.reduce(others, axis=1), -farthest, farthest)


def class_texts(labels: Sequence[Label | None], places: Ints) -> NDArray[Any]:
    """Return the classes as texts, as they are searched."""
    return np.array([str(label) for label in labels])[places]


def arrays_among(among: Any, n_rows: int) -> dict[str, NDArray[Any]]:
    """Return columns as arrays, by name: each has a value for every row."""
    columns = {name: label_array(values) for name, values in columns_of(among, "among").items()}
    for name, values in columns.items():
        if values.shape != (n_rows,):
            raise InputError(f"among: column {name!r} has shape {values.shape}, the forecasts {n_rows:,} rows.")
    return columns


class FoundGroupRecalibrator(SavedFit, Result):
    """Recalibration by groups that were found to be wrong. Made by `Groups.recalibrator`.

    One `Recalibrator`, fitted to the rows searched, maps all rows. Then the shrunken effect of each group is added to
    the log-odds of its rows, and a second map, fitted to what comes out, mends what the groups had bent in the first.

    Attributes
    ----------
    among_ : tuple of str
        Names of the columns that the groups ask for.
    rules_ : tuple of str
        The groups, such as "age >= 34 and sex = f".
    labels_ : tuple
        Class labels in column order.
    shared_ : Recalibrator
        The map of all rows.
    after_ : Recalibrator or None
        The map after the groups are corrected; None without groups.
    gain_ : Gain or None
        Decrease of the log loss by the corrections beside `shared_` alone, on rows held out of the whole search.

    Examples
    --------
    >>> import numpy as np
    >>> import unperplexed as up
    >>> rng = np.random.default_rng(0)
    >>> age, log_odds = rng.integers(18, 80, 2000), rng.normal(size=2000)
    >>> ill = rng.random(2000) < 1 / (1 + np.exp(-log_odds - np.where(age >= 60, 1.2, 0)))
    >>> recalibrator = up.find_groups(ill, 1 / (1 + np.exp(-log_odds)), among={"age": age}).recalibrator()
    >>> recalibrator.transform([0.5, 0.5], among={"age": [30, 70]}).round(1)
    array([0.5, 0.8])
    """

    saved_as = "recalibration map"

    def __init__(
        self,
        groups: Sequence[Correction],
        shared: Recalibrator,
        after: Recalibrator | None = None,
        gain: Gain | None = None,
    ) -> None:
        self.groups, self.shared_, self.after_, self.labels_, self.gain_ = groups, shared, after, shared.labels_, gain
        asked = (condition.column for group in groups for condition in group.conditions)
        self.among_ = tuple(dict.fromkeys(name for name in asked if name != PREDICTED))
        self.rules_ = tuple(" and ".join(each.text for each in group.conditions) for group in groups)

    def transform(self, y_prob: Any, *, among: Any, scale: Scale = "probability") -> Floats:
        """Return calibrated probabilities, none of them exactly 0 or 1.

        Parameters
        ----------
        y_prob, scale
            As in `Recalibrator.transform`.
        among : mapping from str to array_like of shape (n,), or data frame
            The columns of the groups; others are left aside. A category that the search did not see and a missing
            value meet no condition but ``is not`` and ``is missing``.

        Returns
        -------
        array of the shape of y_prob

        Raises
        ------
        InputError
            As `Recalibrator.transform`; for columns that are missing, of another length, or of another kind.
        """
        given = columns_of(among, "among") if self.among_ else {}
        if missing := [name for name in self.among_ if name not in given]:
            raise InputError(f"among: no column {listed(missing)}, which the groups found ask for.")
        blocks, n_columns = self.shared_.blocks(y_prob, scale)
        every = [np.empty((0, len(self.labels_))), *(block.log_probabilities for block in blocks)]
        log_p = np.concatenate(every, dtype=np.float64)
        columns = arrays_among({name: given[name] for name in self.among_}, len(log_p)) if given else {}
        found = self.shared_.state.of_log_probabilities(log_p)
        if self.after_ is None:
            return in_shape_of(y_prob, found, n_columns)
        moved, each = np.log(found), np.arange(len(log_p))
        for group in self.groups:
            places, s = event_of(self.labels_, group.label, log_p, self.shared_.n_rows_)
            columns[PREDICTED] = class_texts(self.labels_, places)
            inside = [condition.met_by(columns[condition.column]) for condition in group.conditions]
            moved[each, places] += group.of(np.logical_and.reduce(inside), s)
        moved -= np.logaddexp.reduce(moved, axis=1)[:, None]
        return in_shape_of(y_prob, self.after_.state.of_log_probabilities(moved), n_columns)

    def to_dict(self) -> dict[str, Any]:
        """Give the corrections and the maps as plain values: what `save` writes."""
        groups, after = [*map(plain_values, self.groups)], self.after_ and self.after_.to_dict()
        maps = {"map": self.shared_.to_dict(), "after": after}
        return {**FOUND.head, "groups": groups, "gain": gain_dict(self.gain_), **maps}

    @classmethod
    def from_dict(cls, data: Any) -> FoundGroupRecalibrator:
        """Make a recalibrator of what `to_dict` gave; anything else is refused with the reason."""
        FOUND.check(data, _KEYS)
        shared = Recalibrator.from_dict(data["map"])
        require(isinstance(data["groups"], list) and shared.distributions is None, "groups")
        after = Recalibrator.from_dict(data["after"]) if data["groups"] or data["after"] is not None else None
        require(after is None or (after.distributions is None and after.labels_ == shared.labels_), "the second map")
        groups = [_correction(each, shared.labels_) for each in data["groups"]]
        return cls(groups, shared, after, saved_gain(data["gain"]))

    def __repr__(self) -> str:
        """Name it in one line."""
        return f"FoundGroupRecalibrator({len(self.rules_)} groups)"


def _correction(data: Any, labels: Sequence[Label | None]) -> Correction:
    known = isinstance(data, Mapping) and set(data) == {"conditions", "label", "bias", "slope", "about"}
    require(known and isinstance(data["conditions"], list) and bool(data["conditions"]), "groups")
    require(data["label"] is None or data["label"] in labels, "the class of a group")
    conditions = tuple(map(_condition, data["conditions"]))
    return Correction(conditions, data["label"], *(number(data[name], name) for name in ("bias", "slope", "about")))


def _condition(data: Any) -> Condition:
    require(isinstance(data, Mapping) and set(data) == _OF_CONDITION, "conditions")
    ends = {end: None if data[end] is None else number(data[end], end, -1e300, 1e300) for end in ("low", "high")}
    require(isinstance(data["values"], list) and all(isinstance(each, str) for each in data["values"]), "values")
    require(isinstance(data["column"], str) and data["part"] in ("", *PARTS), "conditions")
    require(all(isinstance(data[name], bool) for name in ("negated", "missing", "date")), "conditions")
    asked = Condition(**{**data, **ends, "values": tuple(data["values"])})
    require(asked.missing or bool(asked.values) or asked.ends != (None, None), "conditions")
    return asked
