"""Tallies of predictive distributions: any order and split, what an assessment reads from them, their file."""

import struct
from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import ndtri

import unperplexed as up
from unperplexed.cli.parser import main
from unperplexed.tally import distributions as cells
from unperplexed.tally.serialization import MAGIC, VERSION

LEVELS = np.array([0.01, 0.025, 0.1, 0.25, 0.5, 0.75, 0.9, 0.975, 0.99])
FEW, N = 40, 4_000


def rows(seed, n, *, low=0.0, narrow=1.0):
    """Outcomes, and centres and spreads of forecasts that are too low and too narrow by so much."""
    rng = np.random.default_rng(seed)
    centre, spread = rng.normal(3, 5, n), 2 * np.exp(0.4 * rng.normal(size=n))
    return centre + low * spread + narrow * spread * rng.normal(size=n), centre, spread


def counts(seed, n, *, more=1.0):
    """Counts, and their predicted means, which are too low by such a factor."""
    rng = np.random.default_rng(seed)
    mean = np.exp(rng.normal(1, 0.8, n))
    return rng.poisson(more * mean).astype(float), mean


def rain(y, mean, seed):
    """Make a share of outcomes zeros."""
    return np.where(np.random.default_rng(seed).random(len(y)) < 0.3, 0.0, y * mean)


def members(centre, spread, seed):
    """Draw members of ensembles."""
    draws = np.random.default_rng(seed).normal(size=(len(centre), 11))
    return up.Samples(np.round(centre[:, None] + spread[:, None] * draws, 1))


def made(form, seed, n, **error):
    """Outcomes and forecasts of a form."""
    y, centre, spread = rows(seed, n, **error)
    k, mean = counts(seed, n, more=1 + error.get("low", 0.0))
    wet = rain(np.random.default_rng(seed).gamma(2, size=n), mean, seed + 1)
    forms = {
        "normal": lambda: (y, up.Distribution("normal", mean=centre, sd=spread)),
        "quantiles": lambda: (y, up.Quantiles(LEVELS, centre[:, None] + spread[:, None] * ndtri(LEVELS))),
        "members": lambda: (np.round(y, 1), members(centre, spread, seed + 2)),
        "counts": lambda: (k, up.Distribution("poisson", mean=mean)),
        "atom": lambda: (wet, up.Distribution("gamma", shape=2.0, scale=mean, zero=np.full(n, 0.3))),
        "pit": lambda: (None, up.PIT(np.random.default_rng(seed).beta(1 + error.get("low", 0.0), 1, n))),
    }
    return forms[form]()


FORMS = ("normal", "quantiles", "members", "counts", "atom", "pit")


def part(y, forecast, rows, **options):
    """Count some of the rows."""
    options = {name: each[rows] for name, each in options.items()}
    return up.Tally.of(None if y is None else y[rows], forecast.subset(rows), **options)


@pytest.mark.slow
@given(st.data())
def test_any_order_and_split_gives_the_same_bytes(data):
    form = data.draw(st.sampled_from(FORMS))
    n, seed = data.draw(st.integers(1, 200)), data.draw(st.integers(0, 99))
    y, forecast = made(form, seed, n)
    rng = np.random.default_rng(seed)
    weighted = data.draw(st.booleans())
    options = {"sample_weight": rng.gamma(2, size=n)} if weighted else {}
    places = rng.permutation(n)
    cuts = sorted(data.draw(st.lists(st.integers(0, n), max_size=4)))
    parts = np.split(places, cuts)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(cells, "MOST_CELLS", data.draw(st.sampled_from([5, FEW])))
        whole = up.Tally.of(y, forecast, **options)
        tallies = [part(y, forecast, rows, **options) for rows in parts if len(rows)]
        one_by_one, together = sum(tallies, up.Tally()), up.Tally.merged(tallies[::-1])
    assert whole.cells.keys.shape[1] <= FEW or whole.cells.grid == len(cells._GRIDS) - 1
    assert one_by_one.to_bytes() == together.to_bytes() == whole.to_bytes()
    assert up.Tally.from_bytes(whole.to_bytes()).to_bytes() == whole.to_bytes()


