import argparse
import io
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import time
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from helpers import without_dependence
from unperplexed import SCORES, Tally, __version__, assess, calibration_errors, decompose, explain
from unperplexed._lib.formatting import rule_text
from unperplexed.calibration.errors import DEFAULT_BINS
from unperplexed.cli import former, meaning
from unperplexed.cli.help import HEADINGS, USAGE
from unperplexed.cli.meaning import settle
from unperplexed.cli.parser import _parsed, _parser, main
from unperplexed.cli.reading import ROLES
from unperplexed.kernels.compiled import KERNEL
from unperplexed.report.document import Document
from unperplexed.report.numbers import share
from unperplexed.report.terminal import text as terminal_text
from unperplexed.scores import row_scores
from unperplexed.tally.tally import CLASS_PARTS, PARTS, VIEWS

COMMANDS = next(
    action.choices for action in _parser()._actions if hasattr(action, "choices") and isinstance(action.choices, dict)
)
HELP = {"-h", "--help", "--help-all"}


def flags_of(command):
    return {flag for action in COMMANDS[command]._actions for flag in action.option_strings} - HELP


@pytest.fixture
def forecasts(tmp_path, rng):
    p = rng.uniform(size=400).round(3)
    frame = pl.DataFrame(
        {
            "happened": (rng.uniform(size=400) < p).astype(int),
            "probability": p,
            "heft": rng.integers(1, 4, 400),
            "percentage": p * 100,
            "logit": np.log(np.clip(p, 1e-3, 1 - 1e-3) / (1 - np.clip(p, 1e-3, 1 - 1e-3))),
        }
    )
    path = tmp_path / "forecasts.csv"
    frame.write_csv(path)
    return path, frame


def run(*arguments):
    """Of the command line, with the fewest replicates where their number is not what is tested."""
    few = ["--resamples", 40] if arguments[:1] == ("assess",) and "--resamples" not in arguments else []
    return main([str(argument) for argument in [*arguments, *few]])


@pytest.mark.slow
def test_assess_prints_the_assessment(forecasts, capsys):
    path, frame = forecasts
    assert run("assess", path, "--truth", "happened", "--prob", "probability") == 0
    out, err = capsys.readouterr()
    expected = assess(frame["happened"], frame["probability"], resamples=40)
    assert out == expected.to_text(name=path.name) + "\n"
    assert err == ""


SETTINGS = [
    (["--floor", "0.05", "0.95"], {"floor": (0.05, 0.95)}),
    (["--measured", "equal-population:bins=7"], {"measured": "equal-population:bins=7"}),
    (["--view", "top-label"], {"view": "top-label"}),
    (["--view", "each-class"], {"view": "each-class"}),
    (["--weight", "heft", "--resamples", "0"], {"sample_weight": "heft", "resamples": 0}),
    (["--labels", "1", "0"], {"pos_label": 0}),
    (["--labels", "1", "0"], {"labels": [1, 0]}),
    (["--invalid", "drop", "rescale"], {}),
]


@pytest.mark.slow
@pytest.mark.parametrize(("options", "settings"), SETTINGS)
def test_json_is_that_of_python(forecasts, capsys, options, settings):
    path, frame = forecasts
    assert run("assess", path, "--truth", "happened", "--prob", "probability", "--json", "-", *options) == 0
    if "sample_weight" in settings:
        settings = settings | {"sample_weight": frame[settings["sample_weight"]]}
    settings = {"resamples": 40, **settings}
    expected = assess(frame["happened"], frame["probability"], **settings)
    assert without_dependence(capsys.readouterr().out) == without_dependence(expected)


@pytest.mark.slow
@pytest.mark.parametrize(("column", "scale"), [("percentage", "percent"), ("logit", "logits")])
def test_other_scales(forecasts, capsys, column, scale):
    path, frame = forecasts
    assert run("assess", path, "--truth", "happened", "--prob", column, "--scale", scale, "--json", "-") == 0
    expected = assess(frame["happened"], frame[column], scale=scale)
    assert json.loads(capsys.readouterr().out)["reported"]["robustness"] == expected.reported.robustness


@pytest.mark.slow
def test_outputs_are_written(forecasts, tmp_path, capsys):
    path, frame = forecasts
    for suffix, start in ((".png", b"\x89PNG"), (".svg", b"<?xml"), (".pdf", b"%PDF")):
        picture, numbers = tmp_path / f"out{suffix}", tmp_path / "out.json"
        assert (
            run("assess", path, "--resamples", 0, "--json", numbers, "--plot", picture, "--style", "axes=nelson") == 0
        )
        assert picture.read_bytes().startswith(start)
        assert json.loads(numbers.read_text())["n_rows"] == 400
    assert "\nAccuracy " in capsys.readouterr().out


@pytest.mark.slow
def test_guessed_columns_are_said_on_stderr(forecasts, capsys):
    path, _ = forecasts
    assert run("assess", path, "--json", "-") == 0
    out, err = capsys.readouterr()
    assert "outcomes from 'happened'" in err
    assert "probabilities from 'probability'" in err
    json.loads(out)


def test_profile(forecasts, capsys):
    path, frame = forecasts
    assert run("assess", path, "--show", "profile") == 0
    out = capsys.readouterr().out
    expected = assess(frame["happened"], frame["probability"])
    assert f"{expected.reported.robustness:.3f}" in out
    assert "\n−2/3 " in out
    assert max(map(len, out.splitlines())) <= 80
    assert run("assess", path, "--show", "profile:orders=-1,0.25", "--json", "-") == 0
    found = json.loads(capsys.readouterr().out)
    assert found["profile"]["orders"] == found["shown"]["profile"]["orders"] == [-1, 0.25]
    assert run("assess", path, "--show", "profile:orders=-1e-3,-inf,inf") == 0
    table = capsys.readouterr().out.partition("\norder ")[2].splitlines()[1:4]
    assert [line.split()[0] for line in table] == ["−0.001", "−∞", "∞"]


@pytest.mark.parametrize(
    ("section", "message"),
    [
        ("profil", "no section 'profil'; they are averages, profile, scores,"),
        ("scores:bins=3", "the section scores has no setting 'bins'; it has no settings"),
        ("profile:bins=3", "the section profile has no setting 'bins'; its setting is profile:orders="),
        ("profile:orders=a", "'a' cannot be read"),
        ("profile:orders=nan", "orders"),
        ("calibration:bins=0", "bins: expected a whole number"),
        ("calibration:bins=1.5", "'1.5' cannot be read"),
    ],
)
def test_sections_that_there_are_not(forecasts, capsys, section, message):
    assert run("assess", forecasts[0], "--show", section) == 2
    assert message in " ".join(capsys.readouterr().err.split())


