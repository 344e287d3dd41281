"""Comparisons of predictive distributions: paired differences beside formulas and scoringrules, words and bad input."""

import json
from itertools import combinations

import numpy as np
import polars as pl
import pytest
import scoringrules
from scipy.stats import norm, t

import unperplexed as up
from unperplexed.calibration.distribution_rows import read_distributions
from unperplexed.cli.parser import main
from unperplexed.comparison.distributions import _differences

LEVELS = np.array([0.05, 0.25, 0.5, 0.75, 0.95])


def normal(mean, sd):
    return up.Distribution("normal", mean=mean, sd=np.broadcast_to(sd, np.shape(mean)))


def quantiles(mean, sd, levels=LEVELS):
    return up.Quantiles(levels, np.asarray(mean)[:, None] + sd * norm.ppf(levels))


@pytest.fixture
def three(rng):
    """Outcomes, and means and standard deviations of three forecasters."""
    mean = rng.normal(20, 5, 240)
    y = mean + np.repeat(rng.normal(size=40), 6) + rng.normal(0, 2, 240)
    return y, {"exact": (mean, 2.2), "noisy": (mean + rng.normal(0, 1, 240), 2.2), "wide": (mean, 4.0)}


def test_differences_of_clusters_are_those_of_their_sums(three):
    y, of = three
    match = np.arange(240) // 6
    found = up.compare(y, {name: normal(*each) for name, each in of.items()}, clusters=match)
    scores = {name: scoringrules.crps_normal(y, *each) for name, each in of.items()}
    assert [*found.forecasters] == sorted(scores, key=lambda name: scores[name].mean())
    for first, second in combinations(found.forecasters, 2):
        each = scores[first] - scores[second]
        sums = np.bincount(match, each - each.mean())
        error = np.sqrt(sums @ sums * 40 / 39) / 240
        p = 2 * t.sf(abs(each.mean()) / error, 39)
        difference = found.between(first, second)["crps"]
        assert difference.difference == pytest.approx(each.mean(), rel=1e-9)
        assert difference.standard_error == pytest.approx(error, rel=1e-9)
        assert difference.p_value == pytest.approx(p, rel=1e-6)
        assert difference.adjusted_p_value == pytest.approx(min(1, 3 * p), rel=1e-6)
        half = t.ppf(1 - 0.05 / 6, 39) * error
        assert difference.interval == pytest.approx([each.mean() - half, each.mean() + half], rel=1e-6)
        assert found.between(second, first)["crps"].difference == -difference.difference


def test_forecasts_of_windows_that_overlap_depend(three):
    y, of = three
    issued, ahead = np.repeat(np.arange(60), 4), np.tile([1, 2, 3, 4], 60)
    target = issued + ahead
    found = up.compare(y, {name: quantiles(*of[name]) for name in ("exact", "wide")}, issued=issued, target_date=target)
    scores = [scoringrules.crps_quantile(y, quantiles(*of[name]).values, LEVELS) for name in ("exact", "wide")]
    apart = scores[0] - scores[1]
    centred = apart - apart.mean()
    overlap = (issued[:, None] < target) & (issued < target[:, None])
    error = np.sqrt(max(centred @ overlap @ centred, centred @ centred)) / 240
    difference = found.between("exact", "wide")["weighted_interval_score"]
    assert difference.difference == pytest.approx(apart.mean(), rel=1e-9)
    assert difference.standard_error == pytest.approx(error, rel=1e-9)
    windows = 240**2 / overlap.sum()
    assert difference.p_value == pytest.approx(2 * t.sf(abs(apart.mean()) / error, windows - 1), rel=1e-6)
    text = " ".join(found.to_text(columns=400).split())
    assert f"{windows - 1:.0f} degrees of freedom" in text
    assert "effective sample size" not in text  # that of one forecaster's test of calibration is another one


@pytest.mark.slow
def test_the_log_score_is_compared_of_densities_alone(three):
    """By the cells of quantiles, which are each forecaster's own, the widest forecaster would be first."""
    y, of = three
    densities = up.compare(y, {name: normal(*each) for name, each in of.items()}, clusters=None)
    assert densities.scores == ("crps", "log_score")
    mean = {name: -norm.logpdf(y, *each).mean() for name, each in of.items()}
    between = densities.between("exact", "wide")["log_score"].difference
    assert between == pytest.approx(mean["exact"] - mean["wide"])
    cells = {name: up.scores.log_score(y, quantiles(*each)) for name, each in of.items()}
    assert min(cells, key=cells.get) == "wide"
    by_levels = up.compare(y, {name: quantiles(*each) for name, each in of.items()}, clusters=None)
    assert by_levels.scores == ("weighted_interval_score",)
    counts = up.Distribution("poisson", mean=np.full(240, 20.0))
    mixed = up.compare(np.round(y), {"counts": counts, "density": normal(*of["exact"])}, clusters=None)
    assert mixed.scores == ("crps",)


