"""What an assessment is read from, kept for what is computed only when asked for."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from .._lib.by_value import ByValue
from .._lib.typing import Floats
from ..calibration.diagnosis.diagnose import Chunks, diagnosis_of_tally
from ..calibration.diagnosis.result import Diagnosis
from ..calibration.estimators import Estimator
from ..statistics.intervals import Sampling
from ..statistics.standard_errors import LEAST_WORTH
from ..tally.tally import Tally, View
from .classes import ClassTables
from .remedy import Commands, PythonLine
from .risk_profile import RiskProfile


@dataclass(frozen=True)
class Source(ByValue):
    """The counts, the settings, and how to read the rows again."""

    tally: Tally
    view: View
    headline: RiskProfile
    """The profile at the orders of decisiveness, geometric accuracy and robustness."""
    orders: Floats
    """Orders of the risk profile."""
    estimator: Estimator
    sampling: Sampling
    diagnose: Callable[[], Diagnosis] | None = field(default=None, compare=False)
    """Diagnoses the rows, where the counts do not suffice."""
    chunks: Chunks | None = field(default=None, compare=False)
    """Reads all rows, each time from the first; None where they are not at hand."""
    commands: Commands | PythonLine = field(default_factory=PythonLine, compare=False)
    """Commands, or a line of Python, that recalibrate these forecasts."""
    measured: tuple[Floats, Floats] | None = None
    """Measured probabilities of what happened, floored, and their weights; None in the top-label view."""
    asked: Sequence[str] = ()
    """Scoring rules that were asked for by name, which text then has."""
    class_tables: Callable[[], ClassTables] = field(default=ClassTables, compare=False)
    """Makes the tables of the each-class view."""
    by_class: Callable[[], Any] | None = field(default=None, compare=False)
    """Assesses each class of rows in memory, where the assessment itself does not."""

    def diagnosis(self) -> Diagnosis:
        """Find out what is wrong."""
        return diagnosis_of_tally(self.tally) if self.diagnose is None else self.diagnose()

    def __getstate__(self) -> dict[str, Any]:
        """Leave the rows behind when it is pickled or copied; what needs them is computed before."""
        return {**vars(self), "diagnose": None, "chunks": None, "class_tables": ClassTables, "by_class": None}

    @property
    def samples(self) -> bool:
        """Whether intervals of what is measured come from samples: of one curve for all rows, and of enough rows."""
        one_curve = self.view == "all-classes" or (self.view == "each-class" and self.tally.n_classes == 2)
        return bool(one_curve and self.sampling.resamples and self.tally.independent_rows >= LEAST_WORTH)
