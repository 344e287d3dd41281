"""The call of `assess` that makes an assessment again, with the settings that were used."""

from __future__ import annotations

from collections.abc import Iterator

from ..calibration.estimators import DEFAULT
from ..forecasts.reading import DEFAULTS
from ..report.commands import Python
from ..scores.registry import SCORES
from ..statistics.means import DEFAULT_FLOOR, floor_for
from ..tally.state import EXACT_LIMIT, FRACTION_BITS
from .remedy import Commands, PythonLine
from .result import Assessment
from .settings import AssessmentSettings


def assess_call(a: Assessment) -> Python:
    """Give the import and the call, with the options that differ from their defaults."""
    commands = a.source.commands
    reading = commands.arguments() if isinstance(commands, PythonLine) else ""
    options = [f", {option}" for option in _options(a) if not reading or option not in _READ]
    return Python(
        "from unperplexed import assess\n\n"
        f"assess(y_true, y_prob{reading}{''.join(options)}).diagnosis.verdict"
    )  # fmt: skip


_WEIGHTS, _GROUPS = "sample_weight=sample_weight", "groups=groups"
_READ = (_WEIGHTS, _GROUPS)
"""Options that the reading of rows in memory names already, if it names any."""


def _options(a: Assessment) -> Iterator[str]:
    source, default, two = a.source, AssessmentSettings(), a.n_classes == 2
    further = [name for name in a.scores if name not in SCORES]
    by_command = not isinstance(source.commands, PythonLine)
    scale = source.commands.scale if isinstance(source.commands, Commands) else DEFAULTS["scale"]  # else it is read
    different = {
        _WEIGHTS: a.weighted,
        _GROUPS: a.grouped,
        f"pos_label={a.labels[1] if two else None!r}": by_command and two and a.labels[1] not in _POSITIVE,
        f"scale={scale!r}": scale != DEFAULTS["scale"],
        f"floor={a.floor:g}": a.floor != floor_for(DEFAULT_FLOOR, a.n_classes),
        f"limit={a.limit!r}": a.limit != default.limit,
        f"measured={str(source.estimator)!r}": str(source.estimator) != str(DEFAULT),
        f"view={a.view!r}": a.view != ("each-class" if two else "all-classes"),
        f"scores={further!r}": bool(further),
        "orders=orders": source.orders.tolist() != default.profile_orders.tolist(),
    }
    sampled = {name: getattr(source.sampling, name) for name in ("confidence", "resamples", "seed")}
    different |= {f"{name}={value}": value != getattr(default, name) for name, value in sampled.items()}
    different[f"exact_limit={a.exact_limit}"] = a.exact_limit != EXACT_LIMIT
    different[f"fraction_bits={a.fraction_bits}"] = a.fraction_bits != FRACTION_BITS
    return (option for option, differs in different.items() if differs)


_POSITIVE = (None, 1, True, "1", "True", "true")
"""Labels that need no name: of no label at all, or of the positive one of 0 and 1."""
