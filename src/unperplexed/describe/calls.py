"""The call of `assess` that makes an assessment again, with the settings that were used."""

from __future__ import annotations

from collections.abc import Iterator

from ..assessment.remedy import Commands, PythonLine
from ..assessment.result import Assessment
from ..assessment.settings import AssessmentSettings
from ..calibration.estimators import DEFAULT
from ..forecasts.reading import DEFAULTS
from ..report.commands import Python
from ..scores.registry import SCORES
from ..statistics.means import DEFAULT_FLOOR, floor_for


def assess_call(a: Assessment) -> Python:
    """Give the import and the call, with the options that differ from their defaults."""
    commands = a.source.commands
    reading = commands.arguments() if isinstance(commands, PythonLine) else ""
    options = [f", {option}" for option in _options(a) if not reading or option not in _READ]
    return Python(
        "from unperplexed import assess\n\n"
        f"assess(y_true, y_prob{reading}{''.join(options)}).diagnosis.verdict"
    )  # fmt: skip


_WEIGHTS, _CLUSTERS = "sample_weight=sample_weight", "clusters=clusters"
_READ = (_WEIGHTS, _CLUSTERS)
"""Options that the reading of rows in memory names already, if it names any."""


def _options(a: Assessment) -> Iterator[str]:
    source, default, two = a.source, AssessmentSettings(), a.n_classes == 2
    further = [name for name in a.scores if name not in SCORES]
    by_command = not isinstance(source.commands, PythonLine)
    scale = source.commands.scale if isinstance(source.commands, Commands) else DEFAULTS["scale"]  # else it is read
    different = {
        _WEIGHTS: a.weighted,
        _CLUSTERS: a.clustered,
        f"pos_label={a.labels[1] if two else None!r}": by_command and two and a.labels[1] not in _POSITIVE,
        f"scale={scale!r}": scale != DEFAULTS["scale"],
        f"floor={a.floor:g}": a.limit == "floor" and a.floor != floor_for(DEFAULT_FLOOR, a.n_classes),
        f"floor=({a.floor:g}, {1 - a.floor:g})": a.limit == "both",
        f"measured={str(source.estimator)!r}": str(source.estimator) != str(DEFAULT),
        f"view={a.view!r}": a.view != ("each-class" if two else "all-classes"),
        f"metrics={further!r}": bool(further),
    }
    sampled = {name: getattr(source.sampling, name) for name in ("confidence", "resamples", "seed")}
    different |= {f"{name}={value}": value != getattr(default, name) for name, value in sampled.items()}
    return (option for option, differs in different.items() if differs)


_POSITIVE = (None, 1, True, "1", "True", "true")
"""Labels that need no name: of no label at all, or of the positive one of 0 and 1."""