@pytest.mark.parametrize("grid", range(len(cells._GRIDS) - 1))
def test_a_coarser_grid_has_each_cell_of_a_finer_one_in_one(grid):
    y, forecast = made("normal", 3, 2_000)
    tally, places = up.Tally.of(y, forecast), cells.Places(None)
    fine = cells.coarse(tally.cells.keys, grid, places)
    by_step = cells.coarse(fine, grid + 1, places)
    np.testing.assert_array_equal(by_step, cells.coarse(tally.cells.keys, grid + 1, places))
    assert len(np.unique(by_step, axis=1).T) <= len(np.unique(fine, axis=1).T)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(
    "error",
    [
        pytest.param({}, id="calibrated", marks=pytest.mark.slow),
        pytest.param({"low": 0.06, "narrow": 1.05}, id="wrong"),
    ],
)
def test_an_assessment_is_that_of_the_rows(form, error):
    y, forecast = made(form, 5, N, **error)
    of_rows, of_tally = up.assess(y, forecast, clusters=None), up.assess(up.Tally.of(y, forecast))
    assert of_tally.diagnosis.errors == of_rows.diagnosis.errors
    assert of_tally.diagnosis.p_value == pytest.approx(of_rows.diagnosis.p_value, rel=0.05)
    assert of_tally.cost == pytest.approx(of_rows.cost, abs=1e-4)
    for one, other in zip(of_tally.diagnosis.findings, of_rows.diagnosis.findings, strict=True):
        assert one.parameter == pytest.approx(other.parameter, abs=0.01)
    for name in ("bias", "width"):
        assert getattr(of_tally, name).value == pytest.approx(getattr(of_rows, name).value, abs=0.01)
    assert (of_tally.form, of_tally.n_rows) == (of_rows.form, of_rows.n_rows)


@pytest.mark.slow
@pytest.mark.parametrize("form", FORMS)
def test_scores_coverage_and_bars_are_those_of_the_rows(form):
    y, forecast = made(form, 6, 1_500, low=0.1)
    weight = np.random.default_rng(6).choice([0.5, 1.0, 3.0], 1_500)
    for options in ({}, {"sample_weight": weight}):
        of_rows = up.assess(y, forecast, clusters=None, **options)
        of_tally = up.assess(up.Tally.of(y, forecast, **options))
        assert {*of_tally.scores} == {*of_rows.scores}
        for name, found in of_tally.scores.items():
            np.testing.assert_allclose([*found[:2], *found[2]], [*of_rows.scores[name][:2], *of_rows.scores[name][2]])
        wide = 1e-3 if form in ("counts", "atom") else 1e-6  # an outcome in a cell with a level in it counts in part
        for one, other in zip(of_tally.coverage, of_rows.coverage, strict=True):
            assert one.held.value == pytest.approx(other.held.value, abs=wide)
        np.testing.assert_allclose(of_tally.pit.share, of_rows.pit.share, atol=wide)
        np.testing.assert_allclose(of_tally.quantiles.share, of_rows.quantiles.share, atol=wide)
        assert of_tally.effective_rows == pytest.approx(of_rows.effective_rows, rel=1e-4)


def test_outcomes_at_a_level_are_below_it():
    low = np.tile([0.05, 0.1, 0.25, 0.5, 0.95, 0.975], 4)
    found = up.assess(up.Tally.of(None, up.PIT(low)))
    assert found.pit.share[0] == pytest.approx(1 / 6)
    assert [each.held.value for each in found.coverage if each.name == "90% intervals"] == [pytest.approx(4 / 6)]


