"""Recalibrator: fitted on forecasts and outcomes, it maps predicted to calibrated probabilities.

GroupRecalibrator: one recalibration map for all rows, and maps of groups where they are shown to gain.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, TypeVar, Unpack, overload

import numpy as np

from .._lib.arrays import as_columns
from .._lib.dataclasses import replace
from .._lib.errors import InputError, is_number
from .._lib.typing import Floats
from ..calibration.dependence_search import OF_A_TALLY, DependenceSearch
from ..calibration.undeclared import read_rows
from ..forecasts.forecasts import Block, Forecasts
from ..forecasts.group_keys import Key, columns_of, row_keys
from ..forecasts.labels import Label
from ..forecasts.reading import SEARCHED, AssessedReading, SearchedReading, is_predictive, reads
from ..forecasts.unobserved import new_forecasts
from ..kernels.devices import Scale, device_columns
from ..tally.tally import Tally, refuse_rows
from .averaging import HeldOut
from .files import Fitted
from .fitting import (
    Chunks,
    FitSettings,
    GroupMaps,
    checked_settings,
    gain_over_one_map,
    gathered_groups,
    state_of_chunks,
    state_of_forecasts,
    state_of_tally,
)
from .gain import Baseline, Gain
from .saved import DISTRIBUTIONS, Saved, groups_dict, groups_of, state_dict, state_of
from .state import LEAST_PREVALENCE, Candidate, State, map_text

if TYPE_CHECKING:
    from ..forecasts.distributions.predictive import Predictive
    from .distributions import DistributionMap
    from .torch_module import Form, Output, RecalibrationModule

Forecast = TypeVar("Forecast", bound="Predictive")


class Recalibrator(Fitted[State]):
    """Correct predicted probabilities: a map to calibrated ones (calibration map).

    ``fit(y_true, y_prob)`` fits the map, and ``transform(new_y_prob)`` returns
    the corrected probabilities. ``gain_`` is the decrease of the log loss on
    held-out rows; larger is better. Print it to see which map was chosen, and
    what it gains.

    Fit it on rows that the model was not trained on. The default, ``"auto"``,
    averages several maps with weights from their cross-validated log loss. If
    the forecasts show no miscalibration, the identity has most of the weight,
    so recalibration does little harm with few rows. It also takes predictive
    distributions of a number (`Quantiles`, `Samples`, `Distribution` or `PIT`),
    which come back in the form in which they came.

    Parameters
    ----------
    method : str, default "auto"
        ``"auto"``, or one map. Two classes: ``"identity"``, ``"bias"``,
        ``"temperature"``, ``"logistic"``, ``"beta"``, ``"tail"``, ``"lapse"``,
        ``"shrunk-isotonic"``, ``"isotonic"``. More classes: ``"identity"``,
        ``"temperature"``, ``"bias"``, ``"logistic"``, ``"temperature-lapse"``,
        ``"logistic-lapse"``, ``"vector"``, ``"isotonic"``, ``"matrix"``.
    single : bool, default False
        Choose the one map with the best penalised cross-validated log loss
        instead of averaging.
    folds : int, optional
        Number of cross-validation folds, 2 to 100. By default 20 for two
        classes in up to 1,000 rows, else 5. Rows of one cluster (``clusters``)
        share a fold; there are no more folds than clusters.
    seed : int, default 0
        Random seed of the folds.

    Attributes
    ----------
    labels_ : tuple
        Class labels in column order.
    n_rows_ : int
        Number of rows of positive weight.
    weights_ : dict of str to float
        Weight of each map in the average.
    method_ : str
        Name of the map with the largest weight.
    parameters_ : dict
        Parameters of that map, such as ``{"temperature": 1.55}``; a shift is
        added to the log-odds.
    gain_ : Gain or None
        Decrease of the log loss on held-out rows, with a 95% confidence
        interval; None for fewer than 100 rows, or fewer than 10 clusters of
        dependent rows.
    dependence_ : DependenceSearch or None
        What was found of dependence that nobody declared, as `assess` finds it;
        None once loaded.

    Notes
    -----
    Maps take logits and log-probabilities as they come, of any size. Only a
    probability of exactly 0 is replaced, by ``0.01 / (C n)`` for n rows of C
    classes in the fit, or by the smallest other one if that is smaller.

    Maps of log-odds s: ``s + a`` (bias), ``(1 + c) s`` (temperature), both
    (logistic), ``a + b ln p - c ln(1 - p)`` (beta; Kull, Silva Filho and Flach
    2017), logistic and ``k sign(s) ((1 + |s|) ln(1 + |s|) - |s|)`` (tail),
    logistic and a share e of outcomes drawn at random (lapse). Coefficients
    that add to the log-odds have a N(0, 1) prior. No map falls: where a fit of
    beta, tail or lapse would, the logistic map takes its place. With more than
    two classes a map with curves or with a slope for each class is moved
    towards the logistic map until it no longer falls.

    The weights are ``w ~ exp(-0.7 L - r - [not identity])`` for two classes,
    and ``exp(-L - r/2 - 2 [not identity])`` for more, with the total held-out
    log loss L in nats and the number of parameters r. ``single`` takes the map
    with the smallest ``L + r/2 + [not identity]``. The folds are random, never
    stratified by outcome, and do not depend on the order of the rows.

    **Predictive distributions.** Maps of the outcome's normal score z:
    ``(z - a) exp(-c)`` (shift, scale, or both), then a skew and a tail of the
    sinh-arcsinh family (curved), a and c that follow the predicted level and
    spread (level+spread), all of these, and a mixture of the densities of
    Beta(k, 13 - k) (bernstein). The weights are
    ``exp(-L/D - r/2 - 2 [not identity])`` with the design effect D, and the
    average is the linear pool of the distribution functions. With ``issued``
    and ``target_date`` the folds are stretches of time. New quantiles and
    members are linear in normal scores between the old ones. Beyond the
    outermost the last slope goes on, but not below 0 if nothing in the fit was.
    A `Distribution` comes back as one that has cdf, ppf and logpdf.

    Examples
    --------
    >>> import numpy as np
    >>> from unperplexed import Recalibrator
    >>> rng = np.random.default_rng(0)
    >>> truth = rng.normal(0, 2, 3000)
    >>> rain = rng.random(3000) < 1 / (1 + np.exp(-truth))
    >>> overconfident = 1 / (1 + np.exp(-2 * truth))
    >>> recalibrator = Recalibrator("temperature").fit(rain, overconfident)
    >>> print(recalibrator.to_text().splitlines()[0])
    Recalibrate with temperature 2.03.
    >>> recalibrator.transform([0.1, 0.9]).round(2)
    array([0.25, 0.75])

    Quantiles that are too narrow, mended:

    >>> from unperplexed import Quantiles
    >>> level, levels = rng.normal(20, 4, 2000), [0.1, 0.5, 0.9]
    >>> narrow = Quantiles(levels, level[:, None] + [-0.64, 0, 0.64])
    >>> mend = Recalibrator().fit(level + rng.normal(size=2000), narrow)
    >>> mend.transform(Quantiles(levels, [[4.36, 5, 5.64]])).values.round(0)
    array([[4., 5., 6.]])
    """

    labels_: tuple[Label | None, ...]
    n_rows_: int
    weights_: dict[str, float]
    method_: str
    parameters_: dict[str, Any]
    gain_: Gain | None
    dependence_: DependenceSearch | None
    distributions: DistributionMap | None = None
    """The map of predictive distributions, if it was fitted to these."""

    def __init__(self, method: str = "auto", *, single: bool = False, folds: int | None = None, seed: int = 0) -> None:
        self.method, self.single, self.folds, self.seed = method, single, folds, seed

    @reads(AssessedReading, SEARCHED)
    def fit(self, y_true: Any, y_prob: Any = None, **reading: Unpack[AssessedReading]) -> Recalibrator:
        """Fit to forecasts and their outcomes.

        Parameters
        ----------
        y_true : array_like of shape (n,) or (n, C), or Tally
            Outcomes: class labels or one-hot rows. Or a `Tally` of two classes,
            with nothing beside; it keeps probabilities, of which logits beyond
            ±36 are 0 or 1.
        y_prob : array_like of shape (n,) or (n, C), a data frame, or predictive distributions
            Predicted probabilities: of the positive class, or of each class. Or
            predictive distributions of a number, of which ``y_true`` holds the
            outcomes; ``method`` is "auto" then.
        **reading
            How rows are read, as in `Forecasts`: ``sample_weight``, ``labels``,
            ``pos_label``, ``ignore_label``, ``scale``, ``invalid``, and
            ``clusters``, the clusters of rows that may depend on one another.
            By default they are looked for, also in ``columns``, as in `assess`;
            None declines. ``censored``, ``issued`` and ``target_date`` are for
            predictive distributions.

        Returns
        -------
        Recalibrator
            Itself, fitted.

        Raises
        ------
        InputError
            As `assess`; for a tally that does not hold what a fit needs; for an
            unknown method.
        """
        if isinstance(y_true, Tally):
            refuse_rows({"y_prob": y_prob, **reading})
            return self.with_state(state_of_tally(y_true, self._settings()), OF_A_TALLY)
        if is_predictive(y_prob):
            return self._fit_distributions(y_true, y_prob, reading)
        if y_prob is None:
            raise InputError("y_prob: missing; fit takes outcomes and probabilities, or a Tally.")
        forecasts, _, dependence = read_rows(y_true, y_prob, reading)
        return self.with_state(state_of_forecasts(forecasts, self._settings()), dependence)

    def _fit_distributions(self, y_true: Any, forecast: Predictive, reading: Mapping[str, Any]) -> Recalibrator:
        from ..calibration.distribution_rows import read_distributions
        from .distributions import fit_distributions

        if self._settings().method != "auto" or self.single:
            raise InputError("method: maps of predictive distributions are averaged; leave out method and single.")
        rows = read_distributions(y_true, forecast, reading)
        return self.with_distributions(fit_distributions(rows, self.folds, self.seed), rows.search)

    def with_distributions(self, found: DistributionMap, dependence: DependenceSearch | None = None) -> Recalibrator:
        """Take what a fit to predictive distributions found; return itself."""
        self._state, self.distributions, self.dependence_ = None, found, dependence
        self.labels_, self.n_rows_, self.gain_ = (), found.n_rows, found.gain
        self.weights_, self.method_, self.parameters_ = found.weights, found.heaviest, found.parameters
        return self

    def fit_chunks(self, chunks: Chunks, dependence: DependenceSearch | None = None) -> Recalibrator:
        """Fit to forecasts that are read in parts, in one or more passes.

        Rows of two classes are counted by their log-odds, in memory that does not grow with their number. With
        clusters, the log-odds, outcome and cluster of each row are kept in memory. With more than two classes the
        log-probabilities are kept, up to 20 million of them (160 MB); of more rows a random sample of that size is
        fitted to, by ``seed``, and its size is in the text and in the saved map.

        Parameters
        ----------
        chunks : function of no arguments
            Returns the parts (`Forecasts`), each time from the first.
        dependence : DependenceSearch, optional
            What was found of dependence that nobody declared.

        Returns
        -------
        Recalibrator
            Itself, fitted.
        """
        return self.with_state(state_of_chunks(chunks, self._settings()), dependence)

    def _settings(self) -> FitSettings:
        return checked_settings(self.method, self.single, self.folds, self.seed)

    def with_state(self, state: State, dependence: DependenceSearch | None = None) -> Recalibrator:
        """Take what a fit found; return itself."""
        self._state, self.distributions, self.dependence_ = state, None, dependence
        self.labels_, self.n_rows_ = state.facts.labels, state.facts.n_rows
        self.weights_, self.method_, self.gain_ = dict(state.weights), state.heaviest, state.gain
        self.parameters_ = state.maps[state.heaviest].parameters()
        return self

    def for_prevalence(self, prevalence: float) -> Recalibrator:
        """Correct the map for another frequency of the positive class (prior shift, label shift); return itself.

        The calibrated odds are multiplied by the odds of the new frequency over
        those of the observed one (Saerens, Latinne and Decaestecker 2002). This
        assumes that the rows of each class are as in the fit, and only their
        shares differ. Test it on rows of the new population with outcomes:
        ``assess(y, map.transform(p))``.

        Parameters
        ----------
        prevalence : float
            Frequency of the positive class where the map is to be used, in (0,
            1).

        Returns
        -------
        Recalibrator
            Itself. What `transform` returns is for the new frequency; the gain
            and the weights are those of the fit.

        Raises
        ------
        InputError
            For more than two classes, for a fit to one outcome, and for a
            frequency that is not between 0 and 1.

        Examples
        --------
        >>> balanced = Recalibrator("identity").fit([0, 1] * 50, [0.3, 0.7] * 50)
        >>> balanced.for_prevalence(0.01).transform([0.5]).round(3)
        array([0.01])
        """
        state = self.state
        known = is_number(prevalence, LEAST_PREVALENCE, 1 - LEAST_PREVALENCE)
        if not (state.two and 0 < state.facts.observed[1] < 1 and known):
            about = "between 0 and 1, for two classes that both occurred"
            raise InputError(f"prevalence (--prevalence): expected a frequency {about}; got {prevalence!r}.")
        return self.with_state(replace(state, prevalence=float(prevalence)), self.dependence_)

    @property
    def fitted(self) -> bool:
        """Whether there is a map."""
        return self.distributions is not None or super().fitted

    @property
    def state(self) -> State:
        """The fitted maps of probabilities, and the facts of the data."""
        if self.distributions is not None:
            raise InputError("the recalibrator was fitted to predictive distributions; give these, not probabilities.")
        return super().state

    @property
    def leave_as_it_is(self) -> bool:
        """Whether the identity has more than half of the weight: the forecasts are better left as they are."""
        return (self.distributions or self.state).identity > 0.5

    @property
    def map_text(self) -> str:
        """The map with its parameters, such as "temperature 1.55"; of an average the one with the largest weight."""
        return map_text(self.state)

    @property
    def baseline(self) -> Baseline | None:
        """A constant forecast of the base rate on the same held-out rows; None without a gain.

        It is saved with the map; None also for a map that was saved without it, by an earlier version.
        """
        return self.state.baseline

    @property
    def held_out(self) -> HeldOut | None:
        """The average fitted without each fold, by which the fold's rows are recalibrated; None once loaded."""
        return self.state.held_out

    @property
    def table(self) -> tuple[Candidate, ...]:
        """Maps that were tried: name, weight, held-out log loss (nats a row), effective number of parameters."""
        return self.state.candidates

    @overload
    def transform(self, y_prob: Forecast) -> Forecast: ...
    @overload
    def transform(self, y_prob: Any, *, scale: Scale = "probability") -> Floats: ...
    def transform(self, y_prob: Any, *, scale: Scale = "probability") -> Any:
        """Return calibrated probabilities, none of them exactly 0 or 1; or mended predictive distributions.

        Parameters
        ----------
        y_prob : array_like of shape (n,) or (n, C), a data frame, or predictive distributions
            Predicted probabilities: of the positive class, or of each class in
            the order of ``labels_``. Or predictive distributions, as in the
            fit.
        scale : {"probability", "percent", "logits", "log-probs"}, default "probability"
            What ``y_prob`` holds.

        Returns
        -------
        array of shape (n,) or (n, C), or predictive distributions
            Calibrated probabilities, in the shape of ``y_prob``, also where
            this is (n, 1). They are tied only where predictions were, but for
            curves, which are level in places, and for what double precision
            cannot tell from 0 or 1. Predictive distributions in the form in
            which they came.

        Raises
        ------
        InputError
            As `Forecasts`; for another number of classes than in the fit; for
            columns of a frame that are named after other classes, or after
            these in another order; before a fit.
        """
        if is_predictive(y_prob):
            if self.distributions is None:
                self.state  # noqa: B018 - which refuses what is not fitted
                raise InputError("y_prob: predictive distributions, but the recalibrator was fitted to probabilities.")
            return self.distributions.transform(y_prob)
        q, columns = self.of_each_class(y_prob, scale)
        return in_shape_of(y_prob, q, columns)

    def of_each_class(self, y_prob: Any, scale: Scale) -> tuple[Floats, int]:
        """Return calibrated probabilities of every class, (n, C), and how many columns the predicted ones have."""
        state, (blocks, columns) = self.state, self.blocks(y_prob, scale)
        return np.concatenate([*map(state.of_block, blocks)] or [np.empty((0, len(state.facts.labels)))]), columns

    def blocks(self, y_prob: Any, scale: Scale) -> tuple[Iterable[Block], int]:
        """Return checked rows, and how many columns they have."""
        state = self.state
        read: Any = device_columns(y_prob, "y_prob") or as_columns(y_prob, "y_prob")
        classes, columns = len(state.facts.labels), read.n_columns
        if columns != classes and not (columns == 1 and classes == 2):
            expected = "one column, or two" if classes == 2 else f"{classes} columns"
            raise InputError(
                f"y_prob: {columns} columns, but the recalibrator was fitted to {classes} classes; expected {expected}."
            )
        return new_forecasts(read, state.facts.labels, scale).blocks(), columns

    def to_dict(self) -> dict[str, Any]:
        """Give the fitted recalibrator as plain values: what `save` writes."""
        if self.distributions is not None:
            from .distributions import distributions_dict

            return distributions_dict(self.distributions, {"folds": self.folds, "seed": self.seed})
        return state_dict(self.state, asdict(self._settings()))

    def to_torch(self, form: Form = "probabilities", *, output: Output = "probabilities") -> RecalibrationModule:
        """Give a PyTorch module that returns calibrated probabilities, or their logits with ``output="logits"``.

        A network that ends in logits takes ``to_torch("logits")``, and if a
        softmax or a loss follows, ``to_torch("logits", output="logits")``. The
        default takes probabilities; for values outside 0 to 1, such as logits,
        it returns NaN without an error, since a module that is exported cannot
        check values.

        Parameters
        ----------
        form : {"probabilities", "log_probabilities", "logits"}, default "probabilities"
            What the module takes.
        output : {"probabilities", "logits"}, default "probabilities"
            What it returns, whatever it takes. Logits are the logarithms of the
            calibrated probabilities, whose softmax they are; of one value for
            the positive class their log-odds, whose sigmoid it is.

        Returns
        -------
        torch.nn.Module
            From a tensor of shape (n, C), or (n,) with one value for the
            positive class, to a tensor of that shape: what `transform` returns,
            computed in float64. Its buffers are part of ``state_dict`` and are
            not trained. It also works in ``torch.jit.script``,
            ``torch.export``, ONNX, and a network in half precision.

        Raises
        ------
        ImportError
            Without PyTorch.
        InputError
            Before a fit; for another form or output.

        Examples
        --------
        >>> import numpy as np
        >>> import torch
        >>> from unperplexed import Recalibrator
        >>> rng = np.random.default_rng(0)
        >>> logits = rng.normal(0, 2, (2000, 3))
        >>> truth = (logits / 2 + rng.gumbel(size=logits.shape)).argmax(axis=1)
        >>> module = Recalibrator("temperature").fit(truth, logits, scale="logits").to_torch("logits")
        >>> module(torch.tensor([[2.0, 0.0, -2.0]])).round(decimals=1)
        tensor([[0.7000, 0.2000, 0.1000]])
        """
        from .torch_module import RecalibrationModule

        return RecalibrationModule(self.state, form, output)

    @classmethod
    def from_dict(cls, data: Any) -> Recalibrator:
        """Make a recalibrator of what `to_dict` gave; anything else is refused with the reason."""
        if isinstance(data, Mapping) and data.get("format") == DISTRIBUTIONS.format:
            from .distributions import distributions_of

            found, known = distributions_of(data)
            made = cls(**known)
            made._settings()
            return made.with_distributions(found)
        state, settings = state_of(data)
        if set(settings) != {"method", "single", "folds", "seed"}:
            raise InputError("the recalibration map is damaged: settings cannot be right. Fit it anew.")
        made = cls(**settings)
        made._settings()
        return made.with_state(state)

    def __repr__(self) -> str:
        """Give the settings, and the heaviest map once it is fitted."""
        fitted = "" if not self.fitted else f", fitted: {self.method_} on {self.n_rows_:,} rows"
        return f"Recalibrator({self.method!r}{', single=True' if self.single else ''}{fitted})"


