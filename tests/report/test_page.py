"""The report: one small file that needs nothing else. What a browser makes of it is in tests/report/browser."""

import base64
import hashlib
import re
import shlex
from html import unescape

import numpy as np
import pytest

from unperplexed import InputError, Tally, assess, assess_by, compare, compare_sequentially
from unperplexed.cli.outputs import called
from unperplexed.cli.parser import main
from unperplexed.describe.assessment_words import assess_call, evidence
from unperplexed.describe.comparison import compare_call
from unperplexed.describe.diagnosis import short_verdict
from unperplexed.describe.sequential import sequential_call

HOSTILE = "</script><script>alert(1)</script>"


def binary(sharpness, n=2000, seed=0):
    rng = np.random.default_rng(seed)
    odds = rng.normal(0, 1.5, n)
    return (rng.random(n) < 1 / (1 + np.exp(-odds))).astype(int), 1 / (1 + np.exp(-sharpness * odds))


def many(classes, n):
    rng = np.random.default_rng(1)
    z = 2 * rng.normal(size=(n, classes))
    truth = np.exp(z - z.max(axis=1, keepdims=True))
    truth /= truth.sum(axis=1, keepdims=True)
    y = (truth.cumsum(axis=1) < rng.random((n, 1))).sum(axis=1).clip(max=classes - 1)
    p = np.exp(1.5 * (z - z.max(axis=1, keepdims=True)))
    return y, p / p.sum(axis=1, keepdims=True)


@pytest.fixture(scope="module")
def sharp():
    return assess(*binary(1.6), resamples=80)


@pytest.fixture(scope="module")
def page(sharp):
    return sharp.to_html()


def words(html):
    """The words of a page, without scripts and styles."""
    body = re.sub(r"<(script|style).*?</\1>", " ", html, flags=re.DOTALL)
    return " ".join(unescape(re.sub(r"<[^>]+>", " ", body)).split())


def settings(html):
    """Names and values of the settings."""
    pairs = re.findall(r"<dt>([^<]*)</dt><dd>([^<]*)</dd>", html)
    return {unescape(name): unescape(value) for name, value in pairs}


def commands(html):
    return [unescape(each) for each in re.findall(r"<code>(.*?)</code>", html, re.DOTALL)]


@pytest.mark.slow
def test_it_is_one_small_file_that_fetches_nothing(page):
    assert len(page.encode()) < 100_000
    assert not re.search(r"https?://|<link|<img|<iframe|@import|\bsrc=|url\(", page)
    assert "\r" not in page


def test_the_policy_lets_nothing_run_but_the_script(page):
    policy = re.search(r'Content-Security-Policy" content="([^"]+)"', page)[1]
    [script] = re.findall(r"<script>(.*?)</script>", page, re.DOTALL)
    found = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert policy.startswith(f"default-src 'none'; script-src 'sha256-{found}';")
    assert "unsafe-eval" not in policy
    assert not re.search(r"\son\w+=", page)


def test_verdict_cost_and_remedy_come_first(sharp, page):
    text = words(page)
    assert "<h1>Overconfident</h1>" in page
    order = ["Overconfident", sharp.verdict, "What it costs", "Miscalibration causes", "What to do", "Log loss"]
    places = [text.index(each) for each in order]
    assert places == sorted(places)
    assert text.index("Log loss") < text.index("Findings, costliest first") < text.index("Risk profile Low orders")
    assert text.index("Findings, costliest first") < text.index("Settings")
    assert evidence(sharp) in text


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
def test_the_evidence_is_the_observed_frequency_of_like_predictions(y, p, expected):
    assert evidence(assess(y, p, labels=(0, 1), resamples=0)) == expected


def test_what_was_observed_between_two_probabilities():
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
    assert np.isnan(assess(y, p, resamples=0, sample_weight=np.full(len(y), 2.0)).observed(0.6, 0.8).interval).all()
    assert assess([1, 0], [0.9, 0.1]).observed(0.4, 0.6).total == 0


@pytest.mark.slow
def test_forecasts_that_point_the_wrong_way_are_asked_about():
    y, p = binary(1.0)
    names = np.where(y == 1, "yes", "no")
    wrong = assess(names, p, pos_label="no", resamples=80)
    assert "is 'no' the positive label?" in " ".join(str(wrong).split())
    assert "is 'no' the positive label?" in words(wrong.to_html())
    assert wrong.verdict.startswith("Pointing away from the outcomes (calibration slope \u22121.0")
    assert "the positive label?" not in str(assess(names, p, pos_label="yes", resamples=80))


