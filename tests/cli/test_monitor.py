"""`unperplexed monitor`: periods of files and tallies, the history, and the exit code."""

import json
import re
import subprocess
import sys

import numpy as np
import polars as pl
import pytest
from scipy.special import expit

from unperplexed import InputError, Tally, drift
from unperplexed import monitor as watched
from unperplexed._lib.output_files import sole_run
from unperplexed.cli import main
from unperplexed.describe.alarm import changed_text
from unperplexed.monitoring.history import in_time
from unperplexed.results import History, Predictions


@pytest.fixture
def rain(tmp_path):
    rng, lines = np.random.default_rng(1), ["date,site,rain,p"]
    for at in range(40):
        s = rng.normal(0, 2, 200)
        y = rng.random(200) < expit(s + 0.8 * (at >= 30))
        lines += [f"2026-{1 + at // 28:02}-{1 + at % 28:02},{'ab'[k % 2]},{int(o)},{expit(x):.5f}"
                  for k, (x, o) in enumerate(zip(s, y, strict=True))]  # fmt: skip
    path = tmp_path / "rain.csv"
    path.write_text("\n".join(lines))
    return path


def monitored(path, *more, time="date"):
    return main(["monitor", str(path), "--truth", "rain", "--prob", "p", "--time", time, *more])


@pytest.mark.slow
def test_an_alarm_is_an_exit_code_and_names_the_day(rain, capsys, tmp_path):
    outputs = ["--plot", str(tmp_path / "c.png"), "--report", str(tmp_path / "c.html")]
    assert monitored(rain, *outputs, time="date:day") == 1
    assert "Calibration broke: most probably on 2026-02-0" in capsys.readouterr().out
    assert (tmp_path / "c.png").stat().st_size > 10_000
    assert "Log loss and skill over time" in (tmp_path / "c.html").read_text()


def test_no_alarm_is_success(rain, capsys):
    assert monitored(rain, "--where", "date < '2026-02-01'", time="date:week") == 0
    assert "No alarm in 5 periods" in capsys.readouterr().out


@pytest.mark.slow
def test_scipy_stats_is_not_loaded(rain):
    arguments = ["monitor", str(rain), "--truth", "rain", "--prob", "p", "--time", "date"]
    code = f"import sys; from unperplexed.cli import main; main({arguments}); print(*sys.modules)"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = set(ran.stdout.splitlines()[-1].split())
    assert "scipy.special" in loaded
    assert "scipy.stats" not in loaded


@pytest.mark.slow
def test_the_history_goes_on_where_it_ended(rain, capsys, tmp_path):
    history = ["--history", str(tmp_path / "h.json")]
    monitored(rain, *history, "--where", "date < '2026-02-01'", "-q")
    capsys.readouterr()
    monitored(rain, *history, "--where", "date >= '2026-02-01'", "--json", "-")
    in_two = json.loads(capsys.readouterr().out)
    monitored(rain, "--json", "-")
    assert in_two == json.loads(capsys.readouterr().out)


@pytest.mark.slow
def test_groups_are_watched_too(rain, capsys):
    monitored(rain, "--by", "site", "--json", "-")
    assert set(json.loads(capsys.readouterr().out)["groups"]) == {"a", "b"}


def test_tallies_are_periods_named_by_their_files(tmp_path, capsys):
    rng = np.random.default_rng(2)
    for at in range(12):
        s = rng.normal(0, 2, 300)
        Tally.of(rng.random(300) < expit(s + 1.5 * (at >= 9)), expit(s)).save(tmp_path / f"day{at}.tally")
    assert main(["monitor", str(tmp_path / "*.tally")]) == 1
    assert "most probably in day9" in capsys.readouterr().out


