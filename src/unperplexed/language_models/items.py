"""What a log of a language model holds: texts with their log-probability, questions with options, graded answers."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np

from .._lib.dataclasses import Frozen, dataclass, field
from .._lib.errors import InputError, check_choice
from .._lib.formatting import number_of, short_name
from .._lib.typing import Floats

_LONGEST_NAME = 60
"""Characters of the name of a document or question that errors show."""

_ROUNDING = 1e-6
"""A text is as probable as this above 1 by the rounding of a sum."""

_LONGEST = 1 << 53
"""Tokens, bytes or words: the largest size that a float holds exactly."""


class Text(Frozen, eq=False):
    """A text and the log-probability that a model assigned to it. Larger is better.

    Parameters
    ----------
    name : str
        Name of the document, by which two models are paired.
    log_probability : float
        Natural logarithm of the probability of the whole text.
    tokens, n_bytes, words : int, optional
        Number of scored tokens, and of UTF-8 bytes and words of the scored text; None where unknown.
    digest : str, default ""
        SHA-256 of the text, in hexadecimal; "" where the text is unknown.
    log_probs : array of shape (tokens,), optional
        Log-probability of each token.
    pieces : sequence of str, optional
        Each token as text.
    greedy : bool, optional
        Whether each token was the most probable one.
    file : str, default ""
        File that it was read from, which tells documents of equal names apart; "" where the name begins with a task.

    Examples
    --------
    >>> from unperplexed.language_models import Text
    >>> Text.of("greeting", "Hello", [-1.5, -0.25]).log_probability
    -1.75
    """

    name: str
    log_probability: float
    tokens: int | None = None
    n_bytes: int | None = None
    words: int | None = None
    digest: str = ""
    log_probs: Floats | None = None
    pieces: Sequence[str] | None = None
    greedy: bool | None = None
    file: str = ""

    def __post_init__(self) -> None:
        """Refuse what is not the log-probability and the size of any text."""
        if not self.log_probability <= _ROUNDING:
            raise InputError(
                f"document {self.name!r:.60}: log-probability {self.log_probability:g}; expected a natural logarithm of"
                " a probability, 0 or less."
            )
        for unit in ("tokens", "n_bytes", "words"):
            size = getattr(self, unit)
            if size is not None and (isinstance(size, bool) or not isinstance(size, int) or not 0 <= size <= _LONGEST):
                raise InputError(
                    f"document {self.name!r:.60}: {unit}: expected a whole number from 0 to 2^53, got {size!r:.40}."
                )

    @staticmethod
    def of(
        name: str,
        text: str | None,
        log_probs: Sequence[float] | Floats,
        *,
        n_bytes: int | None = None,
        words: int | None = None,
        pieces: Sequence[str] | None = None,
    ) -> Text:
        """Make a text of the log-probabilities of its tokens.

        Parameters
        ----------
        name : str
            Name of the document.
        text : str or None
            The scored text: its bytes and words are counted, and its digest is kept.
        log_probs : array_like of shape (tokens,)
            Natural logarithms of the probabilities of the tokens, 0 or less.
        n_bytes, words : int, optional
            Number of bytes and words, instead of those of ``text``.
        pieces : sequence of str, optional
            Each token as text.

        Returns
        -------
        Text

        Raises
        ------
        InputError
            For a log-probability above 0 or NaN, or without any token.
        """
        values = checked_log_probs(log_probs, name)
        if pieces is not None and len(pieces) != values.size:
            raise InputError(f"document {name!r}: {len(pieces)} tokens, but {values.size} log-probabilities.")
        if pieces is not None and not all(issubclass(each, str) for each in {*map(type, pieces)}):
            raise InputError(f"document {name!r}: tokens: expected strings.")
        return Text(
            name,
            float(values.sum()),
            values.size,
            n_bytes if n_bytes is not None or text is None else len(utf8(text)),
            words if words is not None or text is None else count_words(text),
            "" if text is None else digest_of(text),
            values,
            pieces,
        )


class Question(Frozen, eq=False):
    """A question with options, the log-probability of each and the correct ones.

    A log-probability of minus infinity is a probability of 0, NaN one that the log does not contain.
    """

    name: str
    options: tuple[str, ...]
    log_probs: Floats
    correct: tuple[int, ...]
    unconditional: Floats | None = None
    """Log-probabilities of the options without the question."""

    def __post_init__(self) -> None:
        """Refuse options that are not texts, without a log-probability each, and correct ones that are not there."""
        shapes = {np.shape(each) for each in (self.log_probs, self.unconditional) if each is not None}
        if shapes != {(len(self.options),)} or not all(isinstance(each, str) for each in self.options):
            raise InputError(
                f"question {self.name!r:.60}: expected options as texts, with a log-probability each; got"
                f" {number_of(len(self.options), 'option')} and {np.size(self.log_probs)} log-probabilities."
            )
        if not all(0 <= at < len(self.options) for at in self.correct):
            raise InputError(
                f"question {self.name!r:.60}: the correct option is {self.correct!r:.40}, counted from 0, of"
                f" {number_of(len(self.options), 'option')}."
            )
        if np.isposinf(self.log_probs).any() or (self.unconditional is not None and np.isinf(self.unconditional).any()):
            raise InputError(f"question {self.name!r:.60}: a log-probability is infinite.")


_ROUNDING_OF_OPTIONS = 1e-3
"""By how much probabilities, which tools round, may sum to more than 1."""

Outside = Literal["renormalize", "none-of-these"]
Missing = Literal["refuse", "zero", "leave-out"]


def option_probabilities(
    question: Question, outside: Outside = "renormalize", missing: Missing = "refuse"
) -> Floats | None:
    """Give the probabilities of a question's options; None for one to be left out.

    Parameters
    ----------
    question : Question
        A question with the log-probability of each option.
    outside : {"renormalize", "none-of-these"}, default "renormalize"
        ``"renormalize"`` divides by the sum over the options: the probability that an option is chosen if one of them
        is. ``"none-of-these"`` takes the probabilities as they are; the rest belongs to none of the options.
    missing : {"refuse", "zero", "leave-out"}, default "refuse"
        How to treat an option without a log-probability: as an error, as a probability of 0, or by leaving its question
        out.

    Returns
    -------
    array of shape (options,) or None

    Raises
    ------
    InputError
        For a missing log-probability, with ``missing="refuse"``, one above 0 with ``outside="none-of-these"``, and a
        question whose options all have a probability of 0.

    Examples
    --------
    >>> import numpy as np
    >>> from unperplexed.language_models import Question, option_probabilities
    >>> option_probabilities(Question("capital", ("Paris", "Rome"), np.log([0.6, 0.2]), (0,))).round(2)
    array([0.75, 0.25])
    """
    check_choice("outside", outside, ("renormalize", "none-of-these"))
    check_choice("missing", missing, ("refuse", "zero", "leave-out"))
    x = np.asarray(question.log_probs, dtype=np.float64)
    name = shown(question.name)
    if np.isnan(x).any():
        if missing == "leave-out":
            return None
        if missing == "refuse":
            raise InputError(
                f"question {name!r}: option {int(np.isnan(x).argmax())} (counted from 0) has no log-probability. Take"
                " it for a probability of 0 with missing='zero' (--invalid zero), or leave such questions out with"
                " missing='leave-out' (--invalid drop)."
            )
        x = np.where(np.isnan(x), -np.inf, x)
    if x.max() == -np.inf:
        raise InputError(f"question {name!r}: all options have a probability of 0.")
    if outside == "none-of-these":
        p = np.exp(x)
        if x.max() > 0 or p.sum() > 1 + _ROUNDING_OF_OPTIONS:
            raise InputError(
                f"question {name!r}: the options' probabilities sum to {p.sum():g}, so these are no log-probabilities"
                " of different answers; divide them by their sum with outside='renormalize' (--outside renormalize)."
            )
        return np.asarray(p)
    p = np.exp(x - x.max())
    return np.asarray(p / p.sum())


class Answer(Frozen):
    """A graded answer: 1 is right and 0 wrong, NaN where the answer was not graded."""

    name: str
    grade: float
    confidence: float | None = None
    """Stated probability of being right, from 0 to 1."""
    grader: str = ""
    epoch: int = 1
    """Number of the sample, counted from 1, where the question was asked several times."""
    text: str = ""
    """The answer itself, where its place was named: by it repeated samples agree."""
    model: str = ""
    per_token: float | None = None
    """Geometric mean of the probabilities of the tokens that the model generated."""


Item = Text | Question | Answer


UNREAD = "{count}: no answer could be read from the output, which counts as wrong"


@dataclass
class Remarks:
    """Sentences about what was found in logs, each with the number of times it applies."""

    counts: Counter[tuple[str, str]] = field(default_factory=Counter)
    contexts: set[int] = field(default_factory=set)
    """Lengths in tokens of the windows in which texts were scored, as far as the logs name them."""
    beginning: bool = False
    """Whether a beginning-of-sequence token may be counted with the texts."""

    def add(self, sentence: str, noun: str = "document", n: int = 1) -> None:
        """Count a remark. ``{count}`` in its sentence stands for how many of what."""
        self.counts[sentence, noun] += n

    def sentences(self) -> tuple[str, ...]:
        """Give the remarks in the order in which they came first."""
        return tuple(text.replace("{count}", number_of(n, noun), 1) for (text, noun), n in self.counts.items())

    def of_model(self, name: str) -> list[str]:
        """Give the same, each with the name of the model."""
        return [f"{name}: {each}" for each in self.sentences()]


def two_logs(
    names: Sequence[str], remarks: tuple[Remarks, Remarks] | None
) -> tuple[tuple[str, str], Sequence[Remarks]]:
    """Give the different names of two models, and the remarks of their logs."""
    if len(names) != 2 or names[0] == names[1]:
        raise InputError(f"names: expected two different names, got {names!r}.")
    return (names[0], names[1]), remarks or (Remarks(), Remarks())


def unlike(names: Sequence[str], text: str, some: Sequence[str], noun: str = "document") -> InputError:
    """Make the error of two logs that some items tell apart; ``{count}`` and ``{example}`` are filled in.

    Parameters
    ----------
    names : sequence of two str
        Names of the models.
    text : str
        What is wrong, with ``{count}`` for how many items and ``{example}`` for the first of them.
    some : sequence of str
        Names of these items, one or more.
    noun : str, default "document"
        What one of them is called.
    """
    filled = text.format(count=number_of(len(some), noun), example=repr(shown(some[0])))
    return InputError(f"{names[0]} and {names[1]}: {filled}")


def shown(name: str) -> str:
    """Shorten the name of a document or question for an error."""
    return short_name(name, _LONGEST_NAME)


def as_float(number: Any) -> float:
    """Read a number; one beyond all floats is a ValueError, as what is no number is."""
    try:
        return float(number)
    except OverflowError:
        raise ValueError("a number is too large") from None


def utf8(text: str) -> bytes:
    """Encode a text; half of a surrogate pair, which JSON may hold, counts as three bytes."""
    return text.encode("utf-8", "surrogatepass")


def digest_of(text: str) -> str:
    """SHA-256 of the UTF-8 bytes of a text."""
    return hashlib.sha256(utf8(text)).hexdigest()


def count_words(text: str) -> int:
    r"""Count words as lm-evaluation-harness does, whose white space at either end adds an empty word: split at \s+."""
    return len(text.split()) + text[:1].isspace() + text[-1:].isspace() or 1


def checked_log_probs(log_probs: Sequence[float] | Floats, name: str) -> Floats:
    """Log-probabilities of tokens as a vector, or an InputError that names the document and the token."""
    try:
        values = np.asarray(log_probs, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise InputError(f"document {name!r}: log-probabilities are numbers, one for each token.") from None
    if values.ndim != 1 or not values.size:
        raise InputError(f"document {name!r}: expected a list of log-probabilities, one for each token.")
    bad = np.flatnonzero(~(values <= 0))
    if bad.size:
        value = float(values[bad[0]])
        raise InputError(
            f"document {name!r}: token {bad[0]} (counted from 0) has the log-probability {value:g}; expected a natural"
            " logarithm of a probability, 0 or less."
        )
    return values
