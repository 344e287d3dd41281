"""Tallies made, added up, saved, loaded, pickled, copied and counted by threads in any order hold what was put in."""

import copy
import pickle
import tempfile
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("hypothesis")

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, initialize, multiple, rule

from unperplexed import Tally, assess

HOW = {"exact_limit": 40, "parts": ["shards"]}


def rows_of(seed, n):
    rng = np.random.default_rng(seed)
    p = rng.choice([0.0, 0.1, 0.25, 0.5, 0.75, 1.0, float(rng.random())], size=n)
    return rng.integers(0, 2, n).tolist(), p.tolist()


class Tallies(RuleBasedStateMachine):
    """Each tally stands beside the rows that were counted into it."""

    tallies = Bundle("tallies")

    @initialize(target=tallies)
    def nothing(self):
        self.folder = tempfile.TemporaryDirectory()
        return Tally(exact_limit=40), ([], [])

    @rule(target=tallies, seed=st.integers(0, 1000), n=st.integers(0, 60), jobs=st.sampled_from([None, 2]))
    def counted(self, seed, n, jobs):
        y, p = rows_of(seed, n)
        return Tally.of(y, p, source="s", n_jobs=jobs, **HOW), (y, p)

    @rule(target=tallies, one=tallies, other=tallies)
    def added(self, one, other):
        (a, (y, p)), (b, (z, q)) = one, other
        before = a.to_bytes(), b.to_bytes()
        both = a + b
        assert (a.to_bytes(), b.to_bytes()) == before
        assert (b + a).to_bytes() == both.to_bytes()
        return both, (y + z, p + q)

    @rule(target=tallies, one=tallies, how=st.sampled_from(["bytes", "file", "pickle", "copy"]))
    def again(self, one, how):
        tally, rows = one
        if how == "file":
            path = Path(self.folder.name) / "x.tally"
            tally.save(path)
            made = Tally.load(path)
        else:
            ways = {"bytes": lambda t: Tally.from_bytes(t.to_bytes()), "copy": copy.deepcopy}
            made = ways.get(how, lambda t: pickle.loads(pickle.dumps(t)))(tally)
        assert made.to_bytes() == tally.to_bytes()
        return made, rows

    @rule(target=tallies, one=tallies)
    def forgotten(self, one):
        """What is not used any more changes nothing."""
        del one
        return multiple()

    @rule(one=tallies)
    def holds_its_rows(self, one):
        tally, (y, p) = one
        whole = Tally.of(y, p, source="s", **HOW)
        assert tally.n_rows == len(y)
        if y:
            assert tally.exact == whole.exact
            for column in ("key", "total", "happened"):
                mine, theirs = (getattr(each.pairs_table, column) for each in (tally, whole))
                assert np.array_equal(mine, theirs)
            assert tally.score("log_loss") == whole.score("log_loss")
            assert tally.sources == whole.sources

    @rule(one=tallies)
    def assessed(self, one):
        tally, (y, _) = one
        if y:
            before = tally.to_bytes()
            assess(tally, resamples=0).to_json()
            assert tally.to_bytes() == before

    def teardown(self):
        if hasattr(self, "folder"):
            self.folder.cleanup()


TestTallies = pytest.mark.slow(Tallies.TestCase)
TestTallies.settings = settings(max_examples=15, stateful_step_count=12, deadline=None, derandomize=True)