@pytest.mark.slow
def test_what_is_one_observation_of_tallies_may_be_said(tmp_path, capsys):
    rng, files = np.random.default_rng(2), []
    for at in range(12):
        s = rng.normal(0, 2, 300)
        files.append(str(tmp_path / f"day{at:02}.tally"))
        Tally.of(rng.random(300) < expit(s), expit(s)).save(files[-1])
    own = [Tally.load(file) for file in files]
    for word in ("none", "period"):
        code = main(["monitor", *files, "--clusters", word, "--json", "-"])
        expected = watched({f"day{at:02}": each for at, each in enumerate(own)}, clusters=word)
        assert code == (not expected)
        assert capsys.readouterr().out == expected.to_json() + "\n"
        assert main(["monitor", *files, "--drift", "--clusters", word]) == 2
        assert "--clusters: not for --drift" in capsys.readouterr().err
    assert main(["monitor", *files, "--clusters", "day"]) == 2
    assert "--clusters is for the reading of rows" in capsys.readouterr().err
    assert main(["monitor", *files, "--restart", "noon"]) == 2
    assert "restart (--restart): there is no period 'noon'" in capsys.readouterr().err


@pytest.mark.slow
def test_drift_leaves_out_what_a_reading_says_of_outcomes(rain, tmp_path, capsys):
    call = ["monitor", str(rain), "--drift", "--json", "-", "--reading"]
    (tmp_path / "r.toml").write_text('prob = "p"\ntime = "date"\n')
    code = main([*call, str(tmp_path / "r.toml")])
    expected = capsys.readouterr().out
    more = 'prob = "p"\ntime = "date"\ntruth = "rain"\nclusters = "site"\nweight = "rain"\nignore-label = "0"\n'
    (tmp_path / "r.toml").write_text(more)
    assert main([*call, str(tmp_path / "r.toml")]) == code
    assert capsys.readouterr().out == expected
    assert main([*call, str(tmp_path / "r.toml"), "--weight", "rain"]) == 2
    assert "--weight: not for --drift" in capsys.readouterr().err


def test_tallies_do_not_go_with_rows_or_the_options_of_rows(rain, tmp_path, capsys):
    for day, name in enumerate("ab"):
        Tally.of([0, 1, 1], [0.1 * day + 0.1, 0.8, 0.7]).tagged(name=name).save(tmp_path / f"{day}.tally")
    tallies = [str(tmp_path / f"{day}.tally") for day in range(2)]
    for words, message in (
        ([tallies[0], str(rain)], "tallies and rows cannot be mixed; count the rows into tallies, one a period"),
        ([*tallies, "--time", "date"], "--time and --by are for rows; tallies are one a period"),
        (tallies, "1: its data are 'b', and in the periods before 'a'"),
    ):
        assert main(["monitor", *words]) == 2
        assert message in capsys.readouterr().err
    assert main(["monitor", *tallies, "--mixed", "--json", "-"]) == 0
    assert json.loads(capsys.readouterr().out)["periods"] == ["0", "1"]
    for path in tallies:
        Tally.load(path).tagged(period="2026-03-01").save(path)
    assert main(["monitor", *tallies, "--mixed"]) == 2
    assert "1.tally: another tally has the same period, 2026-03-01. Rename one, or add up" in capsys.readouterr().err


def test_weeks_are_known_by_their_days_however_these_are_written(tmp_path, capsys):
    rng, files, history = np.random.default_rng(3), [], tmp_path / "h.json"
    for week in ("2026-W10", "2026-W11", "2026-W12"):
        s = rng.normal(0, 2, 300)
        files.append(str(tmp_path / f"{week}.tally"))
        Tally.of(rng.random(300) < expit(s), expit(s)).save(files[-1])
    assert main(["monitor", *files[:2], "--history", str(history)]) == 0
    for file in files:
        Tally.load(file).tagged(period=file[-14:-6]).save(file)
    capsys.readouterr()
    assert main(["monitor", *files, "--history", str(history), "--restart", "2026-W12", "--json", "-"]) == 0
    assert json.loads(capsys.readouterr().out)["periods"] == ["2026-03-16/2026-03-22"]
    assert History.load(history).names == ("2026-W10", "2026-W11", "2026-03-16/2026-03-22")
    Tally.of([1], [0.5]).tagged(period="2026-W10").save(files[0])
    assert main(["monitor", files[0], "--history", str(history)]) == 2
    assert "2026-03-02/2026-03-08: this period is in the history with other forecasts" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (["--time", "nothing"], "no column 'nothing'"),
        (["--time", "site:day"], "is no date"),
        ([], "--time: missing"),
    ],
)
def test_errors_name_the_option(rain, capsys, more, said):
    assert main(["monitor", str(rain), "--truth", "rain", "--prob", "p", *more]) == 2
    assert said in capsys.readouterr().err


