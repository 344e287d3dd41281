"""Saved maps: the same after reading, small, and refused by name when they are hostile."""

import copy
import json
import math
from pathlib import Path

import numpy as np
import pytest

from unperplexed import InputError, Recalibrator
from unperplexed.assessment.remedy import remaining_lines

RNG = np.random.default_rng(0)
TRUTH = RNG.normal(0, 2, 3000)
Y = np.where(RNG.random(3000) < 1 / (1 + np.exp(-TRUTH)), "rain", "dry")
P = 1 / (1 + np.exp(-1.3 * TRUTH - 0.5))
GRID = np.linspace(0, 1, 1001)
FITTED = {method: Recalibrator(method).fit(Y, P, pos_label="rain") for method in ("auto", "isotonic", "lapse")}


@pytest.mark.parametrize("method", FITTED)
def test_the_same_after_reading(method, tmp_path):
    fitted, path = FITTED[method], tmp_path / "map.json"
    fitted.save(path)
    loaded = Recalibrator.load(path)
    np.testing.assert_array_equal(loaded.transform(GRID), fitted.transform(GRID))
    assert loaded.to_dict() == fitted.to_dict()
    assert (loaded.labels_, loaded.weights_, loaded.gain_) == (fitted.labels_, fitted.weights_, fitted.gain_)
    assert loaded.baseline == fitted.baseline
    assert list(remaining_lines(loaded.gain_, loaded.baseline)) == list(remaining_lines(fitted.gain_, fitted.baseline))
    assert loaded.baseline is not None
    assert str(loaded) == str(fitted)
    assert path.stat().st_size < 50_000
    assert json.loads(path.read_text())["labels"] == ["dry", "rain"]


def test_maps_that_were_saved_without_a_baseline_are_read(tmp_path):
    data = FITTED["auto"].to_dict()
    del data["baseline"]
    loaded = Recalibrator.from_dict(data)
    assert loaded.baseline is None
    assert loaded.gain_ == FITTED["auto"].gain_
    assert not list(remaining_lines(loaded.gain_, loaded.baseline))


VERSION_1 = json.loads((Path(__file__).parent / "saved_version_1.json").read_text("utf-8"))


@pytest.mark.parametrize("name", VERSION_1)
def test_maps_that_version_1_saved_are_read(name):
    """They were fitted, saved and applied by the code of version 1."""
    data, at, transformed = VERSION_1[name].values()
    loaded = Recalibrator.from_dict(data)
    np.testing.assert_allclose(loaded.transform(at), transformed, rtol=1e-9)
    assert Recalibrator.from_dict(loaded.to_dict()).to_dict() == loaded.to_dict()


@pytest.mark.parametrize("name", ["two classes, lapse", "three classes, temperature"])
def test_maps_of_version_1_raise_small_probabilities_to_their_floor(name):
    data = VERSION_1[name]["saved"]
    two = name.startswith("two")
    floor = data["floor"] if two else math.exp(data["maps"][0]["log_floor"])
    loaded = Recalibrator.from_dict(data)
    beyond, there = (np.array([low, 1 - low] if two else [[low, low, 1 - 2 * low]]) for low in (floor / 1e3, floor))
    np.testing.assert_allclose(loaded.transform(beyond), loaded.transform(there), rtol=1e-3 if not two else 1e-9)
    again = Recalibrator.from_dict(loaded.to_dict())
    np.testing.assert_array_equal(again.transform(beyond), loaded.transform(beyond))


@pytest.mark.parametrize("change", [{"curves": [0.1]}, {"slope": "1"}, {"log_floor": 3}, {"name": []}, {"code": 1}])
def test_hostile_maps_of_version_1_are_refused(change):
    data = copy.deepcopy(VERSION_1["three classes, tail"]["saved"])
    data["maps"][0] |= change
    with pytest.raises(InputError, match="damaged"):
        Recalibrator.from_dict(data)


def four_classes(reversed_class=None, n=2000):
    rng = np.random.default_rng(1)
    scores = rng.normal(0, 1.5, (n, 4))
    true = scores.copy()
    if reversed_class is not None:
        true[:, reversed_class] *= -1
    return (true + rng.gumbel(size=scores.shape)).argmax(axis=1), scores


