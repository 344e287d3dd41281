from . import estimators as estimators
from .decomposition import Decomposition as Decomposition
from .diagnosis.result import Diagnosis as Diagnosis
from .diagnosis.result import Finding as Finding
from .errors import CalibrationErrors as CalibrationErrors
from .errors import expected_calibration_error as expected_calibration_error
from .errors import smooth_calibration_error as smooth_calibration_error
from .test import CalibrationTest as CalibrationTest
