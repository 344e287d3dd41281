from pathlib import Path

import numpy as np
import polars as pl
import pytest

from helpers import module_of
from unperplexed.cli import commands as demo

ROOT = Path(__file__).parents[2]


@pytest.fixture
def packaged(monkeypatch):
    monkeypatch.setattr(demo, "find_spec", lambda _: None)
    return demo.digits_forecasts()


def test_packaged_predictions_are_what_training_gives(packaged, monkeypatch):
    """The committed example is real: trained again, the same comes out."""
    digit, probability, source = packaged
    monkeypatch.undo()
    again, trained, how = demo.digits_forecasts()
    assert "come with the package" in source
    assert how.endswith("trained just now")
    assert (digit == again).all()
    np.testing.assert_allclose(probability, trained, rtol=1e-3, atol=1e-6)


def test_breast_cancer_example_is_what_its_script_makes():
    make = module_of(ROOT / "examples" / "make.py")
    made, committed = make.breast_cancer(), pl.read_csv(ROOT / "examples" / "breast_cancer.csv")
    assert made["diagnosis"].equals(committed["diagnosis"])
    np.testing.assert_allclose(made["malignant"], committed["malignant"], atol=1e-4)
