"""The files of a release say what the project says."""

import re
import shutil
import subprocess
import sys
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
    assert "assert KERNEL == 'compiled kernel'" in RECIPE


def test_the_public_ci_runs_ours_and_every_version_of_python_is_named():
    ci = (ROOT / ".github" / "workflows" / "ci.yml").read_text("utf-8")
    assert "- run: .ci/run\n" in ci
    named = {each.rsplit(" ", 1)[1] for each in PROJECT["classifiers"] if re.search(r":: 3\.\d+$", each)}
    assert set(re.findall(r'"(3\.\d+)"', ci)) <= named
    assert min(named, key=lambda text: int(text[2:])) == PROJECT["requires-python"].removeprefix(">=")


def test_every_script_of_ci_runs_in_public():
    workflows = "".join(path.read_text("utf-8") for path in (ROOT / ".github" / "workflows").glob("*.yml"))
    for script in (path.name for path in (ROOT / ".ci").iterdir()):
        assert re.search(rf"\.ci/{script}\b|[\[ ]{script}[,\]]", workflows), script


def test_a_release_has_absolute_addresses(tmp_path):
    files = ("pyproject.toml", "README.md", "CITATION.cff", "packaging/conda/recipe.yaml")
    for name in files:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    address = "https://example.org/forecasts/unperplexed"
    script = ROOT / "packaging" / "address.py"
    subprocess.run([sys.executable, script, address, "v9.9.9", tmp_path], check=True)
    made = {name: (tmp_path / name).read_text("utf-8") for name in files}
    urls = tomllib.loads(made["pyproject.toml"])["project"]["urls"]
    assert {"Homepage", "Documentation", "Issues", "Changelog"} <= urls.keys()
    links = [*urls.values(), *re.findall(r"\]\(([^)\s]+)\)", made["README.md"])]
    assert all(re.match(r"https?://", link) for link in links)
    badges = re.findall(r"/actions/workflows/([\w.]+)/badge\.svg", made["README.md"])
    assert all((ROOT / ".github" / "workflows" / name).exists() for name in badges)
    assert len(badges) == 2
    within = [link.split("/v9.9.9/")[1] for link in links if link.startswith(address) and "/v9.9.9/" in link]
    assert len(within) > 10
    assert all((ROOT / path.partition("#")[0]).exists() for path in within)
    assert f'repository-code: "{address}"' in made["CITATION.cff"]
    assert f'homepage: "{address}"' in made["packaging/conda/recipe.yaml"]
    again = subprocess.run(
        [sys.executable, script, "example.org", "v9.9.9", tmp_path], capture_output=True, check=False
    )
    assert again.returncode == 1


def test_the_changelog_keeps_to_its_form():
    """Versions, the newest first, and in each the sections of Keep a Changelog."""
    sections = re.findall(r"^(##+) (.+)$", (ROOT / "CHANGELOG.md").read_text("utf-8"), re.MULTILINE)
    assert sections[0][0] == "##"
    assert sections[1][0] == "###"
    for level, title in sections:
        if level == "##":
            assert re.fullmatch(r"\d+\.\d+\.\d+ \((unreleased|\d{4}-\d\d-\d\d)\)", title)
        else:
            assert title in ("Added", "Changed", "Deprecated", "Removed", "Fixed", "Security")
