"""`unperplexed monitor`: periods of files and tallies, the history, and the exit code."""

import json

import numpy as np
import pytest
from scipy.special import expit

from unperplexed import Tally
from unperplexed.cli import main
from unperplexed.monitoring import History


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


def monitored(path, *more):
    return main(["monitor", str(path), "--truth", "rain", "--prob", "p", "--time", "date", *more])


def test_an_alarm_is_an_exit_code_and_names_the_day(rain, capsys, tmp_path):
    outputs = ["--plot", str(tmp_path / "c.png"), "--report", str(tmp_path / "c.html")]
    assert monitored(rain, "--every", "1d", *outputs) == 1
    assert "Calibration broke: most probably on 2026-02-0" in capsys.readouterr().out
    assert (tmp_path / "c.png").stat().st_size > 10_000
    assert "Log loss and skill over time" in (tmp_path / "c.html").read_text()


def test_no_alarm_is_success(rain, capsys):
    assert monitored(rain, "--every", "1w", "--where", "date < '2026-02-01'") == 0
    assert "No alarm in 5 periods" in capsys.readouterr().out


def test_the_history_goes_on_where_it_ended(rain, capsys, tmp_path):
    history = ["--history", str(tmp_path / "h.json")]
    monitored(rain, *history, "--where", "date < '2026-02-01'", "-q")
    capsys.readouterr()
    monitored(rain, *history, "--where", "date >= '2026-02-01'", "--json", "-")
    in_two = json.loads(capsys.readouterr().out)
    monitored(rain, "--json", "-")
    assert in_two == json.loads(capsys.readouterr().out)


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
    assert main(["monitor", *files, "--history", str(history), "--since", "2026-W12", "--json", "-"]) == 0
    assert json.loads(capsys.readouterr().out)["periods"] == ["2026-03-16/2026-03-22"]
    assert History.load(history).names == ("2026-W10", "2026-W11", "2026-03-16/2026-03-22")
    Tally.of([1], [0.5]).tagged(period="2026-W10").save(files[0])
    assert main(["monitor", files[0], "--history", str(history)]) == 2
    assert "2026-03-02/2026-03-08: this period is in the history with other forecasts" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (["--time", "nothing"], "no column 'nothing'"),
        (["--every", "1d", "--time", "site"], "is no date"),
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


def test_drift_needs_no_outcomes(predicted, capsys, tmp_path):
    outputs = ["--plot", str(tmp_path / "c.png"), "--report", str(tmp_path / "c.html")]
    assert main(["monitor", str(predicted), "--prob", "p", "--time", "date", "--every", "1d", "--drift", *outputs]) == 1
    said = capsys.readouterr().out
    assert "The predictions changed: most probably on 2026-02-0" in said
    assert "This says nothing about calibration" in said
    assert (tmp_path / "c.png").stat().st_size > 10_000
    assert "Mean and spread over time" in (tmp_path / "c.html").read_text()


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
    for option, value in (("--units", "rows"), ("--require", "log_loss < 1"), ("--groups", "date")):
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
