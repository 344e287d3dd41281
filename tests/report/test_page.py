"""The report: one file that needs nothing else. What a browser makes of it is in tests/browser."""

import base64
import hashlib
import json
import re
import shlex
from html import unescape

import numpy as np
import pytest

from unperplexed import InputError, assess, assess_by, compare
from unperplexed.cli.commands import _called
from unperplexed.cli.parser import main
from unperplexed.report.page import plain_verdict

HOSTILE = "</script><script>alert(1)</script>"


def binary(sharpness, n=2000, seed=0):
    rng = np.random.default_rng(seed)
    odds = rng.normal(0, 1.5, n)
    return (rng.random(n) < 1 / (1 + np.exp(-odds))).astype(int), 1 / (1 + np.exp(-sharpness * odds))


@pytest.fixture(scope="module")
def sharp():
    return assess(*binary(1.6))


def own(html):
    """Without Plotly, which is not ours."""
    scripts = re.findall(r"<script[^>]*>(.*?)</script>", html, re.DOTALL)
    return html.replace(max(scripts, key=len), "")


def test_it_is_one_small_file_that_fetches_nothing(sharp):
    html = sharp.to_html()
    assert len(html.encode()) < 6_000_000
    assert not re.search(r"https?://|<link|@import|\bsrc=|url\(", own(html))
    assert "\r" not in html


def test_the_policy_lets_nothing_run_but_the_two_scripts(sharp):
    html = sharp.to_html()
    policy = re.search(r'Content-Security-Policy" content="([^"]+)"', html)[1].replace("&#39;", "'")
    scripts = re.findall(r"<script>(.*?)</script>", html, re.DOTALL)
    hashes = {base64.b64encode(hashlib.sha256(script.encode()).digest()).decode() for script in scripts}
    assert set(re.findall(r"'sha256-([^']+)'", policy)) == hashes
    assert len(hashes) == 2
    assert policy.startswith("default-src 'none'; script-src 'sha256-")
    assert "unsafe-eval" not in policy
    assert not re.search(r"\son\w+=", own(html))


def test_the_verdict_comes_first_in_plain_words(sharp):
    html = sharp.to_html()
    assert "<h1>Overconfident</h1>" in html
    verdict = unescape(own(html))
    assert verdict.index("<h1>Overconfident</h1>") < verdict.index(sharp.verdict) < verdict.index("Remedy: Multiply")
    assert re.match(r"Overconfident \(calibration slope 0\.6\d, 95% CI 0\.5\d to 0\.\d\d\)\.$", sharp.verdict)
    assert f"Miscalibration costs about {sharp.diagnosis.gain:.2g} nats a row" in verdict
    said = plain_verdict(sharp)
    given, observed, low, high, forecasts = map(
        float,
        re.fullmatch(
            r"Where '1' was assigned 85% to 95% \(mean ([\d.]+)%\), it was observed in (\d+)%"
            r" \(95% CI (\d+)% to (\d+)%\) of (\d+) forecasts\.",
            said,
        ).groups(),
    )
    rows = sharp.observed(0.85, 0.95)
    assert given == pytest.approx(100 * rows.mean_reported, abs=0.05)
    assert low <= observed <= high < given
    assert observed == round(100 * rows.happened)
    assert forecasts == rows.total
    assert said in unescape(html)
    assert "was assigned 25%" not in html


@pytest.mark.parametrize(
    ("y", "p", "expected"),
    [
        (
            [1] * 25 + [0] * 75,
            [1.0] * 100,
            "Where '1' was assigned probability 100%, it was observed in 25% (95% CI 18% to 34%) of 100 forecasts.",
        ),
        (
            [1] * 50 + [0] * 50,
            [0.7] * 100,
            "Where '1' was assigned probability 70%, it was observed in 50% (95% CI 40% to 60%) of 100 forecasts.",
        ),
        ([1, 0, 1], [0.9, 0.2, 0.6], ""),
    ],
)
def test_plain_words_are_about_what_was_given(y, p, expected):
    assert plain_verdict(assess(y, p, labels=(0, 1), resamples=0)) == expected