@pytest.mark.slow
def test_sections_of_classes(tmp_path, capsys):
    """In the text and in JSON; where rows have none, the text says what they take."""
    rng = np.random.default_rng(8)
    p = rng.dirichlet(np.ones(3), 300).round(3)
    p[:, 2] = 1 - p[:, 0] - p[:, 1]
    y = (p.cumsum(axis=1) < rng.random((300, 1))).sum(axis=1)
    pl.DataFrame({"y": y, **{f"p{at}": p[:, at] for at in range(3)}}).write_csv(tmp_path / "three.csv")
    sections = ["--show", "averages", "classes", "confusion", "surprises"]
    path, columns = tmp_path / "three.csv", ["--truth", "y", "--prob", "p*"]
    assert run("assess", path, *columns, *sections, "--json", tmp_path / "a.json") == 0
    text = " ".join(capsys.readouterr().out.split())
    shown, found = json.loads((tmp_path / "a.json").read_text())["shown"], assess(y, p, resamples=0)
    assert "Not shown" not in text
    assert "Rows whose outcome was assigned the lowest probability" in text
    assert [*shown] == sections[1:]
    assert shown["averages"]["reported"]["robustness"] == pytest.approx(found.reported.robustness)
    assert [each["happened"] for each in shown["classes"]] == np.bincount(y).tolist()
    assert len(shown["surprises"]["row"]) == 20
    assert shown["surprises"]["row"][0] == found.surprises.row[0]
    assert shown["confusion"]["share"] == pytest.approx(found.confusions.share.tolist())
    assert run("tally", path, *columns, "-o", tmp_path / "three.tally", "-q") == 0
    assert run("assess", tmp_path / "three.tally", *sections) == 0
    text = " ".join(capsys.readouterr().out.split())
    assert "Not shown: confused classes take rows" in text
    assert "Not shown: these take rows, or a tally with --parts surprises" in text


@pytest.mark.slow
def test_demo(tmp_path, capsys):
    assert run("demo", "--plot", tmp_path / "d.png") == 0
    out, err = capsys.readouterr()
    flat = " ".join(out.split())
    assert flat.startswith("Certain and wrong, overconfident, biased between classes. ")
    assert "Certain and wrong: 164 times (fewer than 0.01 expected)" in flat
    assert "Overconfident: temperature " in flat
    assert ": 1,797 forecasts of 10 classes, independent rows (nothing speaks against it) " in flat
    assert "digits" in err


BAD = {
    "missing column": (["--truth", "happend", "--prob", "probability"], "did you mean 'happened'"),
    "not a probability": (["--prob", "percentage"], "look like percentages"),
    "logits": (["--prob", "logit"], 'look like logits: scale="logits" (--scale logits)'),
    "bad floor": (["--floor", "2"], "floor"),
    "bins of isotonic": (["--measured", "isotonic:bins=4"], "isotonic has no setting 'bins'; it has none"),
    "bad picture": (["--plot", "x.gif"], "known: .png, .svg, .pdf"),
    "no such folder": (["--json", "nowhere/x.json"], "there is no directory"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input_leaves_with_2_and_writes_nothing(forecasts, tmp_path, capsys, case):
    path, _ = forecasts
    options, message = BAD[case]
    outputs = [] if "--plot" in options or "--json" in options else ["--json", tmp_path / "o.json"]
    before = set(tmp_path.iterdir())
    assert run("assess", path, *options, *outputs) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert message in err
    assert err.count("\n") <= 3  # guesses may be said before
    assert err.splitlines()[-1].startswith("unperplexed: ")
    assert set(tmp_path.iterdir()) == before


@pytest.mark.parametrize("arguments", [[], ["assess"], ["assess", "x.csv", "--view", "all"], ["frobnicate"]])
def test_bad_arguments_leave_with_2(arguments, capsys):
    with pytest.raises(SystemExit) as caught:
        run(*arguments)
    assert caught.value.code == 2
    assert "usage: see unperplexed" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("assess f.csv --pro p", "--pro: assess has no such option; did you mean --prob?"),
        ("lm f.jsonl --capacity 3", "--capacity: lm has no such option; see unperplexed lm --help."),
        ("lm f.jsonl --sheet x", "--sheet: lm has no such option"),
        ("tally f.csv --rebuild", "--rebuild: tally has no such option; see unperplexed tally --help."),
        ("assess f.csv --turth y", "--turth: assess has no such option; did you mean --truth?"),
        ("assess f.csv --trut=y", "--trut: assess has no such option; did you mean --truth?"),
        ("compare f.csv --qqqqqqq", "--qqqqqqq: compare has no such option; see unperplexed compare --help."),
        ("explain --truth y", "--truth: explain has no such option"),
        ("lm log.json --groups g", "--groups: lm takes --by."),
    ],
)
def test_flags_are_typed_in_full(capsys, words, message):
    assert run(*words.split()) == 2
    assert message in capsys.readouterr().err


@pytest.mark.parametrize("name", former.COMMANDS)
def test_former_commands_are_told_todays(capsys, name):
    """What it says can be typed: it names a command and flags that there are."""
    assert run(name, "f.csv") == 2
    said = capsys.readouterr().err
    assert said.startswith(f"unperplexed: {name}: the command is unperplexed {former.COMMANDS[name]}.")
    command, *words = former.COMMANDS[name].split()
    assert {word for word in words if word.startswith("-")} <= flags_of(command)


@pytest.mark.slow
@pytest.mark.parametrize("name", former.FLAGS)
def test_former_flags_are_told_todays(capsys, name):
    """By every command that had them, or by those that have what they became; what a command has is no former flag."""
    *only, flag = name.split()
    told = set(re.findall(r"(?<![\w-])--?[a-z][a-z-]*", former.FLAGS[name]))
    own = {each.removesuffix(f" {flag}") for each in former.FLAGS} - {*only}
    having = only or [command for command in COMMANDS if told <= flags_of(command) - {flag} and command not in own]
    having = [command for command in having if only or flag not in flags_of(command)]
    assert having
    for command in having:
        assert told <= flags_of(command)
        assert flag not in flags_of(command)
        assert run(command, "f.csv", flag, "x") == 2
        assert former.FLAGS[name] in capsys.readouterr().err
        for typed in re.findall(r"(?<![(\w-])(--[a-z][a-z-]*(?: (?!for|or)[\w=:.*'-]+)+)", former.FLAGS[name]):
            output = ["-o", "x"] if "-o" in flags_of(command) else []
            _parsed(_parser(), [command, "f.csv", *output, *typed_as(typed).split()])


