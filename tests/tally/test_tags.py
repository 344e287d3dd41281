"""Tags of tallies: what belongs together adds up as if untagged, and what does not is refused."""

import json
from dataclasses import replace
from itertools import permutations

import numpy as np
import pytest

from helpers import softmax_forecasts
from spoiled_tallies import older, rewritten
from unperplexed import InputError, Tallies, Tally
from unperplexed.cli import main
from unperplexed.results import History
from unperplexed.tally.periods import joined, shared
from unperplexed.tally.tags import Tags


def day(number, n=5, **tags):
    y, p = softmax_forecasts(np.random.default_rng(number), n, 2)
    return Tally.of(y, p[:, 1]).tagged(**tags)


def test_a_month_of_days_is_the_month(rng):
    y, p = softmax_forecasts(rng, 31 * 4, 2)
    tags = {"name": "rain", "model": "v7"}
    days = [
        Tally.of(y[4 * i : 4 * i + 4], p[4 * i : 4 * i + 4, 1]).tagged(period=f"2026-03-{i + 1:02}", **tags)
        for i in range(31)
    ]
    whole = Tally.of(y, p[:, 1]).tagged(period="2026-03", **tags)
    for order in (range(31), rng.permutation(31), range(30, -1, -1)):
        parts = [days[i] for i in order]
        assert Tally.merged(parts).to_bytes() == sum(parts).to_bytes() == whole.to_bytes()
    assert Tally.from_bytes(whole.to_bytes()).tags == whole.tags


@pytest.mark.parametrize(
    ("tags", "message"),
    [
        (({"model": "a"}, {"model": "b"}, {}), "different models .*'a'.*'b'"),
        (({"name": "a"}, {"name": "b"}, {}), "different data"),
        (({"period": "2026-03-05"}, {"period": "2026-02/2026-03"}, {}), "both have 2026-03-05"),
        (({"period": "2026-W10"}, {"period": "2026-03-08/2026-04"}, {}), "both have 2026-03-08,"),
        (({"period": "season 7"}, {"period": "season 7"}, {}), "both have season 7"),
    ],
)
def test_what_does_not_belong_together_is_refused_in_any_order(tags, message):
    parts = [day(i, **each) for i, each in enumerate(tags)]
    sums = set()
    for order in permutations(parts):
        mirrored = message if "'a'" not in message else "different models"
        for add in (sum, Tally.merged):
            with pytest.raises(InputError, match=f"{mirrored}.*mixed=True"):
                add(order)
        sums.add(Tally.merged(order, mixed=True).to_bytes())
    [mixed] = sums
    assert (
        Tally.from_bytes(mixed).tagged(name="", model="", period="").to_bytes() == sum(map(untagged, parts)).to_bytes()
    )


def untagged(tally):
    return tally.tagged(name="", model="", period="")


def test_what_is_not_known_contradicts_nothing_and_is_not_forgotten():
    both = day(0) + day(1, model="a")
    assert both.tags.models == ("", "a")
    assert "model: a (not known for all rows)" in both.to_text()
    with pytest.raises(InputError, match="different models"):
        both + day(2, model="b")


def test_no_rows_are_of_no_model():
    none = Tally.of([], [], labels=[0, 1]).tagged(model="b", period="2026-03-01")
    for some in (Tally() + day(1, model="a"), none + day(1, model="a"), day(1, model="a") + none):
        assert some.to_bytes() == day(1, model="a").to_bytes()


def test_groups_with_the_tags_of_their_data_are_a_whole():
    groups = Tallies.of([1, 0, 1], [0.8, 0.3, 0.6], by=["a", "b", "b"])
    tagged = Tallies(groups.by, {key: each.tagged(model="v7", period="2026-03-01") for key, each in groups.items()})
    assert untagged(tagged.whole()).to_bytes() == groups.whole().to_bytes()


@pytest.mark.parametrize(
    ("period", "days"),
    [
        ("2026-01-01/2026-12-31", "2026"),
        ("2020-01/2026-Q4", "2020/2026"),
        ("2025-01-01/2026-12-31", "2025-01/2026-12"),
        ("2025/2026", "2025/2026"),
        ("2024-02-01/2024-02-29", "2024-02"),
        ("2024-02-01/2024-02-28", "2024-02-01/2024-02-28"),
        ("2023-02-01/2023-02-28", "2023-02"),
        ("2026-Q4", "2026-10/2026-12"),
        ("2026-W01", "2025-12-29/2026-01-04"),
        ("2025-12/2026-W02", "2025-12-01/2026-01-11"),
        ("9999", "9999"),
        ("26-3", "26-3"),
    ],
)
def test_periods_are_days_of_the_calendar(period, days):
    assert joined([period]) == (days,) == joined([days, period])


def test_two_years_in_a_row_name_a_season():
    seasons = [day(i, period=f"{2023 + i}/{2024 + i}") for i in range(3)]
    assert sum(seasons).tags.periods == ("2023/2024", "2024/2025", "2025/2026")
    history = History()
    for each in seasons:
        history = history.after(*each.tags.periods, each)
    assert len(history.names) == 3
    assert (day(0, period="2025") + day(1, period="2026")).tags.periods == ("2025-01/2026-12",)
    with pytest.raises(InputError, match=r"both have 2024/2025"):
        seasons[1] + day(3, period="2024/2025")
    with pytest.raises(InputError, match=r"both have 2023-09"):
        day(0, period="2023/2025") + day(1, period="2023-09")


