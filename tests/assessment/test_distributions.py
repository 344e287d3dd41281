"""Assessments of predictive distributions of a number."""

import json
import pickle
import re

import numpy as np
import polars as pl
import pytest
from scipy.stats import lognorm, norm, poisson, uniform

import unperplexed as up
from unperplexed._lib.dataclasses import replace
from unperplexed.assessment.distributions import _WORST
from unperplexed.calibration.diagnosis.kind import OfDistributions
from unperplexed.calibration.diagnosis.kinds import KINDS
from unperplexed.calibration.diagnosis.row_groups import Windows
from unperplexed.calibration.distribution_rows import RowMeans, _beyond
from unperplexed.describe.distribution_charts import surprises_chart, width_chart
from unperplexed.describe.distributions import distribution_document, groups_table, worst
from unperplexed.report.result import Naming
from unperplexed.scores.distributions.climatology import (
    climatology_crps,
    climatology_log_density,
    climatology_quantiles,
)

LEVELS = np.array([0.025, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.975])


def forecasts(n=600, *, low=0.0, narrow=1.0, seed=0):
    """Outcomes, and forecasts that are too low by so many of their spreads and so many times too narrow."""
    rng = np.random.default_rng(seed)
    centre = rng.normal(20, 5, n)
    spread = 2 * np.exp(0.3 * rng.normal(size=n))
    return centre + spread * rng.normal(size=n), centre - low * spread / narrow, spread / narrow


FORMS = {
    "distribution": lambda m, s: up.Distribution("normal", mean=m, sd=s),
    "quantiles": lambda m, s: up.Quantiles(LEVELS, m[:, None] + s[:, None] * norm.ppf(LEVELS)),
    "members": lambda m, s: up.Samples(m[:, None] + s[:, None] * np.random.default_rng(9).normal(size=(len(m), 40))),
}


def test_outcomes_that_may_mark_missing_values_are_asked_about(rng):
    """By the numbers of the rows that were given."""
    mean = rng.normal(10, 3, 60)
    y = mean + rng.normal(size=60)
    y[[0, 5]] = np.nan, -9999
    notes = up.assess(y, up.Distribution("normal", mean=mean, sd=1.0), invalid="drop").notes
    assert any(note.startswith("outcomes: -9999 in 1 row (5; counted from 0), far below all others") for note in notes)


@pytest.mark.parametrize("form", FORMS)
def test_a_planted_error_is_named_with_its_size(form):
    y, centre, spread = forecasts(low=0.5, narrow=1.5)
    found = up.assess(y, FORMS[form](centre, spread))
    assert set(found.diagnosis.errors) == {"bias", "spread"}
    assert found.bias.interval.low < 0.5 < found.bias.interval.high
    assert found.width.interval.low < 1.5 < found.width.interval.high


@pytest.mark.parametrize("form", FORMS)
def test_calibrated_forecasts_are_not_blamed(form):
    y, centre, spread = forecasts()
    found = up.assess(y, FORMS[form](centre, spread))
    assert not found.diagnosis.findings
    assert found.cost == 0
    assert found.divergence_probability == 1
    assert not found.pit.outside.any()
    for each in found.coverage:
        assert each.held.interval.low - 0.02 < each.expected < each.held.interval.high + 0.02


def test_units_do_not_matter():
    y, centre, spread = forecasts(low=0.4)
    one, other = (up.assess(k * y, up.Distribution("normal", mean=k * centre, sd=k * spread)) for k in (1, 100))
    assert one.diagnosis.cost == pytest.approx(other.diagnosis.cost, rel=1e-9)
    assert one.skill.value.value == pytest.approx(other.skill.value.value, rel=1e-9)
    assert 100 * one.scores["crps"].value == pytest.approx(other.scores["crps"].value, rel=1e-9)


def test_shares_of_a_normal_forecast_are_those_of_its_pit():
    y, centre, spread = forecasts(narrow=1.3)
    u = norm.cdf(y, centre, spread)
    found = up.assess(y, up.Distribution("normal", mean=centre, sd=spread))
    assert found.above_median.value == pytest.approx(np.mean(u > 0.5))
    [eighty] = [each for each in found.coverage if each.name == "80% intervals"]
    assert eighty.held.value == pytest.approx(np.mean((u > 0.1) & (u <= 0.9)))
    assert found.pit.share == pytest.approx(np.histogram(u, np.arange(21) / 20)[0] / len(u))
    assert found.beyond.count == pytest.approx(np.sum((u <= 0.05) | (u > 0.95)))
    assert found.beyond.expected == pytest.approx(60)
    assert eighty.mean_width == pytest.approx(2 * norm.ppf(0.9) * np.mean(spread))


