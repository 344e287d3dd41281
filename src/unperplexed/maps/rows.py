"""How well maps of C classes fit rows: a likelihood over chunks of rows, in the precision that they come in."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np

from .._lib.elementary import expit, logit, of_rows
from .._lib.typing import AnyFloats, Floats, Ints
from ..statistics.matrices import product
from .classes import BLOCK_VALUES, CURVES, ClassMap, class_tail, log_rest, softmax
from .parameters import LAPSE, LAPSES, LEAST_LAPSE, MOST_LAPSE
from .two import SMALLEST

WIDE = ("biases", "slopes")
"""Parameters with a coefficient for each class."""

_LEAST_SLOPE = 1e-3
"""Slope of a map that may not fall to 0, at the least."""
_HIGHEST = 60.0
"""Exponential functions of more are close to the largest number of single precision."""
_WIDE = 1024
"""Rows of which products of matrices are made at a time: each is added to the square of the number of classes."""
_PRODUCTS = 2e9
"""Products of two classes' probabilities that an information is made of at most, about .2 s: of more every second,
third ... row, so that correlations of classes are known to some 2%. Gradients, and so maxima, are of all rows."""


def every(rows: int, classes: int) -> int:
    """Return the distance of the rows of which an information has products of classes."""
    return max(1, int(rows * classes**2 // _PRODUCTS))


@dataclass(slots=True, eq=False)
class Chunk:
    """A few rows."""

    log_p: AnyFloats
    """Finite log-probabilities, (n, C)."""
    truth: Ints
    weights: Floats
    curves: dict[str, AnyFloats] = field(init=False, repr=False, default_factory=dict)
    _places: dict[str, Ints] = field(init=False, repr=False, default_factory=dict)
    """Where one value of each row is among all: that of the observed class, and of the most probable one."""

    def top(self, values: AnyFloats) -> AnyFloats:
        """Return the value of the class of each row that was predicted as the most probable."""
        if "top" not in self._places:
            self._places["top"] = self._place(self.log_p.argmax(axis=1))
        return np.asarray(values.take(self._places["top"]))

    def curve(self, name: str) -> AnyFloats:
        """Return a curve of the log-odds, as all classes share it."""
        if name not in self.curves:
            found = class_tail(self.log_p) if name == "tail" else log_rest(self.log_p)
            self.curves[name] = found.astype(self.log_p.dtype, copy=False)
        return self.curves[name]

    def direction(self, name: str) -> AnyFloats:
        """Return what a shared parameter multiplies."""
        return self.log_p if name == "slope" else self.curve(name)

    def pick(self, values: AnyFloats) -> Floats:
        """One value a row: that of the observed class."""
        if "truth" not in self._places:
            self._places["truth"] = self._place(self.truth)
        return np.asarray(values.take(self._places["truth"]), dtype=np.float64)

    def _place(self, column: Ints) -> Ints:
        return np.asarray(np.arange(column.size) * self.log_p.shape[1] + column)


def chunks_of(log_p: Floats, truth: Ints, weights: Floats) -> list[Chunk]:
    """Return rows that are in memory in chunks that stay in the cache."""
    step = max(1, BLOCK_VALUES // log_p.shape[1])
    at = (slice(low, low + step) for low in range(0, truth.size, step))
    return [Chunk(log_p[here], truth[here], weights[here]) for here in at]


class Curvature(NamedTuple):
    """Second derivatives of the log-likelihood by the scores t: the information of a row is diag(s) - h q' - q h'."""

    q: Floats
    """Probabilities before the lapse."""
    mixed: Floats
    """Probabilities after the lapse."""
    s: Floats
    h: Floats


def curvature(t: Floats, weights: Floats, e: float) -> Curvature:
    """Return the second derivatives of rows with scores t and the lapse e."""
    q = softmax(t)
    mixed = (1 - e) * q + e / q.shape[1] if e else q
    s = weights[:, None] * q
    if e:
        s *= (1 - e) ** 2 * q / np.maximum(mixed, 1e-300)
    h = s - 0.5 * of_rows(np.add, s) * q if e else 0.5 * s
    return Curvature(q, mixed, s, h)


def derivatives(
    chunk: Chunk, fitted: ClassMap, names: Iterable[str], further: Iterable[AnyFloats] = ()
) -> tuple[list[Floats], Floats]:
    """Return the derivatives of mapped log-probabilities, and mapped probabilities, all (n, C) in double precision.

    They are by parameters that all classes share, the log-odds of the lapse among them, and by what ``further``
    directions would add to the log-odds.

    Parameters
    ----------
    chunk : Chunk
        n rows of C classes.
    fitted : ClassMap
    names : iterable of str
        Some of ``slope``, ``rest``, ``tail``, ``lapse``.
    further : iterable of arrays of shape (n, C), default ()
        Other directions.

    Returns
    -------
    tuple of list of arrays and array
        The derivatives, in the order of ``names`` and then of ``further``; and the probabilities.
    """
    names, e = list(names), fitted.lapse
    curves = {name: chunk.curve(name) for name in CURVES if name in fitted.shared}
    q = softmax(fitted.scores(chunk.log_p, curves).astype(np.float64, copy=False))
    even = 1 / q.shape[1]
    mixed = np.maximum((1 - e) * q + e * even, 1e-300)
    rise = (1 - e) * q / mixed
    directions = [*(chunk.direction(name) for name in names if name != LAPSE), *further]
    found = [rise * (x - np.einsum("ij,ij->i", q, x)[:, None]) for x in directions]
    if LAPSE in names:
        found.insert(names.index(LAPSE), e * (1 - e) * (even - q) / mixed)
    return found, mixed


class Pull(NamedTuple):
    """First derivatives of the log-likelihood by the scores t: those of a row are pull [class observed] - share f."""

    value: float
    """Log-likelihood."""
    f: AnyFloats
    """Probabilities before the lapse, of which each row is scaled."""
    pull: Floats
    share: Floats
    """The pull, divided by the sum of the row's f."""
    lapse: float
    """Derivative by the log-odds of the lapse."""


