"""`TwoClassModel`: [N17]'s example of two classes as a tool, with everything about it computed exactly."""

from __future__ import annotations

import math
from functools import cached_property
from itertools import pairwise
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike

from .._lib.arrays import floats
from .._lib.dataclasses import Frozen
from .._lib.elementary import expit, log_expit, logit
from .._lib.errors import InputError, check_choice, check_whole, is_number
from .._lib.typing import ByValue, Floats, Ints, ReadOnlyArrays
from ..statistics.means import DECISIVE, GEOMETRIC, ROBUST, Averages, divergence_probability, orientation, slope
from .distributions.gaussian import CoupledGaussian
from .distributions.parameters import generator
from .information import log_mean
from .log_odds import REACH, LogOdds

Which = Literal["source", "model"]
Of = Literal["reported", "source", "measured"]
Rates = Literal["actual", "predicted"]

_OFFSETS = np.array([0.0, 1.0, 3.0, 10.0])
"""In scales to either side of each class: ends of panels of the quadrature, so that none hides a narrow class."""

_CURVE = (np.arange(250) + 0.5) / 250
"""Quantiles of each class at whose log odds the ROC curve is computed."""


class TwoClassModel(Frozen):
    """Two classes on a line: how data arise, and what a forecaster believes who reports posterior probabilities.

    Because the truth is known, every figure is exact: what is reported, what it should have been and how often it
    comes true. [N17] sections 4 to 6.

    Parameters
    ----------
    source : pair of ClassParameters
        How data arise: classes 0 and 1.
    model : pair of ClassParameters, optional
        What the forecaster believes; the source by default, which makes the forecaster perfect.
    priors : pair of float, default (0.5, 0.5)
        Prior probabilities of the classes, of source and model alike.
    limit : float, default 0.01
        Reported probabilities are kept within [limit, 1 - limit]; in [0, 0.5).

    Raises
    ------
    InputError
        For anything else than pairs of `ClassParameters`, for priors that are not positive or do not sum to 1, and
        for a limit out of its range.

    Notes
    -----
    The posterior of class j is proportional to prior_j amplitude_j density_j(x), for the source as for the model. An
    amplitude of the source is therefore a prior, and one of the model a mistaken prior. Where both densities are 0 the
    posterior is the prior, amplitudes included.

    Means are integrals over the line, cut wherever the log odds turn, meet the limit or make a kink otherwise, by
    double-exponential quadrature. Their error is below 1e-9; without a limit and with a
    coupling below -1/2, below 1e-6.
    With ``limit=0`` means of order 0 and below are 0 if an outcome with probability 0 can occur, or if their
    integral diverges.

    Examples
    --------
    [N17] Fig. 6c: the forecaster believes the second class to be normal, and it is heavy-tailed.

    >>> from unperplexed.theory import ClassParameters, TwoClassModel
    >>> green, orange = ClassParameters(coupling=0.5), ClassParameters(mean=2, coupling=0.5)
    >>> forecaster = TwoClassModel((green, orange), (green, ClassParameters(mean=2)))
    >>> exact = forecaster.averages()
    >>> round(exact.reported.geometric_accuracy, 4), round(exact.measured.geometric_accuracy, 4)
    (0.5432, 0.5998)
    >>> round(exact.slope, 2), round(exact.divergence_probability, 3)
    (0.32, 0.906)
    """

    source: tuple[ClassParameters, ClassParameters]
    model: tuple[ClassParameters, ClassParameters] = None  # type: ignore[assignment]
    priors: tuple[float, float] = (0.5, 0.5)
    limit: float = 0.01

    def __post_init__(self) -> None:
        """Check the parameters."""
        object.__setattr__(self, "source", _pair("source", self.source))
        object.__setattr__(self, "model", self.source if self.model is None else _pair("model", self.model))
        object.__setattr__(self, "priors", _priors(self.priors))
        if not isinstance(self.limit, int | float | np.number) or not 0 <= self.limit < 0.5:
            raise InputError(f"limit: must be at least 0 and below 0.5, got {self.limit!r}.")

    def likelihoods(self, x: ArrayLike, which: Which = "source") -> Floats:
        """Amplitude times density of each class at x.

        Parameters
        ----------
        x : array_like
            Points on the line.
        which : {"source", "model"}, default "source"
            Whose likelihoods.

        Returns
        -------
        ndarray of shape (*x.shape, 2)

        Raises
        ------
        InputError
            For another name.
        """
        check_choice("which", which, get_args(Which))
        amplitudes = np.array([c.amplitude for c in self._classes(which)])
        return np.asarray(amplitudes * self._densities(which).pdf(floats(x, "x")[..., None]))

    def posteriors(self, x: ArrayLike, which: Which = "model") -> Floats:
        """Posterior probability of each class at x: what the model reports, or what is true.

        Parameters
        ----------
        x : array_like
            Points on the line.
        which : {"model", "source"}, default "model"
            "model": the reported probabilities, within [limit, 1 - limit]; "source": the true ones, unlimited.

        Returns
        -------
        ndarray of shape (*x.shape, 2)

        Raises
        ------
        InputError
            For another name.
        """
        check_choice("which", which, get_args(Which))
        odds = self._log_odds[which].unbounded(floats(x, "x"))  # so that clipping gives the limits to the last digit
        p = expit(np.stack([-odds, odds], axis=-1))
        return np.asarray(np.clip(p, self.limit, 1 - self.limit) if which == "model" else p)

    def sample(self, n: int, random_state: int | np.random.Generator | None = None) -> tuple[Ints, Floats, Floats]:
        """Draw forecasts and outcomes.

        Parameters
        ----------
        n : int
            How many.
        random_state : int, numpy.random.Generator or None
            Seed or generator; the same seed gives the same draws.

        Returns
        -------
        y : ndarray of shape (n,)
            Outcomes, 0 or 1, with the source's prior probabilities, amplitudes included.
        x : ndarray of shape (n,)
            Points on the line.
        y_prob : ndarray of shape (n, 2)
            Reported probabilities.

        Raises
        ------
        InputError
            For n that is no whole number of at least 0, or another seed.
        """
        n, rng = check_whole("n", n, 0), generator(random_state)
        y = (rng.random(n) < self._weights("source")[1]).astype(np.int64)
        d = self._densities("source")
        x = CoupledGaussian(d.loc[y], d.scale[y], d.coupling[y]).rvs(random_state=rng)
        return y, x, self.posteriors(x)

    def averages(self, view: ExactView = "all-classes") -> TwoClassAverages:
        """Exact decisiveness, geometric accuracy and robustness, reported, true and measured.

        Parameters
        ----------
        view : {"all-classes", "each-class"}, default "all-classes"
            Whether the measured probability pools a reported value over both classes, or treats each class separately.
            The means are over both classes together.

        Returns
        -------
        TwoClassAverages
            With ``reported``, ``source`` and ``measured`` averages, ``prediction_accuracy``,
            ``divergence_probability``, ``source_divergence_probability`` and ``slope``.

        Raises
        ------
        InputError
            For another view.

        Notes
        -----
        Reported, source and measured probabilities are all kept within [limit, 1 - limit], so that the three
        are the same for a perfect model, and the divergence probability is at most 1, at any limit.
        """
        check_choice("view", view, get_args(ExactView))

        def three(of: Of) -> Averages:
            return Averages(*(self.generalized_mean(r, of, view) for r in (DECISIVE, GEOMETRIC, ROBUST)))

        above = self._log_odds["model"].share_above(np.zeros(1), self._densities("source"))[0]
        right = self._weights("source") * [1 - above[0], above[1]]
        return TwoClassAverages(three("reported"), three("source"), three("measured"), float(right.sum()), view)

    def generalized_mean(self, r: float, of: Of = "reported", view: ExactView = "all-classes") -> float:
        """Exact generalized mean of the probabilities of the observed class. Larger is better.

        Parameters
        ----------
        r : float
            Order, finite.
        of : {"reported", "source", "measured"}, default "reported"
            Reported, true or measured probabilities, each within [limit, 1 - limit].
        view : {"all-classes", "each-class"}, default "all-classes"
            How they are measured; see `averages`.

        Returns
        -------
        float

        Raises
        ------
        InputError
            For an order that is not finite, or another name.
        """
        check_choice("of", of, get_args(Of))
        check_choice("view", view, get_args(ExactView))
        if not isinstance(r, int | float | np.number) or not np.isfinite(r):
            raise InputError(f"r: the order must be finite, got {r!r}.")
        x, weight = self._nodes
        if (of, view) not in self._known:
            self._known[of, view] = self._log_probabilities(x, of, view)
        if self.limit == 0 and r <= 0 and self._diverges(float(r), of, view):
            return 0.0
        weights = self._weights("source") * weight
        with np.errstate(over="ignore"):
            return float(np.exp(log_mean(weights.ravel(), self._known[of, view].ravel(), float(r))))

    def measured(self, p: ArrayLike, view: ExactView = "all-classes") -> Floats:
        """Exact measured (calibrated) probability: the frequency of outcomes predicted with probability p.

        Parameters
        ----------
        p : array_like
            Reported probabilities in [0, 1].
        view : {"all-classes", "each-class"}, default "all-classes"
            Whether the probability p is pooled over both classes, or refers to each class.

        Returns
        -------
        ndarray of shape (*p.shape,), or (*p.shape, 2) for each class
            NaN where p is never reported. Without a limit that is so of 0 and 1, to which reported probabilities
            merely round.

        Raises
        ------
        InputError
            For p outside [0, 1] or another view.

        Notes
        -----
        A value p is reported at every x where the model's log odds are logit(p); each counts by the source's density
        there over the slope of the log odds. Values with a probability of their own, such as the limits or, where
        both compact supports end, the prior, are measured by that probability alone.
        """
        check_choice("view", view, get_args(ExactView))
        p = floats(p, "p")
        if np.any((p < 0) | (p > 1)):
            raise InputError(f"p: expected probabilities in [0, 1], got {p[(p < 0) | (p > 1)][0]}.")
        odds = np.asarray(logit(p))
        ones = np.exp(self._log_measured(odds, view)[..., 1])
        if view == "all-classes":
            return np.asarray(ones)
        return np.stack([np.exp(self._log_measured(-odds, view)[..., 0]), ones], axis=-1)

    def roc(self, which: Rates = "actual") -> TwoClassROC:
        """Receiver operating characteristic of the reported probability of class 1.

        Parameters
        ----------
        which : {"actual", "predicted"}, default "actual"
            Rates by the source's distributions, or by those the model believes in ([N17] Fig. 2d).

        Returns
        -------
        TwoClassROC
            The curve, its area and the point of the maximum posterior.

        Raises
        ------
        InputError
            For another name.
        """
        check_choice("which", which, get_args(Rates))
        odds, classes = self._log_odds["model"], self._densities("source" if which == "actual" else "model")
        atoms = odds.atoms(classes)[0]
        ends = [level for s in odds.segments for level in (s.first, s.last)]
        points = odds(np.asarray(classes.ppf(_CURVE[:, None])).ravel())
        levels = np.unique(np.concatenate([points, ends, [0.0]]))[::-1]
        # A tie is passed in one step: called negative just at it, positive just below.
        threshold = np.concatenate([expit(levels), np.nextafter(expit(atoms), -1)])
        rates = np.concatenate([odds.share_above(levels, classes, 0.0), odds.share_above(atoms, classes, 1.0)])
        order = np.argsort(-threshold, kind="stable")
        curve = np.vstack([[0.0, 0.0], rates[order], [1.0, 1.0]])
        x, weight = self._nodes if which == "actual" else self._line_nodes(classes)
        below = 1 - odds.share_above(odds(x), classes)[:, 0]
        middle = odds.share_above(np.zeros(1), classes)[0]
        return TwoClassROC(
            threshold=np.concatenate([[np.inf], threshold[order], [-np.inf]]),
            false_positive_rate=np.maximum.accumulate(curve[:, 0]),
            true_positive_rate=np.maximum.accumulate(curve[:, 1]),
            area=float((weight[:, 1] * below).sum() / weight[:, 1].sum()),
            maximum_posterior=(float(middle[0]), float(middle[1])),
        )

    def _classes(self, which: Which) -> tuple[ClassParameters, ClassParameters]:
        return self.source if which == "source" else self.model

    def _densities(self, which: Which) -> CoupledGaussian:
        classes = self._classes(which)
        return CoupledGaussian(
            [c.mean for c in classes], [math.sqrt(c.variance) for c in classes], [c.coupling for c in classes]
        )

    def _weights(self, which: Which) -> Floats:
        weights = np.array([c.amplitude * p for c, p in zip(self._classes(which), self.priors, strict=True)])
        return np.asarray(weights / weights.sum())

    @property
    def _bound(self) -> float:
        return math.log1p(-self.limit) - math.log(self.limit) if self.limit > 0 else math.inf

    @cached_property
    def _log_odds(self) -> dict[Which, LogOdds]:
        bounds: dict[Which, float] = {"source": math.inf, "model": self._bound}
        priors = {which: float(np.diff(np.log(self._weights(which)))[0]) for which in bounds}
        return {which: LogOdds(self._densities(which), priors[which], bound) for which, bound in bounds.items()}

    @cached_property
    def _known(self) -> dict[tuple[str, str], Floats]:
        """Logarithms of probabilities at the nodes that were asked for before."""
        return {}

    @cached_property
    def _nodes(self) -> tuple[Floats, Floats]:
        return self._line_nodes(self._densities("source"))

    def _line_nodes(self, classes: CoupledGaussian) -> tuple[Floats, Floats]:
        """Points x and what each stands for of each class's probability, a column a class."""
        reach = REACH * float(np.min(classes.scale))
        kinks = np.concatenate([each.kinks() for each in self._log_odds.values()])
        # Each panel reaches at most a thousand times as far out as the last one, or it would hide its own start.
        far = 10.0 ** np.arange(4, 1 + np.log10(np.abs(kinks).max(initial=1) / np.min(classes.scale)), 3)
        steps = np.concatenate([_OFFSETS, far])
        own = [d.loc + d.scale * np.c_[steps, -steps].reshape(-1, 1) for d in map(self._densities, get_args(Which))]
        breaks = np.unique(np.concatenate([kinks, *(a.ravel() for a in own)]))
        breaks = breaks[np.abs(breaks) < reach * 1e-9]
        x, dx = line_nodes(breaks, float(breaks[-1] - breaks[0]) / 2, reach)
        weight = classes.pdf(x[:, None]) * dx[:, None]
        x = np.concatenate([x, [-reach, reach]])
        weight = np.concatenate([weight, classes.cdf([[-reach]]), classes.sf([[reach]])])
        seen = weight.any(axis=1)
        return x[seen], weight[seen]

    def _log_probabilities(self, x: Floats, of: Of, view: ExactView) -> Floats:
        """Logarithms of the limited probabilities of both classes at x."""
        odds = self._log_odds["source" if of == "source" else "model"](x)
        if of == "measured":
            found = self._log_measured(odds, view)
            # Rounding may put a level's points out of the source's support, but x is one of them.
            found = np.where(np.isnan(found), self._log_probabilities(x, "source", view), found)
            with np.errstate(divide="ignore"):
                return np.asarray(np.clip(found, np.log(self.limit), np.log1p(-self.limit)))
        odds = np.clip(odds, -self._bound, self._bound)
        return np.asarray(log_expit(np.stack([-odds, odds], axis=-1)))

    def _log_measured(self, odds: Floats, view: ExactView) -> Floats:
        """Log of the frequency of each class at reported log odds, or at their mirror image."""
        model, source, weights = self._log_odds["model"], self._densities("source"), np.log(self._weights("source"))
        joint, has_mass = model.log_density_at(odds, source)
        joint += weights
        if view == "all-classes":
            mirrored, mirrored_has_mass = model.log_density_at(-odds, source)
            mirrored = (mirrored + weights)[..., ::-1]
            # Any mass outweighs any density.
            joint[mirrored_has_mass & ~has_mass] = -np.inf
            mirrored[has_mass & ~mirrored_has_mass] = -np.inf
            joint = np.logaddexp(joint, mirrored)
        with np.errstate(invalid="ignore"):
            return np.asarray(joint - np.logaddexp(joint[..., :1], joint[..., 1:]))

    def _diverges(self, r: float, of: Of, view: ExactView) -> bool:
        """Whether the integral of a mean has no end: whether x times what it adds does not fall in a tail."""
        classes = self._densities("source")
        far = REACH * float(np.min(classes.scale)) * np.array([1e-3, 1.0])
        for x in (-far, far):
            p = self._log_probabilities(x, of, view)
            with np.errstate(divide="ignore", invalid="ignore"):
                term = classes.logpdf(x[:, None]) + np.log(far)[:, None] + (np.log(-p) if r == 0 else r * p)
                if np.any(np.diff(term, axis=0) > -1e-6):
                    return True
        return False