def test_intervals_of_members_are_those_between_them():
    y, centre, spread = forecasts(200)
    members = centre[:, None] + spread[:, None] * np.random.default_rng(1).normal(size=(200, 8))
    found = up.assess(y, up.Samples(members))
    widest = found.coverage[-1]
    assert widest.name == "all 8 members"
    assert widest.expected == pytest.approx(7 / 9)
    assert widest.held.value == pytest.approx(np.mean((y > members.min(axis=1)) & (y < members.max(axis=1))))
    assert found.pit.edges == pytest.approx(np.arange(10) / 9)
    assert widest.mean_width == pytest.approx(np.ptp(members, axis=1).mean())
    weight = np.arange(200) % 3
    weighted = up.assess(y, up.Samples(members), sample_weight=weight).coverage[-1].mean_width
    assert weighted == pytest.approx(np.average(np.ptp(members, axis=1), weights=weight))


def test_skill_is_measured_against_the_other_rows():
    y, centre, spread = forecasts(50)
    found = up.assess(y, up.Distribution("normal", mean=centre, sd=spread))
    against = np.array([up.scores.crps(y[[i]], np.delete(y, i)[None], fair=False) for i in range(50)])
    assert climatology_crps(y) == pytest.approx(against)
    assert found.skill.reference_score == pytest.approx(against.mean())
    assert found.skill.value.value == pytest.approx(1 - found.scores["crps"].value / against.mean())


def test_quantiles_of_climatology_are_those_of_the_others():
    y = np.random.default_rng(3).integers(0, 9, 30).astype(float)
    for i, found in enumerate(climatology_quantiles(y, LEVELS)):
        assert found == pytest.approx(np.quantile(np.delete(y, i), LEVELS, method="median_unbiased"))


def sharp(n, seed=0, half=0.5):
    """Outcomes that are standard normal in all, and centres from which they differ by half a standard deviation."""
    rng = np.random.default_rng(seed)
    centre = np.sqrt(1 - half**2) * rng.normal(size=n)
    return centre + half * rng.normal(size=n), centre, np.full(n, half)


@pytest.mark.parametrize("form", ["distribution", "quantiles", "classes"])
def test_the_density_ratio_is_that_to_the_true_climatology(form):
    """Of densities 1 / 0.5; of cells, what the standard normal distribution gives to the same ones."""
    y, centre, spread = sharp(4000)
    cuts = np.array([-np.inf, -1.5, -0.5, 0.5, 1.5, np.inf])
    if form == "classes":
        probability = np.diff(norm.cdf((cuts - centre[:, None]) / 0.5), axis=1)
        k = np.searchsorted(cuts, y) - 1
        found = up.assess(k, up.Ordered(probability)).density_ratio
        each = np.log(probability[np.arange(4000), k] / np.diff(norm.cdf(cuts))[k])
    elif form == "distribution":
        found, each = (
            up.assess(y, FORMS[form](centre, spread)).density_ratio,
            np.log(norm.pdf((y - centre) / 0.5) / 0.5),
        )
        each -= norm.logpdf(y)
        assert found.interval.low < 2 < found.interval.high
    else:
        forecast = FORMS[form](centre, spread)
        found, rows = up.assess(y, forecast).density_ratio, forecast.pit_rows(y)
        ends = np.pad(forecast.values, ((0, 0), (1, 1)), constant_values=((0, 0), (-np.inf, np.inf)))
        at = np.arange(4000), (forecast.values < y[:, None]).sum(axis=1)
        cells = norm.cdf(ends[at[0], at[1] + 1]) - norm.cdf(ends[at])
        each = np.log((norm.cdf(rows.high) - norm.cdf(rows.low)) / cells)
    assert found.value == pytest.approx(np.exp(each.mean()), rel=0.015)
    assert found.standard_error == pytest.approx(found.value * each.std() / np.sqrt(4000), rel=0.1)