@pytest.fixture
def predicted(tmp_path):
    """Forecasts of 40 days, the last ones higher, whose outcomes are still empty."""
    rng, lines = np.random.default_rng(4), ["date,rain,p"]
    for at in range(40):
        p = expit(rng.normal(at >= 30, 2, 100))
        lines += [f"2026-{1 + at // 28:02}-{1 + at % 28:02},,{each:.5f}" for each in p]
    path = tmp_path / "predicted.csv"
    path.write_text("\n".join(lines))
    return path


@pytest.mark.slow
def test_drift_needs_no_outcomes(predicted, capsys, tmp_path):
    outputs = ["--plot", str(tmp_path / "c.png"), "--report", str(tmp_path / "c.html")]
    assert main(["monitor", str(predicted), "--prob", "p", "--time", "date:day", "--drift", *outputs]) == 1
    said = capsys.readouterr().out
    assert "The predictions changed: most probably on 2026-02-0" in said
    assert "This says nothing about calibration" in said
    assert (tmp_path / "c.png").stat().st_size > 10_000
    assert "Mean and spread over time" in (tmp_path / "c.html").read_text()


@pytest.mark.slow
def test_the_history_of_predictions_goes_on_where_it_ended(predicted, capsys, tmp_path):
    history = tmp_path / "h.json"
    call = ["monitor", str(predicted), "--time", "date", "--truth", "rain", "--drift", "--json", "-"]
    assert main([*call, "--history", str(history), "--where", "date < '2026-02-01'"]) == 0
    capsys.readouterr()
    main([*call, "--history", str(history), "--where", "date >= '2026-02-01'"])
    in_two = json.loads(capsys.readouterr().out)
    main(call)
    assert in_two == json.loads(capsys.readouterr().out)
    assert not History.load(history).outcomes
    for option, value in (("--clusters", "none"), ("--require", "log_loss < 1"), ("--clusters", "date")):
        assert main([*call, option, value]) == 2
        assert f"{option}: not for --drift" in capsys.readouterr().err


def test_drift_of_several_classes_reads_tallies_too(tmp_path, capsys):
    rng = np.random.default_rng(5)
    for at in range(12):
        p = rng.dirichlet([1, 2, 3], 50)
        Tally.of(rng.integers(0, 3, 50), p).save(tmp_path / f"day{at:02}.tally")
    assert main(["monitor", str(tmp_path / "*.tally"), "--drift"]) == 0
    assert "Too few periods to tell: 12" in capsys.readouterr().out


def written(path, days, predictions):
    lines = [f"2026-03-{at + 1:02},,{p}" for at in range(days) for p in predictions(at)]
    path.write_text("\n".join(["date,rain,p", *lines]))
    return ["monitor", str(path), "--prob", "p", "--time", "date", "--drift"]


def test_days_of_a_file_with_equal_predictions_are_no_twins(tmp_path, capsys):
    """A climatology says the same every day; so may outcomes, and predictions of 0 and 1 in other numbers."""
    call = written(tmp_path / "p.csv", 20, lambda _: [0.3] * 60)
    assert main(call) == 0
    assert "No change of the predictions in 20 periods" in capsys.readouterr().out
    (tmp_path / "y.csv").write_text((tmp_path / "p.csv").read_text().replace(",,", ",0,"))
    assert main(["monitor", str(tmp_path / "y.csv"), "--truth", "rain", *call[2:-1]]) in (0, 1)
    assert main(written(tmp_path / "q.csv", 3, lambda at: [1] * (10 + at) + [0] * (50 - at))) == 0
    assert "a change from one to the other is not seen" in " ".join(capsys.readouterr().out.split())


