"""Logs read: the form of each file is recognised by its first record, or named."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from .._lib.errors import InputError
from .forms import Form, Log, Record, forms
from .items import Item, Remarks
from .records import log_files, records


def read_items(
    files: str | Path | Sequence[str | Path],
    *,
    form: str | None = None,
    stated: str = "",
    scale: float | None = None,
    answer: str = "",
    remarks: Remarks | None = None,
    say: Callable[[str], None] | None = None,
) -> Iterator[Item]:
    """Read the texts, questions and answers of logs of language models, one after another.

    Parameters
    ----------
    files : str, Path or sequence of these
        Logs: JSON or JSON Lines, also compressed with gzip, bzip2, xz or Zstandard, Parquet, Inspect's ``.eval``, or
        folders of these.
    form : str, optional
        Form of the logs: ``"plain"``, ``"lm-eval"``, ``"inspect"``, ``"openai"``, ``"llama.cpp"``, ``"sglang"``,
        ``"tgi"``, ``"lighteval"`` or ``"helm"``; by default it is recognised.
    stated : str, default ""
        Place of the stated confidence within a score or sample of Inspect, such as ``"metadata.confidence"`` or
        ``"output.completion"``. Texts are read by `stated_confidence`.
    scale : float, optional
        Highest value of a stated confidence, such as 10 or 100.
    answer : str, default ""
        Place of the answer itself within a score or sample of Inspect, such as ``"answer"`` or ``"output.completion"``,
        for the agreement among epochs.
    remarks : Remarks, optional
        Takes up what is found in the logs: what was left out, and traps.
    say : callable, optional
        Takes sentences about the files, such as the form of each.

    Returns
    -------
    iterator of Text, Question or Answer

    Raises
    ------
    InputError
        For a file that cannot be read, or whose form is not known.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from unperplexed.language_models import read_items
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "texts.jsonl"
    >>> size = path.write_text('{"doc": "a", "text": "Hello", "logprobs": [-1.5, -0.25]}')
    >>> [(each.name, each.n_bytes, each.tokens) for each in read_items(path)]
    [('a', 5, 2)]
    """
    if form is not None and form not in forms():
        raise InputError(f"form {form!r}: known are {', '.join(forms())}.")
    remarks = Remarks() if remarks is None else remarks
    say = say or (lambda _: None)
    paths = log_files([str(each) for each in ([files] if isinstance(files, str | Path) else files)], say)
    for path in paths:
        log = Log(path, remarks, stated, scale, answer)
        chosen = forms()[form] if form else None
        for place, record in records(path):
            if chosen is None:
                chosen = _recognized(record, path)
                say(f"{path} read as {chosen.name}: {chosen.what}")
            where = f"line {place}" if len(paths) == 1 else f"{path.name}, line {place}"
            try:
                yield from chosen.items(record, where, log)
            except (LookupError, TypeError, AttributeError, ValueError, ArithmeticError, RecursionError) as error:
                if isinstance(error, InputError):
                    raise
                raise InputError(
                    f"{path}, record {place}: not in the form {chosen.name} ({chosen.what}): {type(error).__name__}"
                    f" {error}. Name another with form (--format)."
                ) from None


def _recognized(record: Record, path: Path) -> Form:
    for each in forms().values():
        if each.recognizes(record):
            return each
    keys = ", ".join(list(record)[:8])
    raise InputError(
        f"{path}: no known form of a log; its first record has the keys {keys}. Known forms: {', '.join(forms())}; see"
        " the page on language models for the plain one, with doc, text and logprobs."
    )