def observed(chunk: Chunk, t: AnyFloats) -> tuple[Floats, Floats]:
    """Turn scores t in place into exp(t) up to a factor; return their sums and the observed classes' log-probabilities.

    The observed class may be so improbable that its probability is 0 to the last digit.
    """
    if t.max(initial=0.0) > _HIGHEST or chunk.top(t).min(initial=0.0) < -_HIGHEST:
        t -= of_rows(np.maximum, t)
    mine = chunk.pick(t)
    np.exp(t, out=t)
    total = product(t, np.ones(t.shape[1], t.dtype)).astype(np.float64, copy=False)
    return total, mine - np.log(total)


def pulled(chunk: Chunk, t: AnyFloats, e: float) -> Pull:
    """Return the first derivatives of rows with scores t, which are used up, and the lapse e."""
    (total, log_q), w, lapse = observed(chunk, t), chunk.weights, 0.0
    if e:
        q, even = np.exp(log_q), 1 / t.shape[1]
        mixed = (1 - e) * q + e * even
        value, lapse = float(product(w, np.log(mixed))), float(product(w, e * (1 - e) * (even - q) / mixed))
        w = w * ((1 - e) * q / mixed)
    else:
        value = float(product(w, log_q))
    return Pull(value, t, w, w / total, lapse)


def places_of(parameters: Sequence[str], classes: int) -> dict[str, slice]:
    """Return where the coefficients of some parameters are, whatever the order in which they are named."""
    names = [name for name in ("slope", *CURVES, *WIDE, LAPSE) if name in parameters]
    ends = np.cumsum([0, *(classes if name in WIDE else 1 for name in names)]).tolist()
    return {name: slice(low, high) for name, low, high in zip(names, ends, ends[1:], strict=False)}


