"""The command that mends what an assessment found, built from the options in use."""

from __future__ import annotations

import argparse
import shlex
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..assessment.remedy import Commands

_LISTS = ("truth", "prob", "pair", "labels", "ignore_label", "groups")
_SINGLE = ("weight", "pos_label", "format", "sheet")
_FLAGS = ("decimal_comma", "renormalize", "drop_invalid", "percent", "from_logits", "from_log_probs")
_NOT_APPLIED = ("truth", "pair", "weight", "groups", "ignore_label")


def remedy_command(arguments: argparse.Namespace) -> Commands:
    """Give the commands that fit a map to the same files, and apply it to others."""
    from ..assessment.remedy import Commands

    fit = ["unperplexed", "recalibrate", *arguments.files, *_options(arguments)]
    if arguments.pair:
        return Commands(shlex.join(fit))
    suffix = Path(arguments.files[0]).suffix
    tables = {".parquet", ".csv", ".tsv", ".jsonl"}
    out = f"recalibrated{suffix if suffix in tables else '.parquet'}"
    new = f"NEW{suffix if suffix and suffix != '.tally' else '.csv'}"
    apply = ["unperplexed", "recalibrate", "--apply", "map.json", new]
    return Commands(shlex.join(fit), shlex.join([*apply, *_options(arguments, _NOT_APPLIED), "-o", out]))


def _options(arguments: argparse.Namespace, without: tuple[str, ...] = ()) -> list[str]:
    """Give the options that say how rows are read, as far as they are in use."""
    words: list[str] = []
    for name in (*_LISTS, *_SINGLE, *_FLAGS):
        value, flag = getattr(arguments, name, None), f"--{name.replace('_', '-')}"
        if name in without or not value:
            continue
        words += [flag] if name in _FLAGS else [flag, value] if name in _SINGLE else [flag, *value]
    spelled = {"separator": ",", "encoding": "utf-8"}  # and their defaults
    for name, default in spelled.items():
        value = getattr(arguments, name)
        words += [] if value == default else [f"--{name}", value]
    return words if arguments.na is None else [*words, "--na", *arguments.na]