@pytest.mark.parametrize("slope", [-5.0, -1.0001])
def test_vector_maps_with_a_falling_class_are_refused(slope):
    data = Recalibrator("vector").fit(*four_classes(), scale="logits").to_dict()
    assert Recalibrator.from_dict(data).to_dict() == data
    changed = data["maps"][0]
    changed["slopes"][2] = (1 + changed["shared"]["slope"]) * slope
    with pytest.raises(InputError, match="map vector, which falls"):
        Recalibrator.from_dict(data)


@pytest.mark.slow
def test_no_vector_map_that_is_fitted_falls():
    fitted = Recalibrator("vector").fit(*four_classes(reversed_class=2), scale="logits")
    data = fitted.to_dict()["maps"][0]
    assert 1 + data["shared"]["slope"] + min(data["slopes"]) > 0
    assert Recalibrator.from_dict(fitted.to_dict()).to_dict() == fitted.to_dict()
    logits = np.zeros((9, 4))
    logits[:, 2] = np.linspace(-4, 4, 9)
    assert (np.diff(fitted.transform(logits, scale="logits")[:, 2]) > 0).all()


def without(key):
    def change(data):
        del data[key]

    return change


def setting(*path, value):
    def change(data):
        for key in path[:-1]:
            data = data[key]
        data[path[-1]] = value

    return change


HOSTILE = {
    "another format": (setting("format", value="pickle"), "not a recalibration map"),
    "another version": (setting("version", value=3), "version 3"),
    "a missing key": (without("maps"), "missing or unknown keys: maps"),
    "an unknown key": (setting("more", value=1), "missing or unknown keys: more"),
    "no labels": (setting("labels", value=[]), "labels"),
    "labels of lists": (setting("labels", value=[[1], [2]]), "labels"),
    "a label twice": (setting("labels", value=["rain", "rain"]), "labels"),
    "three labels": (setting("labels", value=["a", "b", "c"]), "observed"),
    "frequencies": (setting("observed", value=[0.5, 0.6]), "observed"),
    "rows": (setting("rows", value=-1), "rows"),
    "rows as text": (setting("rows", value="many"), "rows"),
    "a floor of 0": (setting("floor", value=0), "floor"),
    "a floor that no fit has": (setting("floor", value=0.5), "floor"),
    "a true version": (setting("version", value=True), "version True"),
    "a true floor": (setting("floor", value=True), "floor"),
    "a weight beyond all floats": (setting("candidates", 0, "weight", value=10**400), "weight"),
    "infinite weight": (setting("candidates", 0, "weight", value=1e999), "weight"),
    "weights that do not add up": (setting("candidates", 0, "weight", value=0.5), "sum of the weights"),
    "candidates": (setting("candidates", value={"identity": 1}), "candidates"),
    "no maps": (setting("maps", value=[]), "maps"),
    "maps of text": (setting("maps", value=["identity"]), "maps"),
    "an unknown map": (setting("maps", 0, "name", value="eval"), "no map for two classes"),
    "a gain of text": (setting("gain", "gain", value="0.1"), "gain"),
    "an interval upside down": (setting("gain", "interval", value=[1, 0]), "gain"),
    "a baseline of text": (setting("baseline", value="none"), "baseline"),
    "a baseline with less": (setting("baseline", value={"log_loss": 0.5}), "baseline"),
    "a baseline below 0": (setting("baseline", "log_loss", value=-0.5), "baseline"),
    "zeros as text": (setting("baseline", "zeros", value="3"), "baseline"),
    "a probability above 1": (setting("baseline", "zeros_as", value=1.5), "baseline"),
    "a baseline without a gain": (setting("gain", value=None), "baseline"),
    "unknown settings": (setting("settings", "code", value="import os"), "settings"),
    "a wrong setting": (setting("settings", "method", value="platt"), "method"),
    "a settings list": (setting("settings", value=[1]), "settings"),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_maps_are_refused(name, tmp_path):
    change, message = HOSTILE[name]
    data = copy.deepcopy(FITTED["auto"].to_dict())
    change(data)
    with pytest.raises(InputError, match=message):
        Recalibrator.from_dict(data)
    path = tmp_path / "map.json"
    path.write_text(json.dumps(data))
    with pytest.raises(InputError, match=f"{path}: "):
        Recalibrator.load(path)


@pytest.mark.parametrize(
    ("points", "message"),
    [
        ([], "points"),
        ([[0, 1], [0, 2]], "order of its points"),
        ([[0, 2], [1, 1]], "which falls"),
        ([[0, 1, 2]], "points"),
        ([["0", 1]], "points"),
        ([[0, 1e9]], "points"),
        ("points", "map isotonic"),
    ],
)
def test_hostile_curves_are_refused(points, message):
    data = copy.deepcopy(FITTED["isotonic"].to_dict())
    data["maps"][0]["points"] = points
    with pytest.raises(InputError, match=message):
        Recalibrator.from_dict(data)


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("coefficients", {"bias": 0.0, "slope": -1.5}, "which falls"),
        ("coefficients", {"bias": 0.0, "slope": float("nan")}, "lapse"),
        ("coefficients", {"slope": 0.5}, "coefficients are those of another map"),
        ("lapse", 0.999, "lapse"),
        ("coefficients", {"code": 1.0}, "map lapse"),
        ("coefficients", [1.0], "map lapse"),
        ("lapse", 2, "lapse"),
    ],
)
def test_hostile_coefficients_are_refused(key, value, message):
    data = copy.deepcopy(FITTED["lapse"].to_dict())
    data["maps"][0][key] = value
    with pytest.raises(InputError, match=message):
        Recalibrator.from_dict(data)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"name": "temperature", "coefficients": {"bias": 5.0}}, "coefficients are those of another map"),
        ({"name": "identity", "coefficients": {"bias": 5.0}}, "coefficients are those of another map"),
        ({"name": "beta", "coefficients": {"low": 0.2}}, "coefficients are those of another map"),
        ({"name": "isotonic", "coefficients": {"slope": 0.2}}, "coefficients are those of another map"),
        ({"name": "temperature", "coefficients": {"slope": 0.2}, "lapse": 0.3}, "lapse"),
    ],
)
def test_maps_under_another_name_are_refused(change, message):
    data = copy.deepcopy(FITTED["lapse"].to_dict())
    data["maps"][0] |= {"lapse": 0.0} | change
    data["candidates"][0]["name"] = change["name"]
    with pytest.raises(InputError, match=message):
        Recalibrator.from_dict(data)