@pytest.mark.slow
def test_a_floor_above_what_a_uniform_forecast_assigns_is_warned_of(rng):
    p = rng.dirichlet(np.ones(250), 60)
    y = rng.integers(0, 250, 60)
    assert "the floor is not below 1/250" in assess(y, p, labels=range(250), floor=0.005, resamples=0).to_html()
    for options in ({"floor": 0.003}, {}):
        assert "the floor is not below" not in str(assess(y, p, labels=range(250), **options, resamples=0))


def test_figures_are_those_of_the_assessment(sharp, page):
    for name in ("decisiveness", "geometric_accuracy", "robustness"):
        assert f"<td>{getattr(sharp.reported, name):.3f} <small>" in page
        assert f"<td>{getattr(sharp.measured, name):.3f} <small>" in page
    low, high = sharp.intervals["log_loss"]
    assert f'<b>{sharp.scores["log_loss"]:.3f}</b><span class="ci">{low:.3f} to {high:.3f}</span>' in page
    p = sharp.bias.frequency
    assert f"base rate {-p * np.log(p) - (1 - p) * np.log(1 - p):.3f}" in page
    assert f"base rate {2 * p * (1 - p):.3f}" in page


@pytest.mark.slow
def test_a_bias_names_class_and_sizes():
    rng = np.random.default_rng(3)
    odds = rng.normal(-3, 1.2, 3000)
    y = np.where(rng.random(3000) < 1 / (1 + np.exp(-odds)), "fraud", "ok")
    html = assess(y, 1 / (1 + np.exp(-odds - 2)), pos_label="fraud", resamples=0).to_html()
    assert "<h1>Overpredicts &#39;fraud&#39;</h1>" in html
    text = words(html)
    assert "'fraud' occurs less often than predicted" in text
    assert "A constant forecast of the base rate scores better" in text
    number = r"\d+\.\d+%"
    assert re.search(rf"The observed frequency is {number} \(95% CI {number} to {number}\)\.", text)
    assert re.search(rf"'fraud' was observed in \d+ \({number}\) of the \d+ rows predicted above 50%; about", text)


def test_no_evidence_says_what_the_rows_can_show():
    html = assess(*binary(1.0, 200), resamples=0).to_html()
    text = words(html)
    assert "<h1>No evidence of miscalibration, but only 200 rows</h1>" in html
    assert 'class="say calm"' in html
    assert "What 200 rows can show" in text
    assert re.search(r"Overconfidence calibration slope below 0\.\d\d", text)
    assert re.search(r"Bias \d\.\d points \(0\.\d\d in log-odds\), either way", text)
    assert re.search(r"assess more rows: a bias of 5 points about [\d,]+ rows", text)
    assert "Findings, costliest first" not in text
    assert "overconfident" not in text.lower()


def test_the_remedy_has_its_gain_and_a_curve(sharp, page):
    gain, text = sharp.remedy.gain, words(page)
    assert sharp.remedy.significant
    assert f"What to do {next(sharp.remedy.sentences())}" in text
    assert f"{gain.after:.3f} after remedy; base rate" in text
    assert sharp.remedy.code in commands(page)
    assert page.count('class="af aft"') == page.count('class="showaft"') == 1
    calm = assess(*binary(1.0, 300), resamples=0).to_html()
    assert "after remedy" not in words(calm)
    assert 'class="showaft"' not in calm


def test_the_command_of_the_remedy_is_shown_where_it_is_known(sharp):
    command = "unperplexed recalibrate holdout.csv --truth y --prob p -o model.recal"
    shown = commands(sharp.to_html(recalibrate=command))
    assert command in [each.replace(" \\\n   ", "") for each in shown]
    assert command not in sharp.to_html()


@pytest.mark.slow
@pytest.mark.parametrize(
    "options",
    [
        {"view": "top-label"},
        {"view": "all-classes"},
        {"resamples": 0},
        {"floor": 0.0},
        {"measured": "equal-population", "floor": (0.01, 0.99)},
        {"clusters": np.arange(300) % 40, "resamples": 80},
        {"sample_weight": np.linspace(0.5, 2, 300)},
    ],
)
def test_every_kind_of_assessment_has_one(options):
    y, p = binary(1.2, 300)
    p[:3] = 0.0, 1.0, 0.5
    html = assess(y, p, **{"resamples": 80, **options}).to_html()
    assert not re.search(r">nan|>inf\b|NaN|[^a-z]nan[^a-z]", re.sub(r"<script>.*</script>", "", html, flags=re.DOTALL))
    assert html.count("<h1>") == 1