@pytest.mark.slow
def test_forecasts_that_say_no_more_than_climatology_have_a_density_ratio_of_1():
    rng = np.random.default_rng(4)
    y, known = rng.normal(size=2000), np.zeros(2000)
    for form in ("distribution", "quantiles"):
        assert up.assess(y, FORMS[form](known, known + 1)).density_ratio.value == pytest.approx(1, abs=0.03)
    counts = rng.negative_binomial(2, 0.2, 2000)
    forecast = up.Distribution("negative-binomial", size=known + 2, probability=0.2)
    assert up.assess(counts, forecast).density_ratio.value == pytest.approx(1, abs=0.03)
    rain = np.where(rng.random(2000) < 0.4, 0, rng.gamma(0.7, 5, 2000))
    forecast = up.Distribution("gamma", shape=known + 0.7, scale=5, zero=0.4)
    assert up.assess(rain, forecast).density_ratio.value == pytest.approx(1, abs=0.03)


def test_a_density_ratio_is_the_calibrated_one_times_the_divergence_probability():
    y, centre, spread = sharp(4000)
    known, narrow = (up.assess(y, FORMS["distribution"](centre, k * spread)) for k in (1, 0.7))
    exact = np.exp(-(np.log(0.7) + 1 / (2 * 0.49) - 0.5))
    assert narrow.divergence_probability == pytest.approx(exact, abs=0.01)
    assert narrow.density_ratio.value == pytest.approx(known.density_ratio.value * exact, rel=0.02)


@pytest.mark.slow
def test_density_ratios_of_groups_and_of_outcomes_that_were_impossible():
    y, centre, spread = sharp(400)
    by = up.assess_by(y, FORMS["distribution"](centre, spread), by={"part": np.arange(400) % 3})
    logs = [np.log(each.assessment.density_ratio.value) * each.assessment.n_rows for each in by.groups]
    assert np.log(by.whole.density_ratio.value) == pytest.approx(sum(logs) / 400)
    flat = up.Distribution(uniform(centre - 1, 2))
    assert up.assess(y, flat).density_ratio.value == 0
    assert up.assess(None, up.PIT(norm.cdf(y))).density_ratio is None
    assert up.assess(y, FORMS["members"](centre, spread)).density_ratio is None
    assert up.assess(y, FORMS["quantiles"](centre, spread), censored={"above": 1.0}).density_ratio is None


CLIMATOLOGIES = {"normal": norm(), "lognormal": lognorm(1.5), "uniform": uniform(), "poisson": poisson(3)}


@pytest.mark.parametrize("name", CLIMATOLOGIES)
def test_the_density_of_climatology_is_estimated_all_but_without_bias(name):
    of, rng = CLIMATOLOGIES[name], np.random.default_rng(2)
    log_density = of.logpmf if name == "poisson" else of.logpdf
    drawn = [of.rvs(500, random_state=rng).astype(float) for _ in range(30)]
    apart = [np.mean(climatology_log_density(y) - log_density(y)) for y in drawn]
    assert np.mean(apart) == pytest.approx(0, abs=0.04)


def test_a_reference_may_be_other_forecasts():
    y, centre, spread = forecasts(low=0.5)
    good = up.Distribution("normal", mean=centre + 0.5 * spread, sd=spread)
    found = up.assess(y, up.Distribution("normal", mean=centre, sd=spread), reference=good)
    assert found.skill.value.interval.high < 0
    with pytest.raises(up.InputError, match="reference"):
        up.assess(y, good, reference="base-rate")


def test_means_of_overlapping_windows_are_those_of_clusters_where_windows_are_clusters():
    values = np.random.default_rng(5).normal(size=60)
    day = np.repeat(np.arange(20), 3)
    apart = RowMeans(np.ones(60), np.ones(60), Windows(10 * day, 10 * day + 1)).uncertain(values)
    clusters = RowMeans(np.ones(60), np.ones(60), day).uncertain(values)
    assert apart.mean == pytest.approx(clusters.mean)
    assert apart.degrees == pytest.approx(clusters.degrees)
    assert apart.standard_error == pytest.approx(max(clusters.standard_error * np.sqrt(19 / 20), apart.standard_error))
    whole = RowMeans(np.ones(60), np.ones(60), Windows(np.arange(60), np.arange(60) + 30)).uncertain(np.sort(values))
    assert whole.standard_error > 3 * np.sort(values).std() / np.sqrt(60)