def test_too_few_periods_are_told_and_the_number_that_suffices_holds(tmp_path, capsys):
    rng = np.random.default_rng(6)
    for days, code in ((1, 0), (14, 0), (17, 1)):
        start = days // 2 if days > 1 else 9
        call = written(tmp_path / "p.csv", days, lambda at, s=start: expit(rng.normal(3 * (at >= s), 1, 40)).round(4))
        assert main([*call, "--json", "-"]) == code
        found = json.loads(capsys.readouterr().out)
        assert (found["too_few"], found["enough_periods"]) == (not code, 17)
        main(call)
        assert ("seen only from 17 periods on" in " ".join(capsys.readouterr().out.split())) is not code


@pytest.mark.slow
def test_drift_reads_a_history_with_outcomes_and_leaves_it_as_it_is(rain, tmp_path, capsys):
    kept, later = tmp_path / "h.json", ["--where", "date >= '2026-02-01'"]
    monitored(rain, "--history", str(kept), "--where", "date < '2026-02-01'", "-q")
    before, call = kept.read_bytes(), ["monitor", str(rain), "--prob", "p", "--time", "date", "--drift"]
    capsys.readouterr()
    main([*call, *later, "--history", str(kept), "--json", "-"])
    said = capsys.readouterr()
    assert "is read and not written" in said.err
    assert kept.read_bytes() == before
    main([*call, "--json", "-"])
    assert json.loads(said.out) == json.loads(capsys.readouterr().out)
    main([*call, "--where", "date < '2026-01-20'", "--history", str(tmp_path / "p.json"), "-q"])
    assert monitored(rain, "--where", "date >= '2026-01-20'", "--history", str(tmp_path / "p.json")) == 2
    assert "take drift (--drift)" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        main(["monitor", "--history", str(kept), "--drift"])
    assert "name the file of its last period again" in capsys.readouterr().err


@pytest.mark.parametrize(("jobs", "code", "said"), [("1", 0, ""), ("2", 2, "leave out --jobs"), ("0", 2, "--jobs")])
def test_threads_of_periods(predicted, capsys, jobs, code, said):
    call = ["monitor", str(predicted), "--prob", "p", "--time", "date", "--drift", "--where", "date < '2026-01-09'"]
    assert main([*call, "--jobs", jobs]) == code
    assert said in capsys.readouterr().err


def test_outcomes_that_are_empty_name_drift(predicted, capsys):
    assert monitored(predicted) == 2
    assert "Predictions without outcomes are tested by --drift." in capsys.readouterr().err


def test_other_errors_do_not_name_drift_whatever_their_words_are(tmp_path, capsys):
    path = tmp_path / "a: no label in b.csv"
    path.write_text("date,rain,p\n2026-01-01,1,0.5\n2026-01-01,0,1.5\n")
    assert monitored(path) == 2
    assert "drift" not in capsys.readouterr().err


@pytest.mark.slow
def test_one_run_at_a_time_writes_the_history(rain, tmp_path, capsys, monkeypatch):
    """Of two runs that read the same history, the second to write would lose what the first one added."""
    history = tmp_path / "h.json"
    assert monitored(rain, "--where", "date < '2026-01-10'", "--history", str(history)) == 0
    kept = history.read_bytes()
    with sole_run(history):
        assert monitored(rain, "--where", "date < '2026-01-20'", "--history", str(history)) == 2
    assert "another run" in capsys.readouterr().err
    assert history.read_bytes() == kept
    with sole_run(history) as writing:
        with writing():
            history.write_bytes(kept + b" ")
        with pytest.raises(InputError, match="another run has changed this file in the meantime"), writing():
            pytest.fail("it was let in")
    history.write_bytes(kept)
    assert monitored(rain, "--where", "date < '2026-01-20'", "--history", str(history)) == 0
    assert History.load(history).names[-1] == "2026-01-19"


@pytest.mark.parametrize("names", [("forecasts_jan", "forecasts_feb"), ("feb2026", "mar2026"), ("1_May", "2_June")])
def test_months_are_seen_in_names_of_files(names):
    with pytest.raises(InputError, match=f"periods such as '{names[0]}' is not known"):
        in_time([(name,) for name in names])
    assert in_time([("maybe10",), ("maybe9",)]) == [("maybe9",), ("maybe10",)]


