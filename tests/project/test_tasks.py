"""What people come to do: each command of the page of tasks, in the order in which they stand, on small files."""

import re
import runpy
import shlex

import pytest

from pages import DOCS, text_of
from unperplexed.cli import main

ROW = re.compile(r"^\| (\d+)\. \[(.+?)\]\(.+?\) \| (`.+) \|$", re.MULTILINE)
TASKS = [
    (int(number), what, re.findall(r"`(unperplexed [^`]+)`", cell))
    for number, what, cell in ROW.findall(text_of("tasks"))
]
ALARMS = {"check", "monitor"}
"""Commands that end with 1 where they find something."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("tasks")
    runpy.run_path(str(DOCS / "task_files.py"))["make"](place)
    return place


def test_there_are_45_in_order():
    assert [number for number, *_ in TASKS] == [*range(1, 46)]


@pytest.mark.slow
@pytest.mark.parametrize(("what", "commands"), [task[1:] for task in TASKS], ids=[f"{task[0]}" for task in TASKS])
def test_a_task_is_done_by_its_command(what, commands, folder, monkeypatch, capfd):
    monkeypatch.chdir(folder)
    for command in commands:
        words = shlex.split(command.partition(r" \| ")[0])[1:]
        assert main(words) <= (words[0] in ALARMS), capfd.readouterr().err
        assert len(capfd.readouterr().out.splitlines()) >= 1, what