@pytest.mark.slow
def test_size_is_bounded_and_extremes_are_kept():
    rng = np.random.default_rng(7)
    y, centre, spread = rows(7, 60_000)
    y[:3] = centre[:3] + 60 * spread[:3]
    tally = up.Tally.of(y, up.Distribution("normal", mean=centre, sd=spread))
    assert tally.cells.keys.shape[1] <= cells.MOST_CELLS
    assert tally.n_rows == 60_000
    assert "certainty" in up.assess(tally).diagnosis.errors
    huge = 10.0 ** rng.uniform(-90, 90, 5_000)
    tally = up.Tally.of(huge, up.Distribution("normal", mean=huge, sd=huge))
    assert up.assess(tally).above_median.value == 0


@pytest.mark.parametrize("surprising", [1, 2, 3])
def test_a_few_surprising_rows_of_a_cell_are_counted_without_numbers(surprising):
    y = ndtri((np.arange(400) + 0.5) / 400)
    y[200 : 200 + surprising] = 7.5
    forecast = up.Distribution("normal", mean=np.zeros(400), sd=1.0)
    tally = up.Tally.of(y, forecast)
    assert tally.cells.keys.shape[1] < 400
    [of_rows] = up.assess(y, forecast, clusters=None).diagnosis.findings
    [of_tally] = up.assess(tally).diagnosis.findings
    assert (of_rows.error, of_rows.rows) == ("rows", (*range(200, 200 + surprising),))
    assert (of_tally.error, of_tally.rows, of_tally.parameter) == ("rows", (), surprising)
    assert of_tally.clause.words == of_rows.clause.words


def test_rows_left_out_and_changed_are_said():
    y, forecast = made("quantiles", 9, 50)
    values = forecast.values.copy()
    values[0, 3], values[1] = np.nan, values[1, ::-1]
    y[2] = np.nan
    tally = up.Tally.of(y, up.Quantiles(LEVELS, values), invalid="drop")
    assert (tally.n_rows, tally.left_out, tally.crossed) == (48, 2, 1)
    notes = up.assess(tally + tally).notes
    assert notes[0] == "4 rows without an outcome or with an incomplete forecast: left out."
    assert notes[1] == "quantiles of 2 forecasts cross; they were sorted."
    assert "independent" in notes[2]


def test_censored_outcomes_and_further_scores():
    y, centre, spread = rows(10, 2_000)
    forecast = up.Distribution("normal", mean=centre, sd=spread)
    limits = {"above": centre + spread}
    options = {"censored": limits, "metrics": ["quantile_loss(0.9)"]}
    of_rows = up.assess(np.minimum(y, limits["above"]), forecast, clusters=None, **options)
    of_tally = up.assess(up.Tally.of(np.minimum(y, limits["above"]), forecast, **options))
    assert of_tally.diagnosis.p_value == pytest.approx(of_rows.diagnosis.p_value, rel=0.02)
    assert of_tally.scores["quantile_loss(0.9)"].value == pytest.approx(of_rows.scores["quantile_loss(0.9)"].value)


def test_a_score_that_a_part_does_not_have_is_not_in_the_sum():
    whole, part_of = np.array([[1.0, 2.0, 4.0]] * 4), np.array([1.0, 2.5, 0.0, 3.0])
    first, other = (up.Tally.of(part_of[some], up.Samples(whole[some])) for some in ([0, 2, 3], [1]))
    assert "log1p_crps" in first.scores
    assert [*(first + other).scores] == [*other.scores] == ["crps"]


def others():
    """What does not add up with quantiles, and what is said."""
    y, forecast = made("quantiles", 11, 20)
    normal = made("normal", 11, 20)
    shifted = up.Quantiles(LEVELS * 0.99, forecast.values)
    return [
        (up.Tally.of([1, 0], [0.2, 0.3]), "of classes and of predictive distributions do not add up"),
        (up.Tally.of(*normal), "different forecasts do not add up: 9 quantiles and normal distributions"),
        (up.Tally.of(y, shifted), "different levels do not add up, though both are of 9 quantiles"),
        (up.Tally.of(y, forecast).tagged(model="b"), "different models do not add up: 'a' and 'b'"),
    ]


