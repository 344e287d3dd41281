"""Fits of the maps for two classes to weights at distinct log-odds, with normal priors on additive coefficients."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from .._lib.elementary import expit, log_expit, logit
from .._lib.typing import Floats
from ..kernels.curves import shrunk_isotonic_curve
from ..kernels.isotonic import isotonic_bins, isotonic_means
from ..statistics.log_odds_maps import Counted
from .binary_maps import COLUMNS, AdditiveMap, BinaryMap, CurveMap
from .thinning import bend_points

COLUMNS_OF = {
    "identity": (),
    "bias": ("bias",),
    "temperature": ("slope",),
    "logistic": ("bias", "slope"),
    "beta": ("bias", "low", "high"),
    "tail": ("bias", "slope", "tail"),
}
"""Columns of each map. Where beta, tail or lapse would fall, and for lapse, they are those of the logistic map."""


def fit_binary_maps(
    names: Sequence[str], counted: Counted, largest: float, starts: Mapping[str, BinaryMap] | None = None
) -> dict[str, BinaryMap]:
    """Fit maps that never fall for log-odds up to the largest, from starts where there are some."""
    return {name: _fitted(name, counted, largest, (starts or {}).get(name)) for name in names}


def _fitted(name: str, counted: Counted, largest: float, start: BinaryMap | None) -> BinaryMap:
    if name in ("isotonic", "shrunk-isotonic"):
        return _curve(name, counted)
    begun = start if isinstance(start, AdditiveMap) else None
    if name == "lapse":
        return _with_lapse(counted, begun)
    columns = COLUMNS_OF[name]
    at = begun.coefficients if begun is not None and begun.columns == columns else None
    found = AdditiveMap(name, columns, _newton(columns, counted, at))
    if rises(found, largest):
        return found
    # The best line that does not fall is level: a temperature of infinity, or the base rate.
    return _level(name, counted) if name in ("temperature", "logistic") else _line(name, counted)


def _line(name: str, counted: Counted) -> AdditiveMap:
    """Return the logistic map under another name."""
    found = AdditiveMap(name, ("bias", "slope"), _newton(("bias", "slope"), counted))
    return found if found.coefficients[1] >= -1 else _level(name, counted)


def _level(name: str, counted: Counted) -> AdditiveMap:
    """Return the best map that gives one probability to all."""
    if name == "temperature":
        return AdditiveMap(name, ("slope",), (-1.0,))
    flat = Counted(np.zeros(1), counted.total.sum(keepdims=True), counted.positive.sum(keepdims=True))
    return AdditiveMap(name, ("bias", "slope"), (*_newton(("bias",), flat), -1.0))


def rises(found: AdditiveMap, largest: float) -> bool:
    """Return whether calibrated log-odds never fall, for log-odds between minus and plus the largest."""
    given = dict(zip(found.columns, found.coefficients, strict=True))
    slope = 1 + given.get("slope", 0.0)
    ends = (slope, slope + given.get("tail", 0.0) * math.log1p(largest))
    return min(*ends, 1 + given.get("low", 0.0), 1 + given.get("high", 0.0)) >= 0


def _newton(columns: Sequence[str], counted: Counted, start: Sequence[float] | None = None) -> tuple[float, ...]:
    """Maximise the likelihood of coefficients with an independent N(0, 1) prior on each: a convex problem."""
    if not columns:
        return ()
    x, s, positive = np.stack([COLUMNS[name](counted.s) for name in columns], axis=1), counted.s, counted.positive
    negative = counted.total - positive

    def height(b: Floats) -> float:
        t = s + x @ b
        return float(positive @ log_expit(t) + negative @ log_expit(-t) - b @ b / 2)

    b = np.zeros(len(columns)) if start is None else np.array(start, dtype=np.float64)
    now = height(b)
    for _ in range(_MOST_STEPS):
        q, other = expit(s + x @ b), expit(-(s + x @ b))
        gradient = x.T @ (positive * other - negative * q) - b
        information = (x * (counted.total * q * other)[:, None]).T @ x + np.eye(b.size)
        move, size = np.linalg.solve(information, gradient), 1.0
        while size > _SHORTEST and not (new := height(b + size * move)) >= now - 1e-12 * abs(now):
            size /= 2
        if size <= _SHORTEST:
            break
        b, now = b + size * move, new
        if size == 1 and float(gradient @ move) < _SAME:
            break
    return tuple(b.tolist())


_MOST_STEPS, _SHORTEST = 60, 1e-6

_SAME = 1e-11
"""A Newton step that gains less than this many nats is the last: the next one's is the square of it."""

_LAPSES = (3e-3, 0.1)
"""Where the search for a lapse begins."""

_SMALLEST_LAPSE, _LARGEST_LAPSE = math.log(1e-7), math.log(0.98)


def _with_lapse(counted: Counted, start: AdditiveMap | None) -> AdditiveMap:
    """Fit intercept, slope and lapse together."""
    columns = ("bias", "slope")
    if not counted.total.any():
        return AdditiveMap("lapse", columns, (0.0, 0.0))
    if start is not None and start.columns == columns and start.lapse > 0:
        begun = [(start.coefficients, start.lapse)]
    else:
        line = _newton(columns, counted)
        begun = [(line, lapse) for lapse in _LAPSES]
    _, coefficients, lapse = max((_lapse_search(counted, b, e) for b, e in begun), key=lambda each: each[0])
    if coefficients[1] < -1 or lapse < 2 * math.exp(_SMALLEST_LAPSE):
        return _line("lapse", counted)
    return AdditiveMap("lapse", columns, coefficients, lapse)