class Coefficients:
    """Coefficients of maps with some parameters in one vector, whatever the order in which these are named.

    Parameters
    ----------
    classes : int
        Number of classes.
    parameters : sequence of str
        Of the map: some of ``slope``, ``rest``, ``tail``, ``biases``, ``slopes``, ``lapse``.
    """

    def __init__(self, classes: int, parameters: Sequence[str]) -> None:
        self.classes = classes
        self.shared = [name for name in ("slope", *CURVES) if name in parameters]
        self.wide = [name for name in WIDE if name in parameters]
        self.places = places_of(parameters, classes)
        self.size = max((place.stop for place in self.places.values()), default=0)

    def map_of(self, theta: Floats, name: str = "", zero: float = SMALLEST) -> ClassMap:
        """Return the map with these coefficients."""
        shared = {each: float(theta[self.places[each]][0]) for each in self.shared}
        wide: dict[str, Any] = {each: theta[self.places[each]].copy() for each in self.wide}
        lapse = float(expit(theta[-1])) if LAPSE in self.places else 0.0
        return ClassMap(name, shared, **wide, lapse=lapse, zero=zero)

    def theta_of(self, fitted: ClassMap) -> Floats:
        """Return the coefficients of a map; those that it lacks are 0."""
        theta = np.zeros(self.size)
        for name in self.shared:
            theta[self.places[name]] = fitted.value(name)
        for name in self.wide:
            theta[self.places[name]] = 0.0 if (own := getattr(fitted, name)) is None else own
        if LAPSE in self.places:
            theta[-1] = logit(fitted.lapse)
        return theta

    def within(self, theta: Floats) -> Floats:
        """Return the coefficients moved to where they may be."""
        theta = theta.copy()
        if LAPSE in self.places:
            theta[-1] = np.clip(theta[-1], LEAST_LAPSE, MOST_LAPSE)
        return theta

    def begun(self, theta: Floats) -> Floats | None:
        """Return None: where there is a lapse, it stays."""