@pytest.mark.parametrize("name", ["beta", "tail", "lapse"])
def test_maps_that_would_fall_are_saved_as_logistic(name):
    reversed_map = Recalibrator(name).fit(Y, 1 - P, pos_label="rain")
    data = reversed_map.to_dict()
    assert set(data["maps"][0]["coefficients"]) == {"bias", "slope"}
    assert Recalibrator.from_dict(data).to_dict() == data


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "no valid JSON"),
        ("{", "no valid JSON"),
        ("[" * 100_000, "no valid JSON"),
        ('{"format": NaN}', "NaN is no number"),
        ('{"format": 1, "format": 2}', "twice"),
        ("[]", "not a recalibration map"),
        ("null", "not a recalibration map"),
    ],
)
def test_other_files_are_refused(text, message, tmp_path):
    path = tmp_path / "map.json"
    path.write_text(text)
    with pytest.raises(InputError, match=message):
        Recalibrator.load(path)


def test_no_files_are_refused(tmp_path):
    with pytest.raises(InputError, match="cannot be read"):
        Recalibrator.load(tmp_path / "none.json")
    with pytest.raises(InputError, match="cannot be read"):
        Recalibrator.load(tmp_path)
    (tmp_path / "bytes").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(InputError, match="no text"):
        Recalibrator.load(tmp_path / "bytes")
    with pytest.raises(InputError, match="no directory"):
        FITTED["auto"].save(tmp_path / "none" / "map.json")
    with pytest.raises(InputError, match="not fitted"):
        Recalibrator().save(tmp_path / "map.json")
