"""Periods of time that tallies cover: days, weeks, months, quarters, years, spans of them, and names."""

from __future__ import annotations

import re
from calendar import monthrange
from collections.abc import Iterable
from datetime import date
from functools import lru_cache

from .._lib.errors import InputError

Span = tuple[int, int]
"""First and last day, as `date.toordinal` numbers them."""

_DATE = re.compile(r"(\d{4})(?:-(?:(\d{2})(?:-(\d{2}))?|Q([1-4])|W(\d{2})))?")
_YEARS = re.compile(r"(\d{4})/(\d{4})")


@lru_cache(1 << 14)
def span_of(text: str) -> Span | None:
    """Give the days of a period such as "2026-03-01", "2026-W10", "2026-03" or "2026-03-01/2026-04-15".

    None for any other text, which is a name: "2023/2024" too, which is a season or a fiscal year.
    """
    if _is_season(text):
        return None
    ends = [_DATE.fullmatch(each) for each in text.split("/")]
    try:
        days = [_days(match) for match in ends if match is not None]
    except ValueError:
        return None
    known = len(days) == len(ends) <= 2 and days[0][0] <= days[-1][1]
    return (days[0][0], days[-1][1]) if known else None


def check_period(text: str) -> str:
    """Refuse dates that are not in the calendar, and spans that end before they begin."""
    if text and not _is_season(text) and span_of(text) is None and all(map(_DATE.fullmatch, text.split("/"))):
        raise InputError(f"period: {text!r} is not in the calendar, or ends before it begins.")
    return text


def _is_season(text: str) -> bool:
    """Whether it is two years in a row; two whole years are written as "2025-01/2026-12"."""
    match = _YEARS.fullmatch(text)
    return match is not None and int(match[2]) == int(match[1]) + 1


def _days(match: re.Match[str]) -> Span:
    year, month, day, quarter, week = match.groups()
    if week:
        sunday = date.fromisocalendar(int(year), int(week), 7).toordinal()
        return sunday - 6, sunday
    if day:
        only = date(int(year), int(month), int(day)).toordinal()
        return only, only
    first = int(month or (3 * int(quarter) - 2 if quarter else 1))
    last = first if month else first + 2 if quarter else 12
    days = monthrange(int(year), last)[1]
    return date(int(year), first, 1).toordinal(), date(int(year), last, days).toordinal()


def joined(periods: Iterable[str]) -> tuple[str, ...]:
    """Give periods in one way: spans of days in order, those that touch as one, and then the names."""
    names, spans = set[str](), list[Span]()
    for each in periods:
        span = span_of(each)
        names.add(each) if span is None else spans.append(span)
    found: list[Span] = []
    for first, last in sorted(spans):
        if found and first <= found[-1][1] + 1:
            found[-1] = found[-1][0], max(last, found[-1][1])
        else:
            found.append((first, last))
    return (*map(_text, found), *sorted(names))


def _text(span: Span) -> str:
    """Name days in the fewest words that are no season's: by years or months where these are whole."""
    first, last = map(date.fromordinal, span)
    months = first.day == 1 and last.day == monthrange(last.year, last.month)[1]
    years = months and first.month == 1 and last.month == 12 and last.year != first.year + 1
    begin, end = (each.isoformat()[: 4 if years else 7 if months else 10] for each in (first, last))
    return begin if begin == end else f"{begin}/{end}"


def shared(a: Iterable[str], b: Iterable[str]) -> str:
    """Name what two sets of periods have in common: days or a name; "" where nothing is."""
    mine, theirs = (joined(each) for each in (a, b))
    names = sorted({*mine} & {*theirs})
    spans, others = ([span for span in map(span_of, each) if span] for each in (mine, theirs))
    at = 0
    for first, last in spans:
        while at < len(others) and others[at][1] < first:
            at += 1
        if at < len(others) and others[at][0] <= last:
            return _text((max(first, others[at][0]), min(last, others[at][1])))
    return names[0] if names else ""


def at(period: str) -> str:
    """Say when: "on 2026-03-01", "in 2026-W10"."""
    days = span_of(period)
    one_day = days[0] == days[1] if days else period.lower().startswith("day ")
    return f"{'on' if one_day else 'in'} {period}"