def _pair(name: str, classes: Any) -> tuple[ClassParameters, ClassParameters]:
    pair = tuple(classes) if isinstance(classes, list | tuple) else ()
    if len(pair) != 2 or not all(isinstance(c, ClassParameters) for c in pair):
        raise InputError(f"{name}: expected a pair of ClassParameters, got {classes!r}.")
    return pair


_ROUNDING = 1e-9
"""By how much the sum of two priors may differ from 1."""


def _priors(priors: Any) -> tuple[float, float]:
    try:
        first, second = (float(p) for p in priors)
    except (TypeError, ValueError):
        raise InputError(f"priors: expected two numbers, got {priors!r}.") from None
    if not (first > 0 and second > 0 and abs(first + second - 1) <= _ROUNDING):
        raise InputError(f"priors: must be positive and sum to 1, got {priors!r}.")
    return first, second


_STEP = 1 / 16
"""Of the double exponential quadrature, in its variable."""
_FINITE = _STEP * np.arange(-51, 52)
"""At their ends a panel of length 1 is met to 1e-17."""


def line_nodes(breaks: Floats, unit: float, reach: float) -> tuple[Floats, Floats]:
    """Nodes and weights for integrals from -reach to reach of functions analytic between sorted breaks.

    Both substitutions (tanh-sinh; exp-sinh beyond the outermost breaks) crowd nodes towards the breaks, where
    functions may have kinks, roots and infinite slopes, and towards reach in powers, as heavy tails want it.
    """
    panels = [_finite_panel(a, b) for a, b in pairwise(breaks.tolist())]
    x, weight = _tail(unit, reach - np.abs(breaks).max())
    panels += [(breaks[0] - x, weight), (breaks[-1] + x, weight)]
    xs, weights = zip(*panels, strict=True)
    return np.concatenate(xs), np.concatenate(weights)


