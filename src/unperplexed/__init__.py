"""Assess probabilistic forecasts on the probability scale: how good they are, and what is wrong with them."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from ._version import __version__

if TYPE_CHECKING:
    from ._lib.errors import InputError
    from .assessment.assess import assess
    from .assessment.breakdown import (
        Breakdown,
        GroupAssessment,
        Shrinkage,
        ShrunkenAccuracy,
        assess_by,
    )
    from .assessment.classes import (
        Bias,
        ClassAverage,
        ClassTable,
        PredictedTable,
    )
    from .assessment.measured_profile import DivergenceProfile, MeasuredProfile
    from .assessment.result import Assessment, BinTable
    from .assessment.risk_profile import (
        RiskProfile,
        decisiveness,
        floor_sensitivity,
        geometric_accuracy,
        risk_profile,
        robustness,
    )
    from .assessment.uncertainty import Uncertainty
    from .calibration.decomposition import Decomposition, decompose
    from .calibration.diagnosis.diagnose import diagnose
    from .calibration.diagnosis.result import Diagnosis, Finding
    from .calibration.errors import (
        CalibrationErrors,
        calibration_errors,
        expected_calibration_error,
        smooth_calibration_error,
    )
    from .calibration.estimators import ESTIMATORS
    from .calibration.test import CalibrationTest, calibration_test
    from .comparison.compare import compare
    from .comparison.result import (
        Comparison,
        Contributions,
        Difference,
        Forecaster,
        MeanScore,
        PairedComparison,
    )
    from .comparison.sequential import SequentialComparison, compare_sequentially
    from .forecasts.forecasts import Forecasts, Notes
    from .scores.functions import (
        brier_score,
        generalized_surprisal,
        log_loss,
        penalized_brier_score,
        penalized_log_loss,
        power_score,
        ranked_probability_score,
        row_scores,
        spherical_score,
    )
    from .scores.registry import SCORES, score_named
    from .scores.rules import Score
    from .sources.dask import tally_dask as tally_dask
    from .sources.dask import tally_dask_by as tally_dask_by
    from .sources.local import tally_files, tally_files_by
    from .sources.spark import tally_spark as tally_spark
    from .sources.spark import tally_spark_by as tally_spark_by
    from .statistics.averages import Averages
    from .statistics.intervals import Band, Interval
    from .statistics.means import (
        coupling_from_order,
        generalized_mean,
        log_std_factor,
        order_from_coupling,
        suggested_floor,
    )
    from .tally.surprises import SurpriseTable
    from .tally.tallies import Tallies
    from .tally.tally import Tally
    from .theory.coupled import (
        coupled_exp,
        coupled_log,
        risk_exp,
        risk_log,
    )
    from .theory.discriminant import CoupledDiscriminantAnalysis as CoupledDiscriminantAnalysis
    from .theory.distributions.exponential import CoupledExponential
    from .theory.distributions.fitting import CoupledFit
    from .theory.distributions.gaussian import CoupledGaussian
    from .theory.distributions.multivariate import MultivariateCoupledGaussian
    from .theory.information import (
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
    from .theory.two_class import (
        ClassParameters,
        TwoClassAverages,
        TwoClassModel,
        TwoClassROC,
    )

_HOMES = {
    "_lib.errors": ["InputError"],
    "assessment.assess": ["assess"],
    "assessment.breakdown": ["Breakdown", "GroupAssessment", "Shrinkage", "ShrunkenAccuracy", "assess_by"],
    "assessment.classes": ["Bias", "ClassAverage", "ClassTable", "PredictedTable"],
    "assessment.measured_profile": ["DivergenceProfile", "MeasuredProfile"],
    "assessment.result": ["Assessment", "BinTable"],
    "assessment.risk_profile": [
        "RiskProfile",
        "decisiveness",
        "floor_sensitivity",
        "geometric_accuracy",
        "risk_profile",
        "robustness",
    ],
    "assessment.uncertainty": ["Uncertainty"],
    "calibration.decomposition": ["Decomposition", "decompose"],
    "calibration.diagnosis.diagnose": ["diagnose"],
    "calibration.diagnosis.result": ["Diagnosis", "Finding"],
    "calibration.errors": [
        "CalibrationErrors",
        "calibration_errors",
        "expected_calibration_error",
        "smooth_calibration_error",
    ],
    "calibration.estimators": ["ESTIMATORS"],
    "calibration.test": ["CalibrationTest", "calibration_test"],
    "comparison.compare": ["compare"],
    "comparison.result": ["Comparison", "Contributions", "Difference", "Forecaster", "MeanScore", "PairedComparison"],
    "comparison.sequential": ["SequentialComparison", "compare_sequentially"],
    "forecasts.forecasts": ["Forecasts", "Notes"],
    "scores.functions": [
        "brier_score",
        "generalized_surprisal",
        "log_loss",
        "penalized_brier_score",
        "penalized_log_loss",
        "power_score",
        "ranked_probability_score",
        "row_scores",
        "spherical_score",
    ],
    "scores.registry": ["SCORES", "score_named"],
    "scores.rules": ["Score"],
    "sources.dask": ["tally_dask", "tally_dask_by"],
    "sources.local": ["tally_files", "tally_files_by"],
    "sources.spark": ["tally_spark", "tally_spark_by"],
    "statistics.averages": ["Averages"],
    "statistics.intervals": ["Band", "Interval"],
    "statistics.means": [
        "coupling_from_order",
        "generalized_mean",
        "log_std_factor",
        "order_from_coupling",
        "suggested_floor",
    ],
    "tally.surprises": ["SurpriseTable"],
    "tally.tallies": ["Tallies"],
    "tally.tally": ["Tally"],
    "theory.coupled": ["coupled_exp", "coupled_log", "risk_exp", "risk_log"],
    "theory.discriminant": ["CoupledDiscriminantAnalysis"],
    "theory.distributions.exponential": ["CoupledExponential"],
    "theory.distributions.fitting": ["CoupledFit"],
    "theory.distributions.gaussian": ["CoupledGaussian"],
    "theory.distributions.multivariate": ["MultivariateCoupledGaussian"],
    "theory.information": [
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
    "theory.two_class": ["ClassParameters", "TwoClassAverages", "TwoClassModel", "TwoClassROC"],
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