def test_forecasts_that_point_the_wrong_way_are_asked_about():
    y, p = binary(1.0)
    names = np.where(y == 1, "yes", "no")
    wrong = assess(names, p, pos_label="no", resamples=80)
    assert "is 'no' the positive label?" in " ".join(str(wrong).split())
    assert "is &#39;no&#39; the positive label?" in wrong.to_html()
    assert wrong.verdict.startswith("Pointing away from the outcomes (calibration slope \u22121.0")
    assert "the positive label?" not in str(assess(names, p, pos_label="yes", resamples=80))


def test_a_floor_above_what_knowing_nothing_gives_is_told(rng):
    p = rng.dirichlet(np.ones(250), 60)
    y = rng.integers(0, 250, 60)
    assert "the floor is not below 1/250" in assess(y, p, labels=range(250), floor=0.005, resamples=0).to_html()
    for settings in ({"floor": 0.003}, {}):
        assert "the floor is not below" not in str(assess(y, p, labels=range(250), **settings, resamples=0))


def test_what_was_observed_between_two_probabilities(rng):
    """Of the positive class where it alone is measured, else of both."""
    y, p = binary(1.0)
    found, here = assess(y, p, resamples=0).observed(0.6, 0.8), (p >= 0.6) & (p <= 0.8)
    assert found.total == here.sum()
    assert found[1:5] == pytest.approx((p[here].min(), p[here].max(), p[here].mean(), y[here].mean()))
    assert found.interval.low < found.happened < found.interval.high
    found = assess(y, p, view="all-classes", resamples=0).observed(0.6, 0.8)
    both, came = np.concatenate([p, 1 - p]), np.concatenate([y, 1 - y])
    here = (both >= 0.6) & (both <= 0.8)
    assert found.total == here.sum()
    assert found[1:5] == pytest.approx((both[here].min(), both[here].max(), both[here].mean(), came[here].mean()))
    assert found.interval.low < found.happened < found.interval.high
    assert np.isnan(assess(y, p, resamples=0, sample_weight=np.full(len(y), 2.0)).observed(0.6, 0.8).interval).all()
    assert assess([1, 0], [0.9, 0.1]).observed(0.4, 0.6).total == 0


def test_figures_are_those_of_the_assessment(sharp):
    html = sharp.to_html()
    for name in ("decisiveness", "geometric_accuracy", "robustness"):
        assert f">{getattr(sharp.reported, name):.3f}</td>" in html
        assert f">{getattr(sharp.measured, name):.3f}</td>" in html
    charts = json.loads(re.search(r'id="charts">(.*?)</script>', html, re.DOTALL)[1])
    profile = next(trace for trace in charts[1]["data"] if trace.get("name") == "floor 0.005")
    assert profile["y"] == sharp.profile.values.tolist()
    bubbles = next(trace for trace in charts[0]["data"] if "by contribution" in trace.get("name", ""))
    assert len(bubbles["x"]) == len(sharp.bins) == len(bubbles["text"])


@pytest.mark.parametrize(
    "figures",
    [
        {"view": "top-label"},
        {"resamples": 0},
        {"floor": 0.0},
        {"measured": "equal-population", "limit": "both", "floor": 0.01},
        {"groups": np.arange(300) % 40, "resamples": 80},
        {"sample_weight": np.linspace(0.5, 2, 300)},
        {"orders": [-np.inf, -1, 0, 1, np.inf]},
    ],
)
def test_every_kind_of_assessment_has_one(figures):
    y, p = binary(1.2, 300)
    p[:3] = 0.0, 1.0, 0.5
    html = assess(y, p, **figures).to_html()
    assert "NaN" not in re.search(r'id="charts">(.*?)</script>', html, re.DOTALL)[1]
    assert "<td>nan" not in html


def test_names_are_text():
    y, p = binary(1.2, 300)
    names = [HOSTILE, "plain"]
    html = own(assess([names[at] for at in y], np.stack([1 - p, p], axis=1), labels=names, view="each-class").to_html())
    assert HOSTILE not in html
    assert "&lt;/script&gt;&lt;script&gt;alert(1)" in html
    html = own(compare({HOSTILE: p, "other": 1 - p}, y).to_html())
    assert HOSTILE not in html
    groups = own(assess_by(y, p, by={"team": [HOSTILE] * 150 + ["b"] * 150}, resamples=0).to_html())
    assert HOSTILE not in groups
    assert "Groups by team" in groups