def _finite_panel(a: float, b: float) -> tuple[Floats, Floats]:
    share = 1 / (1 + np.exp(-np.pi * np.sinh(_FINITE)))
    x = np.where(_FINITE < 0, a + (b - a) * share, b - (b - a) * share[::-1])
    return x, (b - a) * _STEP * np.pi * np.cosh(_FINITE) * share * share[::-1]


def _tail(unit: float, reach: float) -> tuple[Floats, Floats]:
    """Distances from the outermost break, and weights."""
    last = np.arcsinh(np.log(reach / unit) * 2 / np.pi)
    t = _STEP * np.arange(-62, int(last / _STEP) + 1)
    x = unit * np.exp(np.pi / 2 * np.sinh(t))
    return x, x * _STEP * np.pi / 2 * np.cosh(t)


ExactView = Literal["all-classes", "each-class"]


class ClassParameters(ByValue):
    """One class of a `TwoClassModel`: a coupled Gaussian likelihood and a factor on it.

    Parameters
    ----------
    mean : float, default 0
        Location. The mean where there is one (coupling below 1).
    variance : float, default 1
        Square of the scale, above 0. It is the variance at coupling 0 only; heavy tails have a larger variance or none.
    coupling : float, default 0
        Above -1: heavy tails above 0 (Student's t with 1/coupling degrees of freedom), normal at 0, compact support
        below.
    amplitude : float, default 1
        Factor on the likelihood, above 0. It acts as a factor on the class's prior does.

    Raises
    ------
    InputError
        For a parameter out of its range.

    Examples
    --------
    >>> from unperplexed.theory import ClassParameters
    >>> ClassParameters(mean=2, coupling=0.5)
    ClassParameters(mean=2, variance=1.0, coupling=0.5, amplitude=1.0)
    """

    mean: float = 0.0
    variance: float = 1.0
    coupling: float = 0.0
    amplitude: float = 1.0

    def __post_init__(self) -> None:
        """Check the ranges."""
        for name, lowest in (("mean", -math.inf), ("variance", 0.0), ("coupling", -1.0), ("amplitude", 0.0)):
            value = getattr(self, name)
            if not is_number(value) or not lowest < value < math.inf:
                rule = f"finite and above {lowest:g}" if lowest > -math.inf else "finite"
                raise InputError(f"{name}: must be {rule}, got {value!r}.")