@pytest.mark.parametrize("tally", [False, True])
def test_one_outcome_alone_has_one(tally):
    y, p = [0] * 40, np.linspace(0.01, 0.2, 40)
    found = assess(Tally.of(y, p, labels=(0, 1)) if tally else y, *([] if tally else [p]), resamples=0,
                   **({} if tally else {"labels": (0, 1)}))  # fmt: skip
    text = words(found.to_html())
    assert "AUC –" in text
    assert "Calibration slope –" in text
    assert "base rate 0.000" in text


@pytest.mark.slow
def test_names_are_text():
    y, p = binary(1.2, 300)
    names = [HOSTILE, "plain"]
    both = np.stack([1 - p, p], axis=1)
    htmls = [
        assess([names[at] for at in y], both, labels=names, resamples=0).to_html(name=HOSTILE, command=HOSTILE),
        assess([names[at] for at in y], both, labels=names, resamples=0, view="top-label").to_html(),
        compare(y, {HOSTILE: p, "other": 1 - p}).to_html(name=HOSTILE),
        assess_by(y, p, by={"team": [HOSTILE] * 150 + ["b"] * 150}, resamples=0).to_html(),
        assess_by(y, p, by={HOSTILE: ["a"] * 150 + ["b"] * 150}, resamples=0).to_html(),
    ]
    for html in htmls:
        assert HOSTILE not in html
        assert html.count("<script") == html.count("</script>") == 1
    assert "Groups by team" in htmls[3]
    y, p = many(3, 200)
    columns = ["</style><style>", "a", "b"]
    html = assess([columns[at] for at in y], p, labels=columns, view="each-class", resamples=0).to_html()
    assert html.count("</style>") == 1


@pytest.mark.slow
def test_the_same_each_time(page):
    assert assess(*binary(1.6), resamples=80).to_html() == page


def test_it_is_written_whole_or_refused(sharp, page, tmp_path):
    path = tmp_path / "a.html"
    sharp.report(path)
    assert path.read_text("utf-8") == page
    with pytest.raises(InputError, match=r"a\.pdf: cannot write this format; known: \.html, \.htm"):
        sharp.report(tmp_path / "a.pdf")
    assert [each.name for each in tmp_path.iterdir()] == ["a.html"]


def test_a_name_and_a_command_are_shown_where_they_are_known(sharp, page):
    assert re.search("<title>(.*?)</title>", page)[1].startswith("Overconfident: 2,000 forecasts")
    assert all("Recalibrator" in each or "import assess" in each for each in commands(page))
    html = sharp.to_html(name=f"{HOSTILE}.csv", command="unperplexed assess 'a <b>.csv' --truth \udcff\u202e")
    html.encode()
    assert "<title>&lt;/script&gt;" in html
    assert commands(html)[1] == r"unperplexed assess 'a <b>.csv' --truth \udcff\u202e"


def test_settings_are_shown_as_in_the_text(sharp, page):
    shown = settings(page)
    assert re.fullmatch(r"shrunk-isotonic, \d+% isotonic", shown["calibration curve"])
    assert f"calibration curve {shown['calibration curve']}, view each-class" in " ".join(str(sharp).split())
    assert shown["intervals"] == "95%, 80 bootstrap replicates, seed 0"


@pytest.mark.slow
@pytest.mark.parametrize("view", ["each-class", "auto"])
def test_classes_have_support_precision_and_recall(view):
    y, p = many(4, 1000)
    names = ["ash", "elm", "fir", "oak"]
    found = assess([names[at] for at in y], p, labels=names, view=view, resamples=0)
    html = found.to_html()
    top = p.argmax(axis=1)
    for at, name in enumerate(names):
        hits = ((top == at) & (y == at)).sum()
        row = re.search(rf'<tr><th scope="row">{name}</th>(.*?)</tr>', html)[1]
        cells = [unescape(re.sub(r"<[^>]+>", "", cell)) for cell in re.findall("<td.*?</td>", row)]
        assert cells[0] == f"{(y == at).sum()}"
        expected = [hits / (top == at).sum(), None, hits / (y == at).sum()]
        for text, value in zip(cells[6:9], expected, strict=True):
            assert value is None or float(text.rstrip("%")) == pytest.approx(100 * value, abs=0.06)
    assert html.count('aria-label="Reliability curve of') == 4


