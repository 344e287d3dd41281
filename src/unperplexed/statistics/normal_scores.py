"""Normal scores of outcomes in their predictive distributions, and the four directions in which these err.

The normal score of an outcome is the normal quantile of F(y), its probability integral transform (PIT): it is standard
normal where forecasts are calibrated. The directions are those in which the density of normal scores changes by a
shift, a scale, and the two parameters of the sinh-arcsinh family, skew and tail (Jones and Pewsey 2009), made
orthonormal in this order under the standard normal distribution.
"""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

import numpy as np
from scipy.special import ndtr, ndtri

from .._lib.typing import Floats, Ints

FARTHEST = 9.0
"""Normal scores are bounded here: beyond, F is 0 or 1 to the last digit of what it is compared with."""

_BEYOND = 38.0
"""Where the normal density is 0 to the last digit."""

_NODES = 48
"""Gauss-Legendre nodes of a cell."""

_ROWS = 16_384
"""Cells are integrated so many at a time."""

_LOOKED_AT = 4096
"""Rows by which most of the different values are found."""

_SPARSE = 16
"""Numbers are made dense by sorting once there are so many possible ones for each row, else by counting."""


class CellMoments(NamedTuple):
    """Moments of the directions given that a normal score is in a cell."""

    mean: Floats
    """Of shape (n, 4)."""
    covariance: Floats
    """Of shape (n, 4, 4)."""


def normal_scores(cdf: Floats, sf: Floats) -> Floats:
    """Return the normal quantiles of probabilities given with their complements, exact in both tails."""
    cdf, sf = np.asarray(cdf, dtype=np.float64), np.asarray(sf, dtype=np.float64)
    return np.asarray(np.where(cdf < 0.5, ndtri(cdf), -ndtri(sf)))


def directions(z: Floats) -> Floats:
    """Return the four directions at normal scores, in a last axis."""
    return _turned(_raw(np.asarray(z, dtype=np.float64)))


def third_cumulants() -> Floats:
    """Return the skewness of each direction under the standard normal distribution."""
    return _orthonormal()[1]


def cell_means(low: Floats, high: Floats) -> Floats:
    """Return the means of the directions in cells of normal scores; at a point where a cell is one.

    Parameters
    ----------
    low, high : array of shape (n,)
        Ends of the cells, which may be infinite.

    Returns
    -------
    array of shape (n, 4)
    """
    low, high = (np.clip(each, -FARTHEST, FARTHEST) for each in (low, high))
    means = directions(low)
    wide = np.flatnonzero(low < high)
    number, first = numbered(low[wide], high[wide])
    means[wide] = cell_moments(low[wide[first]], high[wide[first]]).mean[number]
    return means


def numbered(*columns: Floats) -> tuple[Ints, Ints]:
    """Number rows, equal ones the same, in order of their values; return also which row has each number.

    Examples
    --------
    >>> import numpy as np
    >>> from unperplexed.statistics.normal_scores import numbered
    >>> [each.tolist() for each in numbered(np.array([2.0, 1.0, 2.0]), np.array([0.0, 5.0, 0.0]))]
    [[1, 0, 1], [1, 2]]
    """
    n = len(columns[0])
    number, size = np.zeros(n, dtype=np.int64), 1
    for column in columns:
        known, place = _coded(column)
        number = number * len(known) + place
        size *= len(known)
        if size > _SPARSE * n:
            known, number = np.unique(number, return_inverse=True)
            size = len(known)
    present = np.bincount(number, minlength=size) > 0
    number = (np.cumsum(present) - 1)[number]
    row = np.empty(int(present.sum()), dtype=np.int64)
    row[number] = np.arange(n)
    return number, row