def test_beside_quantiles_other_forms_are_scored_by_their_quantiles(three):
    y, of = three
    mixed = up.compare(y, {"a": quantiles(*of["noisy"]), "b": normal(*of["exact"])}, clusters=None)
    alike = up.compare(y, {"a": quantiles(*of["noisy"]), "b": quantiles(*of["exact"])}, clusters=None)
    for each, other in zip(mixed.pairs, alike.pairs, strict=True):
        assert each.differences["weighted_interval_score"].difference == pytest.approx(
            other.differences["weighted_interval_score"].difference
        )
    assert mixed.forecasters["b"].form == "normal distributions"


@pytest.mark.slow
@pytest.mark.slow
def test_a_forecaster_that_is_no_better_is_not_said_to_be(rng):
    """Of two that are as good, one is called better in about one comparison of twenty."""
    better = 0
    for _ in range(25):
        mean = rng.normal(size=60)
        noise = rng.normal(size=(2, 60))
        forecasts = {name: normal(mean + each, 1.4) for name, each in zip("ab", noise, strict=True)}
        better += "best" in up.compare(mean + rng.normal(size=60), forecasts, clusters=None).verdict
    assert better <= 4


@pytest.mark.slow
def test_scores_that_disagree_are_named(rng):
    """One knows large outcomes better, which decide the WIS, the other small ones, which decide that of logarithms."""
    large = np.arange(400) % 4 == 0
    level = np.where(large, 5000, 20)
    y = rng.poisson(level).astype(float)
    spread = {"large": np.where(large, 0.02, 0.8), "small": np.where(large, 0.1, 0.2)}
    forecasts = {
        name: up.Quantiles(
            LEVELS,
            np.exp(np.log(level + rng.normal(0, 0.3 * each * level))[:, None] + each[:, None] * norm.ppf(LEVELS)),
        )
        for name, each in spread.items()
    }
    found = up.compare(y, forecasts, clusters=None)
    assert found.verdict.startswith("large is best by WIS (p < 0.001). The scores disagree: by WIS of log(1 + y) small")
    assert found.forecasters["small"].scores["log1p_crps"].value < found.forecasters["large"].scores["log1p_crps"].value


def test_skill_is_against_a_forecaster_or_climatology(three):
    y, of = three
    forecasts = {name: normal(*each) for name, each in of.items()}
    found = up.compare(y, forecasts, clusters=None, reference="wide")
    scores = {name: scoringrules.crps_normal(y, *each).mean() for name, each in of.items()}
    for name, each in found.forecasters.items():
        assert each.skill.value.value == pytest.approx(1 - scores[name] / scores["wide"], abs=1e-12)
    alone = up.assess(y, forecasts["exact"], clusters=None)
    assert up.compare(y, forecasts, clusters=None).forecasters["exact"].skill == alone.skill
    assert found.forecasters["exact"].diagnosis == alone.diagnosis


def test_with_a_reference_only_its_comparisons_are_made_and_adjusted_for(three):
    y, of = three
    forecasts = {name: normal(*each) for name, each in of.items()} | {"poor": normal(of["exact"][0] + 2, 2.2)}
    found = up.compare(y, forecasts, clusters=None, reference="noisy")
    scores = {name: scoringrules.crps_normal(y, *each) for name, each in of.items()}
    assert {name for pair in found.pairs for name in (pair.first, pair.second)} == {*forecasts}
    assert all("noisy" in (pair.first, pair.second) for pair in found.pairs)
    for name in ("exact", "wide"):
        each = scores[name] - scores["noisy"]
        error = each.std(ddof=1) / np.sqrt(240)
        p = min(1, 3 * 2 * t.sf(abs(each.mean()) / error, 239))
        difference = found.between(name, "noisy")["crps"]
        assert difference.adjusted_p_value == pytest.approx(p, rel=1e-6)
        half = t.ppf(1 - 0.05 / 6, 239) * error
        assert difference.interval == pytest.approx([each.mean() - half, each.mean() + half], rel=1e-6)
    for name, each in found.skill.items():
        if name != "noisy":
            low, high = each.value.interval
            assert (low > 0 or high < 0) == found.significant(found.between(name, "noisy")["crps"])
            assert each.confidence == pytest.approx(1 - 0.05 / 3)
    text = " ".join(found.to_text(columns=400).split())
    assert "adjusted for 3 comparisons with noisy" in text
    with pytest.raises(up.InputError, match="each compared with 'noisy' alone"):
        found.between("exact", "wide")