def test_classes_are_known_from_the_sums_of_a_diagnosis():
    y, p = many(4, 1000)
    html = assess(Tally.of(y, p, labels=range(4)), resamples=0).to_html()
    rows = re.findall(r'<tr><th scope="row">([0-3])</th><td>([\d,]+)</td><td>([\d.]+)%</td><td>([\d.]+)%</td>', html)
    assert len(rows) == 4
    for name, support, predicted, observed in rows:
        at = int(name)
        assert int(support) == (y == at).sum()
        assert float(predicted) == pytest.approx(100 * p[:, at].mean(), abs=0.06)
        assert float(observed) == pytest.approx(100 * (y == at).mean(), abs=0.06)


@pytest.mark.slow
def test_ten_classes_are_small():
    y, p = many(10, 5000)
    html = assess(y, p, labels=range(10), view="each-class").to_html()
    assert len(html.encode()) < 150_000


@pytest.mark.slow
def test_a_thousand_classes_with_long_names_stay_small():
    """The first thousand rows are shown, and the caption says of how many."""
    n = 1001
    names = [f"{at:05d}{'<' * 1990}{at:05d}" for at in range(n)]
    p = np.full((n, n), 0.5 / (n - 1))
    np.fill_diagonal(p, 0.5)
    html = assess(names, p, labels=names, view="each-class", resamples=0).to_html()
    assert len(html.encode()) < 1_000_000
    assert "The first 1,000 of 1,001 rows." in html
    assert max(map(len, re.findall(r'aria-label="(.*?)"', html))) < 1000
    two = compare([0, 1], {name: np.array([0.4, 0.6]) + at / 9 for at, name in enumerate(names[:2])}).to_html()
    assert max(map(len, re.findall(r'aria-label="(.*?)"', two))) < 1000


@pytest.mark.slow
def test_groups_are_a_table_and_a_chart():
    y, p = binary(1.6, 900)
    found = assess_by(y, p, by={"team": np.array(list("abc"))[np.arange(900) % 3]}, resamples=0, sort="group")
    html = found.to_html()
    for group in found.groups:
        row = re.search(rf'<tr><th scope="row">{group.key[0]}(?: <small>few rows</small>)?</th>(.*?)</tr>', html)[1]
        assert f"<td>{group.assessment.reported.geometric_accuracy:.3f}</td>" in row
        assert short_verdict(group.assessment.diagnosis) in unescape(row)
    assert 'aria-label="Geometric accuracy by group. a: 0.' in html
    assert 'aria-label="Findings by group. ' in html


@pytest.mark.slow
def test_a_comparison_has_differences_settings_and_who_assigned_0():
    y, p = binary(1.2, 90)
    hard = np.where(np.arange(90) < 3, 1.0 - y, p)
    comparison = compare(y, {"soft": p, "hard": hard})
    html = comparison.to_html()
    shown = settings(html)
    assert (shown["calibration curve"], shown["view"], shown["bootstrap replicates"]) == (
        "shrunk-isotonic", "each-class", "400",
    )  # fmt: skip
    assert shown["log loss and geometric accuracy"] == "at the floor 0.005"
    heads = re.search(r"Ordered by log loss.*?<thead><tr>(.*?)</tr>", html)[1]
    assert "log loss at the floor 0.005" in heads
    assert "rows assigned 0" in heads
    in_clusters = compare(y, {"soft": p, "hard": p / 2}, clusters=np.arange(90) % 30).to_html()
    assert settings(in_clusters)["bootstrap replicates"] == "none"
    assert "rows assigned 0" not in in_clusters
    d = comparison.pairs[0].differences["brier_score"]
    assert f"{abs(d.difference):.3f} <small>" in html


