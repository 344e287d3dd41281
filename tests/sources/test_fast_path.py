"""JSON Lines have a fast reader and one that goes line by line: random lines must be the same to both."""

import json
import os
import string

import numpy as np
import pytest

from unperplexed import InputError, tally_files
from unperplexed.sources.readers import jsonl

LINES = int(os.environ.get("UNPERPLEXED_RANDOM_LINES", "10000"))
"""With 100,000, in a minute and a half, both gave the same tallies."""
FILES = LINES // 400


def spelled(rng, p):
    """Write a probability in one of the ways in which programs do."""
    forms = (
        repr(p),
        f"{p:.4f}",
        f"{p:.3e}",
        f"{p:.2E}",
        f'"{p!r}"',
        f"{p:.20g}",
        "0",
        "1",
        "1.0",
        "0.0",
        "1e0",
        "-0.0",
    )
    return forms[int(rng.choice(len(forms), p=[0.5, 0.1, 0.1, 0.05, 0.05, 0.1, *[1 / 60] * 6]))]


def random_text(rng):
    letters = [*string.ascii_letters, " ", "é", "日", "\U0001f327", '"', "\\", "\n", "\t", "/", "\x7f", "\u2028", ","]
    return "".join(rng.choice(letters, int(rng.integers(1, 6))))


def random_field(rng):
    kind = int(rng.integers(7))
    value = (
        random_text(rng),
        float(rng.normal() * 10 ** float(rng.integers(-30, 30))),
        int(rng.integers(-(2**62), 2**62)),
        None,
        bool(rng.integers(2)),
        {"a": [1, {"b": random_text(rng)}]},
        [1.5, None, "x"],
    )[kind]
    return json.dumps(value, ensure_ascii=bool(rng.integers(2)))


def random_lines(rng, n):
    """Yield objects of a label, a probability, a weight and a group, in any order, with whatever else."""
    kind = int(rng.integers(4))
    labels = (["0", "1"], ["true", "false"], ['"rain"', '"dry"'], ["1.0", "0.0"])[kind]
    groups = [json.dumps(random_text(rng), ensure_ascii=bool(rng.integers(2))) for _ in range(3)]
    groups += ["1", "2.5", "1e3", "true"][: int(rng.integers(5))]
    exotic = rng.random() < 0.5
    for _ in range(n):
        p = float(rng.random())
        fields = {
            "y": labels[int(rng.random() < p)],
            "p": spelled(rng, p) if exotic else repr(p),
            "w": repr(float(rng.integers(1, 5))) if rng.random() < 0.9 else str(int(rng.integers(1, 5))),
            "g": groups[int(rng.integers(len(groups)))],
        }
        fields |= {f"x{at}": random_field(rng) for at in range(int(rng.integers(3)))}
        order = rng.permutation([*fields])
        space = " " * int(rng.integers(2))
        yield "{" + ",".join(f'{space}"{name}":{space}{fields[name]}' for name in order) + "}"
        if rng.random() < 0.01:
            yield ""


def counted(path, kind):
    pos = {"rain": "rain"}.get(kind)
    try:
        return tally_files(path, truth="y", prob="p", weight="w", clusters="g", parts=["shards"], pos_label=pos)
    except InputError as error:
        return str(error)


@pytest.mark.slow
def test_random_lines_give_the_same_tally_by_both_readers(tmp_path, monkeypatch):
    rng, fast, path = np.random.default_rng(27), jsonl._frame, tmp_path / "f.jsonl"
    seen = []

    def watched(data, kinds):
        found = fast(data, kinds)
        seen.append(found is not None)
        return found

    tallies = 0
    for _ in range(FILES):
        path.write_text("\n".join(random_lines(rng, LINES // FILES)) + "\n", "utf-8")
        kind = "rain" if '"rain"' in path.read_text("utf-8") else ""
        monkeypatch.setattr(jsonl, "_frame", watched)
        by_fast = counted(path, kind)
        monkeypatch.setattr(jsonl, "_frame", lambda *_: None)
        by_line = counted(path, kind)
        assert type(by_fast) is type(by_line), (by_fast, by_line)
        if isinstance(by_fast, str):
            assert by_fast == by_line
        else:
            assert by_fast.to_bytes() == by_line.to_bytes()
            tallies += 1
    assert tallies > FILES * 0.9
    assert np.mean(seen) > 0.4  # the fast reader read them, and did not leave them to the other
