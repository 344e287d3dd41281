"""How rows of files are matched: what options leave open, names of files, and ids that do not pair."""

import os
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import polars as pl
import pytest

from unperplexed import InputError
from unperplexed.comparison.files import (
    ROW,
    PairingOptions,
    _dependent,
    _listed,
    _made,
    _of_ids,
    check_heights,
    joined_ids,
    named_files,
    paired_distributions,
    same_types,
    unnamed,
)

RIVALS = {"a": ["p"], "b": ["q"]}


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({}, "how are rows matched"),
        ({"rivals": RIVALS, "on": ["id"]}, "each is a way to match rows; name one"),
        ({"rivals": RIVALS, "in_order": True}, "each is a way to match rows"),
        ({"rivals": RIVALS, "forecaster": "m"}, "each is a way to match rows"),
        ({"on": ["id"], "in_order": True}, "each is a way to match rows"),
        ({"rivals": {"a": ["p"]}}, "at least two forecasters, each as NAME=COLUMN"),
        ({"forecaster": "m"}, "how are rows matched. Name the columns of their id"),
        ({"in_order": True, "clusters": [["a"], ["b"]], "pairs": True}, "each says which rows may depend"),
        ({"in_order": True, "common": True}, "ids that all have in common are those of the columns named with --on"),
    ],
)
def test_options_that_leave_it_open_are_refused(options, says):
    with pytest.raises(InputError, match=says):
        PairingOptions(**options)


@pytest.mark.parametrize(
    "options",
    [
        {"on": ["id"]},
        {"in_order": True},
        {"rivals": RIVALS},
        {"rivals": {"a": ["p"]}, "least": 1},
        {"forecaster": "m", "on": ["id"]},
        {"in_order": True, "clusters": [["a"]], "pairs": True},
        {"in_order": True, "clusters": [["a"], ["b"]]},
        {"on": ["id"], "common": True},
    ],
)
def test_options_that_say_it_once_are_taken(options):
    found = PairingOptions(**options)
    assert found.one_table == ("rivals" in options or "forecaster" in options)


def test_columns_are_called_by_what_they_are_for():
    options = PairingOptions(
        on=["id", "day"],
        forecaster="m",
        clusters=[["site"], ["day", "hour"]],
        within=["s"],
        by=["month"],
        climatology=["h"],
    )
    assert options.keys == {
        "0": "id", "1": "day", "forecaster": "m", "cluster 0 0": "site", "cluster 1 0": "day", "cluster 1 1": "hour",
        "within 0": "s", "by 0": "month", "climatology 0": "h",
    }  # fmt: skip
    assert options.keys_of_others == {"0": "id", "1": "day", "forecaster": "m"}
    pairs = PairingOptions(in_order=True, pairs=True, by=["pair", "site"], where="x > 1")
    assert [*pairs.keys] == ["by 1", "pair", "line", "where 0"]
    assert pairs.keys["where 0"] == "x"


