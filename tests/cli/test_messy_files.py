"""Files as people have them: each assessed by one short command, or refused with a remedy that works when pasted."""

import csv
import json
import re
import shlex
from importlib.util import find_spec

import numpy as np
import pytest

import messy_files
from messy_files import CLASSES, COMMANDS, KNOWN, LABELS, PROBS, P, Y
from pages import DOCS, text_of
from unperplexed.cli.parser import main

NEEDS = {".xlsx": ("fastexcel", "xlsxwriter")}
FILES = [name for name in COMMANDS if all(map(find_spec, NEEDS.get(f".{name.partition('.')[2]}", ())))]


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "names.txt").write_text("\n".join(CLASSES) + "\n")
    return tmp_path


def meant(name):
    """Geometric accuracy of the forecasts that the file was made of."""
    if name in ("network.npz", "pandas.csv", "pandas.parquet"):
        p = PROBS.round(2) if name == "pandas.csv" else PROBS
        of_observed = (p / p.sum(axis=1, keepdims=True))[LABELS[:, None] == np.array(CLASSES)]
    else:
        of_observed = np.where(Y, P, 1 - P)
    return np.exp(np.log(of_observed).mean())


def run(*words):
    return main(["assess", *words, "--resamples=0", "--json", "-"])


@pytest.mark.slow
@pytest.mark.parametrize("name", FILES)
def test_one_command_of_eight_words_reads_it(here, capsys, name):
    write, options = COMMANDS[name]
    write(here / name)
    words = options.split()
    assert len(["unperplexed", "assess", *words]) <= 8
    assert run(name, *words, "--floor=0.00001") == 0
    found = json.loads(capsys.readouterr().out)
    assert found["reported"]["geometric_accuracy"] == pytest.approx(meant(name), rel=1e-6)
    assert found["n_rows"] == len(Y)


@pytest.mark.slow
@pytest.mark.parametrize("name", FILES)
def test_each_refusal_names_an_option_that_is_missing(here, capsys, name):
    """From the columns alone one remedy after another, as the messages write them, until the file is read."""
    write, options = COMMANDS[name]
    write(here / name)
    words = [each for each in options.split() if each.startswith(("--truth", "--prob")) or each in KNOWN.get(name, ())]
    missing = [each for each in options.split() if each not in words]
    while missing:
        if run(name, *words) == 0:
            pytest.fail(f"read without {missing}")
        message = capsys.readouterr().err
        named = [each for each in missing if pasted(each) in message]
        assert named, (words, missing, message)
        words.append(min(named, key=lambda each: message.index(pasted(each))))
        missing.remove(words[-1])
    assert run(name, *words) == 0


def pasted(option):
    """An option as messages write it; a label is for the user to choose."""
    flag, _, value = option.partition("=")
    return flag if flag in ("--sheet", "--separator") else f"{flag} {value}".strip()


REFUSED = {
    "semicolons": ("f.csv", "y;p\n1;0,5\n0;0,25\n", "--decimal-comma"),
    "tabs": ("f.csv", "y\tp\n1\t0.5\n0\t0.25\n", "--separator tab"),
    "bars": ("f.csv", "y|p\n1|0.5\n0|0.25\n", "--separator '|'"),
    "Windows": ("f.csv", "y,p,n\n1,0.5,\xe9\n0,0.25,\n".encode("cp1252"), "--encoding cp1252"),
    "two bytes": ("f.csv", "y,p\n1,0.5\n0,0.25\n".encode("utf-16"), "--encoding utf-16"),
    "a suffix": ("f.dat", "y,p\n1,0.5\n0,0.25\n", "--format csv"),
    "words": ("f.csv", "y,p\nja,0.5\nnein,0.25\n", "--prob nein=COLUMN"),
    "draws": ("f.csv", "y,p\n1,0.5\n0,0.25\n0.5,0.5\n", "--ignore-label 0.5"),
    "percent signs": ("f.csv", "y,p\n1,50%\n0,25 %\n", "--scale percent"),
    "percentages": ("f.csv", "y,p\n1,50\n0,25\n", "--scale percent"),
    "logits": ("f.csv", "y,p\n1,5.5\n0,-3.25\n", "--scale logits"),
    "logarithms": ("f.csv", "y,p\n1,-5.5\n0,-3.25\n", "--scale log-probs"),
    "marks": ("f.csv", "y,p\n1,0.5\n0,?\n", "--na --invalid drop"),
    "marks among outcomes": ("f.csv", "y,p\nTRUE,0.5\nNA,0.25\nFALSE,0.5\n", "--na --invalid drop"),
    "text": ("f.csv", "y,p\n1,0.5\n0,soon\n", "--invalid drop"),
    "gaps": ("f.csv", "y,p\n1,0.5\n0,\n,0.5\n", "--invalid drop"),
    "sums": ("f.csv", "y,p_0,p_1\n1,0.5,0.6\n0,0.25,0.75\n", "--invalid rescale"),
    "all of it": (
        "f.csv",
        "y,p_0,p_1\n1,50%,50%\n,50%,50%\n1,-,75%\n0,soon,75%\n0,40%,60%\n",
        "--scale percent --na --invalid drop",
    ),
}
"""What is refused though it can be read, and the option that is to be pasted from the message."""

PAGE = text_of("input").replace("\\|", "|")


@pytest.mark.slow
@pytest.mark.parametrize("case", REFUSED)
def test_the_remedy_of_a_refusal_works_when_pasted(here, capsys, case):
    name, content, remedy = REFUSED[case]
    (here / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    words = ["--truth=y", "--prob=p_*" if "p_0" in str(content) else "--prob=p"]
    assert run(name, *words) == 2
    if "COLUMN" in remedy:
        words.pop()
    assert re.search(rf"(\(|\s){re.escape(remedy)}(?=[\s).,])", capsys.readouterr().err)
    assert run(name, *words, *shlex.split(remedy.replace("COLUMN", "p"))) == 0
    assert case == "all of it" or remedy in PAGE


@pytest.mark.parametrize("name", COMMANDS)
def test_the_page_has_its_command(name):
    with (DOCS / "reference" / "messy-files.csv").open(encoding="utf-8", newline="") as table:
        [options] = [line["options"] for line in csv.DictReader(table) if line["file"] == f"`{name}`"]
    assert options == f"`{COMMANDS[name][1]}`"


def test_the_script_writes_them_all(tmp_path):
    if len(FILES) < len(COMMANDS):
        pytest.skip("some writers are not installed")
    messy_files.write_all(tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == {*COMMANDS, "names.txt"}
    assert len(COMMANDS) == 12


@pytest.mark.parametrize(
    ("content", "reason"), [(None, "No such file"), (b"\n \n", "holds no label"), (b"\xe9", "not UTF-8")]
)
def test_files_of_labels_that_are_none(here, capsys, content, reason):
    COMMANDS["pandas.parquet"][0](here / "f.parquet")
    if content is not None:
        (here / "bad.txt").write_bytes(content)
    assert run("f.parquet", "--prob=proba", "--labels", "@bad.txt") == 2
    assert reason in capsys.readouterr().err


def test_a_label_may_begin_with_the_sign(here, capsys):
    (here / "f.csv").write_text("y,p\n@home,0.5\naway,0.5\n")
    assert run("f.csv", "--labels", "away", "@home") == 0
