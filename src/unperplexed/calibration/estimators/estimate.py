"""What an estimator gives, and what several of them share."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from difflib import get_close_matches
from functools import WRAPPER_ASSIGNMENTS
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from ..._lib.dataclasses import Frozen, field
from ..._lib.elementary import logit
from ..._lib.errors import InputError, is_number
from ..._lib.typing import Floats, Ints
from ...tally.tables import Pairs

Check = Callable[[str, Any], Any]
"""Takes the name of a setting and its value, and refuses what cannot be set."""


class Estimate(NamedTuple):
    """Measured probability of each entry of the pairs, and the bin it is read in."""

    measured: Floats
    bin: Ints
    """Index of each entry's bin, from 0, non-decreasing. Estimators without bins give some to read the result in."""
    settings: Mapping[str, float]
    """What was set or found by the estimator's rule, such as the number of bins."""


class Estimator(Frozen, eq=False):
    """A way to measure how often events of each predicted probability happen, with its settings.

    Call it to change settings: ``equal_width(bins=20)``. `assess` and its kin take one as ``measured``, or its name.
    """

    name: str
    function: Callable[..., Estimate] = field(repr=False)
    checks: Mapping[str, Check] = field(repr=False)
    """What can be set, and what refuses a value that cannot be."""
    settings: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))
    """What is set; all else follows the estimator's own rule."""

    def __post_init__(self) -> None:
        """Show what the function says of itself."""
        for name in WRAPPER_ASSIGNMENTS:
            object.__setattr__(self, name, getattr(self.function, name, None))
        object.__setattr__(self, "__wrapped__", self.function)

    def __eq__(self, other: object) -> bool:
        """Compare the name and the settings."""
        return isinstance(other, Estimator) and str(self) == str(other)

    def __hash__(self) -> int:
        """Hash the name and the settings."""
        return hash(str(self))

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the name and the settings."""
        return named_estimator, (str(self),)

    def __call__(self, **settings: Any) -> Estimator:
        """Return the same estimator with other settings; ``"auto"`` leaves one to its own rule.

        Raises
        ------
        InputError
            For a setting that the estimator does not have, or a value that it cannot have.
        """
        given = {**self.settings, **settings}
        for name, value in settings.items():
            if name not in self.checks:
                able = ", ".join(self.checks)
                raise InputError(f"measured: {self.name} has no setting {name!r}; it has {able or 'none'}.")
            if isinstance(value, str) and value == "auto":
                del given[name]
            else:
                given[name] = self.checks[name](name, value)
        return Estimator(self.name, self.function, self.checks, MappingProxyType(given))

    def measure(self, reported: Floats, happened: Floats, total: Floats, *, floor: float = 0.0) -> Estimate:
        """Measure pairs.

        Parameters
        ----------
        reported : array of shape (m,)
            Distinct predicted probabilities in increasing order.
        happened, total : arrays of shape (m,)
            Weight of the pairs that occurred, and of all pairs, at each.
        floor : float
            Width of the bins that `equal_population` sets apart; others read their result in such bins, or do without.

        Returns
        -------
        Estimate
        """
        return self.function(Pairs(reported, happened, total), floor=floor, **self.settings)

    def __str__(self) -> str:
        """Give it as the command line takes it: ``equal-width:bins=20``."""
        settings = ",".join(f"{name}={value!r}" for name, value in self.settings.items())
        return f"{self.name}:{settings}" if settings else self.name


REGISTERED: dict[str, Estimator] = {}
"""Estimators by name, in the order in which they are written."""


def estimator(name: str, **checks: Check) -> Callable[[Callable[..., Estimate]], Estimator]:
    """Register a function ``(pairs, *, floor, ...)`` as the estimator of a name.

    ``checks`` names its settings, each with what checks it.
    """

    def register(function: Callable[..., Estimate]) -> Estimator:
        return REGISTERED.setdefault(name, Estimator(name, function, checks))

    return register


def named_estimator(measured: str | Estimator) -> Estimator:
    """Find an estimator by name, with settings behind a colon: ``"equal-width:bins=20"``; one itself is given back.

    Raises
    ------
    InputError
        For a name that is none, a setting that the estimator does not have, or a value that it cannot have.

    Examples
    --------
    >>> from unperplexed.calibration.estimators import named_estimator
    >>> named_estimator("bayesian:bins=20,prior=0.5").settings
    mappingproxy({'bins': 20, 'prior': 0.5})
    """
    if isinstance(measured, Estimator):
        return measured
    name, colon, settings = measured.partition(":") if isinstance(measured, str) else (measured, "", "")
    if not isinstance(name, str) or name not in REGISTERED:
        near = get_close_matches(str(name).lower().replace("_", "-"), REGISTERED, 1)
        raise InputError(
            f"measured: expected one of {', '.join(REGISTERED)}, with settings as in 'equal-width:bins=20', got"
            f" {measured!r}{f'; did you mean {near[0]!r}?' if near else '.'}"
        )
    given = [_setting(text) for text in settings.split(",")] if colon else []
    if twice := [key for at, (key, _) in enumerate(given) if key in dict(given[:at])]:
        raise InputError(f"measured: {twice[0]} is set twice in {measured!r}.")
    return REGISTERED[name](**dict(given))


def _setting(text: str) -> tuple[str, Any]:
    """Read ``bins=20``."""
    name, equals, value = text.partition("=")
    for read in (int, float):
        with suppress(ValueError):
            return name.strip(), read(value)
    if not equals or value.strip() != "auto":
        raise InputError(f"measured: expected a setting as in bins=20, got {text!r}.")
    return name.strip(), "auto"


def with_ends_apart(pairs: Pairs, curve: Callable[[Floats, Floats, Floats], Floats]) -> Floats:
    """Measure by a curve over the log-odds of what lies between 0 and 1; exact 0 and 1 are groups of their own."""
    reported, happened, total = pairs
    measured = happened / total
    between = (reported > 0) & (reported < 1)
    if between.any():
        measured[between] = curve(logit(reported[between]), happened[between], total[between])
    return measured


def ends_apart(reported: Floats, bin_of: Callable[[Ints], Ints]) -> Ints:
    """Bins of what lies between 0 and 1, and exact 0 and 1 in bins of their own."""
    between = (reported > 0) & (reported < 1)
    bin_ = np.zeros(reported.size, dtype=np.int64)
    if between.any():
        bin_[between] = bin_of(np.flatnonzero(between)) + 1
    bin_[reported == 1] = bin_.max(initial=0) + 1
    return np.cumsum(np.diff(bin_, prepend=bin_[:1]) != 0)


def number_of_bins(bins: int | None, happened: Floats) -> int:
    """Give the number asked for, or (2N)^(1/3) rounded up (Terrell and Scott 1985), N the weight of the events."""
    if bins is None:
        return max(int(np.ceil(round((2 * float(happened.sum())) ** (1 / 3), 9))), 1)
    return bins


def checked_positive(name: str, value: float) -> float:
    """Refuse what is no finite number above 0."""
    if not is_number(value) or not 0 < value < np.inf:
        raise InputError(f"{name}: expected a finite number above 0, got {value!r}.")
    return float(value)
