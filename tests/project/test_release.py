"""The files of a release say what the project says."""

import re
import tomllib
from pathlib import Path

from unperplexed import __version__

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
RECIPE = (ROOT / "packaging" / "conda" / "recipe.yaml").read_text("utf-8")


def test_the_version_is_the_same_everywhere():
    assert f"\nversion: {__version__}\n" in (ROOT / "CITATION.cff").read_text("utf-8")
    assert f'version: "{__version__}"' in RECIPE
    assert f"## {__version__}" in (ROOT / "CHANGELOG.md").read_text("utf-8")


def test_the_recipe_needs_what_the_package_needs_and_fails_without_the_kernel():
    run = RECIPE.split("  run:\n")[1].split("\n\n")[0].replace("matplotlib-base", "matplotlib")
    assert sorted(re.findall(r"- (\S+) (>=\S+)", run)) == sorted(
        tuple(re.match(r"([\w-]+)(>=.*)", each).groups()) for each in PROJECT["dependencies"]
    )
    assert 'UNPERPLEXED_REQUIRE_KERNEL: "1"' in RECIPE
    assert 'grep "compiled kernel"' in RECIPE


def test_the_public_ci_runs_ours_and_every_version_of_python_is_named():
    ci = (ROOT / ".github" / "workflows" / "ci.yml").read_text("utf-8")
    assert "- run: .ci/run\n" in ci
    named = {each.rsplit(" ", 1)[1] for each in PROJECT["classifiers"] if re.search(r":: 3\.\d+$", each)}
    assert set(re.findall(r'"(3\.\d+)"', ci)) <= named
    assert min(named, key=lambda text: int(text[2:])) == PROJECT["requires-python"].removeprefix(">=")
