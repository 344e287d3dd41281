"""Risk-coverage curves of classifiers, and how well the top probability tells rows of another distribution."""

import json
import re

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from helpers import softmax_forecasts
from unperplexed import Tally, assess, assess_by
from unperplexed.cli.parser import main
from unperplexed.language_models import risk_coverage


@pytest.fixture(scope="module")
def forecasts():
    """Of four classes, two thirds from another distribution, on which they are less often right and less sure."""
    rng = np.random.default_rng(8)
    y, p = softmax_forecasts(rng, 600, 4, temperature=0.7)
    other = np.arange(600) % 3 > 0
    p[other] = 0.6 * p[other] + 0.1
    p = np.floor(64 * p) / 64  # so that some top probabilities are equal, and sums exact
    p[np.arange(600), p.argmax(axis=1)] += 1 - p.sum(axis=1)
    return y, p, np.where(other, "other; set", "own")


def test_counts_give_what_rows_give(forecasts):
    y, p, _ = forecasts
    found = assess(y, p, resamples=0).risk_coverage
    expected = risk_coverage(p.argmax(axis=1) == y, p.max(axis=1))
    np.testing.assert_allclose([found.area, *found.interval], [expected.area, *expected.interval], rtol=1e-9)
    assert (found.n, found.area_by_chance) == (600, pytest.approx(expected.area_by_chance))
    assert found.area_at_best < found.interval.low < found.area < found.interval.high < found.area_by_chance
    for one, other in zip(found.points, expected.points, strict=True):
        np.testing.assert_allclose([one.risk, *one.interval], [other.risk, *other.interval], rtol=1e-9)
        assert one.threshold == pytest.approx(other.threshold)


def test_the_area_is_the_mean_of_the_shares_of_wrong_answers(rng):
    wrong, p = rng.random(500) < 0.3, rng.permutation(500) / 500
    risks = np.cumsum(wrong[np.argsort(-p)]) / np.arange(1, 501)
    found = risk_coverage(~wrong, p)
    assert found.area == pytest.approx(risks.mean())
    assert found.area_at_best == pytest.approx((np.cumsum(np.sort(wrong)) / np.arange(1, 501)).mean())
    assert [each.risk for each in found.points] == pytest.approx(risks[49::50].tolist())


def test_two_classes_have_one_too_clusters_no_interval_and_weights_none(rng):
    p = rng.uniform(0.02, 0.98, 300)
    y = (rng.random(300) < p).astype(int)
    found = assess(y, p, resamples=0).risk_coverage
    assert found.area == pytest.approx(risk_coverage((p > 0.5) == y, np.maximum(p, 1 - p)).area)
    clustered = assess(y, p, resamples=0, clusters=np.arange(300) // 3).risk_coverage
    assert clustered.area == pytest.approx(found.area)
    assert np.isnan([*clustered.interval, *clustered.points[4].interval]).all()
    assert assess(y, p, resamples=0, sample_weight=1 + p).risk_coverage is None
    assert assess(Tally.of(y, p), resamples=0).risk_coverage.area == pytest.approx(found.area)


def test_the_top_probability_tells_groups_apart(forecasts, tmp_path, capsys):
    y, p, source = forecasts
    found = assess_by(y, p, by={"source": source}, resamples=0)
    auroc = roc_auc_score(source == "own", p.max(axis=1))
    metric = found.detection["other; set",]
    assert metric.value == pytest.approx(auroc)
    assert found.detection["own",].value == pytest.approx(1 - auroc)
    samples = []
    rng = np.random.default_rng(0)
    for _ in range(200):
        some = rng.integers(600, size=600)
        samples.append(roc_auc_score(source[some] == "own", p[some].max(axis=1)))
    assert metric.standard_error == pytest.approx(np.std(samples), rel=0.2)
    rows = "".join(f"{a},{','.join(map(str, b))},{c}\n" for a, b, c in zip(y, p.tolist(), source, strict=True))
    (tmp_path / "f.csv").write_text("y,p0,p1,p2,p3,source\n" + rows)
    words = ["assess", str(tmp_path / "f.csv"), "--truth", "y", "--prob", "p*", "--by", "source", "--resamples", "0"]
    assert not main([*words, "--show", "risk-coverage", "--json", str(tmp_path / "f.json")])
    text = " ".join(capsys.readouterr().out.split())
    assert f"tells other; set from the other group with an AUROC of {auroc:.3f} (95% CI" in text
    assert "The area under the risk-coverage curve (AURC) is" in text
    kept = json.loads((tmp_path / "f.json").read_text())
    assert kept["shown"]["risk-coverage"]["area"] == pytest.approx(found.whole.risk_coverage.area)
    for name in ("coverage", "risk", "threshold"):
        points = [getattr(each, name) for each in found.whole.risk_coverage.points]
        assert [each[name] for each in kept["shown"]["risk-coverage"]["points"]] == pytest.approx(points)


def test_each_of_several_groups_is_told_from_all_others(forecasts):
    y, p, source = forecasts
    source = np.where((source == "own") & (np.arange(600) % 2 == 0), "scan", source)
    found = assess_by(y, p, by={"source": source}, resamples=0)
    auroc = {name: roc_auc_score(source != name, p.max(axis=1)) for name in ("own", "other; set", "scan")}
    assert {key: metric.value for (key,), metric in found.detection.items()} == pytest.approx(auroc)
    table = found.to_text().partition("AUROC by which a low top probability")[2].partition("\n\n")[0]
    first, *others = sorted(auroc, key=auroc.get, reverse=True)
    assert table.index(first) < min(map(table.index, others))
    assert all(re.search(rf"{re.escape(name)} +{value:.3f} +\d", table) for name, value in auroc.items())
