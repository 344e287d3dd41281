"""How files are read, said once: kept in a file of TOML, or as KEY=VALUE beside it."""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from .._lib.errors import InputError, nearest
from .._lib.json_files import READING, made_of_file

KEYS = (
    *("truth", "prob", "pair", "forecaster", "on", "time", "weight", "labels", "ignore-label"),
    *("quantiles", "samples", "distribution", "pit", "censored", "target-data"),
    *("scale", "invalid", "where", "clusters", "in-order"),
    *("separator", "decimal-comma", "na", "encoding", "sheet", "format"),
)
"""Options that belong to a file: each is a key of the same name."""

ROLES = ("issued", "target-date", "outcome")
"""Further keys: the columns of dates on which predictive distributions were issued, and which they are about; what
pictures call the outcome."""


def words_of_reading(
    command: argparse.ArgumentParser, words: Sequence[str], parsed: argparse.Namespace
) -> tuple[list[str], set[str]]:
    """Give the words of ``--reading`` as options, without those that were typed: these win, even as defaults.

    Also give the options that a file names, and nothing that was typed.
    """
    actions = _actions(command)
    given = {key for key in actions if any(word.partition("=")[0] == f"--{key}" for word in words)}
    roles = [role for role in ROLES if _dest(role) in command._defaults]
    of_files, beside = read(parsed.reading, [*actions, *roles])
    named = of_files | beside
    command.set_defaults(**{_dest(role): named[role] for role in roles if role in named})
    of_files = _of_made(parsed, actions) | of_files
    typed = beside | {key: getattr(parsed, actions[key].dest) for key in given}
    if "=" in str((of_files | typed).get("forecaster", "")):  # columns of each forecaster, or those of one
        of_files.pop("forecaster" if "prob" in typed else "prob", None)
    found = {key: value for key, value in (of_files | beside).items() if key in actions and key not in given}
    words = [word for key, value in found.items() for word in _typed(key, actions[key], value)]
    return words, {actions[key].dest for key in found if key not in beside}


KEPT = ("prob", "forecaster", "scale")
"""Keys that a map or a pool keeps, since its forecasts are read in the same way wherever it is applied."""


_NUMBER = re.compile(r"-(\d|\.\d|$)")
"""Begins a negative number, or is the mark - of a missing value."""


def kept_reading(parsed: argparse.Namespace) -> dict[str, Any]:
    """Give what a map or a pool keeps of how its forecasts were read."""
    return {key: parsed.kept[key] for key in KEPT if key in parsed.kept}


def _of_made(parsed: argparse.Namespace, known: Mapping[str, argparse.Action]) -> dict[str, Any]:
    """Read what a map or a pool keeps that is applied: columns for one file, and the scale for all."""
    if parsed.command not in ("recalibrate", "pool") or parsed.apply is None:
        return {}
    kept = KEPT if len(parsed.files) == 1 else ("scale",)
    found = kept_by(parsed.apply, "pool" if parsed.command == "pool" else "recalibration map")
    return {key: found[key] for key in kept if key in known and key in found}


def kept_by(path: Path, what: str) -> dict[str, Any]:
    """Give what the file of a map or a pool keeps of the rows that it was made of; nothing where it is none."""
    try:
        made = made_of_file(path, what, lambda found: found, without=())
    except InputError:  # the command says so, after it has looked at its outputs
        return {}
    found = made.get(READING) if isinstance(made, dict) else None
    return found if isinstance(found, dict) else {}


def read(words: Sequence[str], known: Collection[str]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Read files, whose keys of other commands are left out, and KEY=VALUE, which wins over them."""
    of_files: dict[str, Any] = {}
    beside: dict[str, Any] = {}
    for word in words:
        key, sign, value = word.partition("=")
        if not sign or Path(word).is_file():
            of_files |= {name: each for name, each in _of_file(word).items() if name in known}
            continue
        _check_key(key, f"--reading {word}")
        if key not in known:
            raise InputError(f"--reading {word}: this command has no --{key}.")
        beside[key] = value
    return of_files, beside


def _of_file(name: str) -> dict[str, Any]:
    import tomllib

    try:
        found = tomllib.loads(Path(name).read_text("utf-8-sig"))
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise InputError(
            f"--reading {name}: cannot be read: {reason}. Name a file that --save-reading wrote, or KEY=VALUE."
        ) from None
    for key in found:
        _check_key(key, f"--reading {name}")
    return found


def _check_key(key: str, where: str) -> None:
    if key not in (*KEYS, *ROLES):
        near = nearest(key, (*KEYS, *ROLES))
        also = f"did you mean {near[0]!r}?" if near else f"known: {', '.join((*KEYS, *ROLES))}."
        raise InputError(f"{where}: no key {key!r}; {also}")


def _typed(key: str, action: argparse.Action, value: Any) -> Iterator[str]:
    """Give a key as it is typed: a list as words, true as a flag alone."""
    many = action.nargs in ("+", "*")
    if action.nargs == 0:
        if str(value).lower() not in ("true", "false"):
            raise InputError(f"--reading: {key} is true or false, not {value!r}.")
        yield from [f"--{key}"] if str(value).lower() == "true" else []
        return
    if isinstance(value, list) and not many:
        raise InputError(f"--reading: {key} is one value, not a list.")
    values = value if isinstance(value, list) else value.split(",") if many and isinstance(value, str) else [value]
    texts = [str(each) for each in values if each != ""]
    for text in texts if many else ():
        if text.startswith("-") and not _NUMBER.match(text):  # which would be read as an option of its own
            raise InputError(f"--reading: {key}: {text!r} begins like an option; type it as one.")
    if not many:
        yield f"--{key}={texts[0] if texts else ''}"
    elif texts or action.nargs == "*":
        yield f"--{key}"
        yield from texts


def reading_in_use(command: argparse.ArgumentParser, parsed: argparse.Namespace) -> dict[str, Any]:
    """Give what says how the files are read, by key."""
    found = {key: (getattr(parsed, action.dest), action.default) for key, action in _actions(command).items()}
    found |= {role: (getattr(parsed, _dest(role), None), None) for role in ROLES}
    return {key: value for key, (value, default) in found.items() if value != default}


def as_toml(reading: Mapping[str, Any]) -> str:
    """Write a reading as TOML, whose strings and lists are those of JSON."""
    return "".join(f"{key} = {json.dumps(value, ensure_ascii=False)}\n" for key, value in reading.items())


def _dest(role: str) -> str:
    return role.replace("-", "_")


def _actions(command: argparse.ArgumentParser) -> dict[str, argparse.Action]:
    """Give the options of a command that are keys."""
    options = command._option_string_actions
    return {key: options[f"--{key}"] for key in KEYS if f"--{key}" in options}
