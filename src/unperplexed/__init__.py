"""Assess probabilistic forecasts on the probability scale: how good they are, and what is wrong with them."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from ._version import __version__

if TYPE_CHECKING:
    from ._calibration_test import CalibrationTest, calibration_test
    from ._comparing import compare
    from .assessment import Assessment, BinTable, assess
    from .breakdown import Breakdown, GroupAssessment, Shrinkage, ShrunkenAccuracy, assess_by
    from .calibration import (
        CalibrationErrors,
        calibration_errors,
        expected_calibration_error,
        smooth_calibration_error,
    )
    from .classes import Bias, ClassAverage, ClassTable, PredictedTable
    from .comparison import (
        Comparison,
        Contributions,
        Difference,
        Forecaster,
        MeanScore,
        PairedComparison,
    )
    from .coupled import coupled_exp, coupled_log, risk_exp, risk_log
    from .decomposition import Decomposition, decompose
    from .diagnosis.diagnose import diagnose
    from .diagnosis.result import Diagnosis, Finding
    from .discriminant import CoupledDiscriminantAnalysis as CoupledDiscriminantAnalysis
    from .distributions.exponential import CoupledExponential
    from .distributions.fitting import CoupledFit
    from .distributions.gaussian import CoupledGaussian
    from .distributions.multivariate import MultivariateCoupledGaussian
    from .engines.dask import tally_dask as tally_dask
    from .engines.dask import tally_dask_by as tally_dask_by
    from .engines.local import tally_files, tally_files_by
    from .engines.spark import tally_spark as tally_spark
    from .engines.spark import tally_spark_by as tally_spark_by
    from .errors import InputError
    from .forecasts import Forecasts, Notes
    from .information import (
        average_probability,
        coupled_entropy,
        cross_entropy,
        divergence,
        entropy,
        escort,
        normalized_tsallis_entropy,
        renyi_entropy,
        total_probability,
        tsallis_entropy,
    )
    from .intervals import Band, Interval
    from .means import (
        coupling_from_order,
        generalized_mean,
        log_std_factor,
        order_from_coupling,
        suggested_floor,
    )
    from .measured import ESTIMATORS
    from .measured_profile import DivergenceProfile, MeasuredProfile
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
    from .sequential import SequentialComparison, compare_sequentially
    from .surprises import SurpriseTable
    from .tallies import Tallies
    from .tally import Tally
    from .two_class import ClassParameters, TwoClassAverages, TwoClassModel, TwoClassROC
    from .uncertainty import Uncertainty

_HOMES = {
    "_calibration_test": ["CalibrationTest", "calibration_test"],
    "_comparing": ["compare"],
    "assessment": ["Assessment", "BinTable", "assess"],
    "breakdown": ["Breakdown", "GroupAssessment", "Shrinkage", "ShrunkenAccuracy", "assess_by"],
    "calibration": [
        "CalibrationErrors",
        "calibration_errors",
        "expected_calibration_error",
        "smooth_calibration_error",
    ],
    "classes": ["Bias", "ClassAverage", "ClassTable", "PredictedTable"],
    "comparison": [
        "Comparison",
        "Contributions",
        "Difference",
        "Forecaster",
        "MeanScore",
        "PairedComparison",
    ],
    "coupled": ["coupled_exp", "coupled_log", "risk_exp", "risk_log"],
    "decomposition": ["Decomposition", "decompose"],
    "diagnosis.diagnose": ["diagnose"],
    "diagnosis.result": ["Diagnosis", "Finding"],
    "discriminant": ["CoupledDiscriminantAnalysis"],
    "distributions.exponential": ["CoupledExponential"],
    "distributions.fitting": ["CoupledFit"],
    "distributions.gaussian": ["CoupledGaussian"],
    "distributions.multivariate": ["MultivariateCoupledGaussian"],
    "engines.dask": ["tally_dask", "tally_dask_by"],
    "engines.local": ["tally_files", "tally_files_by"],
    "engines.spark": ["tally_spark", "tally_spark_by"],
    "errors": ["InputError"],
    "forecasts": ["Forecasts", "Notes"],
    "information": [
        "average_probability",
        "coupled_entropy",
        "cross_entropy",
        "divergence",
        "entropy",
        "escort",
        "normalized_tsallis_entropy",
        "renyi_entropy",
        "total_probability",
        "tsallis_entropy",
    ],
    "means": [
        "coupling_from_order",
        "generalized_mean",
        "log_std_factor",
        "order_from_coupling",
        "suggested_floor",
    ],
    "intervals": ["Band", "Interval"],
    "measured": ["ESTIMATORS"],
    "measured_profile": ["DivergenceProfile", "MeasuredProfile"],
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
    "sequential": ["SequentialComparison", "compare_sequentially"],
    "surprises": ["SurpriseTable"],
    "tallies": ["Tallies"],
    "tally": ["Tally"],
    "two_class": ["ClassParameters", "TwoClassAverages", "TwoClassModel", "TwoClassROC"],
    "uncertainty": ["Uncertainty"],
}
_EXTRAS = {
    "CoupledDiscriminantAnalysis": "sklearn",
    **dict.fromkeys(("tally_dask", "tally_dask_by"), "dask"),
    **dict.fromkeys(("tally_spark", "tally_spark_by"), "pyspark"),
}
"""Names that need an extra, by the package it brings. Not in `__all__`: a star import always works."""

_HOME_OF = {name: module for module, names in _HOMES.items() for name in names}

__all__ = [
    "ESTIMATORS",
    "SCORES",
    "Assessment",
    "Averages",
    "Band",
    "Bias",
    "BinTable",
    "Breakdown",
    "CalibrationErrors",
    "CalibrationTest",
    "ClassAverage",
    "ClassParameters",
    "ClassTable",
    "Comparison",
    "Contributions",
    "CoupledExponential",
    "CoupledFit",
    "CoupledGaussian",
    "Decomposition",
    "Diagnosis",
    "Difference",
    "DivergenceProfile",
    "Finding",
    "Forecaster",
    "Forecasts",
    "GroupAssessment",
    "InputError",
    "Interval",
    "MeanScore",
    "MeasuredProfile",
    "MultivariateCoupledGaussian",
    "Notes",
    "PairedComparison",
    "PredictedTable",
    "RiskProfile",
    "Score",
    "SequentialComparison",
    "Shrinkage",
    "ShrunkenAccuracy",
    "SurpriseTable",
    "Tallies",
    "Tally",
    "TwoClassAverages",
    "TwoClassModel",
    "TwoClassROC",
    "Uncertainty",
    "__version__",
    "assess",
    "assess_by",
    "average_probability",
    "brier_score",
    "calibration_errors",
    "calibration_test",
    "compare",
    "compare_sequentially",
    "coupled_entropy",
    "coupled_exp",
    "coupled_log",
    "coupling_from_order",
    "cross_entropy",
    "decisiveness",
    "decompose",
    "diagnose",
    "divergence",
    "entropy",
    "escort",
    "expected_calibration_error",
    "floor_sensitivity",
    "generalized_mean",
    "generalized_surprisal",
    "geometric_accuracy",
    "log_loss",
    "log_std_factor",
    "normalized_tsallis_entropy",
    "order_from_coupling",
    "penalized_brier_score",
    "penalized_log_loss",
    "power_score",
    "ranked_probability_score",
    "renyi_entropy",
    "risk_exp",
    "risk_log",
    "risk_profile",
    "robustness",
    "row_scores",
    "score_named",
    "smooth_calibration_error",
    "spherical_score",
    "suggested_floor",
    "tally_files",
    "tally_files_by",
    "total_probability",
    "tsallis_entropy",
]


def __getattr__(name: str) -> Any:
    """Load a public name's module on first use, so that importing the package costs next to nothing."""
    if name not in _HOME_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f".{_HOME_OF[name]}", __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    from importlib.util import find_spec

    return [*__all__, *(name for name, package in _EXTRAS.items() if find_spec(package))]