def test_names_are_what_stands_before_a_sign(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert unnamed("new=a.csv") == "a.csv"
    assert unnamed("a.csv") == "a.csv"
    assert unnamed("dt=2026/a.csv") == "2026/a.csv"
    (tmp_path / "dt=2026").mkdir()
    (tmp_path / "dt=2026" / "a.csv").write_text("p\n1\n")
    assert unnamed("dt=2026/a.csv") == "dt=2026/a.csv"
    assert unnamed("dt=*/a.csv") == "dt=*/a.csv"
    assert unnamed("x/y=2026/a.csv") == "x/y=2026/a.csv"


def test_forecasters_have_the_names_of_their_files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("a.csv", "b.csv.gz", "one/a.csv", "t.tally"):
        path = Path(name)
        path.parent.mkdir(exist_ok=True)
        path.write_text("p\n")
    assert named_files(["new=a.csv", "b.csv.gz"]) == {"new": ["a.csv"], "b": ["b.csv.gz"]}
    assert named_files(["one", "a.csv"]) == {"one": [os.path.join("one", "a.csv")], "a": ["a.csv"]}  # noqa: PTH118
    both = named_files(["a.csv", "one/a.csv"])
    assert [*both] == ["a.csv", "one/a.csv"]
    with pytest.raises(InputError, match="x: two forecasters of that name"):
        named_files(["x=a.csv", "x=one/a.csv"])
    with pytest.raises(InputError, match=r"t\.tally: a tally has no rows left to pair"):
        named_files(["a.csv", "t.tally"])


def keys(**columns):
    n = len(next(iter(columns.values())))
    return pl.DataFrame({ROW: np.arange(n), **columns})


def test_columns_that_are_text_in_one_are_text_in_all():
    found = same_types({"a": [keys(x=[1, 2], y=[0.5, 1.0])], "b": [keys(x=["1"], y=[2.0]), keys(x=["3"], y=[1.0])]})
    assert found["a"]["x"].to_list() == ["1", "2"]
    assert found["b"]["x"].to_list() == ["1", "3"]
    assert found["a"]["y"].dtype == pl.Float64


def test_rows_in_order_are_as_many():
    check_heights({"a": keys(x=[1, 2]), "b": keys(x=[3, 4])})
    with pytest.raises(InputError, match="a has 2 rows, c 1: they are not the same rows in the same order"):
        check_heights({"a": keys(x=[1, 2]), "b": keys(x=[3, 4]), "c": keys(x=[3])})


def test_ids_are_joined_in_the_order_of_the_first():
    frames = {"a": keys(id=[7, 3, 5]), "b": keys(id=[3, 5, 7]), "c": keys(id=[5, 7, 3])}
    found = joined_ids(frames, ["id"], False)
    assert found["id"].to_list() == [7, 3, 5]
    assert [found[f"{ROW} of {at}"].to_list() for at in range(3)] == [[0, 1, 2], [2, 0, 1], [1, 2, 0]]
    two = joined_ids({"a": keys(id=[7, 3, 5]), "b": keys(id=[5, 8])}, ["id"], True)
    assert two["id"].to_list() == [5]
    assert (two[f"{ROW} of 0"].to_list(), two[f"{ROW} of 1"].to_list()) == ([2], [0])


@pytest.mark.parametrize(
    ("a", "b", "common", "says"),
    [
        ([1, 2], [1, 2, 3], False, "a: has no row for 1 of the 3 ids of b: '3'. Add them, or"),
        ([1, 2, 3], [1, 2], False, "b: has no row for 1 of the 3 ids of a: '3'"),
        ([1, 4], [1, 2], False, "b: has no row for 1 of the 2 ids of a: '4'. Only b has '2': are they written alike"),
        ([1, 2], [3, 4], True, "no id is in all of 'a', 'b'"),
        ([1, 1, 2], [1, 2], False, r"a: more than one row has the id '1'; see 2 rows \(0, 1; counted from 0\)"),
        (
            [*range(12)],
            [0],
            False,
            "b: has no row for 11 of the 12 ids of a: '1', '2', '3', '4', '5', '6', '7', '8', .... Add",
        ),
    ],
)
def test_ids_that_do_not_pair_are_told(a, b, common, says):
    with pytest.raises(InputError, match=says.replace("....", r"\.\.\.\.")):
        joined_ids({"a": keys(id=a), "b": keys(id=b)}, ["id"], common)


def test_eight_ids_are_listed():
    assert _listed(pl.DataFrame({"x": [*range(8)]})).endswith("'7'")
    assert _listed(pl.DataFrame({"x": [*range(9)]})).endswith("'7', ...")
    assert _listed(pl.DataFrame({"x": [1], "y": ["b"]})) == "'1, b'"


def test_rows_that_are_not_wanted_leave_their_ids():
    found = _of_ids({"a": keys(id=[1, 2, 3]), "b": keys(id=[3, 2, 9])}, ["id"], np.array([True, False, True]))
    assert found["a"]["id"].to_list() == [1, 3]
    assert found["b"]["id"].to_list() == [3, 9]
    same = _of_ids({"a": keys(id=[1, 1]), "b": keys(id=[1])}, ["id"], np.array([True, False]))
    assert same["b"]["id"].to_list() == [1]


def test_clusters_and_groups_are_those_of_their_columns():
    frame = pl.DataFrame(
        {
            "cluster 0 0": ["x", "x", "y", "y"],
            "cluster 0 1": [1, 2, 1, 1],
            "within 0": [0, 0, 1, 1],
            "line": [0, 1, 2, 3],
            "by 0": ["m", "n", "m", "m"],
        }
    )
    found = _dependent(frame)
    clusters = found["clusters"]
    assert len(np.unique(clusters)) == 3
    assert clusters[2] == clusters[3]
    assert found["series"].tolist() == [0, 0, 1, 1]
    crossed = _dependent(frame.rename({"cluster 0 1": "cluster 1 0"}))
    assert crossed["crossed"] is not None
    assert _dependent(frame.select("line")) == {"series": None}
    pairs = _dependent(frame.select("line").with_columns(pair=pl.lit("p")))
    assert len(np.unique(pairs["clusters"])) == 4
    assert [key for (key,) in _made(frame, "by", ["site"]).keys] == ["m", "n"]
    assert _made(frame, "by", []) is None


class Read(SimpleNamespace):
    """Distributions of a number that were read, as far as they are paired."""

    def __init__(self, y, ids, notes=()):
        super().__init__(y=np.asarray(y, float), frame=pl.DataFrame({"id": ids}), notes=[*notes])


def test_distributions_of_other_rows_are_not_compared():
    one = Read([1, 2], [5, 6])
    assert paired_distributions({"a": one, "b": Read([1, 2], [5, 6])}, [], False)["a"] is one
    with pytest.raises(InputError, match="at least two forecasters, here is a"):
        paired_distributions({"a": one}, [], False)
    with pytest.raises(InputError, match=r"b: other outcomes than a in 1 row \(1; counted from 0\) of those that both"):
        paired_distributions({"a": one, "b": Read([1, 3], [5, 6])}, [], False)
    with pytest.raises(InputError, match="a has 2 rows, b 1"):
        paired_distributions({"a": one, "b": Read([1], [5])}, [], False)
