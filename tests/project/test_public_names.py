import ast
import importlib
import inspect
import pkgutil
import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

import unperplexed
from unperplexed._lib.public_names import _ELSEWHERE, listed
from unperplexed.kernels import curves

EXAMPLE = Path(__file__).parents[2] / "examples" / "breast_cancer.csv"
SUBJECTS = [
    name for name in unperplexed.__all__ if inspect.ismodule(getattr(unperplexed, name)) and name != "integrations"
]
PACKAGES = [unperplexed, *(getattr(unperplexed, name) for name in SUBJECTS)]
HOMES = [(package, name) for package in PACKAGES for name in package.__all__]
FUNCTIONS = [(package, name) for package, name in HOMES if inspect.isfunction(getattr(package, name))]
EXTRAS = {
    name: (package, extra) for package in PACKAGES for name, (_, extra) in listed(package.__name__).items() if extra
}

WITH_KERNEL = {"scipy"} if curves._kernel else set()
"""Not loaded where isotonic curves are the kernel's; without it they are SciPy's."""


def loaded_by(code):
    done = subprocess.run(
        [sys.executable, "-c", f"{code}\nimport sys; print(*sys.modules)"], capture_output=True, text=True, check=True
    )
    return {name.partition(".")[0] for name in done.stdout.splitlines()[-1].split()}


@pytest.mark.parametrize("package", PACKAGES)
def test_names_are_those_of_the_stub(package):
    stub = ast.parse((Path(package.__file__).parent / "__init__.pyi").read_text("utf-8"))
    names = [alias.name for statement in stub.body for alias in statement.names]
    assert len(stub.body) == len(names) == len(set(names))
    assert set(names) == listed(package.__name__).keys()
    assert [alias.asname for statement in stub.body for alias in statement.names] == names
    assert package.__all__ == sorted(set(names) - EXTRAS.keys())
    for name in package.__all__:
        assert getattr(package, name) is not None
    installed = {name for name in names if name in EXTRAS and find_spec(EXTRAS[name][1])}
    assert dir(package) == sorted({*package.__all__, *installed})
    with pytest.raises(AttributeError, match=rf"^module '{package.__name__}' has no attribute 'asess'; (did|it has)"):
        package.asess


@pytest.mark.parametrize("name", sorted(_ELSEWHERE))
def test_names_of_other_programs_are_answered_with_ours(name):
    with pytest.raises(AttributeError, match=re.escape(f"did you mean {_ELSEWHERE[name]}?")):
        getattr(unperplexed, name)
    path = re.match(r"[\w.]+", _ELSEWHERE[name])[0].removeprefix("unperplexed.")
    *packages, last = path.split(".")
    home = importlib.import_module(".".join(["unperplexed", *packages]))
    assert callable(getattr(home, last))


def test_every_name_has_one_home():
    names = [name for _, name in HOMES] + [*EXTRAS]
    assert len(set(names)) == len(names)
    assert len(unperplexed.__all__) <= 50


@pytest.mark.parametrize("package", PACKAGES)
def test_no_module_hides_a_name(package):
    """A module that anything imports becomes an attribute of its package, in place of a function of its name."""
    modules = {module.name for module in pkgutil.iter_modules(package.__path__)}
    names = listed(package.__name__)
    assert modules & names.keys() == {name for name, (home, _) in names.items() if home == "."}


@pytest.mark.slow
def test_a_star_import_and_all_subjects_load_nothing_heavy():
    assert "scipy" not in loaded_by(f"import unperplexed; {'; '.join(f'unperplexed.{name}' for name in SUBJECTS)}")
    assert (
        "log_loss"
        in subprocess.run(
            [sys.executable, "-c", "from unperplexed.scores import *; print(log_loss.__name__)"],
            capture_output=True,
            text=True,
            check=True,
        ).stdout
    )


def test_importing_costs_nothing():
    heavy = {"numpy", "scipy", "polars", "matplotlib", "pandas", "sklearn", "torch", "pyarrow", "dask", "pyspark"}
    assert not heavy & loaded_by("import unperplexed")
    assert not heavy & loaded_by(
        "from unperplexed.cli.parser import main\ntry: main(['--version'])\nexcept SystemExit: pass"
    )


@pytest.mark.slow
def test_counting_files_loads_no_other_engine():
    arguments = ["assess", str(EXAMPLE), "--truth", "diagnosis", "--prob", "malignant", "--resamples", "0"]
    loaded = loaded_by(f"from unperplexed.cli.parser import main; main({arguments})")
    assert not {"dask", "distributed", "pyspark", "pandas"} & loaded


@pytest.mark.slow
@pytest.mark.parametrize("command", [["check", "--require", "log_loss<1"], ["recalibrate", "-o", "map.json"]])
def test_commands_on_a_small_file_load_no_scipy(tmp_path, monkeypatch, command):
    monkeypatch.chdir(tmp_path)
    name, *options = command
    arguments = [name, str(EXAMPLE), "--truth", "diagnosis", "--prob", "malignant", *options]
    loaded = loaded_by(f"from unperplexed.cli.parser import main; assert not main({arguments})")
    assert "numpy" in loaded
    assert not {"matplotlib", "pandas", *WITH_KERNEL} & loaded


