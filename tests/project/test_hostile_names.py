"""Names from outside that look like parts of a sentence: nothing is cut at them, and each is shown as it is."""

import html
import json
import os
import re
import subprocess

import numpy as np
import pytest

from unperplexed import Recalibrator, Tally, assess, assess_by, check, compare, compare_sequentially, monitor, skill
from unperplexed._lib.formatting import capital, command_line, printable, short_name, short_names
from unperplexed.calibration.diagnosis.result import HELD_OUT, joined
from unperplexed.cli import main
from unperplexed.describe.assessment_tables import findings_table
from unperplexed.describe.comparison_tables import scores_table
from unperplexed.describe.groups import groups_chart
from unperplexed.report.document import command_lines

pytestmark = pytest.mark.usefixtures("equal_rows_are_fitted_once", "few_samples")

NAMES = [
    "a (mean prediction 1%).",
    'Remedy (p = 0.001): o\'clock "12"\nnext',
    "both beat {count}; <b>& no\u202eone\u200f, b",
]
every_name = pytest.mark.parametrize(
    "name", [pytest.param(name, marks=() if at == 0 else pytest.mark.slow) for at, name in enumerate(NAMES)]
)
"""One of them in every run, all in a whole one."""
OTHER = "the other"


def one_line(text):
    """Text without its line breaks, however it was wrapped."""
    return " ".join(text.split())


def quoted(name):
    return f"'{short_name(name)}'"


def page_of(found):
    """Everything that a report's page says, as plain text."""
    return one_line(html.unescape(re.sub("<[^>]+>", " ", found.to_html())))


def heading_of(found):
    [heading] = re.findall("<h1>(.*?)</h1>", found.to_html(), re.DOTALL)
    return html.unescape(heading)


def events(off=0.0, slope=1.0, n=3000, seed=0):
    """Outcomes and predictions, whose log-odds are off by a bias and a slope."""
    rng = np.random.default_rng(seed)
    s = rng.normal(0, 1.5, n)
    return rng.random(n) < 1 / (1 + np.exp(-s)), 1 / (1 + np.exp(-slope * s - off))


def labelled(y, name):
    return np.where(y, name, OTHER).astype(object)


def biased_classes(labels):
    """Outcomes and predictions of three classes, of which the second is underpredicted."""
    rng = np.random.default_rng(3)
    z = rng.normal(0, 1.5, (3000, 3))
    q, p = (np.exp(each) / np.exp(each).sum(axis=1, keepdims=True) for each in (z + np.array([0, 1.0, 0]), z))
    y = (rng.random(3000)[:, None] > np.cumsum(q, axis=1)).sum(axis=1)
    return np.array(labels, dtype=object)[y], p


@every_name
def test_a_verdict_has_the_label_once_and_whole(name):
    y, p = events(off=0.8)
    found = assess(labelled(y, name), p, pos_label=name, resamples=0)
    d = found.diagnosis
    [finding] = d.findings
    assert (finding.error, finding.label, finding.clause.subject) == ("bias", name, quoted(name))
    assert d.headline == f"Overpredicts {quoted(name)}"
    means = f"mean prediction {100 * p.mean():.1f}%, observed frequency {100 * y.mean():.1f}%"
    assert (finding.clause.detail, found.verdict) == (means, f"{d.headline} ({means}).")
    assert json.loads(found.to_json())["verdict"] == found.verdict
    assert one_line(str(found)).startswith(one_line(found.verdict))
    assert one_line(d.to_text()).startswith(one_line(found.verdict))
    assert one_line(d.to_text()).count(one_line(quoted(name))) == 1
    assert heading_of(found) == d.headline
    assert f"{d.headline} {means}" in page_of(found)
    assert one_line(found._repr_html_()).count(html.escape(d.headline).replace("&#x27;", "&#39;")) == 1
    names, estimates, *_, remedies = (column.values for column in findings_table(d).columns)
    assert (names, estimates) == ([d.headline], [means])
    assert f"{remedies[0]} {HELD_OUT}" == finding.remedy
    assert one_line(found.verdict) in one_line(str(assess(Tally.of(labelled(y, name), p, pos_label=name), resamples=0)))


@every_name
def test_each_remedy_is_named_by_its_error(name):
    y, p = events(off=0.8, slope=2.0)
    d = assess(labelled(y, name), p, pos_label=name, resamples=0).diagnosis
    assert {*d.errors} == {"bias", "confidence"}
    assert d.headline == capital(", ".join(each.short for each in d.clauses))
    assert d.verdict == f"{joined(d.clauses)}."
    for each in d.findings:
        assert one_line(f"{capital(each.clause.short)}: {each.advice.text}") in one_line(d.to_text())
    assert one_line(d.to_text()).count(HELD_OUT) == 1