def test_dependence_that_nobody_declared_is_found_in_columns():
    rng = np.random.default_rng(7)
    day = np.repeat(np.arange(60), 20)
    y = rng.normal(size=60)[day] + 0.5 * rng.normal(size=1200)
    found = up.assess(y, up.Distribution("normal", mean=0.0 * y, sd=np.full(1200, np.sqrt(1.25))), columns={"day": day})
    assert found.dependence.taken
    assert found.n_clusters == 60
    assert not found.diagnosis.findings
    declined = up.assess(y, up.Distribution("normal", mean=0.0 * y, sd=np.full(1200, np.sqrt(1.25))), clusters=None)
    assert declined.n_clusters is None


@pytest.mark.parametrize(("shared", "warned"), [(0, False), (0.6, True)])
def test_clusters_that_depend_on_one_another_are_warned_of(shared, warned):
    """Days of a month that share a shock, and days that share none."""
    rng = np.random.default_rng(3)
    y = 0.6 * rng.normal(size=300).repeat(10) + shared * rng.normal(size=15).repeat(200) + 0.8 * rng.normal(size=3000)
    forecast = up.Distribution("normal", mean=np.zeros(3000), sd=np.sqrt(1 + shared**2))
    found = up.assess(y, forecast, clusters=np.arange(300).repeat(10))
    assert any("also beyond the 300 clusters that are named" in each for each in found.notes) == warned
    months = up.assess(y, forecast, clusters=np.arange(15).repeat(200))
    assert not any("clusters that are named" in each for each in months.notes)
    rows, days = forecast.rows_of(y, None, None), {"day": np.arange(300).repeat(10)}
    assert [bool([*_beyond(rows, days, named)]) for named in (np.arange(3000), np.zeros(3000, int))] == [True, False]


def test_rows_without_an_outcome_are_refused_or_left_out_on_request():
    y, centre, spread = forecasts(100)
    y[[3, 7]] = np.nan
    forecast = up.Distribution("normal", mean=centre, sd=spread)
    with pytest.raises(up.InputError, match="in 2 rows"):
        up.assess(y, forecast)
    found = up.assess(y, forecast, invalid="drop")
    assert found.n_rows == 98
    assert "2 rows without an outcome: left out." in found.notes
    kept = np.isfinite(y)
    whole = up.assess(y[kept], forecast.subset(kept))
    assert found.scores == whole.scores


def test_weights_of_two_are_rows_counted_twice():
    y, centre, spread = forecasts(80, low=0.3)
    weight = 1.0 + (np.arange(80) < 40)
    twice = np.repeat(np.arange(80), weight.astype(int))
    one = up.assess(y, up.Distribution("normal", mean=centre, sd=spread), sample_weight=weight)
    other = up.assess(y[twice], up.Distribution("normal", mean=centre[twice], sd=spread[twice]))
    assert one.scores["crps"].value == pytest.approx(other.scores["crps"].value)
    assert one.pit.share == pytest.approx(other.pit.share)
    assert one.weighted


def test_options_of_class_probabilities_are_refused():
    y, centre, spread = forecasts(50)
    forecast = up.Distribution("normal", mean=centre, sd=spread)
    for option in ({"labels": [0, 1]}, {"pos_label": 1}, {"scale": "logits"}):
        with pytest.raises(up.InputError, match="class probabilities"):
            up.assess(y, forecast, **option)
    with pytest.raises(up.InputError, match="issued and target_date"):
        up.assess(y, forecast, issued=np.arange(50))


@pytest.mark.parametrize("missing", [False, True])
def test_what_has_not_one_value_a_row_is_refused(missing):
    y, centre, spread = forecasts(50)
    y[3] = np.nan if missing else y[3]
    forecast = up.Distribution("normal", mean=centre, sd=spread)
    for n in (49, 51):
        for option in (
            {"sample_weight": np.ones(n)},
            {"clusters": np.arange(n)},
            {"censored": {"above": np.full(n, 9.0)}},
            {"columns": {"day": np.arange(n)}},
            {"issued": np.arange(n), "target_date": np.arange(n) + 1},
            {"reference": up.Distribution("normal", mean=np.zeros(n), sd=1.0)},
        ):
            with pytest.raises(up.InputError, match=f"{n}.*50|50.*{n}"):
                up.assess(y, forecast, invalid="drop", **option)


