"""The confidence band of a calibration curve of which nothing is assumed but that it never falls."""

from __future__ import annotations

import numpy as np

from .._lib.typing import Floats
from ..kernels.curves import isotonic_means

_HALVINGS = 30
"""Of the distance from the curve to 0 or 1, which leave 1e-9."""

_WIDER = 1.1
"""Factor of the limit of the ratio, for the ends of level stretches: then `benchmarks/coverage.py` finds 93 % there."""


def rising_band(happened: Floats, total: Floats, reach: float) -> tuple[Floats, Floats]:
    """Return the lowest and the highest value that a rising curve may have at each entry, given what was seen.

    They are the values that a likelihood ratio test does not reject [1]_, for each entry by itself. Twice the logarithm
    of the ratio is compared with 1.1 times the square of a normal quantile (4.2 at 95 %), which is enough at jumps and
    where the curve is level. Where it rises steadily 2.29 would do, and the band is a third wider than it need be. At
    the outermost rows, beyond which there is nothing, it covers less: some 80 %.

    Parameters
    ----------
    happened, total : ndarray of shape (k,)
        Numbers of independent rows with the event, and of all (each above 0), by increasing predicted probability.
    reach : float
        Half-width of the interval of a normal figure, in standard deviations.

    Returns
    -------
    tuple of ndarray
        Lower and upper limits, of shape (k,), which never fall.

    References
    ----------
    .. [1] Banerjee and Wellner (2001), Likelihood ratio tests for monotone functions, Annals of Statistics 29.
    """
    before, after = _blocks_before(happened, total), _blocks_before((total - happened)[::-1], total[::-1])[::-1]
    after[..., 0] = after[..., 1] - after[..., 0]
    own = np.stack([happened, total], axis=1)[:, None]
    events, rows = np.moveaxis(np.concatenate([before, own, after], axis=1), 2, 0)
    frequency = np.divide(events, rows, out=np.zeros_like(events), where=rows > 0)
    at = np.arange(events.shape[1])
    below, above = at <= before.shape[1], at >= before.shape[1]

    others = rows - events

    def likelihood(value: Floats) -> Floats:
        """Logarithm of the likelihood of the best rising curve that has this value at the entry."""
        value, logs = value[:, None], np.zeros((2, *events.shape))
        curve = np.clip(frequency, np.where(above, value, 0.0), np.where(below, value, 1.0))
        with np.errstate(divide="ignore"):
            np.log(curve, out=logs[0], where=events != 0)  # many places are filled up with zeros
            np.log1p(-curve, out=logs[1], where=others != 0)
        return np.asarray((events * logs[0] + others * logs[1]).sum(axis=1))

    best = isotonic_means(happened / total, total)
    least = likelihood(best) - _WIDER * reach**2 / 2

    def limit(end: float) -> Floats:
        inside, outside = best, np.full_like(best, end)
        reached = likelihood(outside) >= least
        for _ in range(_HALVINGS):
            middle = (inside + outside) / 2
            possible = likelihood(middle) >= least
            inside, outside = np.where(possible, middle, inside), np.where(possible, outside, middle)
        return np.where(reached, end, inside)

    return limit(0.0), limit(1.0)


def _blocks_before(happened: Floats, total: Floats) -> Floats:
    """Events and rows of the blocks of the isotonic regression of what is before each entry, filled up with zeros."""
    blocks: list[tuple[float, float]] = []
    found = []
    for block in zip(happened.tolist(), total.tolist(), strict=True):
        found.append(blocks.copy())
        events, rows = block
        while blocks and blocks[-1][0] * rows >= events * blocks[-1][1]:
            before = blocks.pop()
            events, rows = events + before[0], rows + before[1]
        blocks.append((events, rows))
    most = max(map(len, found))
    filled = [each + [(0.0, 0.0)] * (most - len(each)) for each in found]
    return np.array(filled, dtype=np.float64).reshape(len(found), most, 2)
