"""Assess probabilistic forecasts on the probability scale: how good they are, and what is wrong with them."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from ._version import __version__

if TYPE_CHECKING:
    from .assessment import Assessment, BinTable, assess
    from .distributions.exponential import CoupledExponential
    from .distributions.fitting import CoupledFit
    from .distributions.gaussian import CoupledGaussian
    from .distributions.multivariate import MultivariateCoupledGaussian
    from .engines.local import tally_files
    from .errors import InputError
    from .forecasts import Forecasts, Notes
    from .means import (
        coupling_from_order,
        generalized_mean,
        log_std_factor,
        order_from_coupling,
        suggested_floor,
    )
    from .measured import ESTIMATORS
    from .profile import (
        Averages,
        RiskProfile,
        decisiveness,
        floor_sensitivity,
        geometric_accuracy,
        risk_profile,
        robustness,
    )
    from .scores import (
        SCORES,
        Score,
        brier_score,
        generalized_surprisal,
        log_loss,
        penalized_brier_score,
        penalized_log_loss,
        power_score,
        ranked_probability_score,
        row_scores,
        score_named,
        spherical_score,
    )
    from .tally import Tally
    from .two_class import ClassParameters, TwoClassAverages, TwoClassModel, TwoClassROC

_HOMES = {
    "assessment": ["Assessment", "BinTable", "assess"],
    "distributions.exponential": ["CoupledExponential"],
    "distributions.fitting": ["CoupledFit"],
    "distributions.gaussian": ["CoupledGaussian"],
    "distributions.multivariate": ["MultivariateCoupledGaussian"],
    "engines.local": ["tally_files"],
    "errors": ["InputError"],
    "forecasts": ["Forecasts", "Notes"],
    "means": [
        "coupling_from_order",
        "generalized_mean",
        "log_std_factor",
        "order_from_coupling",
        "suggested_floor",
    ],
    "measured": ["ESTIMATORS"],
    "profile": [
        "Averages",
        "RiskProfile",
        "decisiveness",
        "floor_sensitivity",
        "geometric_accuracy",
        "risk_profile",
        "robustness",
    ],
    "scores": [
        "SCORES",
        "Score",
        "brier_score",
        "generalized_surprisal",
        "log_loss",
        "penalized_brier_score",
        "penalized_log_loss",
        "power_score",
        "ranked_probability_score",
        "row_scores",
        "score_named",
        "spherical_score",
    ],
    "tally": ["Tally"],
    "two_class": ["ClassParameters", "TwoClassAverages", "TwoClassModel", "TwoClassROC"],
}
_HOME_OF = {name: module for module, names in _HOMES.items() for name in names}

__all__ = [
    "ESTIMATORS",
    "SCORES",
    "Assessment",
    "Averages",
    "BinTable",
    "ClassParameters",
    "CoupledExponential",
    "CoupledFit",
    "CoupledGaussian",
    "Forecasts",
    "InputError",
    "MultivariateCoupledGaussian",
    "Notes",
    "RiskProfile",
    "Score",
    "Tally",
    "TwoClassAverages",
    "TwoClassModel",
    "TwoClassROC",
    "__version__",
    "assess",
    "brier_score",
    "coupling_from_order",
    "decisiveness",
    "floor_sensitivity",
    "generalized_mean",
    "generalized_surprisal",
    "geometric_accuracy",
    "log_loss",
    "log_std_factor",
    "order_from_coupling",
    "penalized_brier_score",
    "penalized_log_loss",
    "power_score",
    "ranked_probability_score",
    "risk_profile",
    "robustness",
    "row_scores",
    "score_named",
    "spherical_score",
    "suggested_floor",
    "tally_files",
]


def __getattr__(name: str) -> Any:
    """Load a public name's module on first use, so that importing the package costs next to nothing."""
    if name not in _HOME_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f".{_HOME_OF[name]}", __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