def in_shape_of(y_prob: Any, q: Floats, columns: int) -> Floats:
    """Return the probabilities that the predicted ones have columns for, in their shape."""
    return q if columns > 1 else q[:, 1:] if np.ndim(y_prob) == 2 else q[:, 1]


GroupedChunks = Callable[[], Iterable[tuple[Forecasts, Any]]]
"""Reads all rows, in parts with the columns that make their groups."""


class GroupRecalibrator(Fitted[Saved]):
    """Recalibration with a map for every group of rows, as far as the groups are shown to need their own.

    One map is fitted to all rows (`Recalibrator`). To what it gives of each group another one is fitted, in whose
    average the identity, no further change, has its weight. Groups of few rows therefore follow the one map (partial
    pooling), groups of fewer than 20 rows and groups that the fit did not see have it alone. All maps of groups are
    compared with the one map on held-out rows. Unless their gain is significant they are dropped.

    Parameters
    ----------
    folds : int, optional
        Number of folds by which each map is chosen, as in `Recalibrator`.
    seed : int, default 0
        Random seed of the folds.

    Attributes
    ----------
    by_ : tuple of str
        Names of the columns that make the groups.
    labels_ : tuple
        Class labels in column order.
    shared_ : Recalibrator
        The one map.
    weights_ : dict of tuple to float
        Weight of the group's own maps, from 0 to 1, for each group that has a map; the rest is that of the one map.
    gain_ : Gain or None
        Decrease of the log loss by maps of groups instead of the one map, on held-out rows, with a 95% confidence
        interval; None for fewer than 100 rows, or fewer than 10 clusters. Five folds are held out in turn; in each the
        one map and all maps of groups are fitted anew.

    Examples
    --------
    >>> import numpy as np
    >>> from unperplexed.results import GroupRecalibrator
    >>> rng = np.random.default_rng(0)
    >>> station = rng.choice(["coast", "hills"], 2000)
    >>> truth = rng.normal(0, 2, 2000)
    >>> rain = rng.random(2000) < 1 / (1 + np.exp(-truth))
    >>> forecast = 1 / (1 + np.exp(-np.where(station == "hills", 3 * truth, truth)))
    >>> recalibrator = GroupRecalibrator().fit(rain, forecast, by=station)
    >>> recalibrator.gain_.significant
    True
    >>> recalibrator.transform([0.9, 0.9, 0.9], by=["coast", "hills", "valley"]).round(1)
    array([0.9, 0.7, 0.8])
    """

    by_: tuple[str, ...]
    labels_: tuple[Label | None, ...]
    shared_: Recalibrator
    weights_: dict[Key, float]
    gain_: Gain | None
    dependence_: DependenceSearch | None

    def __init__(self, *, folds: int | None = None, seed: int = 0) -> None:
        self.folds, self.seed = folds, seed

    @reads(SearchedReading, SEARCHED)
    def fit(self, y_true: Any, y_prob: Any, *, by: Any, **reading: Unpack[SearchedReading]) -> GroupRecalibrator:
        """Fit to forecasts, their outcomes and their groups.

        Parameters
        ----------
        y_true, y_prob
            As in `Recalibrator.fit`, but no tally.
        by : array_like of shape (n,), mapping from name to such, or data frame
            Which group each row is in, as in `assess_by`.
        **reading
            How rows are read, as in `Recalibrator.fit`; ``clusters`` names
            clusters of dependent rows.

        Returns
        -------
        GroupRecalibrator
            Itself, fitted.
        """
        forecasts, _, dependence = read_rows(y_true, y_prob, reading, columns_of(by))
        return self.fit_chunks(lambda: [(forecasts, by)], dependence)

    def fit_chunks(self, chunks: GroupedChunks, dependence: DependenceSearch | None = None) -> GroupRecalibrator:
        """Fit to forecasts that are read in parts, each with the columns that make its groups. Rows stay in memory."""
        settings = checked_settings("auto", False, self.folds, self.seed)
        rows = gathered_groups(chunks())
        fitted = GroupMaps.of(rows, settings)
        compared = gain_over_one_map(rows, fitted, settings)
        if compared is None or not compared.gain.significant:
            fitted = GroupMaps(fitted.shared, {})
        return self._set(Saved(rows.by, fitted, compared), dependence)

    def _set(self, state: Saved, dependence: DependenceSearch | None = None) -> GroupRecalibrator:
        self._state, self.dependence_ = state, dependence
        self.by_, self.labels_ = state.by, state.maps.shared.facts.labels
        self.shared_ = Recalibrator(folds=self.folds, seed=self.seed).with_state(state.maps.shared)
        self.weights_ = {key: 1 - each.identity for key, each in state.maps.own.items()}
        self.gain_ = None if state.compared is None else state.compared.gain
        return self

    @property
    def one_map(self) -> bool:
        """Whether the one map serves all groups, since maps of their own are not shown to reduce the log loss."""
        return not self.state.maps.own

    def transform(self, y_prob: Any, *, by: Any, scale: Scale = "probability") -> Floats:
        """Return calibrated probabilities, none of them exactly 0 or 1.

        Parameters
        ----------
        y_prob, scale
            As in `Recalibrator.transform`.
        by : array_like of shape (n,), mapping from name to such, or data frame
            The group of each row, by the columns of the fit. Groups that the
            fit did not see have the one map.

        Returns
        -------
        array of the shape of y_prob
        """
        state = self.state
        q, n_columns = self.shared_.of_each_class(y_prob, scale)
        columns = columns_of(by)
        named = isinstance(by, Mapping) or hasattr(by, "columns") or hasattr(by, "column_names")
        if len(columns) != len(state.by) or (named and set(columns) != set(state.by)):
            raise InputError(f"by: expected the columns {', '.join(state.by)}, got {', '.join(columns)}.")
        ordered = {name: columns[name] for name in state.by} if set(columns) == set(state.by) else columns
        for key, rows in row_keys(ordered, len(q)).groups():
            q[rows] = state.maps.changed(key, q[rows])
        return in_shape_of(y_prob, q, n_columns)

    def to_dict(self) -> dict[str, Any]:
        """Give the fitted maps as plain values: what `save` writes."""
        return groups_dict(self.state, {"folds": self.folds, "seed": self.seed})

    @classmethod
    def from_dict(cls, data: Any) -> GroupRecalibrator:
        """Make a recalibrator of what `to_dict` gave; anything else is refused with the reason."""
        state, settings = groups_of(data)
        checked_settings("auto", False, settings["folds"], settings["seed"])
        return cls(**settings)._set(state)

    def __repr__(self) -> str:
        """Name it in one line."""
        fitted = "" if self._state is None else f"fitted: {len(self.weights_)} groups by {', '.join(self.by_)}"
        return f"GroupRecalibrator({fitted})"
