"""Reading: the options by which rows are read, which all functions that take rows share."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from inspect import Parameter, signature
from typing import TYPE_CHECKING, Any, Literal, ParamSpec, TypedDict, TypeGuard, TypeVar

from numpy.typing import ArrayLike

from .._lib.errors import InputError, refuse_more, refuse_unknown
from ..kernels.devices import Scale
from .labels import Label

if TYPE_CHECKING:
    from .distributions.predictive import Predictive

_P = ParamSpec("_P")
_R = TypeVar("_R")

Invalid = Literal["refuse", "drop", "rescale"]
"""What is done with invalid rows."""


class Reading(TypedDict, total=False):
    """Options of `Forecasts`, which describes them: the same for all forecasters of the same rows."""

    labels: Sequence[Label] | None
    pos_label: Label | None
    ignore_label: Label | Sequence[Label] | None
    scale: Scale
    invalid: Invalid | Sequence[Invalid]


class WeightedReading(TypedDict, total=False):
    """What means over rows take besides outcomes and probabilities; `log_loss` describes it."""

    sample_weight: ArrayLike | None
    labels: Sequence[Label] | None
    pos_label: Label | None


class RowReading(Reading, total=False):
    """The same, and what is known of each row besides."""

    sample_weight: ArrayLike | None
    clusters: Any


class NumberReading(RowReading, total=False):
    """The same, and what is known of each row of predictive distributions besides."""

    censored: Mapping[str, ArrayLike] | None
    issued: Any
    target_date: Any


class SearchedReading(RowReading, total=False):
    """The same, and the columns in which dependence is looked for where no clusters are declared."""

    columns: Any


class AssessedReading(SearchedReading, NumberReading, total=False):
    """Both."""


class PredictiveOptions(AssessedReading, total=False):
    """The same, and what else comparisons of predictive distributions take."""

    reference: Any
    metrics: Sequence[str]
    confidence: float


AUTO = "auto"
"""Clusters that nobody declared: those that are found, if any are."""

DEFAULTS = {"scale": "probability", "invalid": "refuse"}
"""Of options that are None unless they are given, but for these."""

SEARCHED = {**DEFAULTS, "clusters": AUTO}
"""The same where dependence is looked for."""


def is_predictive(forecast: Any) -> TypeGuard[Predictive]:
    """Whether a forecast is a distribution of a number, whose class is loaded by whoever makes one."""
    home = sys.modules.get(f"{__package__}.distributions.predictive")
    return home is not None and isinstance(forecast, home.Predictive)


def any_predictive(forecasts: Any) -> bool:
    """Whether any of several forecasters, by name, has distributions of a number."""
    return isinstance(forecasts, Mapping) and any(map(is_predictive, forecasts.values()))


def refuse_beside_predictive(given: Mapping[str, Any]) -> None:
    """Refuse what was given of options that only class probabilities have."""
    for name, value in given.items():
        if value is not None:
            raise InputError(f"{name}: is for class probabilities, not for predictive distributions. Leave it out.")


def some_of(options: Mapping[str, Any], kind: type) -> dict[str, Any]:
    """Options of one kind, of those that were given."""
    return {name: options[name] for name in kind.__annotations__ if name in options}


def reads(known: type, defaults: Mapping[str, Any] = DEFAULTS) -> Callable[[Callable[_P, _R]], Callable[_P, _R]]:
    """Name the options of a reading in the signature of a function that takes them, and refuse others by name."""

    def naming(function: Callable[_P, _R]) -> Callable[_P, _R]:
        of_function = signature(function)
        parameters = [each for each in of_function.parameters.values() if each.kind is not Parameter.VAR_KEYWORD]
        for name, of in known.__annotations__.items():
            shown = {"default": defaults.get(name), "annotation": of.__forward_arg__}
            parameters.append(Parameter(name, Parameter.KEYWORD_ONLY, **shown))
        names = [each.name for each in parameters]
        most = sum(each.kind is Parameter.POSITIONAL_OR_KEYWORD for each in parameters)

        @wraps(function)
        def made(*args: _P.args, **kwargs: _P.kwargs) -> _R:
            refuse_more(function.__qualname__, len(args), most)
            refuse_unknown(function.__qualname__, kwargs, names)
            return function(*args, **kwargs)

        made.__signature__ = of_function.replace(parameters=parameters)  # type: ignore[attr-defined]
        return made

    return naming