@pytest.mark.slow
def test_the_verdict_names_the_reference_first(three):
    y, of = three
    forecasts = {name: normal(*each) for name, each in of.items()} | {"poor": normal(of["exact"][0] + 2, 2.2)}
    forecasts |= {f"twin {k}": normal(of["noisy"][0], 2.2 + 1e-6 * k) for k in range(5)}
    forecasts["close"] = normal((y + of["exact"][0]) / 2, 1.2)
    verdict = up.compare(y, forecasts, clusters=None, reference="noisy").verdict
    by_crps, by_log_score, *_ = verdict.split(". By ")
    better, worse, alike = by_crps.split("; ")
    assert better == "By CRPS, close (p < 0.001) is better than noisy"
    assert "poor (p < 0.001)" in worse
    assert worse.endswith("worse than noisy")
    assert "more are not distinguishable from noisy" in alike
    assert by_log_score.startswith("log score")
    with pytest.raises(up.InputError, match="'nosy' is none of the forecasters 'exact', 'noisy', 'wide', 'poor'"):
        up.compare(y, forecasts, clusters=None, reference="nosy")


def test_adjusted_tests_against_a_reference_keep_their_size():
    """Of four forecasters as good as the reference, one is called better or worse in at most 5% of the comparisons."""
    rng, runs, found = np.random.default_rng(4), 400, 0
    of = [(f"f{k}", "reference") for k in range(4)]
    means = read_distributions(np.zeros(40), normal(np.zeros(40), 1), {"clusters": None}).means
    for _ in range(runs):
        y, mean = rng.normal(size=40), rng.normal(0, 0.5, (5, 40))
        scores = {name: {"crps": scoringrules.crps_normal(y, mean[k], 1.0)} for k, (name, _) in enumerate(of)}
        scores["reference"] = {"crps": scoringrules.crps_normal(y, mean[4], 1.0)}
        pairs = _differences(of, scores, means, 0.95)
        found += min(each.differences["crps"].adjusted_p_value for each in pairs) < 0.05
    assert 0.02 * runs < found < 0.08 * runs


def test_rows_that_not_all_have_are_left_out_for_all_if_asked(three):
    y, of = three
    gaps = np.array(quantiles(*of["noisy"]).values)
    gaps[:30, 1] = np.nan
    forecasts = {"whole": quantiles(*of["exact"]), "gaps": up.Quantiles(LEVELS, gaps)}
    with pytest.raises(up.InputError, match=r"30 rows of 'whole' have no complete forecast.*--invalid drop"):
        up.compare(y, forecasts)
    found = up.compare(y, forecasts, invalid="drop", clusters=np.arange(240))
    rest = {"whole": quantiles(of["exact"][0][30:], 2.2), "gaps": up.Quantiles(LEVELS, gaps[30:])}
    expected = up.compare(y[30:], rest, clusters=np.arange(30, 240))
    assert found.n_rows == 210
    assert found.pairs == expected.pairs