@pytest.mark.slow
def test_names_that_the_alphabet_puts_in_another_order_are_refused(rain, tmp_path, capsys):
    text = rain.read_text().replace("2026-01-", "Jan ").replace("2026-02-", "Feb ")
    named = tmp_path / "named.csv"
    named.write_text(text)
    assert monitored(named) == 2
    assert "the order of periods such as 'Feb 01' is not known" in capsys.readouterr().err
    rows = text.replace("Jan ", "week ").splitlines()
    named.write_text("\n".join(row for row in rows if "Feb" not in row))
    assert monitored(named, "--history", str(tmp_path / "h2.json"), "--quiet") in (0, 1)
    assert History.load(tmp_path / "h2.json").names[:3] == ("week 01", "week 02", "week 03")


def test_a_date_is_after_the_last_date_whatever_came_between():
    day = Tally.of([1, 0] * 9, [0.8, 0.3] * 9)
    history = History().after("2026-03-26", day).after("replayed", Tally.of([1, 0], [0.7, 0.2]))
    with pytest.raises(InputError, match="it is before 2026-03-26"):
        history.after("2026-03-10", Tally.of([1, 0], [0.6, 0.1]))


@pytest.mark.slow
def test_the_table_shows_rows_around_the_break_and_fits_eighty_columns(rain, capsys, tmp_path):
    """Of 120 days three are together in each row."""
    rng = np.random.default_rng(5)
    lines = ["date,rain,p"]
    for at in range(120):
        s = rng.normal(0, 1.5, 100)
        day = np.datetime64("2026-01-01") + at
        lines += [f"{day},{int(rng.random() < expit(x + 0.8 * (at >= 30)))},{expit(x):.5f}" for x in s]
    rain.write_text("\n".join(lines))
    assert monitored(rain, "--plot", str(tmp_path / "c.svg")) == 1
    text = capsys.readouterr().out
    table = text[text.index("Over time: 12 of 40 rows") :].split("\n\n")[0].splitlines()
    assert "3 periods from" in table[2]
    assert len(table) == 3 + 12 + 1  # no row needs a second line; one gap
    assert any(row.startswith("2026-01-31") for row in table)  # where it began
    assert table[-1].startswith("2026-04-28")
    assert "3 periods a point" in (tmp_path / "c.svg").read_text()


@pytest.mark.slow
def test_one_forecast_has_a_picture_without_a_warning(rain, capsys, tmp_path):
    rain.write_text("date,rain,p\n2026-01-01,1,0.4\n")
    assert monitored(rain, "--labels", "0", "1", "--plot", str(tmp_path / "c.svg")) == 0
    assert "not determined" in (tmp_path / "c.svg").read_text()
    assert capsys.readouterr().err == ""


def test_dates_with_a_weekday_are_in_order_and_months_before_years_are_not():
    days = [("2026-04-12 Sun",), ("2026-04-11 Sat",)]
    assert in_time(days) == days[::-1]
    with pytest.raises(InputError, match="the order of periods such as '2026 Apr' is not known"):
        in_time([("2026 Apr",), ("2026 May",)])


@pytest.mark.slow
def test_a_break_in_the_last_rows_leaves_the_table_its_twelve_rows(rain, capsys):
    assert monitored(rain, "--where", "date < '2026-02-06'") == 1
    assert "Over time: 12 of 33 rows" in capsys.readouterr().out


def dated_forecasts(path, rng, error, n=2400, **more):
    """Write forecasts of a year; the error is what the log-odds lack, by the day of the year."""
    day, s = np.sort(rng.integers(0, 365, n)), rng.normal(0, 1.5, n)
    columns = {"date": pl.select(pl.date(2025, 1, 1) + pl.duration(days=pl.Series(day))).to_series(), "p": expit(s)}
    pl.DataFrame(columns | {"y": (rng.random(n) < expit(s + error(day))) * 1} | more).write_csv(path)
    return str(path)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("error", "more", "options", "said"),
    [
        (lambda day: 1.0 * (day >= 243), {}, [], True),
        (lambda day: 1.0 * (day >= 243), {}, ["--clusters", "date"], False),
        (lambda day: 0.5 + 0.0 * day, {}, [], False),
        (lambda day: 0.0 * day, {}, [], False),
        (lambda day: 1.0 * (day >= 243), {"issue_date": "2025-01-01"}, [], False),
        (lambda day: 1.0 * (day >= 243), {"heft": 2.0}, ["--weight", "heft"], False),
    ],
    ids=["change", "change in clusters", "from the first day on", "calibrated", "two columns of dates", "weights"],
)
def test_assess_says_when_calibration_changed(tmp_path, rng, capsys, error, more, options, said):
    path = dated_forecasts(tmp_path / "dated.csv", rng, error, **more)
    assert main(["assess", path, "--truth", "y", "--prob", "p", "--resamples", "0", *options]) == 0
    text = " ".join(capsys.readouterr().out.split())
    assert ("calibration changed" in text) == said
    if said:
        assert re.search(r"By 'date' calibration changed, most probably in 2025-(08|09)\b", text)
        assert "The verdict since then is: underpredicts '1'" in text