def test_the_same_each_time(sharp):
    assert assess(*binary(1.6)).to_html() == sharp.to_html()


def test_it_is_written_whole_or_refused(sharp, tmp_path):
    path = tmp_path / "a.html"
    sharp.report(path)
    assert path.read_text("utf-8") == sharp.to_html()
    with pytest.raises(InputError, match=r"a\.pdf: cannot write this format; known: \.html, \.htm"):
        sharp.report(tmp_path / "a.pdf")
    assert [each.name for each in tmp_path.iterdir()] == ["a.html"]


def rows_of(html, caption):
    """Rows of the table whose caption begins so, as texts without tags."""
    table = next(each for each in html.split("<table")[1:] if f"<caption><span>{caption}" in each)
    return [
        [unescape(re.sub(r"<[^>]+>", "", cell)).strip() for cell in re.findall(r"<t[hd].*?</t[hd]>", row, re.DOTALL)]
        for row in re.findall(r"<tr>.*?</tr>", table, re.DOTALL)
    ]


def test_a_name_and_a_command_are_told_where_they_are_known(sharp):
    assert re.search("<title>(.*?)</title>", sharp.to_html())[1].startswith("Overconfident: 2,000 forecasts")
    assert "command" not in dict(rows_of(own(sharp.to_html()), "Data and settings")[1:])
    command = "unperplexed assess 'a <b>.csv' --truth \udcff\u202e"
    html = sharp.to_html(name=f"{HOSTILE}.csv", command=command)
    html.encode()
    assert HOSTILE not in own(html)
    assert "<title>&lt;/script&gt;" in html
    shown = dict(rows_of(own(html), "Data and settings")[1:])["command"]
    assert shown == r"unperplexed assess 'a <b>.csv' --truth \udcff\u202e"


def test_settings_are_shown_as_in_the_text(sharp):
    shown = dict(rows_of(own(sharp.to_html()), "Data and settings")[1:])
    assert re.fullmatch(r"shrunk-isotonic, \d+% isotonic", shown["measured by"])
    assert f"measured: {shown['measured by']}, each-class" in str(sharp)
    assert "command" not in shown


def test_a_comparison_tells_its_settings_and_who_gave_0():
    y, p = binary(1.2, 300)
    hard = np.where(np.arange(300) < 3, 1.0 - y, p)
    comparison = compare({"soft": p, "hard": hard}, y, resamples=80)
    shown = dict(rows_of(own(comparison.to_html()), "Data and settings")[1:])
    assert (shown["measured by"], shown["view"], shown["samples"]) == ("shrunk-isotonic", "each-class", "80")
    in_groups = compare({"soft": p, "hard": p / 2}, y, groups=np.arange(300) % 40)
    assert dict(rows_of(own(in_groups.to_html()), "Data and settings")[1:])["samples"] == "none"
    assert shown["log loss and geometric accuracy"].startswith("at the floor 0.005 (probability 0 assigned to observed")
    heads, *rows = rows_of(own(comparison.to_html()), "Ordered by log loss")
    at = heads.index("rows assigned 0")
    assert {row[0]: row[at] for row in rows} == {"soft": "0", "hard": "3"}
    assert "hard assigned 0 to observed outcomes in 3 rows" in " ".join(str(comparison).split())
    assert "rows assigned 0" not in rows_of(own(in_groups.to_html()), "Ordered by log loss")[0]
    assert "assigned 0" not in str(in_groups)


