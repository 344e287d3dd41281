"""A short run of what benchmarks/fuzz.py does at length: spoiled input is read or refused, and nothing else."""

from collections import Counter

import numpy as np
import pytest

from mutations import Spoiling, outcome_of


@pytest.mark.parametrize(
    ("kind", "number"),
    [
        ("files", 1500),
        ("distributions", 400),
        ("sheets", 200),
        ("tallies", 1000),
        ("maps", 400),
        ("pools", 300),
        ("histories", 300),
        ("logs", 800),
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
