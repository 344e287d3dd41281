"""The remedy that an assessment of predictive distributions shows."""

import pickle

import numpy as np
import pytest
from scipy.special import ndtri

import unperplexed as up
from unperplexed import scores
from unperplexed.report.numbers import amount

LEVELS = np.array([0.05, 0.25, 0.5, 0.75, 0.95])


def forecasts(rng, n, wider):
    level = rng.normal(20, 4, n)
    return level + wider * rng.normal(size=n), up.Quantiles(LEVELS, level[:, None] + ndtri(LEVELS))


@pytest.mark.slow
def test_a_remedy_is_that_of_a_fit_and_nears_the_best_score(rng):
    y, forecast = forecasts(rng, 2000, 1.6)
    found = up.assess(y, forecast, clusters=None)
    remedy = found.remedy
    assert remedy.advised
    assert remedy.gain == up.Recalibrator().fit(y, forecast, clusters=None).gain_
    right = up.Quantiles(LEVELS, forecast.median()[:, None] + 1.6 * ndtri(LEVELS))
    best = up.assess(y, right, clusters=None).scores["weighted_interval_score"].value
    assert remedy.after == pytest.approx(best, rel=0.01)
    before = found.scores["weighted_interval_score"].value
    assert remedy.saved.value == pytest.approx(before - remedy.after)
    assert remedy.saved.interval.low < before - best < remedy.saved.interval.high
    text = str(found)
    assert "Widen 1." in text
    assert f"lowers the WIS from {amount(before)} to {amount(remedy.after)}" in " ".join(text.split())
    assert found.to_dict()["remedy"]["gain"]["value"] == remedy.gain.value
    assert pickle.loads(pickle.dumps(found)).remedy == remedy
    assert "recalibrated = Recalibrator().fit" in found.to_html()


@pytest.mark.slow
def test_there_is_none_without_findings_of_few_rows_or_of_groups(rng):
    y, forecast = forecasts(rng, 500, 1.0)
    assert up.assess(y, forecast, clusters=None).remedy is None
    y, forecast = forecasts(rng, 90, 3.0)
    found = up.assess(y, forecast, clusters=None)
    assert found.diagnosis.findings
    assert found.remedy is None
    y, forecast = forecasts(rng, 400, 2.0)
    by = up.assess_by(y, forecast, by=np.arange(400) % 2, clusters=None)
    assert by.whole.remedy.advised
    assert by.groups[0].assessment.remedy is None


def test_pit_values_have_a_gain_but_no_score(rng):
    found = up.assess(None, up.PIT(rng.beta(3, 3, 500)), clusters=None)
    assert found.remedy.advised
    assert np.isnan(found.remedy.after)
    assert "log score" in str(found)


@pytest.mark.slow
def test_of_members_the_same_score_is_told_before_and_after(rng):
    level = rng.normal(20, 4, 300)
    members = level[:, None] + rng.normal(size=(300, 10))
    y = level + 2 * rng.normal(size=300)
    found = up.assess(y, up.Samples(members), clusters=None)
    plain = scores.crps(y, members, fair=False)
    assert found.scores["crps"].value == pytest.approx(scores.crps(y, members))
    assert found.remedy.score == "plain_crps"
    assert found.remedy.before == pytest.approx(plain)
    assert found.remedy.after == pytest.approx(plain - found.remedy.saved.value)
    text = " ".join(str(found).split())
    assert f"lowers the plain CRPS from {amount(plain)} to {amount(found.remedy.after)}" in text
    assert f"Fair CRPS {amount(found.scores['crps'].value)} " in text
    assert f"Plain CRPS {amount(plain)} {amount(found.remedy.after)} " in text
    assert "Fair CRPS" in str(up.Tally.of(y, up.Samples(members)))
    assert "Fair CRPS" not in str(up.Tally.of(y, up.Distribution("normal", mean=level, sd=np.ones(300))))