@pytest.mark.slow
def test_from_the_shell_the_command_is_shown_as_typed(tmp_path, monkeypatch):
    y, p = binary(1.6, 60)
    rows = "".join(f"{a},{b:.6f},{b / 2 + 0.25:.6f}\n" for a, b in zip(y, p, strict=True))
    monkeypatch.chdir(tmp_path)
    titles = []
    for name in ("ein wetter.csv", "other.csv"):
        (tmp_path / name).write_text(f"y,p q,r\n{rows}")
        for typed in (
            ["assess", name, "--truth", "y", "--prob", "p q", "--resamples", "0", "--report", "r.html"],
            ["compare", name, "--truth", "y", "--forecaster", "a=p q", "b=r", "--report", "r.html"],
        ):
            assert main(typed) == 0
            html = (tmp_path / "r.html").read_text("utf-8")
            assert ["unperplexed", *typed] in [shlex.split(command.replace("\\\n", " ")) for command in commands(html)]
            titles.append(re.search("<title>(.*?)</title>", html)[1])
            assert titles[-1].startswith(f"{name}: ")
    assert len(set(titles)) == 4


def test_many_files_are_named_in_a_few_words(tmp_path):
    for name in "abcde":
        (tmp_path / f"{name}.csv").touch()
    paths = [str(tmp_path / f"{name}.csv") for name in "abcde"]
    assert called(paths[:2]) == "a.csv, b.csv"
    assert called(paths) == "a.csv, b.csv, c.csv and 2 more"
    assert called(["data/*.csv"]) == "data/*.csv"
    assert called(["-"]) == "standard input"


@pytest.mark.slow
def test_from_the_shell(tmp_path, capsys):
    y, p = binary(1.6, 80)
    rows = "\n".join(f"{a},{b:.6f},{b / 2 + 0.25:.6f},{'ab'[k % 2]}" for k, (a, b) in enumerate(zip(y, p, strict=True)))
    file = tmp_path / "f.csv"
    file.write_text(f"y,p,q,team\n{rows}\n")
    report = tmp_path / "r.html"
    common = [str(file), "--truth", "y"]
    for command in (
        ["assess", *common, "--prob", "p", "--resamples", "0"],
        ["assess", *common, "--prob", "p", "--by", "team", "--resamples", "0"],
        ["compare", *common, "--forecaster", "one=p", "two=q"],
        ["compare", *common, "--forecaster", "one=p", "two=q", "--anytime"],
    ):
        report.unlink(missing_ok=True)
        assert main([*command, "--report", str(report)]) == 0
        assert report.read_text("utf-8").startswith("<!doctype html>")
    capsys.readouterr()
    assert main(["assess", *common, "--prob", "p", "--report", str(tmp_path / "r.txt")]) != 0
    assert "known: .html, .htm" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, "assess(y_true, y_prob)"),
        ({"floor": 0.01, "measured": "equal-width:bins=20"},
         "assess(y_true, y_prob, floor=0.01, measured='equal-width:bins=20')"),
        ({"view": "top-label", "seed": 3, "confidence": 0.9},
         "assess(y_true, y_prob, view='top-label', confidence=0.9, seed=3)"),
        ({"clusters": np.arange(300) // 3, "sample_weight": np.linspace(1, 2, 300), "pos_label": 0},
         "assess(y_true, y_prob, clusters=clusters, sample_weight=sample_weight, pos_label=0)"),
    ],
)  # fmt: skip
def test_the_line_of_python_has_the_settings(options, expected):
    found = assess(*binary(1.2, 300), **options)
    assert assess_call(found) == f"from unperplexed import assess\n\n{expected}.diagnosis.verdict"


def test_the_line_of_python_of_a_tally_names_weights_and_clusters():
    y, p = binary(1.2, 300)
    tally = Tally.of(y, p, clusters=np.arange(300) // 3, sample_weight=np.linspace(1, 2, 300), parts=["shards"])
    assert "(y_true, y_prob, sample_weight=sample_weight, clusters=clusters" in assess_call(assess(tally))


def test_comparisons_have_a_line_of_python_with_their_settings():
    y, p = binary(1.2, 300)
    found = compare(y, {"a": p, "b q": p**2}, clusters=np.arange(300) // 3, floor=0.01)
    assert compare_call(found).endswith("compare(y, {'a': p, 'b q': q}, floor=0.01, clusters=clusters).verdict")
    found = compare_sequentially(y, {"a": p, "b": p**2}, metric="log_loss", confidence=0.99)
    assert sequential_call(found).endswith("(y, {'a': p, 'b': q}, metric='log_loss', confidence=0.99))")


def test_facts_count_the_clusters():
    y, p = binary(1.2, 300)
    text = " ".join(str(assess(y, p, clusters=np.arange(300) // 3, resamples=0)).split())
    assert f"(0, 1), {y.sum()} with '1', 100 clusters, effective number at least " in text
