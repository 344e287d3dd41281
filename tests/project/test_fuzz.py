"""A short run of what benchmarks/fuzz.py does at length: spoiled input is read or refused, and nothing else."""

from collections import Counter

import numpy as np
import pytest

from mutations import Spoiling, outcome_of


@pytest.mark.parametrize(
    ("kind", "number"),
    [
        ("files", 500),
        ("distributions", 150),
        ("sheets", 100),
        ("tallies", 350),
        ("maps", 150),
        ("pools", 100),
        ("histories", 100),
        ("logs", 270),
    ],
)
@pytest.mark.slow
def test_spoiled_input_is_read_or_refused(tmp_path, kind, number):
    spoiling = Spoiling(kind, tmp_path, np.random.default_rng(1))
    counts = Counter()
    for _ in range(number):
        name, content, reading = spoiling.next()
        found = outcome_of(reading)
        assert found.kind in ("read", "refused"), (name, found, content[:2000])
        counts[found.kind] += 1
    assert min(counts["read"], counts["refused"]) > number // 50
