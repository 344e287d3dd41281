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
    words = shlex.split(command.split(" && ")[-1])
    assert words[0] == ".venv/bin/unperplexed"
    monkeypatch.chdir(tmp_path)
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    assert main(words[1:]) == 0
    assert not differs(capsys.readouterr().out, shown)
    assert (tmp_path / "diabetes.png").stat().st_size > 10_000