def typed_as(text):
    """Give values for what stands for one."""
    for word, value in {"LOW": "0.01", "HIGH": "0.99", "L:": "7:", "EXACT": "512", "BITS": "9"}.items():
        text = text.replace(word, value)
    return re.sub("=$", "=1", text)


ROOT = Path(__file__).parents[2]
TEXTS = [
    path
    for folder, suffixes in (("src", (".py", ".md")), ("docs", (".md", ".csv")), ("examples", (".py", ".md")))
    for path in [*(ROOT / folder).rglob("*"), ROOT / "README.md", ROOT / "CHANGELOG.md"]
    if path.suffix in suffixes and path.name != "former.py"
]
ELSEWHERE = {"--html", "--target", "--level", "--name", "--model", "--score"}
"""Flags of other programs too, which pages name."""


def test_former_flags_stand_nowhere():
    """Neither in a message nor on a page: what is not a flag of any command any more is only in its list."""
    today = {flag for command in COMMANDS for flag in flags_of(command)}
    gone = {flag for name in former.FLAGS for flag in name.split()[-1:]} - today - ELSEWHERE
    for path in TEXTS:
        lines = [line for line in path.read_text("utf-8").splitlines() if "benchmarks/" not in line]
        found = set(re.findall(r"(?<![\w-])--[a-z][a-z-]*", "\n".join(lines)))
        assert not found & gone, path


PACKED = {
    "--show": ("orders", "bins"),
    "--style": ("title", "size", "font-size", "colours", "axes", "outcome"),
    "--tag": ("name", "model", "period"),
    "--costs": meaning.COSTS,
    "--censored": ("above", "below"),
    "--hub": ROLES[:2],
}
PACKED["--method"] = ("order", "power", "map", "equal")
"""Settings that are said inside an option: each counts like a flag."""


def test_slots_and_distinct_flags_stay_few():
    """Every flag of a command is a slot. The bounds fall with each flag that goes.

    Distributions took 79, groups 29, --force and the --forecaster of assess 4, operations 4: --rebuild, --min-effect,
    --capacity and --prevalence; the plan of a study 11, lm 1, pictures for print 40, pools of distributions 6.
    """
    slots = [flag for command in COMMANDS for flag in flags_of(command) if flag.startswith("--")]
    slots += [key for flag in slots for key in PACKED.get(flag, ())]
    assert len(slots) <= 510
    assert len({*slots}) <= 114


@pytest.mark.parametrize(
    ("words", "read"),
    [
        ("assess f.csv", ([], None)),
        ("assess f.csv --clusters none", ([], None)),
        ("assess f.csv --clusters day,place", ([["day", "place"]], None)),
        ("compare f.csv --clusters day", ([["day"]], None)),
        ("compare f.csv --clusters day place", ([["day"], ["place"]], None)),
        ("monitor f.csv --clusters none", ([], "none")),
        ("monitor f.csv --clusters period", ([], "period")),
        ("monitor f.csv --clusters day", ([["day"]], None)),
    ],
)
def test_clusters_are_read_once(words, read):
    """A comma joins columns whose values are shared together; two words are two ways."""
    arguments = _parser().parse_args(words.split())
    arguments.given = {}
    settle(arguments)
    assert (arguments.ways, arguments.units) == read
    assert arguments.cluster_columns == (arguments.ways[0] if arguments.ways else [])


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("assess f.csv --clusters day place", "For rows that share all name day,place, with commas."),
        ("assess f.csv --floor 0.05 0.9", "--floor 0.05 0.9: expected one number, or for assess also 1 minus it"),
        ("assess f.csv --floor 0.01 0.99 0.5", "--floor 0.01 0.99 0.5: expected one number, or for assess also 1"),
        ("compare f.csv --floor 0.05 0.95", "expected one number, or for assess also 1 minus it"),
        ("assess f.csv --plot x.png --style size=8x5 size=3x3", "--style size: is given twice; leave one out."),
        ("assess f.csv --style colour=red", "--style colour=red: expected KEY=VALUE; the keys are title"),
        ("compare f.csv --plot x.png --style axes=nelson", "the keys are title, size, font-size, colours, outcome."),
        (
            "skill f.csv --plot x.png --style size=800x600",
            "--style size: expected width and height from 2 to 50 inches",
        ),
        ("skill f.csv --plot x.png --style font-size=big", "--style font-size: expected a number, got 'big'"),
        ("tally f.csv --cells all", "--cells all: expected whole numbers, such as 65536:9"),
        ("compare f.csv --forecaster a=p model", "expected NAME=COLUMN for each forecaster of one file, or one"),
        ("compare f.csv --lag many", "--lag many: expected places, such as 14, or places within series, 14:station."),
    ],
)
def test_options_that_cannot_be_read(capsys, words, message):
    assert run(*words.split()) == 2
    assert message in " ".join(capsys.readouterr().err.split())


def test_a_swallowed_file_is_explained(forecasts, capsys):
    with pytest.raises(SystemExit):
        run("assess", "--prob", "probability", "--truth", "happened", forecasts[0])
    assert "FILE comes first" in capsys.readouterr().err


def test_input_and_outputs_never_overwrite_one_another(forecasts, tmp_path, capsys):
    path, _ = forecasts
    before = path.read_bytes()
    (tmp_path / "link.json").symlink_to(path)
    for outputs in (["--json", path], ["--json", tmp_path / "link.json"], ["--json", "a.png", "--plot", "./a.png"]):
        assert run("assess", path, *outputs) == 2
        assert "would overwrite" in capsys.readouterr().err
    assert path.read_bytes() == before
    assert run("assess", path, "--json", "/dev/null") == 2
    assert "not a regular file" in capsys.readouterr().err


@pytest.mark.slow
def test_a_full_disk_is_said(forecasts):
    command = f"{sys.executable} -m unperplexed assess {forecasts[0]} --resamples 0 > /dev/full"
    done = subprocess.run(["bash", "-c", command], capture_output=True, check=False, text=True)
    assert done.returncode == 2
    assert done.stderr.splitlines()[-1] == "unperplexed: cannot write the output: No space left on device"


@pytest.mark.parametrize("separator", ["tab", "\\t", "\t"])
def test_separators(tmp_path, capsys, separator):
    path = tmp_path / "f.txt"
    path.write_text("y\tp\n1\t0.5\n0\t0.25\n")
    assert run("assess", path, "--separator", separator, "--json", "-") == 0
    assert json.loads(capsys.readouterr().out)["n_rows"] == 2
    assert run("assess", path, "--separator", ";;") == 2
    assert "one character" in capsys.readouterr().err


