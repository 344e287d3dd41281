"""Work done one step ahead, and a bar that shows how far it is."""

from __future__ import annotations

import sys
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import TypeVar

T = TypeVar("T")


def ahead(items: Iterable[T]) -> Generator[T]:
    """Yield items while a thread makes the next one.

    The thread ends with the loop, however that ends; an error in it is raised where its item would have come.
    """
    end = object()
    iterator = iter(items)
    with ThreadPoolExecutor(max_workers=1, thread_name_prefix="unperplexed-reader") as pool:
        try:
            following = pool.submit(next, iterator, end)
            while (item := following.result()) is not end:
                following = pool.submit(next, iterator, end)
                yield item  # type: ignore[misc]
        finally:
            pool.shutdown(cancel_futures=True)
            if isinstance(iterator, Generator):
                iterator.close()  # its files


@contextmanager
def progress_bar() -> Iterator[Callable[[int, int, int | None], None] | None]:
    """Show rows and bytes read, and the time left, on a terminal's standard error once it takes over a second."""
    if not sys.stderr.isatty():
        yield None
        return
    from tqdm import tqdm

    with tqdm(unit="B", unit_scale=True, unit_divisor=1000, delay=1, disable=None, leave=False, file=sys.stderr) as bar:

        def progress(rows: int, n_bytes: int, total: int | None) -> None:
            bar.total = total
            bar.set_postfix_str(f"{rows:,} rows" if rows else "outcomes", refresh=False)
            bar.update(n_bytes - bar.n)

        yield progress


@contextmanager
def steps(total: int, unit: str) -> Iterator[Callable[[int], object]]:
    """Show how many of so many steps are done, on a terminal's standard error once it takes over a second."""
    if not sys.stderr.isatty():
        yield lambda _: None
        return
    from tqdm import tqdm

    with tqdm(total=total, unit=f" {unit}", delay=1, leave=False, file=sys.stderr) as bar:
        yield bar.update
