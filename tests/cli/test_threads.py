"""Commands compute on one thread: threads of BLAS that wait busily cost as much processor time as work."""

import os
import subprocess
import sys

import numpy as np
import pytest

MOST = 1.2
"""Processor time of a command over that of its own thread; what is above 1 is polars, which reads on all cores."""

COMMANDS = {
    "groups": ["assess", "two.csv", "--truth", "y", "--prob", "a", "--by", "group", "--clusters", "day"],
    "ten classes": ["assess", "ten.csv", "--truth", "y", "--prob", "c*", "--invalid", "rescale"],
    "recalibrate": ["recalibrate", "ten.csv", "--truth", "y", "--prob", "c*", "--invalid", "rescale", "-o", "map.json"],
    "compare": ["compare", "two.csv", "--truth", "y", "--forecaster", "a=a", "--forecaster", "b=b"],
    "monitor": ["monitor", "two.csv", "--truth", "y", "--prob", "a", "--time", "day"],
}
CODE = """import atexit, sys, time
atexit.register(lambda: print(time.process_time(), time.thread_time(), file=sys.stderr))
from unperplexed.cli import main
assert main(sys.argv[1:]) in (0, 1)"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    here = tmp_path_factory.mktemp("threads")
    rng = np.random.default_rng(0)
    n = 20_000
    t = rng.normal(0, 1.5, n)
    y = rng.random(n) < 1 / (1 + np.exp(-t))
    a, b = (1 / (1 + np.exp(-slope * t)) for slope in (1.3, 0.7))
    days = np.datetime64("2025-01-01") + np.arange(n) // 700
    rows = zip(y.astype(int), a, b, np.arange(n) % 6, days, strict=True)
    (here / "two.csv").write_text("y,a,b,group,day\n" + "".join("{},{:.6f},{:.6f},g{},{}\n".format(*r) for r in rows))
    p = rng.dirichlet(np.full(10, 0.5), 10_000)
    truth = np.minimum((p.cumsum(axis=1) < rng.random((10_000, 1))).sum(axis=1), 9)
    table = np.column_stack([truth, p**1.4 / (p**1.4).sum(axis=1, keepdims=True)])
    head = "y," + ",".join(f"c{i}" for i in range(10))
    np.savetxt(here / "ten.csv", table, fmt=["%d", *["%.6f"] * 10], delimiter=",", header=head, comments="")
    return here


@pytest.mark.slow
@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_takes_the_processor_time_of_one_thread(folder, name):
    set_here = "_NUM_THREADS", "_THREAD_TIMEOUT", "_WAIT_POLICY"
    free = {key: value for key, value in os.environ.items() if not key.endswith(set_here)}
    ran = subprocess.run(
        [sys.executable, "-c", CODE, *COMMANDS[name]], cwd=folder, env=free, capture_output=True, text=True, check=False
    )
    assert not ran.returncode, ran.stderr
    whole, own = map(float, ran.stderr.split()[-2:])
    assert whole <= MOST * own
