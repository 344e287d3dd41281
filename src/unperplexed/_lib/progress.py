"""Work done at once, or ahead, in threads, and a bar or lines that show how far work is."""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar, copy_context
from functools import cache
from itertools import count, islice
from queue import SimpleQueue
from threading import Semaphore
from time import monotonic
from typing import Any, Generic, Literal, TypeVar

S = TypeVar("S")
T = TypeVar("T")

_END: Any = object()

_MANY_ROWS = 50_000
"""Rows whose arithmetic takes longer than what Python does on one thread at a time."""


def at_once(work: Callable[[S], T], items: Sequence[S], threads: int) -> list[T]:
    """Do the same work with each item, on this thread and others; return what comes of each, in their order.

    A thread that has done with an item takes the next one. What is set for this thread, such as whether progress is
    shown, holds for others.
    """
    found, places = dict[int, T](), count()

    def take() -> None:
        while (at := next(places)) < len(items):
            found[at] = work(items[at])

    with ThreadPoolExecutor(max(1, threads - 1), thread_name_prefix="unperplexed-worker") as pool:
        others = [pool.submit(copy_context().run, take) for _ in range(threads - 1)]
        take()
        for each in others:
            each.result()
    return [found[at] for at in range(len(items))]


def later(work: Callable[[], T], threads: int) -> Callable[[], T]:
    """Begin work on another thread, if there may be more than one; return what gives its result."""
    if threads == 1:
        return cache(work)
    pool = ThreadPoolExecutor(1, thread_name_prefix="unperplexed-worker")
    begun = pool.submit(copy_context().run, work)
    pool.shutdown(wait=False)
    return begun.result


def threads_for(n_rows: int) -> int:
    """Return how many threads work on so many rows: two, which so share two processors and little memory, or one."""
    return 1 + (n_rows >= _MANY_ROWS)


def ahead(items: Iterable[T]) -> Generator[T]:
    """Yield items while a thread makes the next one."""
    return in_turn([lambda: items], 1, 1)


def in_turn(streams: Iterable[Callable[[], Iterable[T]]], at_once: int, most: int) -> Generator[T]:
    """Yield the items of streams, one stream after the other, while threads make the next ones of so many streams.

    At most so many items of each stream are made ahead. The threads end with the loop, however that ends; an error in
    one is raised where its item would have come.
    """
    coming, left = deque[_Stream[T]](), iter(streams)
    with ThreadPoolExecutor(at_once, thread_name_prefix="unperplexed-reader") as pool:
        try:
            while True:
                for make in islice(left, at_once - len(coming)):
                    coming.append(_Stream(make, most))
                    pool.submit(coming[-1].work)
                if not coming:
                    return
                yield from coming[0]
                coming.popleft()
        finally:
            for stream in coming:
                stream.stop()


class _Stream(Generic[T]):
    """Items that a thread makes, as long as it is few ahead of who takes them."""

    def __init__(self, make: Callable[[], Iterable[T]], most: int) -> None:
        self._make, self._room, self._wanted = make, Semaphore(most - 1), True
        self._made = SimpleQueue[list[Any]]()

    def work(self) -> None:
        """Make the items."""
        try:
            items = iter(self._make())
            try:
                while self._wanted and (item := next(items, _END)) is not _END:
                    self._made.put([item])
                    del item
                    self._room.acquire()
            finally:
                if isinstance(items, Generator):
                    items.close()  # its files
        except BaseException as error:  # which is for the thread that takes the items; no frame may keep it
            self._made.put([_END, error])
        else:
            self._made.put([_END])

    def __iter__(self) -> Iterator[T]:
        """Take the items."""
        while (made := self._made.get())[0] is not _END:
            self._room.release()
            yield made[0]
        if made[1:]:
            raise made.pop()

    def stop(self) -> None:
        """Make no more items."""
        self._wanted = False
        self._room.release()


Shown = Literal["terminal", "anywhere", "nowhere"]
_shown: ContextVar[Shown] = ContextVar("shown", default="terminal")


@contextmanager
def showing(where: Shown) -> Iterator[None]:
    """Show progress on terminals, elsewhere too (a line a minute), or nowhere, as long as this lasts."""
    token = _shown.set(where)
    try:
        yield
    finally:
        _shown.reset(token)


@contextmanager
def progress_bar() -> Iterator[Callable[[int, int, int | None], None] | None]:
    """Show rows and bytes read, and the time left, once it takes over a second."""
    with _bar(desc="reading", unit="B", unit_scale=True, unit_divisor=1000) as bar:

        def progress(rows: int, n_bytes: int, total: int | None) -> None:
            bar.total = total
            bar.set_postfix_str(f"{rows:,} rows" if rows else "outcomes", refresh=False)
            bar.update(n_bytes - bar.n)

        yield progress if bar is not None else None


@contextmanager
def steps(total: int, doing: str) -> Iterator[Callable[[int], object]]:
    """Show how many of so many steps of what is done are over, and the time left, once it takes over a second."""
    with _bar(total=total, desc=doing) as bar:
        yield bar.update if bar is not None else lambda _: None


@contextmanager
def _bar(**options: Any) -> Iterator[Any]:
    """Show a bar on a terminal's standard error, or lines elsewhere; None where nothing is shown."""
    where, terminal = _shown.get(), sys.stderr.isatty()
    if where == "nowhere" or not (terminal or where == "anywhere"):
        yield None
        return
    if not terminal:
        yield _Lines(options["desc"], options.get("total"))
        return
    from tqdm import tqdm

    with tqdm(delay=1, leave=False, file=sys.stderr, **options) as bar:
        yield bar


class _Lines:
    """Says once a minute how much is done, and how long the rest will take."""

    def __init__(self, doing: str, total: int | None) -> None:
        self._doing, self.total, self.n = doing, total, 0
        self._began = self._said = monotonic()

    def set_postfix_str(self, about: str, refresh: bool = True) -> None:
        """Leave out what a bar says beside it."""

    def update(self, steps: int) -> None:
        """Count steps that are done."""
        self.n += steps
        now = monotonic()
        if now - self._said < _MINUTE or not self.n:
            return
        self._said, taken = now, (now - self._began) / _MINUTE
        left = f", about {taken * (self.total / self.n - 1):.1f} left" if self.total else ""
        part = f" {self.n / self.total:.0%} done" if self.total else ""
        print(f"unperplexed: {self._doing}:{part} after {taken:.1f} minutes{left}", file=sys.stderr)


_MINUTE = 60.0
"""Seconds from a line to the next."""