@pytest.mark.parametrize("case", range(4))
def test_what_does_not_add_up_is_refused_with_the_reason(case):
    tally = up.Tally.of(*made("quantiles", 11, 20)).tagged(model="a")
    other, reason = others()[case]
    for add in (lambda: tally + other, lambda: up.Tally.merged([tally, other])):
        with pytest.raises(up.InputError, match=reason):
            add()


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        (
            {"clusters": np.arange(20)},
            "clusters: not for a tally of predictive distributions. Rows count as independent",
        ),
        ({"parts": ["shards"]}, "parts: not for a tally"),
        ({"labels": [0, 1]}, "labels: not for a tally"),
        ({"metrics": ["brier"]}, "no scoring rule 'brier'"),
        ({"sample_weight": [1.0]}, "sample_weight: expected a value for each of 20 rows, got 1"),
    ],
)
def test_options_that_it_does_not_take_are_refused(options, reason):
    y, forecast = made("quantiles", 12, 20)
    with pytest.raises(up.InputError, match=reason):
        up.Tally.of(y, forecast, **options)


def test_options_of_rows_are_refused_beside_a_tally():
    tally = up.Tally.of(*made("normal", 12, 20))
    with pytest.raises(up.InputError, match="clusters: a tally's rows are already counted"):
        up.assess(tally, clusters=np.arange(20))
    with pytest.raises(up.InputError, match="censored: is for predictive distributions"):
        up.Tally.of([1, 0], [0.3, 0.4], censored={"above": 1.0})
    for watch in (up.monitor, up.drift):
        with pytest.raises(up.InputError, match="a: a tally of predictive distributions is not watched"):
            watch({"a": tally, "b": tally})
    with pytest.raises(up.InputError, match="ordered classes: no tally of them"):
        up.Tally.of([0, 1], up.Ordered([[0.2, 0.3, 0.5]] * 2))
    assert up.check(tally, require="coverage_80 > 0.1")
    with pytest.raises(up.InputError, match="the tally has 1 row; there are to be at least 2"):
        up.assess(up.Tally.of(*made("normal", 12, 1)))


def test_its_file_is_of_a_version_that_earlier_readers_refuse(tmp_path):
    tally = up.Tally.of(*made("members", 13, 300))
    tally.save(tmp_path / "a.tally")
    content = (tmp_path / "a.tally").read_bytes()
    assert struct.unpack("<8sI", content[:12]) == (MAGIC, VERSION + 1)
    assert up.Tally.load(tmp_path / "a.tally") == tally
    for cut in (0, 5, 40, 200, len(content) - 1):
        with pytest.raises(up.InputError, match=r"truncated|not a tally"):
            up.Tally.from_bytes(content[:cut])
    with pytest.raises(up.InputError, match="damaged"):
        up.Tally.from_bytes(content[:-1] + bytes([content[-1] ^ 1]))


def spoiled(tally, row, change):
    """Change a row of the cells' keys and sums."""
    table = np.concatenate([tally.cells.keys, tally.cells.sums])
    table[row] = change(table[row])
    return replace(tally, cells=tally.cells._replace(keys=table[:6], sums=table[6:]))


@pytest.mark.parametrize(
    ("wrong", "reason"),
    [
        (lambda t: spoiled(t, 0, lambda x: x + 99), "an end is out of range"),
        (lambda t: spoiled(t, 2, lambda x: x + 4), "a flag is not known"),
        (lambda t: spoiled(t, 4, lambda x: x + 1), r"not on their grid|not of its cell"),
        (lambda t: spoiled(t, 6, lambda x: -x), "a count is no count"),
        (lambda t: spoiled(t, 9, lambda x: x + (1 << 40)), "not of its cell"),
        (lambda t: spoiled(t, 12, lambda x: x + (1 << 40)), "out of range"),
        (lambda t: replace(t, cells=t.cells._replace(keys=t.cells.keys[:, ::-1])), r"out of order|not of its cell"),
        (lambda t: replace(t, cells=t.cells._replace(grid=99)), "there is no such grid"),
        (lambda t: replace(t, own=t.own[::-1]), "shares are not known"),
        (lambda t: replace(t, information=t.information[:3]), "information"),
        (lambda t: replace(t, left_out=-1), "a count is no count"),
        (lambda t: replace(t, weighted=2), "the form is not known"),
        (lambda t: replace(t, bounds=(0.0,)), "bounds are not known"),
    ],
)
def test_files_that_no_rows_give_are_refused(wrong, reason):
    tally = up.Tally.of(*made("quantiles", 14, 200))
    with pytest.raises(up.InputError, match=reason):
        up.Tally.from_bytes(wrong(tally).to_bytes())


