"""All that a result tells, for `kept.same_as_kept`: its fields and properties, and those of what it holds."""

import warnings
from collections.abc import Mapping, Sequence, Set
from functools import cached_property

import numpy as np

from unperplexed import InputError

_BESIDE = {
    "explanation",
    "advice",
    "clauses",
    "sentences",
    "code",
    "source",
    "tally",
    "by_class",
    "recalibrator",
    "version",
    "meanings",
}
"""What a result was made of, and what is one of its kind."""


_INLINE, _WORD, _LETTERS = 240, 30, 3
"""Characters of what stands in the line of what holds it, of a text there, and of the name of a number."""


def opened(value, beside=(), depth=6):
    """Give the public fields and properties of a value, of what it holds, and so on; of a refusal its words."""
    if isinstance(value, np.ndarray | np.generic | str | int | float | None):
        return value
    if callable(value) or not depth:
        return None
    if isinstance(value, Mapping):
        return _inside({str(key): opened(each, beside, depth - 1) for key, each in value.items() if key not in beside})
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return opened(value._asdict(), beside, depth)
    if isinstance(value, Sequence | Set):
        return [opened(each, beside, depth) for each in value]
    if type(value).__module__.partition(".")[0] != "unperplexed":
        return str(value)
    names = [name for name in _names(value) if name not in _BESIDE and name not in beside]
    return _inside({name: opened(told(getattr, value, name), beside, depth - 1) for name in names})


def _inside(found):
    """Leave out what there is not, and put numbers into one line."""
    short = {name: _short(each) for name, each in found.items()}
    numbers = [f"{name[:_LETTERS]} {each}" for name, each in short.items() if each]
    rest = {name: each for name, each in found.items() if not short[name] and _there(each)}
    return {"": " ".join(numbers), **rest} if numbers else rest


def _short(each):
    """Write a number, of an array its size and two sums, and what holds few of these; "" of what is longer."""
    if isinstance(each, float | np.floating):
        return _number(each)
    if isinstance(each, int | np.integer | np.bool_):
        return str(each)
    if isinstance(each, np.ndarray) and each.dtype.kind in "fiub":
        there = each[np.isfinite(each)].astype(np.float64)
        return f"{each.size} {there.size} {_number(there.sum())} {_number(np.sin(np.arange(there.size) + 1.0) @ there)}"
    if isinstance(each, dict) and set(each) == {""} and len(each[""]) < _INLINE:
        return f"({each['']})"
    if isinstance(each, str) and 0 < len(each) < _WORD:
        return repr(each)
    if isinstance(each, list | tuple) and each:
        parts = [_short(part) for part in each]
        return f"[{' '.join(parts)}]" if all(parts) and sum(map(len, parts)) < _INLINE else ""
    return ""


def _number(each):
    return f"{0.0 if abs(each) < 1e-9 else each:#.5g}"


def _there(each):
    return each is not None and not (isinstance(each, str | list | dict) and not each)


def _names(value):
    of = [name for each in type(value).__mro__ for name, kind in vars(each).items() if _is_property(kind)]
    held = [*getattr(value, "__dict__", ()), *of, *getattr(type(value), "__annotations__", ())]
    return sorted(name for name in dict.fromkeys(held) if not name.startswith("_"))


def _is_property(kind):
    return isinstance(kind, property | cached_property)


def told(of, *given, **named):
    """Give what a call makes, or what it is refused with."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return of(*given, **named)
        except InputError as error:
            return f"refused: {error}"
        except (AttributeError, ValueError):
            return None