def test_interruption_leaves_with_130(forecasts, monkeypatch, capsys, tmp_path):
    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("unperplexed.sources.map_reduce.ForecastFiles", interrupted)
    before = set(tmp_path.iterdir())
    assert run("assess", forecasts[0], "--json", tmp_path / "x.json") == 130
    assert "interrupted" in capsys.readouterr().err
    assert set(tmp_path.iterdir()) == before


@pytest.mark.slow
def test_a_closed_pipe_is_no_error(forecasts):
    command = f"{sys.executable} -m unperplexed assess {forecasts[0]} --resamples 0 --json - | head -c 10"
    done = subprocess.run(["bash", "-o", "pipefail", "-c", command], capture_output=True, check=False)
    assert done.stdout == b'{\n  "schem'
    assert b"Traceback" not in done.stderr
    assert b"BrokenPipe" not in done.stderr


def test_version(capsys):
    with pytest.raises(SystemExit) as caught:
        run("--version")
    assert caught.value.code == 0
    assert capsys.readouterr().out == f"unperplexed {__version__} ({KERNEL})\n"


def choices(command, option):
    return next(a for a in COMMANDS[command]._actions if option in a.option_strings).choices


def test_choices_are_those_of_the_library():
    assert set(choices("assess", "--view")) == {"auto", *VIEWS}
    assert choices("tally", "--parts") == PARTS


@pytest.mark.slow
def test_the_each_class_view_of_tallies(forecasts, tmp_path, capsys):
    path, _ = forecasts
    columns = ["--truth", "happened", "--prob", "probability"]
    assert run("assess", path, *columns, "--view", "each-class", "--json", "-") == 0
    whole = capsys.readouterr().out
    with_parts, without = tmp_path / "with.tally", tmp_path / "without.tally"
    assert run("tally", path, *columns, "--parts", *CLASS_PARTS, "-o", with_parts) == 0
    assert run("tally", path, *columns, "-o", without) == 0
    capsys.readouterr()
    assert run("assess", with_parts, "--view", "each-class", "--json", "-") == 0
    assert without_dependence(capsys.readouterr().out) == without_dependence(whole)
    # Rows of two classes are counted by outcome: it takes no parts, and it is the default.
    for view in (["--view", "each-class"], ["--view", "auto"], []):
        assert run("assess", without, *view, "--json", "-") == 0
        assert json.loads(capsys.readouterr().out)["classes"] == json.loads(whole)["classes"]


def test_the_each_class_view_of_tallies_of_three_classes(tmp_path, capsys):
    path, columns = tmp_path / "three.csv", ["--truth", "y", "--prob", "a", "b", "c"]
    path.write_text("y,a,b,c\na,0.8,0.1,0.1\nb,0.2,0.5,0.3\nc,0.1,0.1,0.8\n")
    with_parts, without = tmp_path / "with.tally", tmp_path / "without.tally"
    assert run("tally", path, *columns, "--parts", *CLASS_PARTS, "-o", with_parts) == 0
    assert run("tally", path, *columns, "-o", without) == 0
    capsys.readouterr()
    assert run("assess", path, *columns, "--view", "each-class", "--json", "-") == 0
    whole = json.loads(capsys.readouterr().out)
    assert run("assess", with_parts, "--view", "each-class", "--json", "-") == 0
    assert json.loads(capsys.readouterr().out)["classes"] == whole["classes"]
    assert run("assess", without, "--view", "each-class") == 2
    assert "(--parts classes predictions)" in capsys.readouterr().err


@pytest.mark.slow
def test_several_files_and_standard_input(forecasts, tmp_path, capsys, monkeypatch):
    path, frame = forecasts
    assert run("assess", path, "--truth", "happened", "--prob", "probability", "--json", "-") == 0
    whole = capsys.readouterr().out
    for at, start in enumerate(range(0, 400, 150)):
        frame[start : start + 150].write_parquet(tmp_path / f"part{at}.parquet")
    columns = ["--truth", "happened", "--prob", "probability", "--json", "-"]
    assert run("assess", *sorted(tmp_path.glob("part*")), *columns) == 0
    assert capsys.readouterr().out == whole
    assert run("assess", tmp_path / "part*.parquet", *columns) == 0
    assert capsys.readouterr().out == whole
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(path.read_bytes())))
    assert run("assess", "-", *columns) == 0
    out, err = capsys.readouterr()
    assert out == whole
    assert err == "unperplexed: standard input read as csv\n"


@pytest.mark.parametrize(
    ("engine", "message"),
    [
        (["--engine", "local:8"], "engine (--engine): 'local' has no address, got '8'"),
        (["--engine", "dask:tcp://10.0.0.1:8786"], "The engine 'dask' needs Dask: pip install 'unperplexed[dask]'"),
        (["--engine", "dask"], "The engine 'dask' needs Dask: pip install 'unperplexed[dask]'"),
        (["--engine", "spark"], "The engine 'spark' needs PySpark: pip install 'unperplexed[spark]'"),
    ],
)
@pytest.mark.parametrize("command", ["assess", "tally"])
def test_an_engine_that_cannot_count(forecasts, tmp_path, capsys, monkeypatch, command, engine, message):
    for library, module in (("dask", "dask"), ("py4j", "spark"), ("py4j.protocol", "spark")):
        monkeypatch.setitem(sys.modules, library, None)
        monkeypatch.delitem(sys.modules, f"unperplexed.sources.engines.{module}", raising=False)
    output = ["-o", tmp_path / "t.tally"] if command == "tally" else []
    assert run(command, forecasts[0], "--truth", "happened", "--prob", "probability", *engine, *output) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert message in err


def test_only_this_process_has_standard_input(forecasts, capsys, monkeypatch):
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(forecasts[0].read_bytes())))
    assert run("assess", "-", "--truth", "happened", "--prob", "probability", "--engine", "dask") == 2
    assert "standard input: only the engine local reads it" in capsys.readouterr().err


@pytest.mark.slow
def test_decimal_comma_and_format(forecasts, tmp_path, capsys):
    path, frame = forecasts
    columns = ["--truth", "happened", "--prob", "probability", "--json", "-"]
    assert run("assess", path, *columns) == 0
    whole = capsys.readouterr().out
    frame.write_csv(tmp_path / "f.dat", separator=";", decimal_comma=True)
    written = ["--format", "csv", "--separator", ";"]
    assert run("assess", tmp_path / "f.dat", *columns, *written, "--decimal-comma") == 0
    assert capsys.readouterr().out == whole
    assert run("assess", tmp_path / "f.dat", *columns, *written) == 2
    assert "not a number in " in capsys.readouterr().err
    assert run("assess", path, *columns, "--format", "xlsx") == 2
    assert "--format xlsx: known are csv," in capsys.readouterr().err


