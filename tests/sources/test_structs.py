"""Fields inside of the structs of Parquet and Arrow files, by dotted path, as in JSON Lines."""

import numpy as np
import polars as pl
import pytest

from unperplexed import InputError, Tally, tally_files

N = 300


@pytest.fixture
def frame(rng):
    y, p = rng.integers(2, size=N), rng.random(N)
    return pl.DataFrame(
        {
            "id": np.arange(N),
            "result": [
                {"truth": int(a), "scores": {"p": float(b), "q": [float(1 - b), float(b)]}}
                for a, b in zip(y, p, strict=True)
            ],
            "a.b": p,
            "a": [{"b": 0.5, "c": str(k % 3)} for k in range(N)],
        }
    )


@pytest.mark.parametrize(
    ("name", "write"), [("f.parquet", "write_parquet"), ("f.arrow", "write_ipc"), ("f.jsonl", "write_ndjson")]
)
def test_paths_lead_into_structs(frame, tmp_path, name, write):
    getattr(frame, write)(tmp_path / name)
    y, p = frame["result"].struct.field("truth"), frame["a.b"]
    own = Tally.of(y, p, clusters=frame["a"].struct.field("c"), parts=["shards"])

    def read(prob, **options):
        return tally_files(tmp_path / name, truth="result.truth", prob=prob, **options)

    found = read("result.scores.p", clusters="a.c", parts=["shards"])
    assert (found.points().p == own.points().p).all()
    assert found.scores == own.scores
    assert read("a.b").score("brier_score") == pytest.approx(
        own.score("brier_score")
    )  # a column's own name comes first
    some = read("result.scores.p", where='"result.scores.p" > 0.5')
    assert some.n_rows == int((p > 0.5).sum())
    with pytest.raises(InputError, match=r"result\.scores\.p"):
        read("result.scores.pp")


def test_a_struct_that_is_missing_has_no_values(tmp_path):
    frame = pl.DataFrame({"y": [0, 1, 1], "r": [{"p": 0.2}, {"p": 0.7}, None]})
    frame.write_parquet(tmp_path / "f.parquet")
    with pytest.raises(InputError, match="row"):
        tally_files(tmp_path / "f.parquet", truth="y", prob="r.p")
    found = tally_files(tmp_path / "f.parquet", truth="y", prob="r.p", invalid="drop")
    assert found.n_rows == 2
