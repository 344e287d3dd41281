"""What a tally is about: data set, model and period, by which tallies that do not belong together are told apart."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable
from os import PathLike
from pathlib import Path
from typing import Any, Self

from .._lib.dataclasses import Frozen, replace
from .._lib.errors import InputError
from .._lib.output_files import check_output, write_whole
from ..report.result import Result
from .periods import check_period, joined, shared

LONGEST, MOST = 200, 10_000
"""Characters of a tag, and how many of a kind a tally has."""

UNKNOWN = ("",)


class Tags(Frozen):
    """Data sets, models and periods of the rows of a tally; "" stands for rows of which it is not known."""

    names: tuple[str, ...] = UNKNOWN
    models: tuple[str, ...] = UNKNOWN
    periods: tuple[str, ...] = UNKNOWN
    """Days from the first to the last, such as "2026-03-05/2026-04-02" or "2026-03", or names."""

    def __bool__(self) -> bool:
        """Whether anything is known."""
        return self != Tags()

    def having(self, name: str | None, model: str | None, period: str | Iterable[str] | None) -> Tags:
        """Give others in their place; None leaves one as it is, and "" takes it away."""
        if period is not None:
            period = [period] if isinstance(period, str) else list(period)
            period = joined(check_period(_checked("period", each)) for each in period)
        return Tags(
            self.names if name is None else (_checked("name", name),),
            self.models if model is None else (_checked("model", model),),
            self.periods if period is None else period or UNKNOWN,
        )._checked_numbers()

    def plus(self, other: Tags, mixed: bool) -> Tags:
        """Give those of both together; refuses what should not be added up, unless that is allowed."""
        if self == other == Tags():
            return self
        if not mixed:
            _refuse(self, other)
        names, models = ({*a, *b} for a, b in ((self.names, other.names), (self.models, other.models)))
        periods = joined([*self.periods, *other.periods])
        return Tags(tuple(sorted(names)), tuple(sorted(models)), periods)._checked_numbers()

    def _checked_numbers(self) -> Tags:
        """Refuse more than a file can have."""
        kinds = {"name": "data sets", "model": "models", "period": "periods"}
        for (kind, words), found in zip(kinds.items(), vars(self).values(), strict=True):
            if len(found) > MOST:
                raise InputError(
                    f"a tally is of at most {MOST:,} separate {words}. Add up fewer, or without that tag:"
                    f' tally.tagged({kind}="").'
                )
        return self

    def summary(self) -> dict[str, list[str]]:
        """Give what is known, by kind."""
        return {kind: _known(found) for kind, found in vars(self).items() if any(found)}

    def words(self) -> dict[str, str]:
        """Give what is known in words, by kind."""
        kinds = {"data": self.names, "model": self.models, "period": self.periods}
        return {kind: _some(found) for kind, found in kinds.items() if any(found)}

    @classmethod
    def of_file(cls, found: Any) -> Tags:
        """Check what a file says."""
        if not isinstance(found, dict) or found.keys() != vars(cls()).keys():
            raise ValueError("tags are not known")
        for kind, texts in found.items():
            if not isinstance(texts, list) or not 0 < len(texts) <= MOST or not all(map(_is_tag, texts)):
                raise ValueError(f"{kind} are no texts")
            if texts != [*(joined(texts) if kind == "periods" else sorted({*texts}))]:
                raise ValueError(f"{kind} are out of order")
        return cls(**{kind: tuple(texts) for kind, texts in found.items()})


def different(a: Tags, b: Tags) -> tuple[str, str, str] | None:
    """Say of which two data sets or models both are, if they are known and differ."""
    for kind, mine, theirs in (("data", a.names, b.names), ("model", a.models, b.models)):
        if _known(mine) and _known(theirs) and _known(mine) != _known(theirs):
            return kind, _listed(mine), _listed(theirs)
    return None


def refuse_as_earlier(now: Tags, before: Tags) -> None:
    """Refuse earlier forecasts of other data, and ones of the same period and model: their rows would be in both."""
    found = different(replace(now, models=UNKNOWN), before)
    if found:
        raise InputError(
            f"earlier (--earlier): its data are {found[2]}, not {found[1]}. Name earlier forecasts of the same data."
        )
    period = shared(_known(now.periods), _known(before.periods))
    if period and _known(now.models) == _known(before.models):
        raise InputError(
            f"earlier (--earlier): the period {period} is in both, and their tags name no different models. Name"
            ' earlier forecasts, or tag each tally with its model: tally.tagged(model="v7") (tally --tag model=v7).'
        )


def _refuse(a: Tags, b: Tags) -> None:
    found = different(a, b)
    if found:
        kind = {"model": "models"}.get(found[0], found[0])
        raise InputError(f"tallies of different {kind} do not add up: {found[1]} and {found[2]}. {_REMEDY}")
    period = shared(_known(a.periods), _known(b.periods))
    if period:
        raise InputError(
            f"tallies of the same period do not add up: both have {period}, whose rows may be counted twice. For parts"
            f" of one period, such as late outcomes, name it: unperplexed tally --tag period={period}. {_REMEDY}"
        )


_REMEDY = "To add them up anyway: unperplexed tally --mixed, or Tally.merged(..., mixed=True) in Python."


def _known(texts: Iterable[str]) -> list[str]:
    return [each for each in texts if each]


def _listed(texts: Iterable[str]) -> str:
    return ", ".join(map(repr, _known(texts)))


def _some(texts: tuple[str, ...]) -> str:
    known = _known(texts)
    shown = ", ".join(known[:3]) + (f" and {len(known) - 3:,} more" if len(known) > 3 else "")
    return shown + (" (not known for all rows)" if "" in texts else "")


def _checked(kind: str, text: str) -> str:
    if not _is_tag(text):
        raise InputError(f"{kind}: expected a text of up to {LONGEST} characters in one line, got {text!r:.60}.")
    return text


def _is_tag(text: Any) -> bool:
    return isinstance(text, str) and len(text) <= LONGEST and text.isprintable() and text == text.strip()


class Tagged(Result):
    """A tally that says what it is about, and can be saved."""

    tags: Tags

    @abstractmethod
    def to_bytes(self) -> bytes:
        """Give the tally as bytes."""

    def save(self, path: str | PathLike[str]) -> None:
        """Write the tally to a file, whole or not at all."""
        write_whole(check_output(Path(path)), self.to_bytes())

    def tagged(
        self, *, name: str | None = None, model: str | None = None, period: str | Iterable[str] | None = None
    ) -> Self:
        """Give the same tally with tags, by which tallies that do not belong together are told apart.

        Tallies of different data or models, or of periods that overlap, do not add up, unless `merged` lets them. Those
        without a tag add up with all others.

        Parameters
        ----------
        name : str, optional
            The data set or task, such as "churn, Europe". "" takes the tag away, as for all three.
        model : str, optional
            The model that made the forecasts, with its version.
        period : str or iterable of str, optional
            A day, ISO week, month, quarter, year ("2026-03-01", "2026-W10", "2026-03", "2026-Q1", "2026"), a span of
            them ("2026-03-01/2026-04-15"), or any other name of a period. Days that touch become one span.

        Returns
        -------
        Tally

        Raises
        ------
        InputError
            For a tag that is longer than a line of 200 characters, and for days that are not in the calendar.

        Examples
        --------
        >>> from unperplexed import Tally
        >>> days = [Tally.of([1, 0], [0.8, 0.3]).tagged(model="v7", period=day) for day in ("2026-02-28", "2026-03-01")]
        >>> sum(days).tags.periods
        ('2026-02-28/2026-03-01',)
        """
        return replace(self, tags=self.tags.having(name, model, period))  # type: ignore[type-var]
