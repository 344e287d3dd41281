"""Integrations are imported only when used, and without their extra say how to install it."""

import subprocess
import sys
from importlib import import_module

import pytest

EXTRAS = {"sklearn": "sklearn", "torch": "torch", "torchmetrics": "torch", "lightning": "lightning", "keras": "keras"}
"""By module."""


@pytest.mark.parametrize(("module", "extra"), EXTRAS.items())
def test_without_its_library(monkeypatch, module, extra):
    name = f"unperplexed.integrations.{module}"
    for each in [module, *(each for each in sys.modules if each.startswith(f"{module}."))]:
        monkeypatch.setitem(sys.modules, each, None)
    monkeypatch.delitem(sys.modules, name, raising=False)
    with pytest.raises(ImportError, match=rf"^{name} needs .*pip install 'unperplexed\[{extra}\]'$"):
        import_module(name)


@pytest.mark.slow
def test_nothing_is_imported_unasked():
    code = f"import sys, unperplexed, unperplexed.integrations; print({{*sys.modules}} & {set(EXTRAS)})"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout == "set()\n"
