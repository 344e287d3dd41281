"""The example data are what they are said to be, and what their script makes; the gallery shows them as they are."""

from pathlib import Path

import numpy as np
import polars as pl
import pytest

from helpers import module_of
from pages import text_of
from unperplexed import Quantiles, assess, find_groups

ROOT = Path(__file__).parents[2]
GALLERY = ROOT / "examples" / "gallery"


@pytest.fixture(scope="module")
def make():
    return module_of(ROOT / "examples" / "make.py")


@pytest.fixture(scope="module")
def patients():
    return pl.read_csv(GALLERY / "diabetes.csv")


@pytest.fixture(scope="module")
def digits():
    with np.load(GALLERY / "digits.npz") as archive:
        return dict(archive)


def logits(name):
    with np.load(GALLERY / f"{name}.npz") as archive:
        return dict(archive)


def same(made, committed):
    assert made.keys() == committed.keys()
    for name, array in made.items():
        assert array.dtype == committed[name].dtype
        np.testing.assert_allclose(array, committed[name], rtol=1e-6, atol=1e-6)


def test_examples_are_small():
    assert sum(path.stat().st_size for path in (ROOT / "examples").rglob("*") if path.is_file()) < 1_000_000


def test_rows_and_classes(patients, digits):
    assert patients.height == 442
    assert dict(patients["progressed"].value_counts().rows()) == {"yes": 221, "no": 221}
    assert dict(patients["bmi"].value_counts().rows()) == {"under 25": 188, "25 to 30": 155, "30 or more": 99}
    assert sorted(digits) == ["digit", "forest", "logistic", "naive_bayes", "neighbors"]
    for name in ("forest", "logistic", "naive_bayes", "neighbors"):
        assert digits[name].shape == (1797, 10)
        np.testing.assert_allclose(digits[name].sum(axis=1), 1, atol=1e-5)
    for name, rows in (("network_validation", 798), ("network_test", 799)):
        found = logits(name)
        assert sorted(found) == ["digit", "epoch_10", "epoch_30", "epoch_300"]
        assert found["digit"].shape == (rows,)
        assert all(found[f"epoch_{epoch}"].shape == (rows, 10) for epoch in (10, 30, 300))
        assert set(found["digit"]) == set(range(10))


@pytest.mark.slow
def test_patients_are_what_the_script_makes(make, patients):
    made = make.diabetes()
    models = ["logistic", "boosted", "without_bmi"]
    assert made.drop(models).equals(patients.drop(models))
    for name in models:  # one in the last place that is written
        np.testing.assert_allclose(made[name], patients[name], atol=1.001e-6)


@pytest.mark.slow
def test_measurements_are_what_the_script_makes(make, patients):
    assert make.measurements(patients).equals(pl.read_csv(GALLERY / "measurements.csv"))


@pytest.mark.slow
def test_digits_are_what_the_script_makes(make, digits):
    same(make.digits(), digits)


@pytest.mark.slow
def test_logits_are_what_the_script_makes(make):
    for made, name in zip(make.network(), ("network_validation", "network_test"), strict=True):
        same(made, logits(name))


def test_each_entry_of_the_gallery_has_its_picture():
    entries = module_of(ROOT / "docs" / "gallery.py").entries()
    assert len(entries) == text_of("gallery").count('href="gallery/') == 8
    assert {path.stem for path in (ROOT / "docs" / "pictures" / "gallery").iterdir()} == set(entries)


def test_what_the_gallery_says_of_boosted_trees(patients):
    curve = assess(patients["progressed"], patients["boosted"], pos_label="yes", resamples=0).curve
    assert 0.78 < np.interp(0.9, curve.reported, curve.measured) < 0.82


def test_what_the_gallery_says_of_a_group_that_is_found():
    data = pl.read_csv(GALLERY / "measurements.csv")
    known = data.drop("progressed", "without_bmi", "sex")
    found = find_groups(data["progressed"], data["without_bmi"], pos_label="yes", among=known)
    [group] = found.items
    assert (group.rule, found.rules_searched) == ("bmi < 27 and ltg < 4.83", 57_601)
    assert (round(group.mean_predicted, 2), round(group.observed, 2)) == (0.43, 0.23)
    assert [round(each, 2) for each in found.gain_interval] == [-0.02, 0.15]


def test_what_the_gallery_says_of_quantiles():
    data = pl.read_csv(GALLERY / "progress.csv")
    levels = [0.05, 0.25, 0.5, 0.75, 0.95]
    found = assess(data["progress"], Quantiles(levels, data.select(f"q{level}" for level in levels)))
    assert found.verdict.startswith("Too narrow: intervals should be 1.15 times as wide")
    held = found.coverage[-1].held
    assert [round(each, 3) for each in (held.value, *held.interval)] == [0.848, 0.812, 0.879]


def test_what_the_gallery_says_of_the_forest(digits):
    curve = assess(digits["digit"], digits["forest"], resamples=0).curve
    assert np.interp(0.6, curve.reported, curve.measured) > 0.97
    assert (np.diff(curve.measured) >= 0).all()


def test_what_the_gallery_says_of_the_neighbors(digits):
    happened = digits["digit"][:, None] == np.arange(10)
    said = digits["neighbors"].round(6)
    assert ((said == 0).sum(), happened[said == 0].sum()) == (16_055, 5)