def test_shared_days_are_those_of_both(rng):
    for _ in range(50):
        sets = [{int(d) for d in rng.integers(1, 29, size=4)} for _ in "ab"]
        a, b = ([f"2026-02-{d:02}" for d in each] for each in sets)
        first = min(sets[0] & sets[1], default=None)
        assert shared(a, b).startswith("" if first is None else f"2026-02-{first:02}")
        assert bool(shared(a, b)) == (first is not None)


@pytest.mark.parametrize("tags", [{"model": "a\nb"}, {"name": "x" * 201}, {"period": "2026-02-30"}, {"model": 7},
                                  {"period": "9999-W52"}, {"period": "2026-03/2026-02"}])  # fmt: skip
def test_tags_that_are_none(tags):
    with pytest.raises(InputError, match=next(iter(tags))):
        day(0).tagged(**tags)


@pytest.mark.parametrize("models", [None, [], "a", ["b", "a"], ["a", "a"], [3], ["x" * 201], ["a"] * 10_001,
                                    ["a\nb"], [" a"], ["a\x1b[31m"]])  # fmt: skip
def test_a_file_with_impossible_tags_is_refused(models):
    content = day(0, model="a").to_bytes()
    tags = {"names": [""], "models": models, "periods": [""]}
    for wrong in (tags, {"models": ["a"]}, []):
        with pytest.raises(InputError, match="do not fit together"):
            Tally.from_bytes(rewritten(content, lambda h, b, v, wrong=wrong: ({**h, "tags": wrong}, b, v)))


@pytest.mark.parametrize("model", ["a\nb", " a", "a\x1b[31m"])
def test_a_history_with_impossible_tags_is_refused(tmp_path, model):
    path = tmp_path / "history.json"
    known = History().after("1", day(0, model="a")).to_dict()
    path.write_text(json.dumps(known | {"tags": {"names": [""], "models": [model]}}))
    with pytest.raises(InputError, match="damaged: tags cannot be right"):
        History.load(path)


@pytest.mark.parametrize("kind", ["names", "models", "periods"])
def test_a_tally_has_no_more_tags_than_a_file_can_have(kind):
    many = Tags(**{kind: tuple(sorted(f"v{i}" for i in range(10_000)))})
    tally = replace(day(0), tags=many)
    assert Tally.from_bytes(tally.to_bytes()).tags == many
    one = day(1, **{kind.removesuffix("s"): "w"})
    with pytest.raises(InputError, match=rf"at most 10,000 separate .*tagged\({kind[:-1]}="):
        Tally.merged([tally, one], mixed=True)
    with pytest.raises(InputError, match="at most 10,000 separate periods"):
        day(0, period=[f"v{i}" for i in range(10_001)])


def test_files_of_version_7_have_no_tags():
    tally = day(0)
    assert Tally.from_bytes(older(tally.to_bytes(), lambda h, b, _: (h, b, 7))).to_bytes() == tally.to_bytes()


def run(capsys, *words):
    code = main([str(word) for word in words])
    return code, " ".join("".join(capsys.readouterr()).split())


@pytest.mark.slow
def test_commands_read_tags(tmp_path, capsys):
    files = []
    for i, model in enumerate("aab"):
        rows, file = tmp_path / f"{i}.csv", tmp_path / f"{i}.tally"
        rows.write_text("y,p\n" + "\n".join(f"{int(k % 4 > 0)},{0.7 + 0.0005 * (k + i):.4f}" for k in range(200)))
        tags = ["--tag", f"model={model}", "name=rain", f"period=2026-03-0{i + 1}"]
        assert run(capsys, "tally", rows, "--truth", "y", "--prob", "p", *tags, "-o", file)[0] == 0
        files.append(file)
    out = tmp_path / "sum.tally"
    assert "2026-03-01/2026-03-02" in run(capsys, "tally", *files[:2], "-o", out)[1]
    code, text = run(capsys, "tally", *files, "-o", tmp_path / "all.tally")
    assert code == 2
    assert "2.tally: does not add up with those before it: tallies of different models" in text
    assert "tally --mixed" in text
    assert run(capsys, "tally", *files, "--mixed", "-o", tmp_path / "all.tally")[0] == 0
    assert "model: a, b" in run(capsys, "tally", tmp_path / "all.tally")[1]
    assert run(capsys, "tally", files[0], out, "-o", tmp_path / "x.tally")[0] == 2
    assert not (tmp_path / "x.tally").exists()
    assert run(capsys, "tally", files[0], "--tag", "period=2026-02-30", "-o", tmp_path / "x.tally")[0] == 2

    code, text = run(capsys, "check", files[1], "--earlier", files[0])
    assert code == 0
    assert "data rain, model a, period 2026-03-01" in text
    assert "is in both, and their tags name no different models" in run(capsys, "check", files[0], "--earlier", out)[1]
    run(capsys, "tally", files[2], "--tag", "name=snow", "-o", tmp_path / "snow.tally")
    assert "its data are 'snow', not 'rain'" in run(capsys, "check", files[0], "--earlier", tmp_path / "snow.tally")[1]

    code, text = run(capsys, "monitor", *files)
    assert code == 2
    assert "2026-03-03: its model is 'b', and in the periods before 'a'" in text
    history = tmp_path / "h.json"
    assert "2 periods" in run(capsys, "monitor", *files[:2], "--history", history)[1]
    assert History.load(history).names == ("2026-03-01", "2026-03-02")
    assert run(capsys, "monitor", files[2], "--history", history)[0] == 2
    assert run(capsys, "monitor", *files, "--mixed")[0] == 0
    assert "it has days of 2026-03-02" in run(capsys, "monitor", out, "--history", history)[1]
