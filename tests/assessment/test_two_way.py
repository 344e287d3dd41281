"""Groups by two columns as a table and a heat map: the cells are those of the groups."""

import re

import numpy as np
import pytest
from matplotlib.figure import Figure

from unperplexed import InputError, assess_by
from unperplexed.describe.groups import two_way, two_way_chart, two_way_table
from unperplexed.report.svg import figure

LEADS, SEASONS = ["24 h", "48 h", "120 h"], ["summer", "winter"]


@pytest.fixture(scope="module")
def result():
    rng = np.random.default_rng(8)
    n = 3000
    lead, season = (np.array(names)[rng.integers(len(names), size=n)] for names in (LEADS, SEASONS))
    z = rng.normal(size=n)
    y = (rng.uniform(size=n) < 1 / (1 + np.exp(-z))).astype(int)
    there = (season != "summer") | (lead != "48 h")
    p = 1 / (1 + np.exp(-z * np.where(lead == "120 h", 3, 1)))
    return assess_by(y[there], p[there], by={"season": season[there], "lead": lead[there]}, resamples=0)


@pytest.mark.slow
def test_cells_are_the_costs_of_the_groups(result):
    table = two_way_table(two_way(result))
    assert [column.heading for column in table.columns] == ["season", *LEADS]
    assert list(table.columns[0].values) == SEASONS
    for column in table.columns[1:]:
        for season, shown in zip(SEASONS, column.values, strict=True):
            if (season, column.heading) == ("summer", "48 h"):
                assert shown == ""
                continue
            group = next(g for g in result.groups if g.key == (season, column.heading))
            assert float(shown.rstrip("*")) == pytest.approx(group.cost, abs=0.0006)
            assert shown.endswith("*") == result.cost_shares[group.key].significant == (column.heading == "120 h")
    assert table.caption.split()[0] in str(result)


def test_costs_of_rare_events_have_digits():
    rng = np.random.default_rng(1)
    n, region, product = 40_000, np.arange(40_000) % 2, np.arange(40_000) // 2 % 2
    odds = rng.normal(-7, 1, n)
    y = (rng.random(n) < 1 / (1 + np.exp(-odds - 0.5 * (region + product == 2)))).astype(int)
    found = assess_by(y, 1 / (1 + np.exp(-odds)), by={"region": region, "product": product}, floor=1e-5, resamples=0)
    shown = [cell for column in two_way_table(two_way(found)).columns[1:] for cell in column.values]
    cost = next(group.cost for group in found.groups if group.key == (1, 1))
    assert 1e-5 < cost < 5e-4
    assert cost == found[1, 1].diagnosis.cost
    assert float(shown[-1].rstrip("*")) == pytest.approx(cost, rel=0.2)


def test_the_heat_map_is_of_the_same_cells(result):
    chart = two_way_chart(two_way(result))
    assert len(chart.cells.x) == 5
    strong = {(x, y) for x, y, s in zip(chart.cells.x, chart.cells.y, chart.cells.strength, strict=True) if s}
    assert strong == {(2.0, 1.0), (2.0, 2.0)}
    assert (chart.cells.strength <= 0).all()  # overconfident
    drawn = figure(chart)
    assert len(re.findall("<rect", drawn)) == 5
    assert "overpredicted, overconfident, other" in drawn
    assert "2 of 5 groups" in result.plot(Figure()).axes[0].get_title("left").replace("\n", " ")
    assert "Findings by season and lead" in result.to_html()


def test_the_way_with_fewer_values_is_across(rng):
    y, p = rng.integers(2, size=120), np.full(120, 0.5)
    grid = two_way(assess_by(y, p, by={"a": np.arange(120) % 3, "b": np.arange(120) // 3 % 20}, resamples=0))
    assert grid.names == ("b", "a")
    assert list(grid.columns) == [0, 1, 2]


def test_other_groups_have_no_such_picture(rng):
    y, p = rng.integers(2, size=60), np.full(60, 0.5)
    for by in ({"a": np.arange(60) % 3}, {"a": np.arange(60) % 3, "b": np.zeros(60)}):
        found = assess_by(y, p, by=by, resamples=0)
        assert two_way(found) is None
        with pytest.raises(InputError, match="two-way picture is of groups by two columns"):
            found.plot(Figure(), kind="two-way")
