"""Each study of benchmarks/ finds the names that it takes from the package."""

import ast
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import pytest

STUDIES = sorted((Path(__file__).parents[2] / "benchmarks").glob("*.py"))


@pytest.mark.parametrize("path", STUDIES, ids=lambda path: path.stem)
def test_its_imports_are_there(path):
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        home = (getattr(node, "module", None) or "").split(".")
        if home[0] == "unperplexed" and "integrations" not in home:  # which need their hosts
            module = import_module(node.module)
            for name in node.names:
                assert hasattr(module, name.name) or find_spec(f"{node.module}.{name.name}"), name.name


def test_there_are_studies():
    assert len(STUDIES) > 30