def test_an_output_never_overwrites_one_of_many_inputs(forecasts, tmp_path, capsys):
    path, frame = forecasts
    frame.write_csv(tmp_path / "other.csv")
    assert run("assess", tmp_path / "*.csv", "--json", tmp_path / "other.csv") == 2
    assert "would overwrite" in capsys.readouterr().err


def test_progress_is_shown_on_a_terminal_only(monkeypatch):
    from unperplexed._lib.progress import progress_bar

    with progress_bar() as progress:
        assert progress is None

    class Terminal(io.StringIO):
        def isatty(self):
            return True

    terminal = Terminal()
    monkeypatch.setattr("sys.stderr", terminal)
    with progress_bar() as progress:
        progress(10, 500, 1000)
        progress(20, 1000, 1000)
    assert terminal.getvalue().strip("\r ") == ""  # it took less than a second


TALLY_INPUT = ("--truth", "happened", "--prob", "probability")


@pytest.mark.slow
def test_tallies_of_parts_are_the_whole(forecasts, tmp_path, capsys):
    """Counted apart, one of them by a process of its own, merged in any order: the same JSON as that of the file."""
    path, frame = forecasts
    for at, part in enumerate((frame[:150], frame[150:150], frame[150:151], frame[151:])):
        part.write_csv(tmp_path / f"{at}.csv")
        command = ["tally", tmp_path / f"{at}.csv", *TALLY_INPUT, "-o", tmp_path / f"{at}.tally"]
        if at:
            assert run(*command) == 0
        else:
            subprocess.run([sys.executable, "-m", "unperplexed", *command], check=True, capture_output=True)
    capsys.readouterr()
    assert run("assess", path, *TALLY_INPUT, "--json", "-") == 0
    expected = capsys.readouterr().out
    assert run("tally", *(tmp_path / f"{at}.tally" for at in (2, 0, 3, 1)), "-o", tmp_path / "all.tally") == 0
    assert "400 forecasts" in capsys.readouterr().out
    for files in (
        [tmp_path / "all.tally"],
        [tmp_path / "[0-3].tally"],
        [tmp_path / "[01].tally", tmp_path / "[23].csv"],
    ):
        reading = TALLY_INPUT if files[-1].suffix == ".csv" else ()
        assert run("assess", *files, *reading, "--json", "-") == 0
        assert without_dependence(capsys.readouterr().out) == without_dependence(expected)


def test_a_part_does_not_guess_its_classes(tmp_path, capsys):
    for name, labels in (("a", [-1, 1]), ("b", [1, 1]), ("c", [-1, -1])):
        pl.DataFrame({"happened": labels, "probability": [0.2, 0.9]}).write_csv(tmp_path / f"{name}.csv")
        assert run("tally", tmp_path / f"{name}.csv", *TALLY_INPUT, "-o", tmp_path / f"{name}.tally") == 0
    assert run("tally", *(tmp_path / f"{name}.tally" for name in "bca"), "-o", tmp_path / "all.tally") == 0
    assert "6 forecasts of 2 classes (-1, 1)" in capsys.readouterr().out


def test_a_tally_says_what_it_holds(forecasts, tmp_path, capsys):
    path = tmp_path / "x.tally"
    counting = (
        "--parts",
        "classes",
        "shards",
        "--clusters",
        "heft",
        "--metric",
        "power_score(2)",
        "--cells",
        "9",
    )
    assert run("tally", forecasts[0], *TALLY_INPUT, *counting, "-o", path) == 0
    said = capsys.readouterr().out
    assert "in cells of relative width 2^-9" in said
    assert "parts: classes, shards" in said
    assert f"from{forecasts[0]}:400rows" in re.sub(r"\s+", "", said)  # a long path is folded
    assert run("tally", path) == 0
    assert capsys.readouterr().out == said
    assert run("tally", path, "--json", "-") == 0
    found = json.loads(capsys.readouterr().out)
    assert found["n_rows"] == 400
    assert found["scores"]["power_score(2)"]["proper"]
    assert [row["label"] for row in found["classes"]] == ["0", "1"]
    assert Tally.load(path).shards.rows.key.size == 3


def test_the_section_of_scores_has_them_all(forecasts, tmp_path, capsys):
    path, frame = forecasts
    further = ["ranked_probability_score", "generalized_surprisal(-0.5)"]
    assert (
        run("assess", path, *TALLY_INPUT, "--show", "scores", "--metric", *further, "--json", tmp_path / "s.json") == 0
    )
    out = capsys.readouterr().out
    found = json.loads((tmp_path / "s.json").read_text())["shown"]["scores"]
    assert found.keys() == {*SCORES, *further}
    assert max(map(len, out.splitlines())) <= 80
    for name, score in found.items():
        assert score["mean"] == pytest.approx(row_scores(frame["happened"], frame["probability"], name).mean())
        assert re.search(rf"^{re.escape(rule_text(name))} +{score['mean']:.3f} ", out, re.MULTILINE)


@pytest.mark.parametrize("bins", [None, 7])
def test_the_section_of_calibration_has_errors_and_parts(forecasts, tmp_path, capsys, bins):
    path, frame = forecasts
    section = "calibration" if bins is None else f"calibration:bins={bins}"
    assert run("assess", path, *TALLY_INPUT, "--show", section, "--json", tmp_path / "c.json") == 0
    out = capsys.readouterr().out
    assert max(map(len, out.splitlines())) <= 80
    found = json.loads((tmp_path / "c.json").read_text())["shown"]["calibration"]
    data = (frame["happened"], frame["probability"])
    errors = calibration_errors(*data, bins=bins or DEFAULT_BINS)
    assert found["bins"] == (bins or DEFAULT_BINS)
    assert found["errors"] == {view: vars(of_view) for view, of_view in errors.items()}
    for name in ("ece", "smooth_ece"):
        figures = " +".join(f"{getattr(of_view, name):.3f}" for of_view in errors.values())
        shown = "ECE, bins of equal width" if name == "ece" else "smooth ECE, without bins"
        assert re.search(rf"^{shown} +{figures}$", out, re.MULTILINE)
    for score in ("brier_score", "log_loss"):
        parts = decompose(*data, score=score)
        assert found["decompositions"][score] == vars(parts)
        figures = [parts.score, parts.miscalibration, parts.discrimination, parts.uncertainty]
        line = " +".join(f"{figure:.3f}" for figure in figures)
        assert re.search(rf"^{rule_text(score)} +{line} +each-class$", out, re.MULTILINE)
        part = f"{share(parts.miscalibration / parts.score)} of the {rule_text(score)}"
        assert f"{part} ({figures[1]:.3f} of {figures[0]:.3f})" in " ".join(out.split())
    assert "without a floor, and include overfitting" in " ".join(_section(out).split())
    assert run("tally", path, *TALLY_INPUT, "--parts", "classes", "-o", tmp_path / "c.tally") == 0
    capsys.readouterr()
    assert run("assess", tmp_path / "c.tally", "--show", section) == 0
    assert _section(capsys.readouterr().out) == _section(out)


