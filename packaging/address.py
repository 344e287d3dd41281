"""Write the address of the repository into what a release publishes: metadata, README, citation, recipe.

The tree names no address, since it can be hosted anywhere; the release's workflow knows where it runs. The README's
links become absolute, and it gets badges, which show how the latest runs of tests and benchmarks on main ended.

    python packaging/address.py https://HOST/OWNER/unperplexed v0.1.0 [FOLDER]
"""

import re
import sys
from pathlib import Path

PAGES = {"Homepage": "", "Documentation": "docs/index.md", "Source": "", "Changelog": "CHANGELOG.md"}

BADGES = {"Tests": "ci.yml", "Benchmarks": "benchmarks.yml"}


def addressed(folder: Path, address: str, version: str) -> None:
    """Rewrite the files of a folder for one version of the repository."""
    files = f"{address}/blob/{version}"
    urls = {name: f"{files}/{page}" if page else address for name, page in PAGES.items()} | {
        "Issues": f"{address}/issues"
    }
    table = "[project.urls]\n" + "".join(f'{name} = "{url}"\n' for name, url in urls.items())

    def link(found: re.Match[str]) -> str:
        return f"{found[1]}{files.replace('/blob/', '/raw/') if found[1][0] == '!' else files}/{found[2]})"

    _rewrite(folder / "pyproject.toml", "\n[project.scripts]\n", f"\n{table}\n[project.scripts]\n")
    _rewrite(folder / "CITATION.cff", "\nlicense: ", f'\nrepository-code: "{address}"\nlicense: ')
    about = f'about:\n  homepage: "{address}"\n  repository: "{address}"\n'
    _rewrite(folder / "packaging" / "conda" / "recipe.yaml", "about:\n", about)
    readme = folder / "README.md"
    text = re.sub(r"(!?\[[^\]]*\]\()(?!https?:|#)([^)\s]+)\)", link, readme.read_text("utf-8"))
    runs = {name: f"{address}/actions/workflows/{file}" for name, file in BADGES.items()}
    badges = " ".join(f"[![{name}]({run}/badge.svg?branch=main)]({run})" for name, run in runs.items())
    readme.write_text(text.replace("# unperplexed\n", f"# unperplexed\n\n{badges}\n", 1), "utf-8")


def _rewrite(path: Path, old: str, new: str) -> None:
    text = path.read_text("utf-8")
    if text.count(old) != 1:
        raise SystemExit(f"{path.name}: expected {old.strip()!r} once, found it {text.count(old)} times.")
    path.write_text(text.replace(old, new), "utf-8")


if __name__ == "__main__":
    if len(sys.argv) not in (3, 4) or not re.fullmatch(r"https://[^/\s]+(/[^/\s]+)+", sys.argv[1]):
        raise SystemExit(__doc__)
    addressed(Path(*sys.argv[3:]), *sys.argv[1:3])