@every_name
def test_classes_keep_their_labels(name):
    labels = ["a", name, "b"]
    y, p = biased_classes(labels)
    found = assess(y, p, labels=labels, resamples=0)
    assert f"underpredicts {quoted(name)} (mean prediction" in found.verdict.replace("Under", "under")
    assert one_line(str(found.diagnosis)) == one_line(found.verdict)
    fitted = Recalibrator("bias").fit(y, p, labels=labels)
    assert f"for '{short_name(name)}'" in one_line(str(fitted))
    assert one_line(str(fitted)).startswith("Recalibrate with bias: a shift for each class, ")


@pytest.mark.slow
@every_name
def test_forecasters_keep_their_names(name):
    y, p = events()
    worse = events(slope=2.5)[1]
    found = compare(y, {OTHER: p, name: worse})
    assert found.clauses == (f"{OTHER} beats {name} by log loss (p < 0.001) and Brier score (p < 0.001)",)
    assert json.loads(found.to_json())["verdict"] == found.verdict == found.clauses[0]
    assert heading_of(found) == printable(f"{OTHER} beats {name} by log loss and Brier score")
    assert one_line(str(found)).startswith(one_line(printable(found.verdict)))
    assert f"{short_name(name)}: overconfident, about" in one_line(str(found))
    assert compare(y, {name: p, OTHER: worse}).clauses[0].startswith(f"{name} beats {OTHER} by log loss")


@pytest.mark.slow
@every_name
def test_a_verdict_of_several_clauses_is_divided_between_them_alone(name):
    y, p = events()
    zero = np.where(np.arange(y.size) == np.flatnonzero(y)[0], 0.0, events(slope=3.0)[1])
    found = compare(y, {name: p, "third": np.full(y.size, 0.5), OTHER: zero})
    assert found.verdict == "; ".join(found.clauses)
    first, last = found.clauses
    assert first.startswith(f"{name} is best ")
    assert last == f"{OTHER} assigned 0 to observed outcomes in 1 row"
    assert heading_of(found).startswith(printable(f"{name} is best "))
    assert f"{last}." in page_of(found)
    y, p = events(off=1.0)
    found = compare(y, {name: p, OTHER: np.where(y & (p < 0.9), 0.0, p)}, floor=0.0)
    assert found.clauses[0] == f"{name} is first by log loss"
    assert heading_of(found) == printable(found.clauses[0])


@every_name
def test_other_comparisons_keep_the_names(name):
    y, p = events()
    said = f"{short_name(name)!r} beats the base rate"
    found = skill(y, {name: p})
    assert found.verdict.startswith(said)
    assert one_line(str(found)).startswith(said)
    found = compare_sequentially(y, {name: p, OTHER: events(slope=3.0)[1]})
    assert one_line(str(found)).startswith(one_line(f"{short_name(name)} has the smaller Brier score"))


@every_name
def test_groups_keep_their_names(name):
    rng = np.random.default_rng(1)
    groups = np.where(rng.random(6000) < 0.5, name, OTHER).astype(object)
    s = rng.normal(0, 1.5, 6000)
    y, p = rng.random(6000) < 1 / (1 + np.exp(-s)), 1 / (1 + np.exp(-s - 0.9 * (groups == name)))
    found = assess_by(labelled(y, name), p, by={"site": groups}, pos_label=name, resamples=0)
    [first] = [group.assessment for group in found.groups if group.key == (name,)]
    assert first.verdict.startswith(f"Overpredicts {quoted(name)} (mean prediction ")
    described = one_line(html.unescape(found.to_html()))
    assert one_line(f"{short_name(name, 28)}: overpredicts {quoted(name)} (mean") in described
    assert one_line(short_name(name, 200)) in one_line(str(found))


LONG = [f"the longest of all names that anybody gave, of {site} and of the {6 * 'very '}long coast" for site in "NS"]
"""Their beginnings and ends are alike."""


@pytest.mark.parametrize("most", [8, 18, 24, 60])
def test_names_that_are_cut_do_not_look_alike(most):
    names = [*LONG, "short", LONG[0][:40], LONG[0], f"{LONG[0][:9]}{LONG[1][-9:]}"]
    cut = short_names(names, most)
    assert [len({*cut}), cut[0]] == [len({*names}), cut[4]]
    assert cut[2] == "short"
    alone = short_names(LONG[:1], most)
    assert alone == [short_name(LONG[0], most)]
    assert len(alone[0]) <= most


