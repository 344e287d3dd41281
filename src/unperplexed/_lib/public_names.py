"""Public names of a package, each listed once: in the stub beside its ``__init__.py``, which type checkers read too."""

from __future__ import annotations

import sys

# The command line begins here. Little is loaded before it can catch Ctrl-C, not even the module typing.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


_ELSEWHERE = {
    "brier_score": "unperplexed.scores.brier_score",
    "brier_score_loss": "unperplexed.scores.brier_score, which is twice scikit-learn's for two classes",
    "log_loss": "unperplexed.scores.log_loss",
    "ece": "expected_calibration_error, or assess(y_true, y_prob).ece",
    "brier": "unperplexed.scores.brier_score",
    "auc": "assess(y_true, y_prob).auc",
    "roc_auc_score": "assess(y_true, y_prob).auc",
    "calibration_curve": "assess(y_true, y_prob).plot(), or its .curve and .bins",
    "reliability_diagram": "assess(y_true, y_prob).plot()",
    "reliability_curve": "assess(y_true, y_prob).plot(), or its .curve and .bins",
    "plot": "assess(y_true, y_prob).plot()",
    "CalibrationDisplay": "unperplexed.integrations.sklearn.AssessmentDisplay",
    "net_benefit": "decision_curve",
    "dca": "decision_curve",
    "temperature_scaling": 'Recalibrator("temperature")',
    "TemperatureScaling": 'Recalibrator("temperature")',
    "IsotonicRegression": 'Recalibrator("isotonic")',
    "hosmer_lemeshow": "calibration_test",
    "skill_score": "skill",
    "brier_skill_score": "skill",
    "climatology": 'skill(y_true, y_prob, reference={"climatology": months})',
    "make_scorer": "unperplexed.integrations.sklearn.scorers",
    "val_prob": "assess(y_true, y_prob), outcomes first",
    "brier_decomposition": "decompose",
    "CalibratedClassifierCV": "unperplexed.integrations.sklearn.RecalibratedClassifier",
    "calibrate": "Recalibrator().fit(y_true, y_prob)",
    "evaluate": "assess",
    "perplexity": "unperplexed.language_models.assess_texts",
    "crps": "unperplexed.scores.crps",
    "wis": "unperplexed.scores.weighted_interval_score",
    "mean_pinball_loss": "unperplexed.scores.quantile_loss",
    "assess_ordered": "assess(y_true, Ordered(y_prob))",
    "rps": "unperplexed.scores.ranked_probability_score",
}
"""What other programs call what is here."""


def listed(package: str) -> dict[str, tuple[str, str]]:
    """Read the module of each public name from the stub, and the library that the name needs beyond the package's own.

    A line of the stub is ``from .module import name as name``, with ``# extra: library`` behind it where one is needed.
    """
    module: Any = sys.modules[package]
    # Beside __file__: in an editable install __path__ begins with the folder of the compiled kernel, which has no stub.
    stub = module.__spec__.loader.get_data(f"{module.__file__.removesuffix('.py')}.pyi").decode()
    lines = (line.partition("  # extra: ") for line in stub.splitlines() if line.startswith("from ."))
    words = ((line.split(), library) for line, _, library in lines)
    return {word[-1]: (word[1], library) for word, library in words}


def public_names(package: str) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """Return ``__getattr__``, ``__dir__`` and ``__all__`` of a package that loads a name's module on first use.

    ``__all__`` leaves out names that need an extra, so that a star import always works; ``dir`` has those of the
    installed extras.
    """
    homes = listed(package)

    def load(name: str) -> Any:
        if name not in homes:
            from .errors import meant

            also = "" if name.startswith("_") else meant(_ELSEWHERE.get(name, ""), name, [*homes])
            raise AttributeError(f"module {package!r} has no attribute {name!r}{also}")
        from importlib import import_module

        home = homes[name][0]
        value = import_module(f".{name}", package) if home == "." else getattr(import_module(home, package), name)
        setattr(sys.modules[package], name, value)
        return value

    def names() -> list[str]:
        from importlib.util import find_spec

        return sorted(name for name, (_, library) in homes.items() if not library or find_spec(library))

    return load, names, sorted(name for name, (_, library) in homes.items() if not library)