def _section(text):
    return text.partition("\nMiscalibration by the isotonic decomposition (CORP) is ")[2].partition("settings:")[0]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["assess", "{}empty.tally", "--show", "calibration"], "empty.tally: no rows to assess"),
        (["assess", "{}.tally", "--truth", "happened"], "--truth is for the reading of rows"),
        (["assess", "{}.tally", "--invalid", "drop"], "--invalid is for the reading of rows"),
        (["assess", "{}.tally", "--metric", "power_score(1)"], "--metric is for the reading of rows"),
        (["tally", "{}.tally", "--parts", "shards", "-o", "{}2.tally"], "--parts is for the reading of rows"),
        (["tally", "{}.tally", "--cells", "5", "-o", "{}2.tally"], "--cells is for the reading of rows"),
        (["assess", "{}.tally", "--separator", ";"], "--separator is for the reading of rows"),
        (["assess", "{}.tally", "--engine", "dask"], "--engine is for the reading of rows"),
        (
            ["tally", "{}.csv", *TALLY_INPUT, "--clusters", "heft", "-o", "{}2.tally"],
            "a tally keeps them only in its shards",
        ),
        (["tally", "{}.tally", "{}.csv", *TALLY_INPUT], "-o: missing; name the tally file to write"),
        (["tally", "{}.tally", "-o", "{}.tally"], "would overwrite"),
        (["tally", "{}.tally", "-o", "{}.txt"], "cannot write this format"),
        (["tally", "{}.tally", "{}.tally", "-o", "{}2.tally"], "named twice"),
        (["tally", "{}.tally", "{}3.tally", "-o", "{}2.tally"], "3.tally: does not add up.*different scores"),
        (["tally", "{}.tally", "{}3.tally"], "3.tally: does not add up.*different scores"),
        (["tally", "{}none.tally"], "cannot be read: No such file"),
        (["tally", "{}cut.tally"], "truncated"),
        (["assess", "{}empty.tally"], "empty.tally: no rows to assess"),
        (["tally", "{}.csv", *TALLY_INPUT], "-o: missing; name the tally file to write"),
        (["assess", "{}.csv", *TALLY_INPUT, "--metric", "powr_score(1)"], "did you mean"),
        (
            ["tally", "{}.csv", *TALLY_INPUT, "--clusters", "hefd", "--parts", "shards", "-o", "{}2.tally"],
            "did you mean 'heft'",
        ),
    ],
)
def test_tallies_refused(forecasts, tmp_path, capsys, arguments, message):
    base = str(forecasts[0].with_suffix(""))
    Tally.of([1], [0.5]).save(f"{base}.tally")
    Tally.of([1], [0.5], metrics=["power_score(1)"]).save(f"{base}3.tally")
    Tally().save(f"{base}empty.tally")
    (tmp_path / "forecastscut.tally").write_bytes(Tally.of([1], [0.5]).to_bytes()[:-9])
    before = {path: path.read_bytes() for path in tmp_path.iterdir()}
    assert run(*(argument.replace("{}", base) for argument in arguments)) == 2
    assert re.search(message, capsys.readouterr().err)
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == before


def holds_data(folder):
    with suppress(FileNotFoundError):  # others come and go
        return any(path.stat().st_size > 1000 for path in folder.iterdir())


@pytest.mark.slow
def test_termination_leaves_no_copy_of_standard_input(tmp_path):
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    command = [sys.executable, "-m", "unperplexed", "assess", "-", *TALLY_INPUT]
    with subprocess.Popen(command, stdin=subprocess.PIPE, env=environment) as process:
        process.stdin.write(b"happened,probability\n" + b"1,0.5\n" * 300_000)
        process.stdin.flush()
        deadline = time.monotonic() + 60
        while not holds_data(tmp_path) and time.monotonic() < deadline:
            time.sleep(0.01)
        assert holds_data(tmp_path)
        process.terminate()
        with suppress(BrokenPipeError):  # a signal that comes just before a read is noticed after it
            process.stdin.write(b"1,0.5\n")
            process.stdin.flush()
        assert process.wait(60) == 143
    assert not any(tmp_path.iterdir())


@pytest.mark.slow
def test_closed_standard_output_is_no_traceback(forecasts):
    command = f"{sys.executable} -m unperplexed assess {forecasts[0]} {' '.join(TALLY_INPUT)} --resamples 0 >&-"
    done = subprocess.run(["bash", "-c", command], capture_output=True, check=False)
    assert done.returncode == 0
    assert done.stderr == b""


def test_names_from_outside_move_no_cursor(tmp_path, capsys):
    Tally.of([1], [0.5], source="a\x1b[31m\nfrom fake: 7").save(tmp_path / "x.tally")
    assert run("tally", tmp_path / "x.tally") == 0
    out = capsys.readouterr().out
    assert "\x1b" not in out
    assert out.splitlines()[-1] == r"from a\x1b[31m\nfrom fake: 7: 1 row"


def test_a_long_name_of_an_output(forecasts, tmp_path):
    path = tmp_path / ("x" * 240 + ".tally")
    assert run("tally", forecasts[0], *TALLY_INPUT, "-o", path) == 0
    assert Tally.load(path).n_rows == 400


def test_calibration_of_a_tally_without_classes_shows_the_other_views(tmp_path, capsys):
    p = [[0.5, 0.3, 0.2], [0.4, 0.5, 0.1], [0.1, 0.2, 0.7]]
    Tally.of([0, 1, 2], p, labels=range(3)).save(tmp_path / "plain.tally")
    assert run("assess", tmp_path / "plain.tally", "--show", "calibration") == 0
    printed = capsys.readouterr().out
    assert "errors of each class need a tally with the part classes" in printed
    assert "top-label all-classes" in " ".join(printed.split())


def test_calibration_says_when_it_is_made_from_coarse_cells(tmp_path, capsys):
    path = tmp_path / "f.csv"
    path.write_text("y,p\n" + "\n".join(f"{i % 2},{(i + 0.5) / 50}" for i in range(50)))
    columns, shown = ["--truth", "y", "--prob", "p"], ["--show", "calibration"]
    assert run("tally", path, *columns, "--parts", "classes", "--cells", "10", "-o", tmp_path / "f.tally") == 0
    assert run("assess", tmp_path / "f.tally", *shown) == 0
    assert "from coarse cells" in capsys.readouterr().out
    assert run("assess", path, *columns, *shown) == 0
    assert "from coarse cells" not in capsys.readouterr().out