def test_outcomes_that_are_all_impossible_are_refused():
    y, centre, spread = forecasts(50)
    with pytest.raises(up.InputError, match="each of the 50 outcomes is outside .* same unit"):
        up.assess(1e6 * y, up.Distribution("normal", mean=centre, sd=spread))
    some = up.assess(np.where(np.arange(50) < 2, 1e6, y), up.Distribution("normal", mean=centre, sd=spread))
    assert some.diagnosis.findings[0].error == "certainty"
    assert some.diagnosis.findings[0].rows == (0, 1)


@pytest.mark.parametrize("when", [np.nan, np.inf, np.datetime64("NaT")])
def test_windows_have_both_times(when):
    y, centre, spread = forecasts(20)
    forecast, made = up.Distribution("normal", mean=centre, sd=spread), np.arange(20).astype(type(when))
    target = made + 1
    target[[3, 7]] = when
    with pytest.raises(up.InputError, match=r"no time in 2 rows \(3, 7"):
        up.assess(y, forecast, issued=made, target_date=target)


def test_outcomes_of_weight_0_are_none():
    y, centre, spread = forecasts(20)
    forecast = up.Distribution("gamma", shape=np.ones(20), scale=1.0)
    y[1:] = -1
    with pytest.raises(up.InputError, match="same unit"):
        up.assess(y, forecast, sample_weight=np.arange(20) > 0)


def test_pit_values_have_no_scores():
    y, centre, spread = forecasts(300, low=0.6)
    u = norm.cdf(y, centre, spread)
    found, same = up.assess(y, up.PIT(u)), up.assess(y, up.Distribution("normal", mean=centre, sd=spread))
    assert found.scores == {}
    assert found.skill is None
    assert found.diagnosis.findings[0].parameter == pytest.approx(same.diagnosis.findings[0].parameter, rel=1e-6)
    assert "CRPS" not in str(found)


@pytest.mark.slow
@pytest.mark.parametrize("form", FORMS)
def test_widths_and_surprises_are_drawn_where_they_are_known(form):
    y, centre, spread = forecasts(low=0.5)
    a = up.assess(y, FORMS[form](centre, spread))
    kinds = {section.id for section in distribution_document(a, Naming(), brief=False).sections}
    assert {"width", "surprising"} <= kinds
    assert (np.diff(width_chart(a).lines[1].x) > 0).all()
    [points] = surprises_chart(a.surprises).points
    wide = a.surprises.high - a.surprises.low
    assert points.x == pytest.approx((a.surprises.outcome - a.surprises.median) / wide)
    assert points.high - points.low == pytest.approx(np.ones(len(wide)))
    u = norm.cdf(y, centre - 0.5 * spread, spread)
    of_pit = distribution_document(up.assess(None, up.PIT(u)), Naming(), brief=False)
    assert not {"width", "surprising"} & {section.id for section in of_pit.sections}


@pytest.mark.slow
@pytest.mark.parametrize("form", FORMS)
def test_a_result_is_shown_in_every_way(form, tmp_path):
    y, centre, spread = forecasts(low=0.5, narrow=1.5)
    found = up.assess(y, FORMS[form](centre, spread))
    assert max(map(len, str(found).splitlines())) <= 80
    assert json.loads(found.to_json())["n_rows"] == 600
    assert pickle.loads(pickle.dumps(found)) == found
    found.report(tmp_path / "page.html", name="<b>wind</b>")
    page = (tmp_path / "page.html").read_text()
    assert "<b>wind</b>" not in page
    assert "Where the outcome was in the forecast distribution" in page
    assert found.plot().get_xlabel() == "Where the outcome was in the forecast distribution"


@pytest.mark.slow
def test_the_command_line_gives_the_same(tmp_path, capsys):
    from unperplexed.cli import main

    y, centre, spread = forecasts(low=0.5)
    values = FORMS["quantiles"](centre, spread).values
    frame = {"y": y, **{f"q{level:g}": column for level, column in zip(LEVELS, values.T, strict=True)}}
    pl.DataFrame(frame).write_csv(tmp_path / "wind.csv")
    assert main(["assess", str(tmp_path / "wind.csv"), "--truth", "y", "--quantiles", "q*", "--json", "-"]) in (0, None)
    printed = json.loads(capsys.readouterr().out)
    assert printed["verdict"] == up.assess(y, FORMS["quantiles"](centre, spread)).verdict


