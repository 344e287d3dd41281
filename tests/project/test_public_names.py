import inspect
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

import unperplexed

EXAMPLE = Path(__file__).parents[2] / "examples" / "breast_cancer.csv"
FUNCTIONS = [name for name in unperplexed.__all__ if inspect.isfunction(getattr(unperplexed, name))]


def loaded_by(code):
    done = subprocess.run(
        [sys.executable, "-c", f"{code}\nimport sys; print(*sys.modules)"], capture_output=True, text=True, check=True
    )
    return {name.partition(".")[0] for name in done.stdout.splitlines()[-1].split()}


def test_all_is_complete_and_sorted():
    assert len(set(unperplexed.__all__)) == len(unperplexed.__all__)
    for name in unperplexed.__all__:
        assert getattr(unperplexed, name) is not None
    homes = {name for names in unperplexed._HOMES.values() for name in names} | {"__version__"}
    assert homes == {*unperplexed.__all__, *unperplexed._EXTRAS}
    installed = {name for name, package in unperplexed._EXTRAS.items() if find_spec(package)}
    assert set(dir(unperplexed)) == {*unperplexed.__all__, *installed}
    assert not set(unperplexed.__all__) & set(unperplexed._EXTRAS)
    with pytest.raises(AttributeError, match="nothing"):
        unperplexed.nothing


def test_importing_costs_nothing():
    heavy = {"numpy", "scipy", "polars", "matplotlib", "pandas", "sklearn", "torch", "pyarrow", "dask", "pyspark"}
    assert not heavy & loaded_by("import unperplexed")
    assert not heavy & loaded_by(
        "from unperplexed.cli.parser import main\ntry: main(['--version'])\nexcept SystemExit: pass"
    )


def test_counting_files_loads_no_other_engine():
    arguments = ["assess", str(EXAMPLE), "--truth", "diagnosis", "--prob", "malignant"]
    loaded = loaded_by(f"from unperplexed.cli.parser import main; main({arguments})")
    assert not {"dask", "distributed", "pyspark", "pandas"} & loaded


def test_assessing_arrays_loads_neither_files_nor_pictures():
    loaded = loaded_by("import unperplexed; print(unperplexed.assess([1, 0], [0.6, 0.3]))")
    assert not {"polars", "matplotlib", "pandas", "sklearn"} & loaded


@pytest.mark.parametrize("name", FUNCTIONS)
def test_docstrings_say_what_is_needed(name):
    text = inspect.getdoc(getattr(unperplexed, name))
    for section in ("Parameters", "Returns", "Raises", "Examples"):
        assert f"\n{section}\n---" in text, section
    assert ">>> " in text


@pytest.mark.parametrize(
    "name",
    [
        *unperplexed.SCORES,
        *("decisiveness", "geometric_accuracy", "robustness", "risk_profile"),
        *("calibration_errors", "expected_calibration_error", "smooth_calibration_error"),
    ],
)
def test_direction_is_in_the_first_line(name):
    first = inspect.getdoc(getattr(unperplexed, name)).splitlines()[0]
    assert "Smaller is better" in first or "Larger is better" in first


@pytest.mark.parametrize("name", unperplexed._EXTRAS)
def test_without_its_extra_a_name_says_what_to_install(name):
    code = f"""import sys
sys.modules[{unperplexed._EXTRAS[name]!r}] = None  # as if it were not installed
from unperplexed import *
from unperplexed import {name}"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    extra = {"pyspark": "spark"}.get(unperplexed._EXTRAS[name], unperplexed._EXTRAS[name])
    assert done.stderr.splitlines()[-1].startswith("ImportError: ")
    assert done.stderr.endswith(f" pip install 'unperplexed[{extra}]'\n")


def test_package_is_typed():
    assert (Path(unperplexed.__file__).parent / "py.typed").exists()


@pytest.mark.parametrize(
    "call",
    [
        lambda **more: unperplexed.diagnose([1, 0], [0.6, 0.3], **more),
        lambda **more: unperplexed.Tally.of([1, 0], [0.6, 0.3], **more),
        lambda **more: unperplexed.compare({"a": [0.6, 0.3], "b": [0.5, 0.4]}, [1, 0], **more),
        lambda **more: unperplexed.compare_sequentially({"a": [0.6, 0.3], "b": [0.5, 0.4]}, [1, 0], **more),
        lambda **more: unperplexed.assess_by([1, 0], [0.6, 0.3], by=[1, 2], **more),
        lambda **more: unperplexed.tally_files("x.csv", truth="y", prob="p", **more),
    ],
)
def test_misspelt_options_name_the_function_and_what_is_meant(call):
    with pytest.raises(TypeError, match=r"\w\(\) got an unexpected keyword argument 'lables'; did you mean 'labels'\?"):
        call(lables=[0, 1])
