"""How counts are assessed: the settings of `assess` but for the reading of rows, and what is kept for later."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

from numpy.typing import ArrayLike

from .._lib.dataclasses import Frozen, field, replace
from .._lib.errors import InputError, check_choice
from .._lib.typing import ByValue, Floats
from ..calibration.dependence_search import DependenceSearch
from ..calibration.diagnosis.diagnose import Chunks, diagnosis_of_tally
from ..calibration.diagnosis.result import Diagnosis
from ..calibration.estimators import DEFAULT, Estimator, named_estimator
from ..forecasts.reading import SearchedReading
from ..statistics.intervals import LEAST_WORTH, Sampling, checked_sampling
from ..statistics.means import DEFAULT_FLOOR, Floor, Limit, check_floor, floor_and_limit
from ..tally.tally import VIEWS, Tally, View
from .classes import ClassTables
from .remedy import Commands, PythonLine
from .risk_profile import RiskProfile, checked_orders

if TYPE_CHECKING:
    from ..forecasts.forecasts import Forecasts
    from ..pairing.skill_result import Skill


Auto = Literal["auto"]


class AssessOptions(SearchedReading, total=False):
    """What `assess` and `assess_by` take of class probabilities besides these and outcomes; `assess` describes them."""

    reference: Any
    metrics: Sequence[str]
    measured: str | Estimator
    view: View | Auto
    floor: Floor
    confidence: float
    resamples: int
    seed: int


class AssessmentSettings(Frozen, eq=False):
    """Settings of an assessment, refused where they cannot be used; `assess` describes them."""

    floor: Floor = DEFAULT_FLOOR
    measured: str | Estimator = DEFAULT
    view: View | Auto = "auto"
    orders: ArrayLike | None = None
    confidence: float = 0.95
    resamples: int = 400
    seed: int = 0
    asked: Sequence[str] = ()
    """Scoring rules that were asked for by name, which text then has."""

    def __post_init__(self) -> None:
        """Refuse what cannot be used."""
        check_floor(*self.limits)
        check_choice("view", self.view, ("auto", *VIEWS))
        _ = self.estimator, self.sampling, self.profile_orders

    @property
    def limits(self) -> tuple[float | Auto, Limit]:
        """The floor, and whether there is a ceiling that is as far from 1."""
        return floor_and_limit(self.floor)

    @property
    def estimator(self) -> Estimator:
        """The estimator of the measured probability."""
        return named_estimator(self.measured)

    @property
    def profile_orders(self) -> Floats:
        """Orders of the risk profile."""
        return checked_orders(self.orders)

    @property
    def sampling(self) -> Sampling:
        """How intervals are made."""
        return checked_sampling(self.confidence, self.resamples, self.seed)


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


def skill_against(
    reference: Any,
    forecasts: Forecasts,
    settings: AssessmentSettings,
    y_true: Any,
    reading: Mapping[str, Any],
    by: Any = None,
    dependence: DependenceSearch | None = None,
) -> Skill | None:
    """Compare forecasts with a reference.

    Parameters
    ----------
    reference : "base-rate", mapping, array_like of shape (n,) or (n, C), or None
        The base rate, a climatology, or other probabilities for the same rows.
    forecasts : Forecasts
        The forecasts.
    settings : AssessmentSettings
        Floor, confidence level, and rules in addition.
    y_true, reading
        Outcomes and options from which the forecasts were read, as those of the reference are.
    by : array_like of shape (n,), mapping from name to such, or data frame, optional
        Groups whose skill is also given.
    dependence : DependenceSearch, optional
        What was found of the dependence of the rows.

    Returns
    -------
    Skill or None
        None without a reference.

    Raises
    ------
    InputError
        For an unknown reference, or one of other rows.
    """
    if reference is None:
        return None
    from ..pairing import skill  # which most assessments do without
    from ..pairing.rows import Chunk, pairing_of_arrays, parts_of

    if isinstance(reference, str) and reference != skill.BASE_RATE:
        raise InputError(f"reference: {reference!r}: {skill.REFERENCES}.")
    against, clusters = skill.reference_of(reference) or skill.Reference(), reading.get("clusters")
    parts = [Chunk("forecasts", forecasts.in_clusters(None))]  # which the pairing knows
    if against.forecast is not None:
        parts += parts_of({against.name: against.forecast}, y_true, {**reading, "clusters": None})
    scored = skill.SkillSettings(
        skill.skill_rules(settings.asked),
        settings.limits[0],
        settings.confidence,
        clustered=clusters is not None,
        reference=against.name,
    )
    pairing = pairing_of_arrays(parts, clusters, None, by, against.climatology)
    found = skill.skilled(lambda: parts, lambda _: pairing, scored)
    return found if dependence is None else replace(found, dependence=dependence)