def _coded(column: Floats) -> tuple[Floats, Ints]:
    """Return different values in order and the place of each row's among them, without a sort where they are few."""
    known = np.unique(column[:: max(1, len(column) // _LOOKED_AT)])
    place = np.searchsorted(known, column)
    missed = column[known[np.minimum(place, len(known) - 1)] != column]
    if missed.size > len(column) // 8:
        return np.unique(column, return_inverse=True)
    if missed.size:
        known = np.union1d(known, missed)
        place = np.searchsorted(known, column)
    return known, place


def cell_moments(low: Floats, high: Floats) -> CellMoments:
    """Return means and covariances of the directions in cells of normal scores, none of which is a point.

    Parameters
    ----------
    low, high : array of shape (n,)
        Ends of the cells, which may be infinite.

    Returns
    -------
    CellMoments
    """
    blocks = [_moments(low[at : at + _ROWS], high[at : at + _ROWS]) for at in range(0, max(len(low), 1), _ROWS)]
    return CellMoments(*(np.concatenate(each) for each in zip(*blocks, strict=True)))


def information_of(edges: Floats) -> Floats:
    """Return the covariance of the cells' means for calibrated forecasts: what an outcome tells that is known by cell.

    Parameters
    ----------
    edges : array of shape (k + 1,)
        Probabilities that bound the k cells, from 0 to 1.

    Returns
    -------
    array of shape (4, 4)
        The unit matrix is that of outcomes that are known exactly.
    """
    z = ndtri(edges)
    means = cell_moments(z[:-1], z[1:]).mean
    return np.asarray(np.einsum("c,cj,ck->jk", np.diff(edges), means, means))


def probability_between(low: Floats, high: Floats) -> Floats:
    """Return the probability of a normal score between two, exact in both tails."""
    return np.asarray(np.where(low > 0, ndtr(-low) - ndtr(-high), ndtr(high) - ndtr(low)))


def information_between(edges: Floats) -> Floats:
    """Return the same as `information_of` for each row of edges, which are normal scores here.

    A direction is the score of a change of velocity v, so that its integral over a cell is the difference of v times
    the normal density: exact, and a hundred times as fast as nodes.

    Parameters
    ----------
    edges : array of shape (..., k + 1)
        Increasing normal scores, from -inf to inf; of equal ones the cell is empty.

    Returns
    -------
    array of shape (..., 4, 4)
    """
    z = np.clip(edges, -_BEYOND, _BEYOND)
    r, a = np.sqrt(1 + z * z), np.arcsinh(z)
    flow = np.stack([np.ones_like(z), z, r, a * r], axis=-1) * (np.exp(-z * z / 2) / np.sqrt(2 * np.pi))[..., None]
    mass = probability_between(z[..., :-1], z[..., 1:])
    sums = _turned(np.concatenate([mass[..., None], -np.diff(flow, axis=-2)], axis=-1))
    with np.errstate(divide="ignore", invalid="ignore"):
        scaled = np.where(mass > 0, 1 / np.sqrt(mass), 0.0)[..., None] * sums
    by_cell = np.ascontiguousarray(np.moveaxis(scaled, -2, 0))
    return np.asarray((by_cell[..., :, None] * by_cell[..., None, :]).sum(axis=0))  # in order, however many are empty


_gauss = cache(np.polynomial.legendre.leggauss)


def _moments(low: Floats, high: Floats) -> CellMoments:
    low, high = (np.clip(each, -FARTHEST, FARTHEST) for each in (low, high))
    nodes, shares = _gauss(_NODES)
    z = ((low + high) / 2)[:, None] + ((high - low) / 2)[:, None] * nodes
    nearest = np.where(low * high > 0, np.minimum(low * low, high * high), 0.0)
    weight = shares * np.exp((nearest[:, None] - z * z) / 2)
    weight /= weight.sum(axis=1, keepdims=True)
    each = directions(z)
    mean = np.einsum("nz,nzk->nk", weight, each)
    apart = each - mean[:, None]
    return CellMoments(mean, np.einsum("nz,nzj,nzk->njk", weight, apart, apart))


def _raw(z: Floats) -> Floats:
    r, a = np.sqrt(1 + z * z), np.arcsinh(z)
    return np.stack([np.ones_like(z), z, z * z - 1, z * r - z / r, z * a * r - 1 - a * z / r], axis=-1)


def _turned(raw: Floats) -> Floats:
    """Make raw directions orthonormal, each row by itself: a product of matrices rounds by how many rows it has."""
    turn = _orthonormal()[0]
    return np.asarray(sum(raw[..., k, None] * turn[k, 1:] for k in range(len(turn))))


@cache
def _orthonormal() -> tuple[Floats, Floats]:
    """Return what makes the raw directions orthonormal in order, and their third cumulants then."""
    grid = np.linspace(-12, 12, 24_001)
    weight = np.exp(-(grid**2) / 2)
    weight /= weight.sum()
    raw = _raw(grid)
    turned = np.linalg.inv(np.linalg.cholesky((raw * weight[:, None]).T @ raw)).T
    return turned, (((raw @ turned)[:, 1:] ** 3) * weight[:, None]).sum(axis=0)
