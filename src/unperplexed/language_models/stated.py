"""Confidences that a model states in numbers or words, read by stated rules."""

from __future__ import annotations

import re
from collections.abc import Mapping
from itertools import chain

from .._lib.errors import InputError

_NUMBER = r"(?<![\w.,])(\d{1,15}(?:\.\d+)?|\.\d+)"  # longer numbers state no confidence, and overflow
_PERCENT = re.compile(_NUMBER + r"\s*(?:%|percent\b|per cent\b)", re.IGNORECASE)
_RATIO = re.compile(_NUMBER + r"\s*(?:/|out of)\s*(\d{1,15})(?![\w/]|\.\d)", re.IGNORECASE)
_NAMED = re.compile(
    r"\b(?:confidence|confident|probability|certainty|certain)\b[^\d.\n]{0,20}?" + _NUMBER + r"(?![\w%/]|\.\d)",
    re.IGNORECASE,
)
_ALONE = re.compile(r"\s*" + _NUMBER + r"\s*\.?\s*")


def stated_confidence(
    text: str, *, scale: float | None = None, words: Mapping[str, float] | None = None
) -> float | None:
    """Read the confidence that a text states, as a probability.

    Parameters
    ----------
    text : str
        What the model wrote.
    scale : float, optional
        Highest value of a bare number, such as 10 or 100. Without it a bare number is read only if it is written with a
        decimal point and at most 1.
    words : mapping of str to float, optional
        Your own table of phrases and their probabilities. The longest phrase counts; numbers come before phrases.

    Returns
    -------
    float or None
        From 0 to 1; None where nothing is read, so that it can be counted.

    Raises
    ------
    InputError
        For a scale that is not positive, and a probability of a phrase outside [0, 1].

    Notes
    -----
    Read are percentages ("65%", "65 percent"), ratios ("7/10", "7 out of 10"), and bare numbers behind *confidence*,
    *confident*, *probability*, *certainty* or *certain*, or alone. The last one in the text counts. A number out of
    range is not read.

    Examples
    --------
    >>> from unperplexed.language_models import stated_confidence
    >>> [stated_confidence(each) for each in ("Paris. I am 65% sure.", "Confidence: 7/10", "0.8", "Confidence: 8")]
    [0.65, 0.7, 0.8, None]
    >>> stated_confidence("Confidence: 8", scale=10)
    0.8
    >>> stated_confidence("Fairly sure it is Paris.", words={"sure": 0.9, "fairly sure": 0.75})
    0.75
    """
    if scale is not None and not scale > 0:
        raise InputError(f"scale: expected the highest value of a stated confidence, such as 10 or 100, got {scale!r}.")
    table = {phrase.casefold(): float(p) for phrase, p in (words or {}).items()}
    for phrase, p in table.items():
        if not 0 <= p <= 1:
            raise InputError(f"words: {phrase!r} has {p:g}; expected a probability from 0 to 1.")
    plain = text.replace("*", "").replace("_", " ")
    found = [(each.start(1), float(each[1]) / 100) for each in _PERCENT.finditer(plain)]
    found += [(each.start(1), float(each[1]) / int(each[2])) for each in _RATIO.finditer(plain) if int(each[2])]
    whole = _ALONE.fullmatch(plain)
    bare = chain(_NAMED.finditer(plain), [whole] if whole else [])
    found += [(each.start(1), own) for each in bare if (own := _bare(each[1], scale)) is not None]
    inside = [(at, p) for at, p in found if 0 <= p <= 1]
    if inside:
        return max(inside)[1]
    known = [phrase for phrase in table if re.search(rf"\b{re.escape(phrase)}\b", plain.casefold())]
    return table[max(known, key=len)] if known and not found else None


def _bare(number: str, scale: float | None) -> float | None:
    if scale is not None:
        return float(number) / scale
    return float(number) if "." in number else None