def _lapse_search(counted: Counted, line: Sequence[float], lapse: float) -> tuple[float, tuple[float, ...], float]:
    """Climb in intercept, slope and the logarithm of the lapse: Newton's method, Fisher scoring where it is convex."""
    positive, negative = counted.positive, counted.total - counted.positive

    def height(b: Floats) -> float:
        _, if_true, if_false = _lapsed(b, counted.s)
        return float(positive @ np.log(if_true) + negative @ np.log(if_false) - (b[:2] @ b[:2]) / 2)

    b = np.array([*line, math.log(lapse)])
    now = height(b)
    for _ in range(_MOST_STEPS):
        if _SMALLEST_LAPSE < b[2] < _SMALL_LAPSE and _falls(b, counted):
            # Given the line the likelihood is concave in the lapse: it rises all the way down, here in one step.
            b[2] = _SMALLEST_LAPSE
            now = height(b)
        move, size = _lapse_move(b, counted), 1.0
        move[:2] *= min(1.0, _LONGEST / max(float(np.abs(move[:2]).max()), 1e-300))
        while size > _SHORTEST:
            to = b + size * move
            to[2] = min(max(to[2], _SMALLEST_LAPSE), _LARGEST_LAPSE)
            if (new := height(to)) >= now:
                break
            size /= 2
        if size <= _SHORTEST:
            break
        b, gained, now = to, new - now, new
        if gained < _SAME:
            break
    return now, tuple(b[:2].tolist()), math.exp(b[2])


_SMALL_LAPSE = math.log(1e-3)


def _falls(b: Floats, counted: Counted) -> bool:
    """Return whether the likelihood of a line falls, or stays, as a lapse begins."""
    t = counted.s + b[0] + b[1] * counted.s
    with np.errstate(over="ignore"):
        odds_against = counted.positive @ np.exp(-t) + (counted.total - counted.positive) @ np.exp(t)
    return bool(odds_against <= counted.total.sum())  # the slope is the sum of (1 / q - 2) / 2, q being the likelihoods


_LONGEST = 2.0
"""Step in log-odds, or in the logarithm of the lapse."""


def _lapsed(b: Floats, s: Floats) -> tuple[Floats, Floats, Floats]:
    """Return sigmoid(t), and the probabilities of both classes."""
    t, e = s + b[0] + b[1] * s, math.exp(b[2])
    high = expit(t)
    return high, (1 - e) * high + e / 2, (1 - e) * expit(-t) + e / 2


def _lapse_move(b: Floats, counted: Counted) -> Floats:
    """Return the step to the top of the quadratic that touches the likelihood."""
    s, positive, negative, e = counted.s, counted.positive, counted.total - counted.positive, math.exp(b[2])
    high, q, other = _lapsed(b, s)
    rise = (1 - e) * high * expit(-(s + b[0] + b[1] * s))
    x = np.stack([rise, rise * s, e * (0.5 - high)])
    prior = np.diag([1.0, 1.0, 1e-9])
    residual = positive / q - negative / other
    gradient = x @ residual - prior @ b
    # Second derivatives of q: along t, across, and along the logarithm of the lapse.
    along, across = residual * rise * (1 - 2 * high), -residual * rise * (e / (1 - e))
    bend = np.array(
        [
            [along.sum(), along @ s, across.sum()],
            [along @ s, along @ (s * s), across @ s],
            [across.sum(), across @ s, x[2] @ residual],
        ]
    )
    observed = (x * (positive / q**2 + negative / other**2)) @ x.T - bend + prior
    try:
        np.linalg.cholesky(observed)
    except np.linalg.LinAlgError:
        observed = (x * (counted.total / (q * other))) @ x.T + prior
    move = np.linalg.solve(observed, gradient)
    # Where the lapse goes to its end, or too far, the line moves as is best for as far as the lapse can go.
    room = (max(_SMALLEST_LAPSE - b[2], -_LONGEST), min(_LARGEST_LAPSE - b[2], _LONGEST))
    lapse = min(max(float(move[2]), room[0]), room[1])
    line = np.linalg.solve(observed[:2, :2], gradient[:2] - observed[:2, 2] * lapse)
    return np.append(line, lapse)


def _curve(name: str, counted: Counted) -> CurveMap:
    """Fit a curve that never falls, by isotonic regression, plain or shrunk towards a logistic map."""
    kept = counted.total > 0
    s, total, positive = counted.s[kept], counted.total[kept], counted.positive[kept]
    if not s.size:
        return CurveMap(name, (-_FARTHEST, _FARTHEST), (-_FARTHEST, _FARTHEST))
    if name == "isotonic":
        # One row of the base rate is added to each block: a block of one outcome alone is not proof of 0 or 1.
        base = (positive.sum() + 0.5) / (total.sum() + 1)
        bin_ = isotonic_bins(positive, total)
        n = np.bincount(bin_, total)
        level = (np.bincount(bin_, positive) + base) / (n + 1)
        q = isotonic_means(level, n.astype(np.float64))[bin_]
    else:
        q, _, _ = shrunk_isotonic_curve(expit(s), positive, total)
    t = np.maximum.accumulate(np.clip(logit(q), -_FARTHEST, _FARTHEST))
    at = bend_points(s, t, _TOLERANCE)
    return CurveMap(name, tuple(s[at].tolist()), tuple(t[at].tolist()))


_FARTHEST = 32.0
"""Log-odds at which curves end, where the rows of a block have one outcome."""

_TOLERANCE = 1e-3
"""Log-odds by which a stored curve may differ from the fitted one: it costs less than 2e-7 nats a row."""
