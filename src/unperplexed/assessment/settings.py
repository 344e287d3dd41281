"""How counts are assessed: the settings of `assess` that do not concern the reading of rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from numpy.typing import ArrayLike

from .._lib.errors import InputError, check_choice
from .._lib.typing import Floats
from ..calibration.estimators import DEFAULT, Estimator, named_estimator
from ..statistics.intervals import Sampling, checked_sampling
from ..statistics.means import DEFAULT_FLOOR, Floor, Limit, check_floor, floor_and_limit
from ..tally.tally import VIEWS, View
from .risk_profile import checked_orders

if TYPE_CHECKING:
    from ..forecasts.forecasts import Forecasts
    from ..pairing.skill_result import Skill


Auto = Literal["auto"]


@dataclass(frozen=True, eq=False)
class AssessmentSettings:
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


def skill_against(
    reference: Any,
    forecasts: Forecasts,
    settings: AssessmentSettings,
    y_true: Any,
    reading: Mapping[str, Any],
    by: Any = None,
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
    return skill.skilled(lambda: parts, lambda _: pairing, scored)
