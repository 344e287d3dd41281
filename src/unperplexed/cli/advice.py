"""The command that mends what an assessment found, built from the options in use."""

from __future__ import annotations

import argparse
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from .._lib.formatting import command_line
from ..assessment.column_names import ColumnNames
from ..assessment.remedy import Commands
from ..sources.readers.formats import with_folders
from .options import PREDICTIVE
from .outputs import TALLY
from .reading import KEPT

if TYPE_CHECKING:
    from ..comparison.next_step import MapCommands

_LISTS = ("truth", "prob", "pair", "labels", "ignore_label", "clusters", "invalid")
_SINGLE = ("weight", "format", "sheet", "where")
_NOT_APPLIED = ("truth", "pair", "weight", "clusters", "ignore_label")


def remedy_command(arguments: argparse.Namespace) -> Commands:
    """Give the commands that fit a map to the same files, and apply it to others."""
    fit = ["unperplexed", "recalibrate", *arguments.files, *_reading(arguments)[0]]
    made, columns = new_map(arguments), column_names(arguments, "assess")
    return Commands(command_line(fit), apply_command(arguments, made), arguments.scale, columns, made)


def new_map(arguments: argparse.Namespace) -> str:
    """Name a file for a map after the data, which replaces none."""
    stem = re.sub(r"[^A-Za-z0-9_]+", "-", Path(arguments.files[0]).name.partition(".")[0]).strip("-")
    return _new_file(f"{stem}-map" if stem else "map", ".json")


def _new_file(stem: str, suffix: str) -> str:
    names = (f"{stem}{number}{suffix}" for number in ("", *(f"-{n}" for n in range(2, 1000))))
    return next(name for name in names if not Path(name).exists())


def distribution_command(arguments: argparse.Namespace) -> str:
    """Give the command that fits a map to the same predictive distributions."""
    given = {name: getattr(arguments, name) for name in (*PREDICTIVE, "target_data", "on", "censored")}
    words = [
        word
        for name, value in given.items()
        if value
        for word in (f"--{name.replace('_', '-')}", *([value] if isinstance(value, str) else value))
    ]
    return command_line(
        [
            "unperplexed",
            "recalibrate",
            *([] if arguments.hub else arguments.files),
            *words,
            *_options(arguments),
            "-o",
            new_map(arguments),
        ]
    )


def column_names(arguments: argparse.Namespace, command: str) -> ColumnNames | None:
    """Give what a command needs to name the columns of the same files rightly; None for a tally, which has none."""
    a = arguments
    if a.pair or any(Path(name).suffix == TALLY for name in a.files):
        return None
    unnamed = () if "labels" in a.from_reading else ("prob", "labels")
    words = ["unperplexed", command, *a.files, *_options(a, unnamed)]
    return ColumnNames(tuple(words), tuple(a.prob or ()) if unnamed else (), bool(a.labels))


def apply_command(arguments: argparse.Namespace, made: str) -> str:
    """Give the command that applies a map to other rows; "" for several forecasts a row."""
    if arguments.pair:
        return ""
    suffix = _suffix(arguments)
    new = f"NEW{suffix if suffix and suffix != TALLY else '.csv'}"
    kept = () if suffix == TALLY else KEPT
    reading = _reading(arguments, (*_NOT_APPLIED, *kept))[1]
    if suffix == TALLY and not arguments.prob:  # whose map has no column
        reading += ["--prob", "COLUMN"]
    words = ["unperplexed", "recalibrate", "--apply", made, new, *reading]
    return command_line([*words, "-o", _recalibrated_file(arguments)])


def _suffix(arguments: argparse.Namespace) -> str:
    """Give that of the first file."""
    first = arguments.files[0]
    return Path(with_folders([first])[0] if Path(first).is_dir() else first).suffix


_READING = "reading.toml"
"""File in which commands to copy keep how files are read."""

_MOST_LABELS = 6
"""So many labels, or columns, are named in each command; more are kept in a file."""


