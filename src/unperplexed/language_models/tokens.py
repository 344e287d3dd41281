"""Tokens of a log as a text: which are scored, whether they make up the text, and how many bytes they have."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import Any, NamedTuple

from .items import Remarks, Text, as_float, utf8

MISSING_BELOW = -9000.0
"""Servers write -9999.0 for a log-probability that they do not have."""

BEGINNINGS = frozenset({"<s>", "<bos>", "<|begin_of_text|>", "<|startoftext|>", "<|endoftext|>", "[CLS]"})
ENDINGS = frozenset({"</s>", "<eos>", "<|end_of_text|>", "<|endoftext|>", "<|eot_id|>", "<|im_end|>", "[SEP]"})
_REPLACEMENT = "\ufffd"

SCORED_BEGINNING = (
    "{count}: the beginning-of-sequence token has a log-probability of its own; it is no part of the text and was left"
    " out"
)
MISSING_VALUE = (
    "{count} left out: a token has no log-probability (null, NaN, or −9999, which servers write for a token outside the"
    " most probable ones)"
)
SPLIT = "{count}: tokens split a character, so that their texts do not join to the text; its true bytes were counted"
REPLACED = (
    "{count}: the bytes of a split character are those of the replacement character U+FFFD; the bytes of the text were"
    " counted instead"
)
OTHER_TOKENS = (
    "{count} left out: the tokens do not join to the text, so their log-probabilities may belong to other tokens"
    " (Inspect's hf provider logs the most probable token instead of the generated one)"
)
NO_BYTES = "{count}: tokens split a character and the log has no bytes or text, so figures per byte are unknown"
SCORED_ENDING = (
    "{count}: the end-of-sequence token is scored; it adds bits but no bytes, so compare only with models that score it"
    " too"
)
FIRST_UNSCORED = "{count}: the first token has no log-probability; its bytes are not counted either"
POSITIVE = "{count} left out: a log-probability is above 0"


class Token(NamedTuple):
    """A token of a log."""

    piece: str
    log_prob: float | None
    raw: bytes | None = None


def token(piece: Any, log_prob: Any, raw: Any = None) -> Token:
    """Read a token; bytes that are none, such as code points above 255, are unknown."""
    value = None if log_prob is None else as_float(log_prob)
    if value is not None and (math.isnan(value) or MISSING_BELOW > value > -math.inf):
        value = None
    try:
        return Token(str(piece or ""), value, bytes(raw) if isinstance(raw, list) else None)
    except (TypeError, ValueError):
        return Token(str(piece or ""), value)


def text_of_tokens(name: str, tokens: Sequence[Token], text: str | None, remarks: Remarks) -> Text | None:
    """Make a text of its tokens; None, with a remark, where their log-probabilities are not those of the text.

    Parameters
    ----------
    name : str
        Name of the document.
    tokens : sequence of Token
        Tokens in their order, with log-probabilities in nats.
    text : str or None
        The text that they should make up; None where the log does not have it.
    remarks : Remarks
        Takes up why a text was left out, and what was left out of one.
    """
    tokens = list(tokens)
    unscored = ""
    if tokens and tokens[0].piece in BEGINNINGS and not (text or "").startswith(tokens[0].piece):
        if tokens[0].log_prob is not None:
            remarks.add(SCORED_BEGINNING)
        tokens = tokens[1:]
    elif len(tokens) > 1 and tokens[0].log_prob is None:
        unscored = tokens[0].piece
        if text is not None and text.startswith(unscored):
            text = text[len(unscored) :]
        remarks.add(FIRST_UNSCORED)
        tokens = tokens[1:]
    if not tokens:
        return None
    log_probs = [each.log_prob for each in tokens if each.log_prob is not None]
    if len(log_probs) < len(tokens) or max(log_probs) > 0:
        remarks.add(MISSING_VALUE if len(log_probs) < len(tokens) else POSITIVE)
        return None
    written = [*tokens]
    if written[-1].piece in ENDINGS and not (text or "").endswith(written[-1].piece):
        remarks.add(SCORED_ENDING)
        written.pop()
    joined, known = _joined(written, text, remarks)
    if not known:
        remarks.add(OTHER_TOKENS)
        return None
    whole = "".join(each.piece for each in written)
    if text is None and joined is not None and _REPLACEMENT not in whole:
        text, joined = whole, None
    return Text.of(name, text, log_probs, n_bytes=joined, pieces=[each.piece for each in tokens])


def _joined(tokens: Sequence[Token], text: str | None, remarks: Remarks) -> tuple[int | None, bool]:
    """Count the bytes that the tokens make up, None where unknown, and find out whether they make up the text."""
    raw = [each.raw for each in tokens if each.raw is not None]
    pieces = "".join(each.piece for each in tokens)
    complete = len(raw) == len(tokens)
    data = b"".join(raw)
    if text is None:
        if complete and utf8(_REPLACEMENT) not in data:
            return len(data), True
        if _REPLACEMENT in pieces:
            remarks.add(NO_BYTES)
            return None, True
        return len(utf8(pieces)), True
    whole = utf8(text)
    if complete and data == whole:
        if pieces != text:
            remarks.add(SPLIT)
        return len(whole), True
    if pieces == text:
        return len(whole), True
    if _REPLACEMENT in pieces and _makes_up(pieces, text):
        remarks.add(REPLACED if complete else SPLIT)
        return len(whole), True
    return None, False


def _makes_up(pieces: str, text: str) -> bool:
    """Whether pieces are the text, but for replacement characters, each run of which stands for some characters.

    Each part is taken where it comes first, which leaves the most room for those behind it, so that the time needed
    grows with the text and no faster.
    """
    first, *middle, last = re.split(f"{_REPLACEMENT}+", pieces)
    end, to = len(first), len(text) - len(last)
    for part in middle:
        found = text.find(part, end + 1, to)
        if found < 0:
            return False
        end = found + len(part)
    return end < to and text.startswith(first) and text.endswith(last)
