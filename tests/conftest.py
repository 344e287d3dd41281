"""Fixtures, and where the real forecasts lie: the folder named by UNPERPLEXED_DATA, if it is set."""

import gc
import os
import pickle
import sys
from dataclasses import asdict, replace
from hashlib import blake2b
from importlib.util import find_spec
from pathlib import Path

# Threads of BLAS and OpenMP that have nothing to do sleep, as several test processes share the cores: waiting busily,
# they take as long as the work. How many there are stays as it is. Read when NumPy and PyTorch are loaded.
os.environ |= {"OPENBLAS_THREAD_TIMEOUT": "4", "OMP_WAIT_POLICY": "passive"}

os.environ.pop("COLUMNS", None)  # texts are as wide as where there is no terminal; tests of others say how wide

import matplotlib as mpl
import numpy as np
import pytest

from unperplexed.assessment import settings as assessment_settings
from unperplexed.kernels.compiled import kernel
from unperplexed.recalibration import fitting

mpl.use("Agg")
gc.disable()  # until tests are collected: of what is made for them nothing is garbage, and looking takes a second
os.environ.setdefault("KERAS_BACKEND", "torch")

if find_spec("hypothesis"):  # the minimal install has none
    from hypothesis import settings

    # As many as find what a change breaks, and always the same.
    settings.register_profile("fixed", derandomize=True, deadline=None, max_examples=20)
    settings.load_profile("fixed")

# Tests on data that is not part of the project are absent, not skipped, where the data is not at hand.
collect_ignore_glob = [] if os.environ.get("UNPERPLEXED_DATA") else ["shared/*"]
# Nor are those on a device, which run on request.
collect_ignore_glob += [] if os.environ.get("UNPERPLEXED_DEVICE") else ["kernels/gpu/*"]
# So are tests of libraries that are not installed; where all are, none may be missing.
_NEEDED = {
    "sklearn": "sklearn",
    "torch": "torch",
    "next_tokens": "torch",
    "torchmetrics": "torchmetrics",
    "boosting": "xgboost",
    "lightning": "lightning",
    "keras": "keras",
    "evaluation_tools": "lm_eval",
}
collect_ignore_glob += [] if find_spec("distributed") or find_spec("pyspark") else ["sources/test_engines.py"]
collect_ignore_glob += [] if find_spec("torch") else ["recalibration/test_torch_module.py"]
collect_ignore_glob += [] if find_spec("scoringrules") and find_spec("sklearn") else ["scores/test_scores.py"]
collect_ignore_glob += [] if find_spec("sklearn") else ["cli/test_demo.py"]
collect_ignore_glob += [] if kernel else ["kernels/test_compiled.py"]
collect_ignore_glob += [] if find_spec("torch") and find_spec("jax") else ["kernels/test_devices.py"]
# What a browser makes of the report is seen where there is one to drive.
browser = find_spec("selenium") and Path("/usr/bin/chromium").exists() and Path("/usr/bin/chromedriver").exists()
collect_ignore_glob += [] if browser else ["report/browser/*"]
# A kernel of Triton's is interpreted or compiled in all of a process.
interpreted = os.environ.get("TRITON_INTERPRET") == "1"
collect_ignore_glob += [] if find_spec("triton") and not interpreted else ["kernels/test_triton.py"]
collect_ignore_glob += [] if find_spec("triton") and interpreted else ["kernels/interpreted/*"]
collect_ignore_glob += [f"integrations/test_{name}.py" for name, library in _NEEDED.items() if not find_spec(library)]


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(collector):
    """Every other process begins at the last file: each rewrites the assertions of half the files, and finds those of
    the rest."""
    report = yield
    if isinstance(collector, pytest.Dir) and int(os.environ.get("PYTEST_XDIST_WORKER", "gw0")[2:]) % 2:
        report.result.reverse()
    return report


def pytest_collection_modifyitems(items):
    if "PYTEST_XDIST_WORKER" in os.environ:
        items.sort(key=lambda item: item.path.parts)  # the same order in all processes


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop():
    gc.freeze()  # nor is it looked for among them while tests run
    gc.enable()


@pytest.hookimpl(trylast=True)
def pytest_unconfigure():
    gc.unfreeze()  # what the kernel has made is gone before it looks


@pytest.fixture(autouse=True)
def _figures_are_closed():
    """Close what pyplot has opened: it warns of the twenty-first, whichever test opens it."""
    yield
    if pyplot := sys.modules.get("matplotlib.pyplot"):
        pyplot.close("all")


@pytest.fixture
def rng():
    return np.random.default_rng(20240229)


@pytest.fixture(scope="module")
def equal_rows_are_fitted_once():
    """Maps of equal rows are fitted once in a module: for laws of what is made of them, by one command and another.

    What differs in the last digit of one row, or in a setting, is fitted anew.
    """
    made, fit = {}, fitting.average

    def kept(rows, *settings):
        key = blake2b(pickle.dumps([type(rows).__name__, asdict(rows), settings])).digest()
        if key not in made:
            made[key] = fit(rows, *settings)
        return made[key]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fitting, "average", kept)
        yield


@pytest.fixture(scope="module")
def few_samples():
    """Intervals are made of 20 samples each in a module: for laws of what is read, paired and shown."""
    checked = assessment_settings.checked_sampling

    def few(*settings):
        sampling = checked(*settings)
        return replace(sampling, resamples=min(sampling.resamples, 20))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(assessment_settings, "checked_sampling", few)
        yield


@pytest.fixture
def dask_in_threads():
    """A Dask cluster in this process, where its own processes, which take seconds to start, are not the question."""
    distributed = pytest.importorskip("distributed")
    cluster = distributed.LocalCluster(n_workers=1, processes=False, dashboard_address=None)
    with cluster, distributed.Client(cluster):
        yield
