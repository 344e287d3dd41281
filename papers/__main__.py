"""List the exhibits, or make them: a page, its pictures, and the figures as JSON.

python -m papers                        # all of them, into docs/
python -m papers --list
python -m papers n17-figure-2 ssr-table -o out
python -m papers --check                # make them, and compare with the page and the JSON that are there
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

from tqdm import tqdm

from . import cm, n17, rp, ssr
from .exhibits import Exhibit, Made
from .page import PUBLISHED, differing, pictures_of, written

PAPERS = (n17, rp, cm, ssr)


def main() -> None:
    """Read the command line and make what is asked for."""
    parser = argparse.ArgumentParser(
        prog="python -m papers", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help="exhibits to make; all by default")
    parser.add_argument("--list", action="store_true", help="list the exhibits")
    parser.add_argument(
        "--check", action="store_true", help="write nothing; compare with the page and the JSON in the folder"
    )
    parser.add_argument("-o", "--output", type=Path, help="folder; docs for all exhibits, to be named for some of them")
    arguments = parser.parse_args()
    exhibits = {exhibit.name: exhibit for paper in PAPERS for exhibit in paper.EXHIBITS}
    if arguments.list:
        for exhibit in exhibits.values():
            print(f"{exhibit.name:22} {exhibit.title}")
        return
    unknown = [name for name in arguments.names if name not in exhibits]
    if unknown:
        parser.error(f"no exhibit {', '.join(unknown)}; --list names them")
    if arguments.names and arguments.output is None and not arguments.check:
        parser.error("-o: name a folder for some of the exhibits; docs/evidence has all of them")
    folder = arguments.output or PUBLISHED
    wanted = [exhibits[name] for name in arguments.names or exhibits]
    if not arguments.check:
        pictures_of(folder)  # before any work is done
    start = time.perf_counter()
    made = _made(wanted)
    if arguments.check:
        if found := differing(made, folder):
            sys.exit("papers: not what is written down:\n" + "\n".join(found))
        print(f"{len(made)} exhibits, as written down in {folder}")
        _say_what_stays(made)
        return
    page = written(made, PAPERS, folder)
    print(f"{len(made)} exhibits in {time.perf_counter() - start:.0f} s: {page}")
    _say_what_stays(made)


def _say_what_stays(made: dict[str, tuple[Exhibit, Made]]) -> None:
    """Name the exhibits whose data are not there."""
    if old := [name for name, (_, shown) in made.items() if shown.old]:
        print(f"as published, since UNPERPLEXED_DATA names no folder: {', '.join(old)}")


def _made(exhibits: list[Exhibit]) -> dict[str, tuple[Exhibit, Made]]:
    """Make exhibits one after the other, with a bar that shows how far it is."""
    found = {}
    trials = max((exhibit.steps for exhibit in exhibits), default=0)  # those that report share what they do
    with tqdm(total=len(exhibits) + trials, unit="step", file=sys.stderr) as bar:
        for exhibit in exhibits:
            bar.set_description(exhibit.name)
            found[exhibit.name] = exhibit, exhibit.make(bar.update)
            bar.update()
    return found


if __name__ == "__main__":
    try:
        main()
    except (OSError, ImportError) as error:
        sys.exit(f"papers: {error}")
    except KeyboardInterrupt:
        sys.exit("papers: interrupted")