def test_commands_count_add_and_assess(tmp_path, capsys):
    y, forecast = made("quantiles", 15, 400, narrow=1.5)
    frame = pl.DataFrame({"y": y, **{f"q{level:g}": forecast.values[:, k] for k, level in enumerate(LEVELS)}})
    columns = ["--truth", "y", "--quantiles", "q*", "-q"]
    for name, some in {"whole": frame, "first": frame[:150], "second": frame[150:]}.items():
        some.write_csv(tmp_path / f"{name}.csv")
        assert main(["tally", str(tmp_path / f"{name}.csv"), *columns, "-o", str(tmp_path / f"{name}.tally")]) == 0
    parts = [str(tmp_path / f"{name}.tally") for name in ("second", "first")]
    assert main(["tally", *parts, "-o", str(tmp_path / "sum.tally"), "--tag", "model=v1", "-q"]) == 0
    added = up.Tally.load(tmp_path / "sum.tally")
    assert added.tagged(model="").to_bytes() == (tmp_path / "whole.tally").read_bytes()
    both = [str(tmp_path / "first.csv"), str(tmp_path / "second.tally")]
    assert main(["tally", *both, *columns, "-o", str(tmp_path / "mixed.tally")]) == 0
    assert (tmp_path / "mixed.tally").read_bytes() == (tmp_path / "whole.tally").read_bytes()
    capsys.readouterr()
    assert main(["assess", str(tmp_path / "sum.tally")]) == 0
    assert "Too narrow (p < 0.001)." in capsys.readouterr().out
    assert main(["tally", str(tmp_path / "sum.tally")]) == 0
    shown = capsys.readouterr().out
    assert "Tally of 400 forecasts by 9 quantiles." in shown
    assert "model: v1" in shown


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (
            ["check", "N", "--require", "log_loss < 1"],
            "a tally of predictive distributions, which only assess and tally",
        ),
        (["monitor", "N"], "a tally of predictive distributions, which only assess and tally"),
        (["recalibrate", "N", "-o", "M"], "a tally of predictive distributions, which only assess and tally"),
        (["tally", "N", "C"], "tallies of classes and of predictive distributions do not add up"),
        (["tally", "C", "N"], "a tally of predictive distributions, which only assess and tally"),
        (["assess", "N", "--by", "site"], "--by is not for tallies of predictive distributions"),
        (["assess", "N", "--show", "classes"], "--show is not for tallies of predictive distributions"),
        (["tally", "R", "--truth", "y", "--pit", "u", "--parts", "shards", "-o", "O"], "--parts is not for tallies"),
        (["tally", "R", "--truth", "y", "--pit", "u"], "-o: missing"),
    ],
)
def test_commands_that_it_is_not_for_are_refused(words, reason, tmp_path, capsys):
    named = {name: str(tmp_path / f"{name}.tally") for name in "NCO"} | {
        "R": str(tmp_path / "r.csv"),
        "M": str(tmp_path / "m.json"),
    }
    up.Tally.of(*made("pit", 16, 50)).save(named["N"])
    up.Tally.of([1, 0], [0.2, 0.3]).save(named["C"])
    pl.DataFrame({"y": [1.0, 2.0], "u": [0.2, 0.7]}).write_csv(named["R"])
    assert main([named.get(word, word) for word in words]) == 2
    assert reason in capsys.readouterr().err
