"""Explanations of metrics, findings and remedies, from the text that the documentation shows as "If it is bad"."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from importlib.resources import files

from .._lib.errors import InputError, nearest
from .._lib.formatting import capital
from .._lib.typing import ByValue
from .document import Action, Block, Code, Document, Folded, Prose, Settings, inside, listed, lookup
from .result import Naming, Result, document

_LINK = re.compile(r"\[([^\]]+)\]\((?:#([^)\s]+)|[^)\s]+)\)")
_FENCED = re.compile(r"^```.*?^```\n", re.DOTALL | re.MULTILINE)
_LABEL = re.compile(r"\*\*(\w+):\*\*")
_SENTENCE = re.compile(r"[.!?]$")


class Explanation(ByValue, Result):
    """What a metric or finding means, why it is bad, and what to do. Made by `explain` and ``Finding.explanation``."""

    term: str
    """The metric, finding or remedy, such as "Overconfident"."""
    meaning: str
    advice: tuple[tuple[str, str], ...] = ()
    """Labels "Bad", "Why", "Try" and "Check", as far as they apply, each with its text."""
    commands: str = ""
    """Commands of the shell, one a line, with names of files and columns to replace."""
    see: tuple[str, ...] = ()
    """Other terms to look up."""
    also: tuple[str, ...] = ()
    """Other names, such as those of errors in a diagnosis. Several terms may share one, which is then ambiguous."""


@document.register(Explanation)
def _document(e: Explanation, naming: Naming, *, brief: bool) -> Document:
    return Document(
        title=e.term,
        headline=e.term,
        lead=e.meaning,
        actions=[Action(_TITLES[label], text, label) for label, text in e.advice],
        command=Code(e.commands, "Commands") if e.commands else None,
        further=lookup(map(_slug, e.see)),
    )


_TITLES = {"Bad": "When it is bad", "Why": "Why", "Try": "What to try", "Check": "How to check"}


def explain(term: str) -> Explanation:
    """Explain a metric, a finding or a remedy: why it is bad, and what to try.

    Returns an `Explanation`; print it.

    Parameters
    ----------
    term : str
        A metric or finding as an assessment names it, such as "log loss" or
        "overconfident"; a synonym, such as "Gini"; a word of the name that no
        other name has, such as "slope"; or another form of it, such as
        "overconfidence".

    Returns
    -------
    Explanation

    Raises
    ------
    InputError
        For an unknown or ambiguous term; the message has the nearest ones.

    Examples
    --------
    >>> print(explain("overconfident"))
    Overconfident.
    Predictions are more extreme than frequencies: slope below 1, temperature above
    1.
    <BLANKLINE>
    Why     Overfitting, long training, dependent predictors counted twice.
    Try     Recalibrate (--method temperature); train less.
    More    unperplexed explain recalibration-map
    """
    known = {name: each for group in _groups().values() for name, each in group.items()}
    words = _words(str(term))
    same = [name for name in known if _words(name) == words]
    found = same or [name for name, each in known.items() if words in map(_words, each.also)]
    found = found or [name for name in known if words and {*words} <= {*_words(name)}]
    found = found or [name for name in known if words and {*map(_stem, words)} <= {*map(_stem, _words(name))}]
    if len(found) != 1:
        near = found or _nearest(words, known)
        also = f"; did you mean {listed([repr(inside(name)) for name in near], 'or')}?" if near else "."
        raise InputError(f"{'ambiguous' if found else 'unknown'} term {term!r}{also} {_ALL}")
    return known[found[0]]


_ENDING = re.compile("(ness|ence|ent|ations?|ated?|ions?|ing|ics?|ed|y|s)$")


def _stem(word: str) -> str:
    """Leave out the ending of a word: those of "overconfidence" and "overconfident", of "group" and "groups"."""
    return _ENDING.sub("", word) or word


_ALL = "unperplexed explain, without a term, lists all."


def terms_document() -> Document:
    """List all terms."""
    listed = [(group, ", ".join(map(inside, known))) for group, known in _groups().items()]
    return Document(
        title="Terms",
        headline="Terms to look up: unperplexed explain TERM",
        lead="One word of a term is enough where no other term has it.",
        summary=[Settings(listed, "Terms")],
    )


def folded(terms: Iterable[str]) -> list[Folded]:
    """Give the explanations of terms, each once and to be unfolded."""
    return [_unfolded(explain(term)) for term in dict.fromkeys(terms)]


def _unfolded(each: Explanation) -> Folded:
    blocks: list[Block] = [Prose(each.meaning), Settings([(_TITLES[label], text) for label, text in each.advice], "")]
    blocks += [Code(each.commands, "Commands")] if each.commands else []
    return Folded(f"{each.term}: why, what to try and how to check", blocks)


@cache
def _groups() -> dict[str, dict[str, Explanation]]:
    """Read all explanations, by the heading of their part and by name."""
    assets = files("unperplexed.report") / "assets"
    text = (assets / "if_it_is_bad.md").read_text("utf-8").replace("\r\n", "\n")
    table = {term: rest for term, *rest in csv.reader((assets / "terms.csv").read_text("utf-8").splitlines())}
    parts = [part.split("\n### ") for part in text.split("\n## ")[1:-1]]
    names = {_slug(heading): heading for _, *sections in parts for heading, _, _ in _split(sections)}
    return {
        title.strip(): {
            heading: _explanation(heading, body, names, *table.get(heading, ("", "")))
            for heading, _, body in _split(sections)
        }
        for title, *sections in parts
    }


def _split(sections: Sequence[str]) -> Iterator[tuple[str, str, str]]:
    return (section.partition("\n") for section in sections)


def _explanation(term: str, text: str, names: dict[str, str], also: str, commands: str) -> Explanation:
    prose = " ".join(_FENCED.sub("", text).split())
    meaning, *rest = _LABEL.split(prose)
    return Explanation(
        term,
        _plain(meaning),
        tuple((label, _plain(words)) for label, words in zip(rest[::2], rest[1::2], strict=True)),
        "\n".join(re.findall("`(.+?)`", commands)),
        tuple(dict.fromkeys(names[target] for _, target in _LINK.findall(prose) if target)),
        tuple(filter(None, also.split(", "))),
    )


def _plain(markdown: str) -> str:
    """Give Markdown as plain sentences."""
    text = re.sub("[*`]", "", _LINK.sub(r"\1", markdown)).strip()
    ended = text if _SENTENCE.search(text) else f"{text.rstrip(':')}."
    return capital(ended)


def _words(term: str) -> list[str]:
    return re.findall(r"[^\W_]+", term.casefold())


def _slug(heading: str) -> str:
    """Name a term in one word, as the address of its heading does."""
    return "-".join(_words(heading))


def _nearest(words: Sequence[str], known: dict[str, Explanation]) -> list[str]:
    """Find the terms that have a word spelled like one of these; without any, those whose text has all of them."""
    of_word = {word: name for name in known for word in _words(name) if len(word) > 3}
    spelled = [of_word[near] for word in words for near in nearest(word, of_word, 3)]
    if not spelled and words:
        spelled = [name for name, each in known.items() if {*words} <= {*_words(str(each))}]
    return list(dict.fromkeys(spelled))[:_MOST]


_MOST = 4