@pytest.mark.slow
def test_assessing_arrays_loads_neither_files_nor_pictures():
    loaded = loaded_by(
        "import unperplexed; print(unperplexed.assess([1, 0, 0] * 5, [0.6, 0.3, 0.5] * 5, resamples=40))"
    )
    assert not {"polars", "matplotlib", "pandas", "sklearn", "scipy"} & loaded


@pytest.mark.slow
def test_assessing_overconfident_classes_loads_no_scipy():
    """The diagnosis fits maps, and the remedy too."""
    code = """
import numpy as np, unperplexed
rng = np.random.default_rng(0)
p = rng.dirichlet(np.ones(4), 600)
y = (p.cumsum(axis=1) < rng.uniform(size=(600, 1))).sum(axis=1).clip(max=3)
q = p**2 * [1, 1, 2, 1]
print(unperplexed.assess(y, q / q.sum(axis=1, keepdims=True), resamples=40))"""
    assert not {"polars", "matplotlib", "pandas", "sklearn", *WITH_KERNEL} & loaded_by(code)


@pytest.mark.parametrize(("package", "name"), FUNCTIONS)
def test_docstrings_say_what_is_needed(package, name):
    text = inspect.getdoc(getattr(package, name))
    for section in ("Parameters", "Returns", "Raises", "Examples"):
        assert f"\n{section}\n---" in text, section
    assert ">>> " in text


@pytest.mark.parametrize(
    "function",
    [
        *(getattr(unperplexed.scores, name) for name in unperplexed.SCORES if name in unperplexed.scores.__all__),
        *(unperplexed.decisiveness, unperplexed.geometric_accuracy, unperplexed.robustness, unperplexed.risk_profile),
        unperplexed.calibration_errors,
        *(unperplexed.expected_calibration_error, unperplexed.smooth_calibration_error),
    ],
)
def test_direction_is_in_the_first_line(function):
    first = inspect.getdoc(function).splitlines()[0]
    assert "Smaller is better" in first or "Larger is better" in first


@pytest.mark.slow
def test_without_its_extra_a_name_says_what_to_install():
    code = f"""import sys
sys.modules |= dict.fromkeys({sorted({library for _, library in EXTRAS.values()})!r})  # as if they were not installed
for name, package in {[(name, package.__name__) for name, (package, _) in EXTRAS.items()]!r}:
    exec(f"from {{package}} import *")
    try:
        exec(f"from {{package}} import {{name}}")
    except ImportError as error:
        print(name, error)"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    messages = dict(line.split(" ", 1) for line in done.stdout.splitlines())
    assert messages.keys() == EXTRAS.keys()
    for name, (_, library) in EXTRAS.items():
        extra = {"pyspark": "spark"}.get(library, library)
        assert messages[name].endswith(f" pip install 'unperplexed[{extra}]'")


def test_package_is_typed():
    assert (Path(unperplexed.__file__).parent / "py.typed").exists()


@pytest.mark.parametrize(
    "call",
    [
        lambda **more: unperplexed.diagnose([1, 0], [0.6, 0.3], **more),
        lambda **more: unperplexed.Tally.of([1, 0], [0.6, 0.3], **more),
        lambda **more: unperplexed.compare([1, 0], {"a": [0.6, 0.3], "b": [0.5, 0.4]}, **more),
        lambda **more: unperplexed.compare_sequentially([1, 0], {"a": [0.6, 0.3], "b": [0.5, 0.4]}, **more),
        lambda **more: unperplexed.assess_by([1, 0], [0.6, 0.3], by=[1, 2], **more),
        lambda **more: unperplexed.tally_files("x.csv", truth="y", prob="p", **more),
    ],
)
def test_misspelt_options_name_the_function_and_what_is_meant(call):
    with pytest.raises(TypeError, match=r"\w\(\) got an unexpected keyword argument 'lables'; did you mean 'labels'\?"):
        call(lables=[0, 1])


def test_the_stub_is_beside_the_package_as_in_an_editable_install(tmp_path, monkeypatch):
    monkeypatch.setattr(unperplexed, "__path__", [str(tmp_path), *unperplexed.__path__])
    assert listed("unperplexed").keys() >= {"assess", "results"}


@pytest.mark.slow
def test_other_names_say_what_is_meant():
    y, p = [1, 0, 1, 1] * 50, [0.9, 0.2, 0.4, 0.7] * 50
    found = unperplexed.assess(y, p, reference="base-rate", resamples=0)
    for result, name, now in (
        (found, "figures", "metrics"),
        (found.diagnosis, "gain", "cost"),
        (found.diagnosis, "calibration_slope", "slope"),
        (found.skill, "baseline", "reference"),
        (unperplexed.Recalibrator().fit(y, p).gain_, "recalibrated", "after"),
    ):
        with pytest.raises(AttributeError, match=f"no attribute '{name}'; did you mean {now}"):
            getattr(result, name)
    with pytest.raises(AttributeError, match="object has no attribute 'gain'; it has .*auc, .*cost, .*remedy"):
        found.gain
    with pytest.raises(unperplexed.InputError, match="got 'figures'; did you mean metrics"):
        found.frame("figures")
    with pytest.raises(unperplexed.InputError, match="no metric 'brier' here; did you mean brier_score\\? Known: rows"):
        unperplexed.check(found, require="brier > 0")
    with pytest.raises(unperplexed.InputError, match="'ece' is no scoring rule: assessments print it"):
        unperplexed.assess(y, p, metrics=["ece"])