@pytest.mark.slow
def test_groups_are_assessed_by_themselves(tmp_path):
    y, centre, spread = forecasts(low=0.0)
    late = np.arange(600) >= 300
    forecast = up.Distribution("normal", mean=centre, sd=np.where(late, spread / 2, spread))
    found = up.assess_by(y, forecast, by={"half": np.where(late, "late", "early")})
    assert [each.key for each in found.groups] == [("early",), ("late",)]
    for name, rows in (("early", ~late), ("late", late)):
        alone = up.assess(y[rows], forecast.subset(rows))
        assert found[name].diagnosis == alone.diagnosis
        assert found[name].coverage == alone.coverage
        assert found[name].scores == alone.scores
    assert found.whole == up.assess(y, forecast)
    assert found["late"].width.interval.low < 2 < found["late"].width.interval.high
    assert "late" in str(found)
    assert len(json.loads(found.to_json())["groups"]) == 2
    assert "By half" in found.to_html()
    p = [each.diagnosis.p_value for each in (found["early"], found["late"])]
    assert [each.adjusted_p_value for each in found.groups] == pytest.approx([p[0], 2 * p[1]], abs=1e-9)
    assert found.worst.key == ("late",)
    assert json.loads(found.to_json())["worst"] == ["late"]
    assert "Worst by cost: half late, too narrow. This costs" in (shown := " ".join(str(found).split()))
    assert "This is sure: all other intervals lie below." in shown
    with pytest.raises(up.InputError, match="no group 'middle'; there are 'early', 'late'"):
        found["middle"]
    with pytest.raises(up.InputError, match="600 groups, more than 500"):
        up.assess_by(np.tile(y, 2), up.Samples(np.tile([1, 2, 3], (1200, 1))), by=np.arange(1200) // 2)


@pytest.mark.slow
def test_groups_are_sorted_the_worst_first():
    y, centre, spread = forecasts(n=240)
    part = np.array(["bias", "cost", "width"])[np.arange(240) % 3]
    shift, factor = np.where(part == "bias", 0.7 * spread, 0.0), np.where(part == "cost", 0.25, 1)
    forecast = up.Distribution("normal", mean=centre + shift, sd=spread * np.where(part == "width", 9, factor))
    by_place = {"bias": "bias", "cost": "cost", "width": "width", "score": "width", "skill": "width"}
    found = up.assess_by(y, forecast, by={"part": part}, sort="width")
    assert groups_table(found).caption.startswith("3 groups by part, the worst width first.")
    assert [each.key[0] for each in found.groups] == ["width", "cost", "bias"]
    assert found.worst.key == ("cost",)
    for sort, largest in by_place.items():
        assert max("bias", "cost", "width", key=lambda name: _WORST[sort](found[name])) == largest
    with pytest.raises(up.InputError, match="sort: expected one of 'group', 'rows', 'cost'"):
        up.assess_by(y, forecast, by={"part": part}, sort="prediction_accuracy")
    with pytest.raises(up.InputError, match="sort: expected one of 'geometric_accuracy', 'cost'"):
        up.assess_by([0, 1, 1, 0], [0.3, 0.6, 0.7, 0.4], by=[0, 0, 1, 1], sort="width")


@pytest.mark.slow
def test_calibrated_groups_have_no_worst_one_and_a_single_group_no_line():
    y, centre, spread = forecasts(240)
    forecast = up.Distribution("normal", mean=centre, sd=spread)
    found = up.assess_by(y, forecast, by={"part": np.arange(240) % 4})
    assert found.worst is None
    least = min(each.adjusted_p_value for each in found.groups)
    said = f"No group by itself is shown to be miscalibrated (smallest p = {least:.3f}, adjusted for 4 groups)."
    assert said in " ".join(str(found).split())
    assert "Intervals of the cost" not in worst(found)
    assert "Worst" not in str(up.assess_by(y, forecast, by={"part": np.zeros(240)}))
    near = up.assess_by(y, up.Distribution("normal", mean=centre, sd=spread / 3), by={"part": np.arange(240) % 4})
    assert worst(near).endswith("Another may be worse: its interval overlaps with 3 of 3 others.")
    unsure = replace(near, groups=tuple(replace(each, adjusted_p_value=0.2) for each in near.groups))
    assert worst(unsure).endswith("Intervals of the cost are of one group each, without this adjustment.")
    u = np.append(np.linspace(0.01, 0.99, 79), 2.0)  # is impossible, which has no cost that recalibration would save
    impossible = up.assess_by(u, up.Distribution(uniform(np.zeros(80), np.ones(80))), by={"part": np.arange(80) % 2})
    assert worst(impossible).startswith("Worst by cost: part 1, certain and wrong. Another may be worse")


@pytest.mark.slow
@pytest.mark.parametrize("form", FORMS)
def test_a_bias_is_told_in_the_unit_of_the_outcomes_too(form):
    y, centre, spread = forecasts(90, low=-0.8)  # too few for a remedy, which takes time
    found, tenfold = (up.assess(k * y, FORMS[form](k * centre, k * spread)) for k in (1, 10))
    assert found.median_spread == pytest.approx(np.median(spread), rel=0.1 if form == "members" else 1e-4)
    assert tenfold.median_spread == pytest.approx(10 * found.median_spread)
    assert tenfold.bias.value == pytest.approx(found.bias.value, abs=1e-6)
    shown = {each.name: each for each in distribution_document(tenfold, Naming(), brief=True).metrics}
    assert "Too low by (units)" not in shown
    size = -10 * found.median_spread * found.bias.value
    assert float(shown["Too high by (units)"].value) == pytest.approx(size, abs=0.006)
    low, high = map(float, shown["Too high by (units)"].interval.split(" to "))
    assert 0 < low < size < high
    assert f"{-found.bias.interval.high:.3f}" in shown["Too high by (spreads)"].interval


def test_without_a_unit_a_bias_is_told_in_spreads_alone():
    y = np.random.default_rng(2).uniform(size=200)
    for forecast, of in ((up.PIT(y, y), y), (up.Ordered(np.full((200, 3), 1 / 3)), (3 * y).astype(int))):
        found = up.assess(of, forecast)
        assert np.isnan(found.median_spread)
        assert "(units)" not in str(found)
    assert "(units)" not in str(up.Tally.of(y, up.Distribution("normal", mean=0 * y, sd=1 + 0 * y)))


@pytest.mark.parametrize(
    ("value", "interval", "words"),
    [
        (0.2, (-0.1, 0.5), "too low by 0.20 of their spread (95% CI 0.10 too high to 0.50 too low)"),
        (-0.2, (-0.5, 0.1), "too high by 0.20 of their spread (95% CI 0.10 too low to 0.50 too high)"),
        (-0.2, (-0.3, -0.1), "too high by 0.20 of their spread (95% CI 0.10 to 0.30)"),
    ],
)
def test_an_interval_that_reaches_beyond_0_says_which_way(value, interval, words):
    e = OfDistributions(value, interval, ("bias",), True, 0.8, (1, 1), (-0.1, 0.3))
    assert KINDS["bias"].distributions(e)[0].words == words
    words = KINDS["level"].distributions(e)[0].words
    assert "level: too high by 0.10 spreads at its 10th percentile, too low by 0.30 at its 90th" in words


@pytest.mark.parametrize("size", [2, 9, 90])
def test_coverage_by_all_members_has_a_name_of_its_own(size):
    rng = np.random.default_rng(size)
    members, y = rng.normal(size=(300, size)), rng.normal(size=300)
    found = up.assess(y, up.Samples(members), clusters=None)
    inside = ((members.min(axis=1) < y) & (y < members.max(axis=1))).mean()
    assert found.to_flat()["coverage_all_members"] == pytest.approx(inside)
    assert found.coverage[-1].expected == pytest.approx((size - 1) / (size + 1))
    assert len(found.coverage) == len(
        [name for name in found.to_flat() if re.fullmatch(r"coverage_([\d.]+|all_members)", name)]
    )
    assert up.check(found, require=f"coverage_all_members > {inside - 0.01}", confidence=None)
    assert not up.check(found, require=f"coverage_all_members > {inside + 0.01}", confidence=None)
    of_levels = up.assess(y, up.Distribution("normal", mean=np.zeros(300), sd=np.ones(300)), clusters=None)
    assert "coverage_all_members" not in of_levels.to_flat()


def test_more_than_500_groups_are_refused():
    n = 501
    forecast = up.Distribution("normal", mean=np.zeros(n), sd=1.0)
    with pytest.raises(up.InputError, match="by: 501 groups, more than 500"):
        up.assess_by(np.zeros(n), forecast, by=np.arange(n))