def test_from_the_shell_the_command_is_told_as_typed(tmp_path, monkeypatch):
    y, p = binary(1.6, 200)
    rows = "".join(f"{a},{b:.6f},{b / 2 + 0.25:.6f}\n" for a, b in zip(y, p, strict=True))
    monkeypatch.chdir(tmp_path)
    titles = []
    for name in ("ein wetter.csv", "other.csv"):
        (tmp_path / name).write_text(f"y,p q,r\n{rows}")
        for typed in (
            ["assess", name, "--truth", "y", "--prob", "p q", "--resamples", "0", "--report", "r.html"],
            ["compare", name, "--truth", "y", "--forecast", "a=p q", "b=r", "--report", "r.html"],
        ):
            assert main(typed) == 0
            html = (tmp_path / "r.html").read_text("utf-8")
            command = dict(rows_of(own(html), "Data and settings")[1:])["command"]
            assert shlex.split(command) == ["unperplexed", *typed]
            titles.append(re.search("<title>(.*?)</title>", html)[1])
            assert titles[-1].startswith(f"{name}: ")
    assert len(set(titles)) == 4


def test_many_files_are_named_in_a_few_words(tmp_path):
    for name in "abcde":
        (tmp_path / f"{name}.csv").touch()
    paths = [str(tmp_path / f"{name}.csv") for name in "abcde"]
    assert _called(paths[:2]) == "a.csv, b.csv"
    assert _called(paths) == "a.csv, b.csv, c.csv and 2 more"
    assert _called(["data/*.csv"]) == "data/*.csv"
    assert _called(["-"]) == "standard input"


@pytest.mark.slow
def test_thousands_of_classes_with_long_names_stay_small():
    """The first thousand are shown, and the caption says where the others are."""
    n = 3000
    names = [f"{at:05d}{'<' * 9990}{at:05d}" for at in range(n)]
    p = np.full((n, n), 0.5 / (n - 1))
    np.fill_diagonal(p, 0.5)
    html = assess(names, p, labels=names, view="each-class", resamples=0).to_html()
    assert len(html.encode()) < 6_000_000
    for caption, frame in (("Each class", "classes"), ("The forecasts that predicted each class", "predicted")):
        assert len(rows_of(own(html), caption)) == 1 + 1000
        told = re.search(f"<caption><span>{caption}.*?</span>", html)[0]
        assert f'The first 1,000 of 3,000; all are in frame("{frame}") and --json.' in unescape(told)
    label = re.search(r'aria-label="(Risk profile.*?)"', html)[1]
    assert len(label) < 1000
    two = compare({name: np.array([0.4, 0.6]) + at / 9 for at, name in enumerate(names[:2])}, [0, 1]).to_html()
    assert max(map(len, re.findall(r'aria-label="(.*?)"', two))) < 1000


def test_lines_are_spoken_of_where_there_are_some():
    rng = np.random.default_rng(0)
    for classes, said in ((3, "Where the line lies"), (12, "Where bubbles lie")):
        p = rng.dirichlet(np.ones(classes), 300)
        html = assess(rng.integers(0, classes, 300), p, labels=range(classes), view="each-class", resamples=0).to_html()
        assert f"{said} below the diagonal" in html


def test_from_the_shell(tmp_path, capsys):
    y, p = binary(1.6, 400)
    rows = "\n".join(f"{a},{b:.6f},{b / 2 + 0.25:.6f},{'ab'[k % 2]}" for k, (a, b) in enumerate(zip(y, p, strict=True)))
    file = tmp_path / "f.csv"
    file.write_text(f"y,p,q,team\n{rows}\n")
    report = tmp_path / "r.html"
    common = [str(file), "--truth", "y"]
    for command in (
        ["assess", *common, "--prob", "p"],
        ["assess", *common, "--prob", "p", "--by", "team"],
        ["compare", *common, "--forecast", "one=p", "two=q"],
    ):
        report.unlink(missing_ok=True)
        assert main([*command, "--report", str(report)]) == 0
        assert report.read_text("utf-8").startswith("<!doctype html>")
    capsys.readouterr()
    sequential = ["compare", *common, "--forecast", "one=p", "two=q", "--sequential", "--report", str(report)]
    assert main(sequential) != 0
    assert "--report" in capsys.readouterr().err
    assert main(["assess", *common, "--prob", "p", "--report", str(tmp_path / "r.txt")]) != 0
    assert "known: .html, .htm" in capsys.readouterr().err