@pytest.mark.slow
def test_a_change_is_said_of_few_constant_errors(rng):
    """In 5% at most; with 10% the chance of so few among 80 would be .002."""
    said = 0
    for intercept, slope in ((0.36, 0), (0, -0.36)) * 40:
        month, s = np.sort(rng.integers(0, 8, 800)), rng.normal(0, 1.5, 800)
        y = rng.random(800) < expit(s + intercept + slope * s)
        said += changed_text(watched(y, expit(s), time=month), "month") != ""
    assert said <= 1


def counted(folder, day, *more, name="", period="", truth=("--truth", "y")):
    """Count the rows of a day into a tally, with its period and model as tags."""
    path = folder / f"{name or day}.tally"
    model = () if any(word.startswith("model=") for word in more) else ("model=v7",)
    tags = ("--tag", f"period=2026-10-{period or day:02}", *model)
    assert main(["tally", str(folder / f"{day}.csv"), *truth, "--prob", "p", *tags, "-o", str(path), "-q", *more]) == 0
    return str(path)


@pytest.fixture
def days(tmp_path):
    """Four days of forecasts, each a file with the parts of a day in which outcomes came."""
    rng = np.random.default_rng(5)
    for day in range(1, 5):
        p = expit(rng.normal(size=200))
        y, part = (rng.random(200) < p).astype(int), np.arange(200) % 4
        pl.DataFrame({"y": y, "p": p, "part": part}).write_csv(tmp_path / f"{day}.csv")
    return tmp_path


def test_a_day_that_was_missed_is_put_in_its_place(days, capsys, tmp_path):
    history, tallies = str(tmp_path / "h.json"), {day: counted(days, day) for day in range(1, 5)}
    assert main(["monitor", tallies[1], tallies[2], tallies[4], "--history", history, "-q"]) == 0
    assert main(["monitor", tallies[3], "--history", history]) == 2
    assert "--rebuild" in capsys.readouterr().err
    assert main(["monitor", tallies[3], "--history", history, "--rebuild"]) == 0
    assert "2026-10-03: 200 forecasts, put in its place" in capsys.readouterr().err
    whole = watched({f"2026-10-0{day}": Tally.load(path) for day, path in tallies.items()})
    rebuilt = watched(History.load(history))
    assert rebuilt.periods == whole.periods
    np.testing.assert_array_equal(rebuilt.log_evidence, whole.log_evidence)
    assert main(["monitor", tallies[3], "--rebuild"]) == 2
    assert "--history" in capsys.readouterr().err


def test_late_outcomes_of_a_day_add_up_if_the_day_is_named_and_replace_it(days, capsys, tmp_path):
    history, lines, whole = str(tmp_path / "h.json"), tmp_path / "days.jsonl", counted(days, 1, name="whole")
    early = counted(days, 1, "--where", "part > 0", name="early")
    late = counted(days, 1, "--where", "part = 0", name="late")
    both, named = str(tmp_path / "both.tally"), ["--tag", "period=2026-10-01"]
    assert main(["monitor", early, "--history", history, "-q"]) == 0
    assert main(["tally", early, late, "-o", both]) == 2
    assert "--tag period=2026-10-01" in capsys.readouterr().err
    assert main(["tally", early, late, "-o", both, "-q", *named]) == 0
    assert Tally.load(both).score_sums == Tally.load(whole).score_sums
    assert main(["monitor", both, "--history", history, "-q"]) == 2
    assert "--rebuild" in capsys.readouterr().err
    assert main(["monitor", both, "--history", history, "--rebuild", "--json", str(lines)]) == 0
    assert "2026-10-01: 200 forecasts, instead of 150" in capsys.readouterr().err
    [line] = map(json.loads, lines.read_text().splitlines())
    assert (line["period"], line["alarm"]) == ("2026-10-01", False)