REFUSED = {
    "one alone": ({"a": quantiles([1.0, 2.0], 1)}, {}, "at least two forecasters"),
    "probabilities": ({"a": quantiles([1.0, 2.0], 1), "b": [0.1, 0.2]}, {}, "'b' is no predictive distribution"),
    "other rows": ({"a": quantiles([1.0, 2.0], 1), "b": quantiles([1.0], 1)}, {}, "the same rows"),
    "other levels": (
        {"a": quantiles([1.0, 2.0], 1), "b": quantiles([1.0, 2.0], 1, LEVELS[:3])}, {}, "other levels do not compare",
    ),
    "PIT": ({"a": up.PIT([0.1, 0.2]), "b": up.PIT([0.1, 0.2])}, {}, "PIT values have no scores in common"),
    "a lag": ({"a": quantiles([1.0, 2.0], 1), "b": quantiles([1.0, 2.0], 1)}, {"lag": 1}, "lag: is for class"),
    "a name": ({"a": quantiles([1.0, 2.0], 1), "b": quantiles([1.0, 2.0], 1)}, {"reference": "c"}, "reference"),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_bad_input_is_refused(case):
    forecasts, options, message = REFUSED[case]
    with pytest.raises(up.InputError, match=message):
        up.compare([1.0, 2.0], forecasts, **options)


def test_it_is_shown_as_text_page_json_and_picture(three):
    y, of = three
    found = up.compare(y, {name: quantiles(*each) for name, each in of.items()}, clusters=None)
    text = found.to_text(columns=80)
    assert text.startswith(f"{found.verdict.split('. ')[0]}.")
    for name, each in found.forecasters.items():
        assert f"\n{name:10}  {each.scores['weighted_interval_score'].value:.3f}" in text
    assert text.count("exact − ") == 2
    plain = json.loads(found.to_json())
    assert plain["verdict"] == found.verdict
    assert plain["forecasters"]["wide"]["verdict"] == found.forecasters["wide"].verdict
    assert found.plot(score="weighted_interval_score").get_xlabel() == "Difference in WIS"
    assert "Paired differences in WIS" in found.to_html()
    with pytest.raises(up.InputError, match="score"):
        found.plot(score="crps")
    with pytest.raises(up.InputError, match="no pair"):
        found.between("exact", "nobody")


def test_members_that_were_recalibrated_are_no_draws(three, rng):
    y, of = three
    members = {name: up.Samples(mean[:, None] + sd * rng.normal(size=(240, 9))) for name, (mean, sd) in of.items()}
    found = up.compare(y, members, clusters=None)
    text = " ".join(found.to_text(columns=80).split())
    assert "by fair CRPS" in found.verdict
    assert "If some were recalibrated, compare by --metric plain_crps" in text
    assert "plain_crps" not in up.compare(y, {**members, "exact": quantiles(*of["exact"])}, clusters=None).to_text()


@pytest.fixture
def files(tmp_path, monkeypatch, three):
    """A file of quantiles for each of two forecasters, the second without the first row, and both below one another."""
    monkeypatch.chdir(tmp_path)
    y, of = three
    frames = []
    for name in ("exact", "wide"):
        columns = {f"q{level}": column for level, column in zip(LEVELS, quantiles(*of[name]).values.T, strict=True)}
        frames.append(pl.DataFrame({"who": name, "id": np.arange(240), "y": y, **columns}))
    frames[1] = frames[1][1:].reverse()
    pl.concat(frames).write_csv("both.csv")
    for name, frame in zip(("exact", "wide"), frames, strict=True):
        frame.drop("who").write_csv(f"{name}.csv")
    lines = pl.concat(frames).unpivot([f"q{level}" for level in LEVELS], index=["who", "id", "y"])
    place = pl.col("variable").str.slice(1).cast(pl.Float64).alias("output_type_id")
    hub = lines.select(pl.col("who").alias("model_id"), "id", "value", place, output_type=pl.lit("quantile"))
    hub.write_csv("hub.csv")
    frames[0].select("id", observation="y").write_csv("truth.csv")
    return up.compare(y[1:], {name: quantiles(of[name][0][1:], of[name][1]) for name in ("exact", "wide")})


COMMANDS = {
    "files": ["exact.csv", "wide.csv", "--truth", "y", "--quantiles", "q*", "--on", "id"],
    "a column of names": ["both.csv", "--truth", "y", "--quantiles", "q*", "--on", "id", "--forecaster", "who"],
    "a hub": ["--hub", "hub.csv", "--target-data", "truth.csv"],
}


@pytest.mark.slow
@pytest.mark.parametrize("case", COMMANDS)
def test_commands_compare_what_all_forecasters_have(files, capsys, case):
    assert main(["compare", *COMMANDS[case]]) == 2
    assert "has no row for 1 of the 240 ids of exact: '0'" in capsys.readouterr().err
    assert main(["compare", *COMMANDS[case], "--common", "--json", "-"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["n_rows"] == 239
    assert found["pairs"] == json.loads(files.to_json())["pairs"]
    assert found["notes"][0] == "Left out since not all forecasters have them: 1 forecast of exact."


def test_commands_refuse_what_does_not_go_together(files, capsys):
    one, two = COMMANDS["files"][:2]
    reading = ["--truth", "y", "--quantiles", "q*"]
    pl.read_csv(two).with_columns(y=pl.col("y") + 1).write_csv("other.csv")
    cases = (
        ([one, two, *reading], "how are rows matched"),
        ([one, "other.csv", *reading, "--on", "id", "--common"], "other: other outcomes than exact in 239 rows"),
        ([one, two, *reading, "--on", "id", "--lag", "2"], "--lag is for probabilities of classes"),
        ([one, two, *reading, "--on", "id", "--by", "id"], "--by: compare does not group"),
        ([one, *reading, "--on", "id"], "at least two forecasters"),
    )
    for words, message in cases:
        assert main(["compare", *words]) == 2
        assert message in capsys.readouterr().err


def test_quantiles_at_as_many_other_levels_are_refused():
    y, mean = np.arange(5.0), np.arange(5.0)
    both = {"a": quantiles(mean, 1.0), "b": quantiles(mean, 1.0, np.array([0.1, 0.3, 0.5, 0.7, 0.9]))}
    with pytest.raises(up.InputError, match="'a' has 5 levels, 'b' 5 that differ"):
        up.compare(y, both)


def test_the_first_is_better_than_those_that_are_told_apart_from_it():
    rng = np.random.default_rng(0)
    mean = rng.normal(0, 3, 200)
    y = mean + rng.normal(size=200)
    of = {"near": mean, "nearly": mean + 0.01 * rng.normal(size=200), "far": mean + 3}
    verdict = up.compare(y, {name: normal(each, 1.0) for name, each in of.items()}).verdict
    assert "not distinguishable from near" in verdict
    assert "It is better than far." in verdict
