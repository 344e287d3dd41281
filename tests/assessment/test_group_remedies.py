"""Which groups recalibration would help, corrected for the number of groups."""

import numpy as np
import pytest
from scipy.special import expit
from scipy.stats import norm

from unperplexed import Recalibrator, Tallies, assess, assess_by
from unperplexed.assessment.remedy import Commands
from unperplexed.describe.groups import remedy_blocks
from unperplexed.report.document import Code, Prose


def rows(groups, n, overconfident=()):
    rng = np.random.default_rng(0)
    group = np.repeat(np.arange(groups), n)
    s = rng.normal(0, 1.5, group.size)
    y = rng.random(group.size) < expit(s)
    return y, expit(np.where(np.isin(group, overconfident), 2, 1) * s), group


Y, P, GROUP = rows(6, 600, overconfident=(2, 4))
FOUND = assess_by(Y, P, by={"site": GROUP}, resamples=0)


@pytest.mark.slow
def test_groups_that_are_overconfident_are_found_and_others_are_not():
    assert [key for key, each in FOUND.remedies.items() if each.significant] == [
        group.key for group in FOUND.groups if group.key in {(2,), (4,)}
    ]
    own = Recalibrator().fit(Y[GROUP == 2], P[GROUP == 2]).gain_
    assert FOUND.remedies[2,].remedy.gain == own == assess(Y[GROUP == 2], P[GROUP == 2], resamples=0).remedy.gain


@pytest.mark.slow
def test_p_values_are_adjusted_for_all_groups_that_were_looked_at():
    alone = assess_by(Y[GROUP == 2], P[GROUP == 2], by={"site": GROUP[GROUP == 2]}, resamples=0).remedies[2,]
    assert alone.adjusted_p_value == alone.p_value == FOUND.remedies[2,].p_value
    gain = alone.remedy.gain
    assert (alone.p_value < 0.05) == (gain.interval[0] > 0)
    assert alone.interval == pytest.approx(gain.interval, rel=1e-12)
    for each in FOUND.remedies.values():
        assert each.adjusted_p_value == pytest.approx(min(6 * each.p_value, 1), rel=1e-9)
        assert (each.adjusted_p_value < 0.05) == (each.interval[0] > 0 or each.remedy.gain.value < 0)
        wider = norm.ppf(1 - 0.025 / 6) / norm.ppf(0.975)
        (low, high), gain = each.remedy.gain.interval, each.remedy.gain.value
        assert gain - each.interval[0] == pytest.approx(wider * (gain - low), rel=1e-9)
        assert each.interval[1] - high == pytest.approx(low - each.interval[0], rel=1e-9)
    by_key = {each["key"]["site"]: each for each in FOUND.to_dict()["remedies"]}
    assert by_key[2]["interval"] == [*FOUND.remedies[2,].interval]


@pytest.mark.slow
def test_among_many_calibrated_groups_none_is_named():
    y, p, group = rows(40, 200)
    found = assess_by(y, p, by={"site": group}, resamples=0)
    assert not any(each.significant for each in found.remedies.values())
    assert "Groups that a recalibration map of their own would help" not in str(found)


def test_text_and_json_say_it():
    text = " ".join(str(FOUND).split())
    assert "p-values are Bonferroni-adjusted for 6 groups" in text
    assert max(map(len, str(FOUND).splitlines())) <= 80
    by_key = {each["key"]["site"]: each for each in FOUND.to_dict()["remedies"]}
    assert by_key[2]["significant"]
    assert by_key[2]["gain"]["value"] == FOUND.remedies[2,].remedy.gain.value
    gain = FOUND.remedies[2,].remedy.gain
    assert f" 2 {gain.before:.3f} {gain.after:.3f} " in text
    assert "Recalibrator().fit(y_true[rows], y_prob[rows]).transform(new_y_prob[new_rows])" in text


@pytest.mark.slow
def test_rows_of_more_classes_and_clusters_have_remedies_and_tallies_none():
    rng = np.random.default_rng(1)
    p = rng.dirichlet([1, 1, 1], 400)
    y, site = (np.log(p) / 2 + rng.gumbel(size=p.shape)).argmax(axis=1), np.arange(400) % 2
    found = assess_by(y, p, by={"site": site}, resamples=0)
    assert found.remedies[0,].remedy.gain == assess(y[site == 0], p[site == 0], resamples=0).remedy.gain
    assert assess_by(Tallies.of(y, p, by={"site": site}), resamples=0).remedies == {}
    clusters, some = np.arange(Y.size) // 5, GROUP == 2
    clustered = assess_by(Y, P, by={"site": GROUP}, clusters=clusters, resamples=0)
    alone = assess(Y[some], P[some], clusters=clusters[some], resamples=0)
    assert clustered.remedies[2,].remedy.gain == alone.remedy.gain


def test_groups_that_depend_on_all_rows_have_no_command_for_others():
    """Thirds of other rows have other ends, and without a file to apply a map to there is none for one group."""
    keys = [group.key for group in FOUND.groups]
    commands = Commands("unperplexed recalibrate p.csv")
    blocks = [*remedy_blocks(FOUND.remedies, ["p:thirds"], keys, commands, Y.size)]
    assert not [block for block in blocks if isinstance(block, Code)]
    assert "Fit a map to the rows of one group: recalibrate --where CONDITION." in [
        block.text for block in blocks if isinstance(block, Prose)
    ]
    [code] = [
        each.text for each in remedy_blocks(FOUND.remedies, ["site"], keys, commands, Y.size) if isinstance(each, Code)
    ]
    assert code == "unperplexed recalibrate p.csv --by site -o map-groups.json"
