from . import integrations as integrations
from . import language_models as language_models
from . import results as results
from . import scores as scores
from . import statistics as statistics
from . import theory as theory
from ._lib.errors import InputError as InputError
from ._version import __version__ as __version__
from .assessment.assess import assess as assess
from .assessment.breakdown import assess_by as assess_by
from .assessment.decision_curve import decision_curve as decision_curve
from .assessment.decisions import decide as decide
from .assessment.ordered import assess_ordered as assess_ordered
from .assessment.risk_profile import decisiveness as decisiveness
from .assessment.risk_profile import floor_sensitivity as floor_sensitivity
from .assessment.risk_profile import geometric_accuracy as geometric_accuracy
from .assessment.risk_profile import risk_profile as risk_profile
from .assessment.risk_profile import robustness as robustness
from .calibration.diagnosis.diagnose import diagnose as diagnose
from .calibration.errors import calibration_errors as calibration_errors
from .calibration.errors import decompose as decompose
from .calibration.errors import expected_calibration_error as expected_calibration_error
from .calibration.errors import smooth_calibration_error as smooth_calibration_error
from .calibration.estimators import ESTIMATORS as ESTIMATORS
from .calibration.null_samples import calibration_test as calibration_test
from .comparison.compare import compare as compare
from .comparison.sequential import compare_sequentially as compare_sequentially
from .forecasts.forecasts import Forecasts as Forecasts
from .monitoring.gate import check as check
from .monitoring.watch import monitor as monitor
from .monitoring.watch_predictions import drift as drift
from .pairing.skill import skill as skill
from .recalibration.pools import pool as pool
from .recalibration.recalibrator import Recalibrator as Recalibrator
from .recalibration.refinement import refinement_loss as refinement_loss
from .report.explanations import explain as explain
from .scores.rules import SCORES as SCORES
from .sources.engines.dask import tally_dask as tally_dask  # extra: dask
from .sources.engines.dask import tally_dask_by as tally_dask_by  # extra: dask
from .sources.engines.spark import tally_spark as tally_spark  # extra: pyspark
from .sources.engines.spark import tally_spark_by as tally_spark_by  # extra: pyspark
from .sources.local import tally_files as tally_files
from .sources.local import tally_files_by as tally_files_by
from .tally.tallies import Tallies as Tallies
from .tally.tally import Tally as Tally
