"""Integrations are imported only when used, and without their extra say how to install it."""

import subprocess
import sys

import pytest

pytestmark = pytest.mark.slow

EXTRAS = {"sklearn": "sklearn", "torch": "torch", "torchmetrics": "torch", "lightning": "lightning", "keras": "keras"}
"""By module."""


@pytest.mark.parametrize(("module", "extra"), EXTRAS.items())
def test_without_its_library(module, extra):
    code = f"import sys; sys.modules[{module!r}] = None; import unperplexed.integrations.{module}"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert run.returncode == 1
    last = run.stderr.splitlines()[-1]
    assert last.startswith(f"ImportError: unperplexed.integrations.{module} needs ")
    assert last.endswith(f"pip install 'unperplexed[{extra}]'")


def test_nothing_is_imported_unasked():
    code = f"import sys, unperplexed, unperplexed.integrations; print({{*sys.modules}} & {set(EXTRAS)})"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout == "set()\n"