class Rows(Coefficients):
    """Likelihood of maps with some parameters; see `fit.Likelihood`.

    Parameters
    ----------
    chunks : iterable of Chunk
        All rows, each time from the beginning.
    classes, parameters
        As of `Coefficients`.
    rows : int
        How many there are, about.
    rising : bool
        Whether a slope may not fall to 0, where no curve stands beside it.
    """

    def __init__(
        self, chunks: Iterable[Chunk], classes: int, parameters: Sequence[str], rows: int = 0, rising: bool = False
    ) -> None:
        super().__init__(classes, parameters)
        self.chunks, self.rising, self.every = chunks, rising, every(rows, classes)

    def within(self, theta: Floats) -> Floats:
        """Return the coefficients moved to where they may be."""
        theta = super().within(theta)
        if self.rising and self.shared == ["slope"]:
            theta[0] = max(theta[0], _LEAST_SLOPE - 1)
        return theta

    def begun(self, theta: Floats) -> Floats | None:
        """Return the coefficients with the best lapse of a grid; None where by its score at 0 none helps."""
        heights, score, at = np.zeros(LAPSES.size), 0.0, expit(LAPSES)[:, None]
        for chunk, t in self._scored(self.map_of(theta)):
            q = np.maximum(np.exp(observed(chunk, t)[1]), 1e-300)
            score += float(product(chunk.weights, 1 / (self.classes * q) - 1))
            heights += product(np.log((1 - at) * q + at / self.classes), chunk.weights)
        if not score > 0:
            return None
        return np.append(theta[:-1], LAPSES[int(heights.argmax())])

    def _scored(self, fitted: ClassMap) -> Iterator[tuple[Chunk, AnyFloats]]:
        """Yield the rows with their scores."""
        as_they_come: dict[Any, ClassMap] = {}
        for chunk in self.chunks:
            kind = chunk.log_p.dtype.type
            if kind not in as_they_come:
                wide = {name: getattr(fitted, name).astype(kind) for name in self.wide}
                as_they_come[kind] = replace(fitted, **wide)
            curves = {name: chunk.curve(name) for name in self.shared if name in CURVES}
            yield chunk, as_they_come[kind].scores(chunk.log_p, curves)

    def ascent(self, theta: Floats) -> tuple[float, Floats]:
        """Return the log-likelihood and its gradient."""
        fitted, value, gradient = self.map_of(theta), 0.0, np.zeros(self.size)
        for chunk, t in self._scored(fitted):
            height, f, pull, share, by_lapse = pulled(chunk, t, fitted.lapse)
            value += height
            for name in self.shared:
                x = chunk.direction(name)
                gradient[self.places[name]] += product(pull, chunk.pick(x)) - product(
                    share, np.einsum("ij,ij->i", f, x)
                )
            wide = share.astype(f.dtype, copy=False)
            if "biases" in self.places:
                gradient[self.places["biases"]] += np.bincount(chunk.truth, pull, self.classes) - product(wide, f)
            if "slopes" in self.places:
                seen = np.bincount(chunk.truth, pull * chunk.pick(chunk.log_p), self.classes)
                gradient[self.places["slopes"]] += seen - product(wide, f * chunk.log_p)
            if LAPSE in self.places:
                gradient[-1] += by_lapse
        return value, gradient

    def information(self, theta: Floats) -> Floats:
        """Return the Fisher information; of many classes their correlations are those of every so many rows."""
        fitted, found = self.map_of(theta), np.zeros((self.size, self.size))
        wide, variance = np.zeros((self.size, self.size)), np.zeros(self.size)
        pairs: list[tuple[Floats, Floats]] = []
        for chunk, t in self._scored(fitted):
            bent = curvature(t.astype(np.float64, copy=False), chunk.weights, fitted.lapse)
            self._add(chunk, bent, fitted.lapse, found)
            if fitted.lapse:
                self._add_lapse(chunk, bent, fitted.lapse, found)
            if self.wide:
                pairs.append(self._add_wide(chunk, bent, wide, variance))
                if sum(len(h) for h, _ in pairs) >= max(self.classes, _WIDE):
                    self._take(pairs, wide)
                    pairs = []
        if pairs:
            self._take(pairs, wide)
        if self.every > 1:  # correlations of some rows, the variances of all
            scale = np.sqrt(variance / np.maximum(np.diag(wide), 1e-300))
            wide *= np.outer(scale, scale)
        found += wide
        found += np.tril(found, -1).T - np.triu(found, 1)
        return found

    def _add(self, chunk: Chunk, bent: Curvature, lapse: float, info: Floats) -> None:
        """Add to the lower triangle of the information what concerns shared parameters."""
        q, _, s, _ = bent
        directions = [chunk.direction(name) for name in self.shared]
        for row, x in enumerate(directions):
            turned = s * (x - np.einsum("ij,ij->i", q, x)[:, None])
            if lapse:
                turned -= q * of_rows(np.add, turned)
            info[row, : row + 1] += [float(np.vdot(turned, other)) for other in directions[: row + 1]]
            for name in self.wide:
                moved = turned.sum(axis=0) if name == "biases" else np.einsum("ij,ij->j", turned, chunk.log_p)
                info[self.places[name], row] += moved

    def _add_wide(self, chunk: Chunk, bent: Curvature, wide: Floats, variance: Floats) -> tuple[Floats, Floats]:
        """Add the squares of classes; return what their products are made of."""
        if self.every > 1:
            for name in self.wide:
                factor = chunk.log_p**2 if name == "slopes" else 1.0
                variance[self.places[name]] += ((bent.s - 2 * bent.h * bent.q) * factor).sum(axis=0)
        some = slice(None, None, self.every)
        z, (q, _, s, h) = chunk.log_p[some], (x[some] for x in bent)
        each, squares = np.arange(self.classes), {"biases": s, "slopes": s * z * z}
        for name in self.wide:
            wide[self.places[name], self.places[name]][each, each] += squares[name].sum(axis=0)
        if len(self.wide) == 2:
            wide[self.places["slopes"], self.places["biases"]][each, each] += np.einsum("ij,ij->j", s, z)
        factors = [z if name == "slopes" else 1.0 for name in self.wide]
        h, q = (np.concatenate([x * factor for factor in factors], axis=1) for x in (h, q))
        return h, q

    def _take(self, pairs: Sequence[tuple[Floats, Floats]], info: Floats) -> None:
        """Subtract products of classes."""
        h, q = (np.concatenate(each) for each in zip(*pairs, strict=True))
        at = slice(self.places[self.wide[0]].start, self.places[self.wide[-1]].stop)
        both = product(h.T, q)
        info[at, at] -= both + both.T

    def _add_lapse(self, chunk: Chunk, bent: Curvature, e: float, info: Floats) -> None:
        """Add what concerns the log-odds of the lapse, the last parameter."""
        scale, q = e * (1 - e), bent.q
        away = 1 / self.classes - q
        ratio = chunk.weights[:, None] * away / bent.mixed
        info[-1, -1] += scale**2 * float(np.vdot(ratio, away))
        x = (1 - e) * q * ratio
        cross = scale * (x - q * of_rows(np.add, x))
        for row, name in enumerate(self.shared):
            info[-1, row] += float(np.vdot(cross, chunk.direction(name)))
        for name in self.wide:
            info[-1, self.places[name]] += (
                cross.sum(axis=0) if name == "biases" else np.einsum("ij,ij->j", cross, chunk.log_p)
            )