def _reading(arguments: argparse.Namespace, without: tuple[str, ...] = ()) -> tuple[list[str], list[str]]:
    """Say how rows are read in the first of some commands, which keeps many labels in a file, and in those after it."""
    many = [each for each in ("labels", "prob") if len(getattr(arguments, each) or ()) > _MOST_LABELS]
    if all(each in arguments.from_reading for each in many):
        return _options(arguments, without), _options(arguments, without)
    return [*_options(arguments), "--save-reading", _READING], ["--reading", _READING]


def _recalibrated_file(arguments: argparse.Namespace) -> str:
    """Name the file of the recalibrated probabilities: in the format of the forecasts if it can be written."""
    suffix = _suffix(arguments)
    return _new_file("recalibrated", suffix if suffix in {".parquet", ".csv", ".tsv", ".jsonl"} else ".parquet")


def decision_commands(arguments: argparse.Namespace) -> str:
    """Give the commands that fit a map, apply it to other rows, and decide by them.

    The last is missing for tallies: they do not know the columns of the rows.
    """
    a, commands = arguments, remedy_command(arguments)
    lines = [commands.text]
    if commands.apply and not a.files[0].endswith(TALLY):
        costs = ["--costs", *(f"{key}={x if isinstance(x, str) else f'{x:.12g}'}" for key, x in a.costs.items())]
        lines.append(command_line(["unperplexed", "decide", _recalibrated_file(a), *_reading(a)[1], *costs]))
    return "\n".join(lines)


def comparison_commands(arguments: argparse.Namespace, files: Mapping[str, Sequence[str]]) -> MapCommands:
    """Give the commands that fit a map to each forecaster, and the one that compares new forecasts by the maps.

    There are none where a forecaster's rows are chosen by a column that names it, or by a condition, and for forecasts
    that are recalibrated by a map already.
    """
    from ..comparison.next_step import MapCommands

    a = arguments
    if a.forecaster or a.where or a.apply:
        return MapCommands({}, {}, {}, "", a.scale)
    rivals = dict(text.split("=", 1) for text in a.forecast)
    fit, later, maps, new = {}, {}, {}, []
    for name, paths in files.items():
        maps[name] = _new_file(re.sub(r"[^A-Za-z0-9_.-]+", "-", name), ".json")
        named = ["--prob", *rivals[name].split(",")] if rivals else []
        fit[name], later[name] = (
            command_line(["unperplexed", "recalibrate", *(a.files if rivals else paths), *reading, *named])
            for reading in _reading(a)
        )
        new.append(f"{name}=NEW-{Path(paths[0]).name}")
    pairing = ["--forecaster", *a.forecast] if rivals else ["--on", *a.on] if a.on else ["--in-order"]
    pairing += ["--common"] if a.common else []
    again = ["unperplexed", "compare", *([f"NEW-{Path(a.files[0]).name}"] if rivals else new), *pairing]
    return MapCommands(fit, later, maps, command_line([*again, *_reading(a)[1]]), a.scale)


def _options(arguments: argparse.Namespace, without: tuple[str, ...] = ()) -> list[str]:
    """Give the options that say how rows are read, as far as they are in use."""
    files = [word for word in getattr(arguments, "reading", ()) if Path(word).is_file()]
    words = ["--reading", *files] if files else []
    without = (*without, *arguments.from_reading)
    for name in (*_LISTS, *_SINGLE):
        value, flag = getattr(arguments, name, None), f"--{name.replace('_', '-')}"
        if name not in without and value:
            words += [flag, value] if name in _SINGLE else [flag, *value]
    words += ["--decimal-comma"] if arguments.decimal_comma and "decimal_comma" not in without else []
    spelled = {"scale": "probability", "separator": None, "encoding": "utf-8"}  # and their defaults
    for name, default in spelled.items():
        value = getattr(arguments, name)
        words += [] if value == default or name in without else [f"--{name}", value]
    return words if arguments.na is None or "na" in without else [*words, "--na", *arguments.na]
