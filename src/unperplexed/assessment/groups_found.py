"""Groups: the result of a search for groups of rows in which forecasts are wrong."""

from __future__ import annotations

import math
from collections.abc import Callable

from .._lib.dataclasses import field
from .._lib.errors import InputError
from .._lib.formatting import number_of
from .._version import __version__
from ..calibration.dependence_search import DependenceSearch
from ..calibration.where.naming import FoundGroup, Residuals
from ..forecasts.forecasts import Notes
from ..forecasts.labels import Label
from ..recalibration.found_groups import FoundGroupRecalibrator
from ..recalibration.gain import Gain
from ..report.result import Figure, JsonResult, pictures


class Groups(JsonResult):
    """Groups of rows in which forecasts are wrong. Made by `find_groups`; ``bool(groups)`` is whether there are any.

    ``print`` it, ``.plot()`` or ``.report()`` it, take it as ``.to_dict()`` or ``.to_json()``.
    """

    items: tuple[FoundGroup, ...]
    """In the order in which they were found, of each class the clearest first. They may overlap."""
    p_value: float
    """Of the clearest rule, adjusted for all of them: is any group wrong?"""
    rules_searched: int
    columns: tuple[str, ...]
    """Columns whose conditions were searched."""
    gain: Gain | None
    """Gain in log loss if the groups are corrected beside the error that all rows share, on rows held out of the whole
    search. None where no group is found, and for fewer than 100 rows or 10 clusters."""
    detectable_bias: float
    """Bias in log-odds, or in spreads, of a tenth of the rows, that is found with a probability of 80%."""
    p_value_all: float
    """p-value of the test whether all rows together are calibrated, as `diagnose` makes it."""
    mean_predicted: float
    observed: float
    """Mean prediction and observed frequency of all rows, of the class or the most probable one; NaN where each class
    has its own."""
    observed_interval: tuple[float, float]
    """95% confidence interval of the observed frequency of all rows."""
    residuals: Residuals | None
    """Mean residuals by the columns of the costliest group that has a bias; None where none has."""
    n_rows: int
    labels: tuple[Label | None, ...]
    dependence: DependenceSearch
    n_clusters: int | None
    notes: Notes
    """What was left out or rescaled on the way in."""
    warnings: tuple[str, ...]
    seed: int
    _fit: Callable[[], FoundGroupRecalibrator] | None = field(repr=False, compare=False)
    form: str = ""
    """What predictive distributions are, such as "23 quantiles"; "" for class probabilities."""
    median_spread: float = math.nan
    """Of predictive distributions their median spread, in the unit of the outcomes; NaN if it is not known."""
    version: str = __version__

    def __bool__(self) -> bool:
        """Whether a group is found."""
        return self.found

    @property
    def found(self) -> bool:
        """Whether a group is found."""
        return bool(self.items)

    @property
    def gain_interval(self) -> tuple[float, float] | None:
        """95% confidence interval of the gain."""
        return None if self.gain is None else self.gain.interval

    @property
    def miscalibrated(self) -> bool:
        """Whether all rows together are miscalibrated, at 5%."""
        return self.p_value_all < 0.05

    def plot(self, figure: Figure | None = None) -> Figure:
        """Draw the groups with what was predicted and observed, and the residuals by the columns of the costliest.

        Parameters
        ----------
        figure : matplotlib Figure, optional
            Where to draw; by default a new pyplot figure of the size needed.

        Returns
        -------
        matplotlib.figure.Figure

        Raises
        ------
        InputError
            For a ``figure`` that is none of matplotlib's, and where no group is found among more than two classes.
        """
        return pictures(self, figure)

    def recalibrator(self) -> FoundGroupRecalibrator:
        """Give what corrects new rows, as the gain is measured: shrunken effects between two maps of all rows.

        Unless the gain on rows held out is significant, groups are left as they are, and there is one map of all rows.

        Raises
        ------
        InputError
            For predictive distributions, whose groups no map corrects together.
        """
        if self._fit is None:
            raise InputError(
                "no map corrects groups of distributions; fit a Recalibrator to the rows of one by itself."
            )
        return self._fit()

    def __repr__(self) -> str:
        """Name it in one line."""
        return f"<Groups: {number_of(len(self.items), 'group')} among {number_of(self.n_rows, 'row')}>"