@pytest.mark.slow
def test_long_names_are_whole_in_sentences_and_json_and_told_apart_in_tables_and_charts():
    groups = np.array(LONG, dtype=object)[np.arange(6000) % 2]
    y, p = events(off=0.9, slope=2.0, n=6000)
    found = assess_by(labelled(y, LONG[0]), p, by={"site": groups}, pos_label=LONG[0], resamples=0)
    assert all(name in one_line(str(found)) for name in LONG)
    assert f"'{LONG[0]}'" in found.whole.verdict
    chart = groups_chart(found)
    assert len({text for _, text in chart.y.ticks}) == len(LONG)
    compared = compare(y, {LONG[0]: p, LONG[1]: events(off=0.9, slope=2.0, n=6000)[1] ** 1.2})
    assert {*compared.to_dict()["next_step"]["mended"]} == {*LONG}
    assert all(f"would reduce the log loss of {name} from" in compared.next_step.words for name in LONG)
    heads = [column.heading for column in scores_table(compared).columns]
    assert len({*heads}) == len(heads)
    assert repr(LONG[0]) in compared.next_step.code
    labels = [LONG[0], LONG[1], "c"]
    y, p = biased_classes(labels)
    remedy = assess(y, p, labels=labels, resamples=0).to_dict()["remedy"]
    assert f"for '{LONG[1]}'" in remedy["map"]


@every_name
def test_an_alarm_names_group_and_class(name):
    periods = {}
    for at in range(12):
        day = f"2026-01-{at + 1:02d}"
        y, p = events(off=1.0 * (at > 5), n=400, seed=at)
        periods[day, name] = Tally.of(labelled(y, name), p, pos_label=name)
        y, p = events(n=400, seed=100 + at)
        periods[day, OTHER] = Tally.of(labelled(y, name), p, pos_label=name)
    found = monitor(periods)
    assert found.alarm is not None
    assert found.alarm.groups == (name,)
    assert found.alarm.verdict == f"Overpredicts {quoted(name)}"
    said = one_line(f"Group {quoted(name)}: overpredicts {quoted(name)}.")
    assert said in one_line(str(found))
    assert said in page_of(found)


@every_name
def test_a_gate_knows_the_words_of_findings_and_no_labels(name):
    y, p = events(off=0.8)
    found = assess(labelled(y, name), p, pos_label=name, resamples=0)
    gate = check(found, require=["verdict not in (overconfident, asymmetric)", "verdict not in (biased)"])
    assert [each.passed for each in gate.outcomes] == [True, False]


@every_name
def test_a_command_is_one_line_that_a_shell_reads_as_it_was_meant(name):
    words = ["unperplexed", "recalibrate", "file.csv", "--labels", name, "--where", f"x = '{name}'", "--prob", "p"]
    command = command_line(words)
    assert command.isprintable()
    lines = [*command_lines(command, 50)]
    for shown in (command, "\n".join(lines)):
        call = ["bash", "-c", f"printf '%s\\0' {shown}"]  # in a locale that has these letters
        environment = {**os.environ, "LC_ALL": "C.UTF-8"}
        printed = subprocess.run(call, capture_output=True, check=True, env=environment).stdout
        assert printed.decode().split("\0")[:-1] == words


@every_name
def test_commands_print_the_verdict_whole_and_commands_that_can_be_copied(name, tmp_path, capsys, monkeypatch):
    import polars as pl

    monkeypatch.chdir(tmp_path)
    y, p = events(off=0.8)
    pl.DataFrame({"outcome": labelled(y, name).tolist(), "p": p}).write_csv("rows.csv")
    reading = ["rows.csv", "--truth", "outcome", "--prob", f"{name}=p"]
    assert main(["assess", *reading, "--resamples", "0", "--report", "page.html", "--json", "all.json"]) in (0, None)
    text = one_line(capsys.readouterr().out)
    verdict = json.loads((tmp_path / "all.json").read_text("utf-8"))["diagnosis"]["verdict"]
    assert verdict.startswith(f"Overpredicts {quoted(name)} (mean prediction ")
    assert text.startswith(one_line(verdict))
    assert main(["recalibrate", *reading, "-o", "map.json"]) in (0, None)
    assert capsys.readouterr().out
    assert main(["check", *reading, "--require", "verdict in (biased)"]) in (0, None)
    assert main(["check", *reading, "--require", "verdict in (none)"]) == 1