class TwoClassAverages(ByValue):
    """Exact averages of a `TwoClassModel`. Larger is better.

    All probabilities are limited as reported ones are before they are averaged.
    """

    reported: Averages
    """Means of the reported probabilities of the observed class."""
    source: Averages
    """Means of the true posterior probabilities of the observed class."""
    measured: Averages
    """Means of the measured (recalibrated) probabilities of the observed class."""
    prediction_accuracy: float
    """Probability that the more probable class is observed; a tie counts 1/2. Larger is better."""
    view: ExactView

    @property
    def divergence_probability(self) -> float:
        """Reported / measured geometric accuracy, at most 1; 1 is best."""
        return divergence_probability(self.reported, self.measured)

    @property
    def source_divergence_probability(self) -> float:
        """Reported / source geometric accuracy, at most 1; exp of minus the divergence of the posteriors."""
        return divergence_probability(self.reported, self.source)

    @property
    def slope(self) -> float:
        """(measured D - R) / (reported D - R): 1 is best, below 1 overconfident, above 1 underconfident."""
        return slope(self.reported, self.measured)

    @property
    def orientation(self) -> float:
        """Angle of the D-R line in degrees: 45 is best, above it overconfident, below it underconfident."""
        return orientation(self.reported, self.measured)


class TwoClassROC(ReadOnlyArrays):
    """Receiver operating characteristic of a `TwoClassModel`; class 1 is the positive one.

    One array entry for each threshold, from (0, 0) to (1, 1); between neighbours the curve is straight where thresholds
    tie, and otherwise so nearly.
    """

    threshold: Floats
    """Reported probabilities of class 1: those above it are called positive. Infinite at (0, 0)."""
    false_positive_rate: Floats
    true_positive_rate: Floats
    area: float
    """Area under the exact curve. Larger is better."""
    maximum_posterior: tuple[float, float]
    """False and true positive rate when the class reported as more probable is called, ties for either in half."""
