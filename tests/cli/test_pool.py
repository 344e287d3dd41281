"""unperplexed pool: the figures of pool(), files paired, and pools applied to files with other columns kept."""

import inspect
import json
from functools import cache
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal
from scipy.special import expit, logit

from unperplexed import compare, pool
from unperplexed.cli.parser import _parser, main
from unperplexed.cli.pool import settings_of
from unperplexed.forecasts.reading import AssessedReading
from unperplexed.results import Pool

N = 600


@pytest.fixture
def files(rng, tmp_path, monkeypatch):
    """Two forecasters with independent evidence: in one file, and in a file each, the second in another order."""
    monkeypatch.chdir(tmp_path)
    y, s = rng.integers(0, 2, N), np.array([[1.5], [1.0]])
    a, b = expit(s**2 * (2 * y - 1) / 2 + s * rng.normal(size=(2, N))).round(4)
    frame = pl.DataFrame(
        {"day": [f"d{i}" for i in range(N)], "rain": np.where(y == 1, "yes", "no"), "p_a": a, "p_b": b}
    )
    frame = frame.with_columns(station=pl.Series(np.arange(N) // 3))
    frame.write_csv("both.csv")
    for name in "ab":
        frame.select("day", "rain", "station", p=f"p_{name}").write_csv(f"{name}.csv")
    frame.select("day", "rain", p="p_b").sample(fraction=1, shuffle=True, seed=1).write_csv("shuffled.csv")
    return frame


COLUMNS = ("--truth", "rain", "--labels", "no", "yes")
WITHIN = ("--forecaster", "a=p_a", "b=p_b")
LOGARITHMIC = ("--method", "logarithmic")
QUICK = (*WITHIN, *LOGARITHMIC)  # its fit takes a tenth of the time of the default's


def fitted(*arguments):
    assert main(["pool", *arguments, *COLUMNS, "-o", "pool.json", "--force", "-q"]) == 0
    return Pool.load("pool.json")


@cache
def _logarithmic():
    fitted("both.csv", *QUICK)
    return Path("pool.json").read_bytes()


def fitted_before():
    """The pool of QUICK, which is fitted once for the tests of what does not depend on the fit."""
    Path("pool.json").write_bytes(_logarithmic())
    return Pool.load("pool.json")


@pytest.mark.parametrize(
    "options", [pytest.param((), marks=pytest.mark.slow), ("--method", "logarithmic", "--folds", "3", "--seed", "4")]
)
def test_the_command_is_the_function(files, options):
    settings = {} if not options else {"method": "logarithmic", "folds": 3, "seed": 4}
    rain = (files["rain"] == "yes").to_numpy()
    expected = pool(rain, {"a": files["p_a"], "b": files["p_b"]}, **settings).to_dict()
    found = fitted("both.csv", *WITHIN, *options).to_dict()
    assert found.pop("labels") == ["no", "yes"]
    held_out, own = found.pop("held_out"), expected.pop("held_out")
    assert expected.pop("labels") == [False, True]
    assert found.pop("weights") == pytest.approx(expected.pop("weights"), rel=1e-9)
    beta, own_beta = found.pop("beta"), expected.pop("beta")
    assert beta == (own_beta and pytest.approx(own_beta, rel=1e-9))
    assert found.pop("power") == pytest.approx(expected.pop("power"), rel=1e-9)
    assert found == expected
    assert held_out["log_loss"] == pytest.approx(own["log_loss"], rel=1e-12)
    assert held_out["interval"] == pytest.approx(own["interval"], rel=1e-9)
    assert held_out["best"] == "a"


@pytest.mark.slow
def test_files_are_paired_by_id_or_in_order(files):
    within = fitted("both.csv", *QUICK)
    assert fitted("a.csv", "b.csv", "--in-order", "--prob", "p", *LOGARITHMIC).to_dict() == within.to_dict()
    by_id = fitted("a.csv", "b=shuffled.csv", "--on", "day", "--prob", "p", *LOGARITHMIC)
    assert by_id.to_dict() == within.to_dict()


@pytest.mark.slow
def test_clusters_and_weights_count(files):
    rain = (files["rain"] == "yes").to_numpy()
    forecasters = {"a": files["p_a"], "b": files["p_b"]}
    found = fitted("both.csv", *QUICK, "--clusters", "station")
    expected = pool(rain, forecasters, clusters=files["station"].to_numpy(), method="logarithmic")
    assert found.weights == pytest.approx(expected.weights, rel=1e-9)
    copies = pl.concat([files] * 4)  # of the same day: four rows that are no more than one
    copies.write_csv("copies.csv")
    copied = fitted("copies.csv", *QUICK, "--clusters", "day").held_out
    single = fitted("both.csv", *QUICK).held_out
    widths = [each.interval.high - each.interval.low for each in (copied, single)]
    assert widths[0] == pytest.approx(widths[1], rel=0.1)
    files.with_columns(w=pl.Series(np.arange(N) % 3)).write_csv("weighted.csv")
    found = fitted("weighted.csv", *QUICK, "--weight", "w")
    expected = pool(rain, forecasters, sample_weight=np.arange(N) % 3, method="logarithmic")
    assert found.weights == pytest.approx(expected.weights, rel=1e-9)
    assert found.n_rows == expected.n_rows == 400


@pytest.mark.slow
def test_settings_of_the_user_are_kept(files):
    found = fitted("both.csv", *WITHIN, "--method", "mean:order=-1,a=3,b=1,power=2")
    assert (found.order, found.power, found.weights) == (-1, 2, {"a": 0.75, "b": 0.25})
    assert fitted("both.csv", *WITHIN, "--method", "logarithmic:equal").weights == {"a": 0.5, "b": 0.5}


@pytest.mark.slow
def test_the_held_out_figures_are_those_of_compare(files, capsys):
    found = fitted("both.csv", *QUICK, "--json", "-")
    read = json.loads(capsys.readouterr().out)
    rain = (files["rain"] == "yes").to_numpy()
    losses = compare(rain, {"a": files["p_a"], "b": files["p_b"]})
    scores = {name: each.scores["log_loss"].mean for name, each in losses.forecasters.items()}
    assert read["held_out"]["members"] == pytest.approx(scores, rel=1e-9)
    assert found.held_out.log_loss == read["held_out"]["log_loss"]


@pytest.mark.parametrize("form", ["csv", "parquet", "jsonl"])
def test_a_pool_is_applied_and_other_columns_are_kept(files, form, capsys):
    made = fitted_before()
    source = {"csv": "both.csv", "parquet": "new.parquet", "jsonl": "new.jsonl"}[form]
    if form == "parquet":
        files.write_parquet(source)
    elif form == "jsonl":
        files.write_ndjson(source)
    assert main(["pool", "--apply", "pool.json", source, *WITHIN, "-o", f"out.{form}"]) == 0
    assert capsys.readouterr().out == f"out.{form}: 600 rows pooled, column pooled\n"
    read = {"csv": pl.read_csv, "parquet": pl.read_parquet, "jsonl": pl.read_ndjson}[form](f"out.{form}")
    assert_frame_equal(read.drop("pooled"), files)
    expected = made.transform({"a": files["p_a"], "b": files["p_b"]})
    assert read["pooled"].to_numpy() == pytest.approx(expected, rel=1e-14)


def test_files_in_the_same_order_are_read_side_by_side(files, monkeypatch):
    made = fitted_before()
    monkeypatch.setattr("unperplexed.sources.readers.BATCH_VALUES", 64)
    files.select("day", p="p_b").write_parquet("b.parquet")  # other batches than those of the text file
    arguments = ["a=a.csv", "b=b.parquet", "--in-order", "--prob", "p", "--as", "joint"]
    assert main(["pool", "--apply", "pool.json", *arguments, "-o", "out.csv", "-q"]) == 0
    read = pl.read_csv("out.csv")
    assert read.columns == ["day", "rain", "station", "p", "joint"]
    expected = made.transform({"a": files["p_a"], "b": files["p_b"]})
    assert read["joint"].to_numpy() == pytest.approx(expected, rel=1e-14)


def test_the_form_of_the_probabilities_is_kept(files):
    made = fitted_before()
    expected = made.transform({"a": files["p_a"], "b": files["p_b"]})
    files.with_columns(pl.col("p_a", "p_b") * 100).write_csv("percent.csv")
    files.with_columns(pl.Series(name, logit(files[name])) for name in ("p_a", "p_b")).write_csv("logits.csv")
    for scale, back in (("percent", lambda x: x / 100), ("logits", expit)):
        assert (
            main(["pool", "--apply", "pool.json", f"{scale}.csv", *WITHIN, "--scale", scale, "-o", "out.csv", "-q"])
            == 0
        )
        assert back(pl.read_csv("out.csv")["pooled"].to_numpy()) == pytest.approx(expected, rel=1e-9)


def test_invalid_rows_are_refused_by_number_or_left_empty(files, capsys):
    fitted_before()
    files.with_columns(p_b=pl.when(pl.int_range(N) == 7).then(None).otherwise("p_b")).write_csv("gap.csv")
    apply = ["pool", "--apply", "pool.json", "gap.csv", *WITHIN, "-o", "out.csv"]
    assert main(apply) == 2
    assert "gap.csv: p_b: NaN" in (error := capsys.readouterr().err)
    assert "(7; counted from 0)" in error
    assert main([*apply, "--invalid", "drop"]) == 0
    assert "1 row without valid probabilities left empty" in capsys.readouterr().out
    assert pl.read_csv("out.csv")["pooled"].is_null().arg_true().to_list() == [7]


@pytest.mark.parametrize("form", ["parquet", "jsonl"])
def test_columns_of_lists_are_fitted_and_pooled(files, form, monkeypatch):
    """A list for each forecaster, read in several batches."""
    made = fitted_before()
    lists = files.select("day", *(pl.concat_list(1 - pl.col(name), name).alias(name) for name in ("p_a", "p_b")))
    source, target = f"lists.{form}", f"out.{form}"
    lists.write_parquet(source) if form == "parquet" else lists.write_ndjson(source)
    monkeypatch.setattr("unperplexed.sources.readers.BATCH_VALUES", 1000)
    assert main(["pool", "--apply", "pool.json", source, *WITHIN, "-o", target, "-q"]) == 0
    read = pl.read_parquet(target) if form == "parquet" else pl.read_ndjson(target)
    assert_frame_equal(read.select("day", "p_a", "p_b"), lists)
    expected = made.transform({"a": files["p_a"], "b": files["p_b"]})
    np.testing.assert_allclose(np.array(read["pooled"].to_list()), np.stack([1 - expected, expected], axis=1))


def test_rows_without_valid_probabilities_are_empty_and_no_rows_are_none(files, capsys):
    fitted_before()
    files.select("day", p_a=pl.lit(None), p_b="p_b").head(3).write_csv("gap.csv")
    apply = ["pool", "--apply", "pool.json", "-o", "out.csv"]
    assert main([*apply, "gap.csv", *WITHIN, "--invalid", "drop"]) == 0
    assert "3 rows pooled, column pooled; 3 rows without valid probabilities left empty" in capsys.readouterr().out
    assert pl.read_csv("out.csv")["pooled"].is_null().all()
    for name in ("a.csv", "b.parquet"):
        none = pl.read_csv(f"{name[0]}.csv").clear()
        none.write_csv(name) if name.endswith("csv") else none.write_parquet(name)
    assert main([*apply, "a.csv", "b.parquet", "--in-order"]) == 0
    said = capsys.readouterr()
    assert "0 rows pooled" in said.out
    assert "a: probabilities from 'p'" in said.err
    assert "b: probabilities from 'p'" in said.err
    assert pl.read_csv("out.csv").columns == ["day", "rain", "station", "p", "pooled"]


@pytest.mark.slow
def test_more_classes_go_by_their_labels(rng, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    y = rng.integers(0, 3, 300)
    scores = np.exp(rng.normal(size=(2, 300, 3)) + 1.2 * (np.arange(3) == y[:, None]))
    a, b = scores / scores.sum(axis=2, keepdims=True)
    columns = {f"{name}_{label}": p[:, at] for name, p in (("a", a), ("b", b)) for at, label in enumerate("xyz")}
    pl.DataFrame({"seen": np.array(list("xyz"))[y], **columns}).write_csv("three.csv")
    # The second forecaster's columns are named in another order.
    rivals = ["--forecaster", "a=a_x,a_y,a_z", "b=b_x,b_y,b_z"]
    assert main(["pool", "three.csv", "--truth", "seen", *rivals, "--labels", "x", "y", "z", "-o", "p.json", "-q"]) == 0
    made = Pool.load("p.json")
    expected = pool(y, {"a": a, "b": b})
    assert made.weights == pytest.approx(expected.weights, rel=1e-9)
    rivals = ["--forecaster", "a=x=a_x,y=a_y,z=a_z", "b=z=b_z,x=b_x,y=b_y"]
    assert main(["pool", "--apply", "p.json", "three.csv", *rivals, "-o", "out.csv", "-q"]) == 0
    found = pl.read_csv("out.csv").select("pooled_x", "pooled_y", "pooled_z").to_numpy()
    assert found == pytest.approx(made.transform({"a": a, "b": b}), rel=1e-12)


@pytest.mark.parametrize(
    ("rows", "message"),
    [(N, "no rows of positive weight that are valid for every forecaster"), (0, "a: no rows to pool")],
)
def test_no_rows_have_no_pool(files, capsys, rows, message):
    files.head(rows).with_columns(p_a=pl.lit(None)).write_csv("none.csv")
    assert main(["pool", "none.csv", *QUICK, *COLUMNS, "--invalid", "drop", "-o", "pool.json"]) == 2
    assert message in capsys.readouterr().err
    assert not Path("pool.json").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("both.csv",), "how are rows matched?"),
        (("a.csv", "b=shuffled.csv", "--in-order", "--prob", "p"), "another outcome than for a in"),
        (("both.csv", *WITHIN, "--method", "linear:a"), "--method linear:a: 'a' is no setting"),
        (("both.csv", *WITHIN, "--method", "linear:a=1,c=1"), "weights: expected one for each of 'a', 'b'"),
        (("both.csv", *WITHIN, "--method", "linear:order=2"), "order: the linear pool has order 1"),
        (("both.csv", *WITHIN, "--as", "x"), "--as names new columns"),
    ],
)
def test_fits_that_cannot_be_are_refused(files, capsys, tmp_path, arguments, message):
    assert main(["pool", *arguments, *COLUMNS, "-o", "pool.json"]) == 2
    assert message in capsys.readouterr().err
    assert not (tmp_path / "pool.json").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("both.csv", "--forecaster", "a=p_a", "c=p_b"), "the pool is of the forecasters 'a', 'b', these are 'a', 'c'"),
        (("both.csv", *WITHIN, "--truth", "rain"), "--truth is for the fit of a pool"),
        (("a.csv", "b.csv", "--on", "day", "--prob", "p"), "--on is for the fit of a pool"),
        (("a.csv", "b.csv", "--prob", "p"), "name the columns of each forecaster in one FILE with --forecaster"),
        (("both.csv", *WITHIN, "--as", "rain"), "both.csv: has a column 'rain' already; choose another name (--as)"),
        (("a=a.csv", "b=short.csv", "--in-order", "--prob", "p"), "a.csv: short.csv has only 10 rows"),
        (("a=short.csv", "b=b.csv", "--in-order", "--prob", "p"), "short.csv: b.csv has more rows than this file"),
        (("both.csv", "--forecaster", "a=p_a", "b=nothing"), "no column 'nothing'"),
        (("both.csv", *WITHIN, "--labels", "no", "perhaps"), "the pool is of the probability of 'yes'"),
        (("both.csv", *WITHIN, "--in-order"), "leave out --prob and --in-order"),
        (("both.csv", "a.csv", *WITHIN), "--apply with --forecaster writes the rows of one file to another; name one"),
        (("a=[ab].csv", *WITHIN), "a: 2 files; --apply takes one FILE of each forecaster."),
        (("lists.parquet", *WITHIN), "3 probability columns, but the pool is of 2 classes"),
    ],
)
def test_applications_that_cannot_be_are_refused(files, capsys, tmp_path, arguments, message):
    fitted_before()
    files.select("day", p="p_b").head(10).write_csv("short.csv")
    pl.DataFrame({"p_a": [[0.2, 0.3, 0.5]], "p_b": [[0.1, 0.2, 0.7]]}).write_parquet("lists.parquet")
    assert main(["pool", "--apply", "pool.json", *arguments, "-o", "out.csv"]) == 2
    assert message in capsys.readouterr().err
    assert not (tmp_path / "out.csv").exists()


def test_defaults_are_those_of_the_function():
    """No method is the linear one of classes, and the average of predictive distributions by quantiles."""
    parsed = vars(_parser().parse_args(["pool", "x.csv", "-o", "pool.json"]))
    parsed |= settings_of(parsed["method"])
    for name, parameter in inspect.signature(pool).parameters.items():
        if parameter.kind is parameter.KEYWORD_ONLY and name not in AssessedReading.__annotations__:
            default = "linear" if name == "method" else parameter.default
            assert (parsed[name] or None) == (default or None), name
