"""JSON files that the package itself wrote, read with care."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from os import PathLike
from pathlib import Path
from typing import Any, NoReturn, TypeVar

from .errors import InputError

LARGEST_FILE = 1 << 27
"""Bytes."""

READING = "reading"
"""Key under which the command line keeps how the probabilities of a file were read."""

Made = TypeVar("Made")


def made_of_file(
    path: str | PathLike[str], what: str, make: Callable[[Any], Made], without: Sequence[str] = (READING,)
) -> Made:
    """Make something of what a JSON file holds; errors name the file and what it should be, such as "history".

    Maps and pools keep with them how files are read (`READING`), which is for the command line alone.

    Parameters
    ----------
    path : str or path-like
        The file.
    what : str
        What it should be, in errors.
    make : callable
        Makes it of what the JSON holds.
    without : sequence of str
        Keys of an object that are not for ``make``.

    Raises
    ------
    InputError
        For a file that cannot be read, or that holds something else.
    """
    try:
        with Path(path).open("rb") as stream:
            content = stream.read(LARGEST_FILE + 1)
        if len(content) > LARGEST_FILE:
            raise InputError(f"not a {what}: the file is too large.")
        found = parsed(content.decode(), what)
        refuse_result(found)
        return make({key: found[key] for key in found if key not in without} if isinstance(found, dict) else found)
    except UnicodeDecodeError:
        raise InputError(f"{path}: not a {what}: no text.") from None
    except InputError as error:
        raise InputError(f"{path}: {error}") from None
    except OSError as error:
        reason = (error.strerror or str(error)).rstrip(".")
        raise InputError(f"{path}: cannot be read: {reason}. A {what} is a regular file.") from None


def refuse_result(found: Any) -> None:
    """Refuse what ``--json`` or ``to_json`` wrote: names of a result may mean others in another schema."""
    if isinstance(found, dict) and "format" not in found and {"schema", "verdict"} & set(found):
        raise InputError(
            f"a result in JSON (schema {found.get('schema', 1)}), which is not read back. Name the forecasts, or what"
            " was made of them: a tally (unperplexed tally FILE -o FILE.tally), a map, a pool or a history."
        )


def parsed(text: str, what: str) -> Any:
    """Read JSON text, which has no NaN, no infinities, no key twice and no half of a character."""

    def refuse(constant: str) -> NoReturn:
        raise InputError(f"{constant} is no number that a {what} can have.")

    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) < len(pairs):
            raise InputError(f"a key occurs twice in the {what}.")
        return found

    try:
        found = json.loads(text, parse_constant=refuse, object_pairs_hook=once)
        if "\\u" in text:
            json.dumps(found, ensure_ascii=False).encode()
        return found
    except InputError:
        raise
    except UnicodeEncodeError:
        raise InputError(f"half of a character, a surrogate without the other, in the {what}.") from None
    except (ValueError, RecursionError) as error:
        raise InputError(f"not a {what}: no valid JSON ({error}).") from None