def test_parts_of_a_day_are_neither_counted_twice_nor_of_other_models(days, capsys, tmp_path):
    first, copy = counted(days, 1), counted(days, 1, name="copy")
    other = counted(days, 2, "--tag", "model=v8", period=1)
    for more, reason in ((copy, "the same rows as another"), (other, "different models")):
        assert main(["tally", first, more, "--tag", "period=2026-10-01", "-o", str(tmp_path / "sum.tally")]) == 2
        assert reason in capsys.readouterr().err


def test_periods_of_an_unknown_order_are_not_rebuilt():
    history = History.of({name: Tally.of([0, 1], [0.2, p]) for name, p in (("late", 0.8), ("early", 0.7))})
    with pytest.raises(InputError, match="place is not known"):
        history.then(History.of({"noon": Tally.of([0, 1], [0.4, 0.8])}), rebuild=True)


def test_predictions_without_outcomes_are_counted_added_up_and_tested_for_drift(days, capsys, tmp_path):
    for day in range(1, 5):
        pl.read_csv(days / f"{day}.csv").drop("y").write_csv(tmp_path / f"{day}.csv")
    alone = [counted(tmp_path, day, truth=()) for day in range(1, 5)]
    assert main(["monitor", *alone, "--drift", "--json", "-"]) == 0
    drifted = json.loads(capsys.readouterr().out)
    expected = drift({f"2026-10-0{day}": Predictions.of(pl.read_csv(f"{days}/{day}.csv")["p"]) for day in range(1, 5)})
    assert drifted["log_evidence"] == expected.log_evidence.tolist()
    assert main(["tally", *alone, "-o", str(tmp_path / "sum.tally")]) == 0
    assert "Predictions without outcomes: 800 forecasts" in capsys.readouterr().out
    assert Tally.load(tmp_path / "sum.tally").tags.periods == ("2026-10-01/2026-10-04",)
    for words in (["assess"], ["decide"], ["monitor"], ["check", "--require", "rows > 1"]):
        assert main([*words[:1], alone[0], *words[1:]]) == 2
        assert "only monitor --drift" in capsys.readouterr().err
    with_outcomes = str(tmp_path / "y.tally")
    Tally.of([0, 1], [0.2, 0.8]).save(with_outcomes)
    assert main(["tally", alone[0], with_outcomes, "-o", str(tmp_path / "sum.tally")]) == 2
    assert "do not add up" in capsys.readouterr().err


def test_columns_that_may_be_outcomes_are_not_taken_for_none(tmp_path, capsys):
    (tmp_path / "two.csv").write_text("y,outcome,p\n1,0,.5\n")
    assert main(["tally", str(tmp_path / "two.csv"), "--prob", "p", "-o", str(tmp_path / "x.tally")]) == 2
    assert "could be 'y', 'outcome'" in capsys.readouterr().err


def test_dropped_rows_are_said(tmp_path, capsys):
    """By what shows none of the rows, too: a gate, and periods."""
    rng = np.random.default_rng(0)
    p = rng.random(200).round(3)
    y = np.where(np.arange(200) % 4 == 0, "", (rng.random(200) < p).astype(int).astype(str))
    path = tmp_path / "f.csv"
    pl.DataFrame({"day": np.arange(200) // 20, "p": p, "y": y}).write_csv(path)
    words = str(path), "--truth", "y", "--prob", "p", "--invalid", "drop"
    for command in (("monitor", *words, "--time", "day"), ("check", *words, "--require", "auc > 0.5")):
        assert main([*command]) == 0
        assert "50 rows dropped: no label" in capsys.readouterr().err
