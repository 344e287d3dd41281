"""The README's first command, and what it says appears."""

import re
import shlex
from pathlib import Path

from printed import differs
from unperplexed.cli.parser import main

ROOT = Path(__file__).parents[2]


def test_the_first_command_prints_what_the_readme_shows(tmp_path, capsys, monkeypatch):
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    command = re.search(r"```sh\n(.*?)\n```", text, re.DOTALL).group(1)
    shown = re.search(r"```text\n(.*?)```", text, re.DOTALL).group(1)
    words = shlex.split(command.split(" && ")[-1].replace("\\\n", " "))
    assert words[0] == ".venv/bin/unperplexed"
    monkeypatch.chdir(tmp_path)
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    assert main(words[1:]) == 0
    printed, at = capsys.readouterr().out.splitlines(), 0
    for part in (each.strip("\n").splitlines() for each in shown.split("...\n")):  # which stand for lines left out
        at = next((k for k in range(at, len(printed)) if not differs(printed[k], part[0])), at) if part else at
        assert not differs("\n".join(printed[at : at + len(part)]), "\n".join(part))
        at += len(part)
    assert (tmp_path / "diabetes.png").stat().st_size > 10_000