EXAMPLE = Path(__file__).parents[2] / "examples" / "breast_cancer.csv"
OF_SCIPY = {"scipy.stats", "scipy.fft", "scipy.linalg"} | ({"scipy.optimize"} if KERNEL == "compiled kernel" else set())
ALL_OF_SCIPY = {"scipy"} if KERNEL == "compiled kernel" else OF_SCIPY
OF_CLASSES = {
    f"unperplexed.calibration.diagnosis.{name}" for name in ("multiclass", "class_scores", "class_statistics")
}
MOST_MODULES = 184
"""Each takes a third of a millisecond to load. Four are the kinds of errors that only distributions of numbers have."""
ASKED_FOR = {
    f"unperplexed.{name}"
    for name in (
        "describe.skill",
        "pairing.skill",
        "maps.families",
        "calibration.null_samples",
        "recalibration.averaging",
    )
}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("command", "unneeded"),
    [
        ("--version", {"numpy", "polars", "scipy", "matplotlib", "pyarrow"}),
        (
            "tally rows.csv --truth y --prob p -o rows.tally",
            {"scipy", "matplotlib", "pyarrow", "tqdm", "dask", "pyspark"},
        ),
        (
            "assess rows.csv --truth y --prob p",
            {"matplotlib", "pyarrow", "tqdm", "sklearn", "torch", "dask", "pyspark", *OF_SCIPY, *OF_CLASSES},
        ),
        (
            f"assess {EXAMPLE} --truth diagnosis --prob malignant",
            {"matplotlib", "pyarrow", "numpy.ma", "tomllib", *ALL_OF_SCIPY, *OF_CLASSES, *ASKED_FOR},
        ),
        ("lm texts.jsonl", {"matplotlib", "pyarrow", "polars", "unperplexed.assessment.assess"}),
    ],
)
def test_nothing_is_loaded_that_is_not_needed(tmp_path, command, unneeded):
    (tmp_path / "rows.csv").write_text("y,p\n1,0.9\n0,0.4\n")
    (tmp_path / "texts.jsonl").write_text('{"doc": "a", "text": "Hello", "logprobs": [-1.5, -0.25]}\n' * 2)
    code = (
        "import sys\nfrom contextlib import suppress\nfrom unperplexed.cli.parser import main\n"
        f"with suppress(SystemExit):\n    main({command.split()})\n"
        "print(*sys.modules, file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True)
    loaded = set(done.stderr.split())
    assert "unperplexed" in loaded
    assert not loaded & unneeded
    assert sum(name.startswith("unperplexed") for name in loaded) <= MOST_MODULES


@pytest.mark.slow
def test_quiet_prints_nothing_but_what_is_asked_for(tmp_path, capsys):
    columns = ["--truth", "diagnosis", "--prob", "malignant"]
    tally, numbers = tmp_path / "a.tally", tmp_path / "a.json"
    assert run("assess", EXAMPLE, *columns, "--json", numbers, "--quiet") == 0
    assert main(["tally", str(EXAMPLE), *columns, "-q", "-o", str(tally)]) == 0
    assert main(["tally", str(tally), "-q"]) == 0
    assert capsys.readouterr() == ("", "")
    assert tally.exists()
    assert run("assess", EXAMPLE, *columns, "--json", "-", "--quiet") == 0
    printed = capsys.readouterr()
    assert json.loads(printed.out) == json.loads(numbers.read_text())
    assert printed.err == ""
    assert main(["assess", "nothing.csv", *columns, "--quiet"]) == 2
    assert "nothing.csv" in capsys.readouterr().err


@pytest.mark.parametrize("shell", ["bash", "zsh"])
def test_completion(capsys, shell):
    with pytest.raises(SystemExit, match="0"):
        main(["--completion", shell])
    script = capsys.readouterr().out
    assert "unperplexed" in script
    assert "assess" in script
    assert "--report" in script


@pytest.mark.skipif(shutil.which("bash") is None, reason="there is no bash")
@pytest.mark.parametrize(
    "words",
    [
        ["assess", "wett"],
        ["assess", "wetter.csv", "--truth", "Regen", "--json", "wett"],
        ["assess", "wetter.csv", "--report", "wett"],
        ["assess", "wetter.csv", "--plot", "wett"],
        ["compare", "wett"],
        ["tally", "wetter.csv", "-o", "wett"],
    ],
    ids=" ".join,
)
def test_bash_completes_names_of_files(capsys, tmp_path, words):
    """As bash asks for it: the words so far, and the place of the one to be completed."""
    with pytest.raises(SystemExit, match="0"):
        main(["--completion", "bash"])
    script = capsys.readouterr().out
    (tmp_path / "wetter.csv").touch()
    asked = f"COMP_WORDS=(unperplexed {' '.join(words)}); COMP_CWORD={len(words)}; _shtab_unperplexed"
    said = subprocess.run(
        ["bash", "--norc"], input=f'{script}\n{asked}\necho "${{COMPREPLY[@]}}"', cwd=tmp_path, text=True,
        capture_output=True, check=True,
    )  # fmt: skip
    assert said.stdout.split() == ["wetter.csv"]


@pytest.mark.parametrize("columns", ["80", "60", "40"])
def test_the_profile_fits_and_names_its_means(capsys, monkeypatch, columns):
    """Rising, with the named means where they belong."""
    monkeypatch.setenv("COLUMNS", columns)
    shown = ["assess", str(EXAMPLE), "--truth", "diagnosis", "--prob", "malignant", "--resamples", "0", "--show"]
    assert main([*shown, "profile"]) == 0
    printed = capsys.readouterr().out
    assert max(map(len, printed.splitlines())) <= int(columns)
    table = printed.partition("\norder ")[2].partition("\n\n")[0]
    means = {
        line[0]: float(line[1]) for line in map(str.split, table.splitlines()[1:]) if line[0].startswith(("−", *"0123"))
    }
    assert list(means.values()) == sorted(means.values())
    assert len(means) == 14
    for order, name in (("−2/3", "robustness"), ("0", "geometric accuracy"), ("1", "decisiveness")):
        assert re.search(rf"^{order} [^\n]*\s.*?{name}", table, re.MULTILINE)
    assert main([*shown, "profile:orders=0,1"]) == 0
    assert len(capsys.readouterr().out.partition("\norder ")[2].partition("\n\n")[0].splitlines()) >= 3


@pytest.mark.slow
def test_surprises_are_in_the_report_and_kept_by_a_tally_when_asked(forecasts, tmp_path, capsys):
    path, _ = forecasts
    assert run("assess", path, *TALLY_INPUT, "--resamples", 0, "--report", tmp_path / "rows.html") == 0
    shown = "The most surprising forecasts"
    assert shown in (tmp_path / "rows.html").read_text("utf-8")
    for parts, there in (((), False), (("--parts", "surprises"), True)):
        assert run("tally", path, *TALLY_INPUT, *parts, "-o", tmp_path / "a.tally") == 0
        for others in ((), (path, *TALLY_INPUT)):
            assert (
                run("assess", tmp_path / "a.tally", *others, "--resamples", 0, "--report", tmp_path / "tally.html") == 0
            )
            assert (shown in (tmp_path / "tally.html").read_text("utf-8")) == there


@pytest.mark.slow
def test_colour_is_for_terminals_alone(forecasts, capsys, monkeypatch):
    path, _ = forecasts
    monkeypatch.delenv("NO_COLOR", raising=False)
    assert run("assess", path, *TALLY_INPUT, "--resamples", 0) == 0
    plain = capsys.readouterr().out
    assert "\x1b" not in plain
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    for variable, value, painted in (
        ("TERM", "xterm", True),
        ("NO_COLOR", "1", False),
        ("NO_COLOR", "", True),
        ("TERM", "dumb", False),
    ):
        monkeypatch.setenv(variable, value)
        assert run("assess", path, *TALLY_INPUT, "--resamples", 0) == 0
        shown = capsys.readouterr().out
        assert ("\x1b[" in shown) == painted
        assert re.sub(r"\x1b\[\d+m", "", shown) == plain
        assert run("assess", path, *TALLY_INPUT, "--json", "-") == 0
        assert "\x1b" not in capsys.readouterr().out


@pytest.mark.slow
@pytest.mark.parametrize("suffix", ["svg", "pdf"])
def test_pictures_are_the_same_each_time(forecasts, tmp_path, monkeypatch, suffix):
    path, _ = forecasts
    for name, second in (("a", "1"), ("b", "100000")):
        monkeypatch.setenv("SOURCE_DATE_EPOCH", second)  # what a date would be
        assert run("assess", path, *TALLY_INPUT, "--plot", tmp_path / f"{name}.{suffix}", "-q") == 0
    assert (tmp_path / f"a.{suffix}").read_bytes() == (tmp_path / f"b.{suffix}").read_bytes()


def test_headlines_are_in_colour_and_nothing_else():
    for calm, colour in ((False, 33), (True, 36)):
        document = Document("", "12 forecasts", "Overconfident (calibration slope 0.6)", "Overconfident.", calm=calm)
        first, *rest = terminal_text(document, colour=True).split("\n")
        assert first == f"\x1b[{colour}mOverconfident (calibration slope 0.6).\x1b[0m"
        assert "\n".join(rest) == "Overconfident.\n\n12 forecasts"
        assert "\x1b" not in terminal_text(document)


def test_adding_up_says_what_is_lost(tmp_path, capsys):
    rng = np.random.default_rng(3)
    p = rng.dirichlet(np.ones(3), 60)
    y = rng.integers(0, 3, 60)
    for name, tally in (
        ("with", Tally.of(y, p, labels=range(3))),
        ("without", replace(Tally.of(y, p, labels=range(3)), diagnosis=None)),
    ):
        tally.save(tmp_path / f"{name}.tally")
    files = [tmp_path / "with.tally", tmp_path / "without.tally"]
    assert run("tally", *files, "-o", tmp_path / "both.tally") == 0
    assert f"the part diagnosis is not in {files[1]}, and so not in the sum" in capsys.readouterr().err
    assert run("tally", files[0], "-o", tmp_path / "one.tally") == 0
    assert capsys.readouterr().err == ""


def help_of(capsys, *words):
    with pytest.raises(SystemExit, match="0"):
        main([*words])
    return capsys.readouterr().out


@pytest.mark.parametrize("name", COMMANDS)
@pytest.mark.parametrize("flag", ["--help", "--help-all"])
def test_help_has_every_flag_of_the_command_and_no_other(capsys, name, flag):
    shown = help_of(capsys, name, flag)
    assert max(map(len, shown.splitlines())) <= 80
    named = set(re.findall(r"(?<![\w-])--[a-z][a-z-]*", shown)) - HELP
    assert named == {each for each in flags_of(name) if each.startswith("--")}


@pytest.mark.parametrize("name", COMMANDS)
def test_help_is_short(capsys, name):
    assert len(help_of(capsys, name, "--help").splitlines()) <= (50 if name in ("check", "monitor") else 45)


@pytest.mark.parametrize("name", COMMANDS)
def test_all_help_explains_every_option(capsys, name):
    shown = " ".join(help_of(capsys, name, "--help-all").split())
    for action in COMMANDS[name]._actions:
        words = argparse.HelpFormatter("")._expand_help(action) if action.help else ""
        assert " ".join(words.split()) in shown or not HELP.isdisjoint(action.option_strings), action


@pytest.mark.parametrize("name", USAGE)
def test_examples_of_the_help_can_be_typed(name):
    for example in USAGE[name].examples:
        command, *words = shlex.split(example)
        assert command == name
        COMMANDS[name].parse_args(words)


@pytest.mark.parametrize("name", USAGE)
def test_what_to_read_next_is_there(name):
    *others, last = USAGE[name].also.split(", ")
    terms = re.findall(r"'unperplexed explain ([^']+)'", last)
    assert {*others, *([] if terms else [last])} <= {*COMMANDS}
    assert all(explain(term) for term in terms)


def test_the_programs_help_has_every_command_once(capsys):
    shown = help_of(capsys, "--help")
    assert re.findall(r"^  ([a-z]+)  +[a-z]", shown, re.MULTILINE) == [each for of in HEADINGS.values() for each in of]
    assert {each for of in HEADINGS.values() for each in of} == {*COMMANDS} == {*USAGE}
    assert max(map(len, shown.splitlines())) <= 80
    assert len(shown.splitlines()) <= 45


def test_a_condition_among_the_files_is_told_its_option(capsys):
    assert main(["assess", "age > 30", "--truth", "y", "--prob", "p"]) == 2
    assert "no such file. A condition on rows is --where 'age > 30'." in capsys.readouterr().err


def test_a_map_that_cannot_be_read_has_not_recalibrated(tmp_path, capsys):
    path = tmp_path / "f.csv"
    path.write_text("y,p\n1,0.75\n0,0.25\n")
    assert main(["assess", str(path), "--truth", "y", "--prob", "p", "--apply", str(tmp_path / "none.json")]) == 2
    err = capsys.readouterr().err
    assert "cannot be read" in err
    assert "recalibrated by" not in err
