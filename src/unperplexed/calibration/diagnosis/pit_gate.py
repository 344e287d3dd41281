"""The gate of predictive distributions: one test whether they are calibrated, in closed form.

If they are, the covariance of the normal scores' directions is known, whatever is known of each outcome: so the sums of
these, of the first times the predicted level and of the second times the logarithm of the predicted spread are, made
uncorrelated, standard normal up to their skewness, which is known too.
"""

from __future__ import annotations

import numpy as np
from scipy.special import ndtri, stdtr

from ..._lib.typing import Floats, Ints
from ...statistics.definite import definite
from ...statistics.normal_scores import third_cumulants
from ...statistics.products import product
from ...statistics.tails import weighted_chi2_sf
from .class_tails import hall
from .gate import Gate
from .pit_scored import PitScored
from .row_groups import Groups, RowGroups, Windows, shortest

_FACTORS = np.array([0, 0, 0, 0, 1, 2])
"""What the components are multiplied by: 1, the predicted level, the logarithm of the predicted spread."""
_DIRECTIONS = np.array([0, 1, 2, 3, 0, 1])
_WEIGHTS = np.array([1, 1, 0.5, 0.5, 0.5, 0.5])
"""Weights of shift, scale, skew, tail, and of the two that rise with level and spread, in W."""

_GROUPS_EACH = 3
"""There is one component for so many degrees of freedom."""


def pit_gate(rows: PitScored, groups: Groups | None = None) -> Gate:
    """Test whether predictive distributions are calibrated.

    Where windows overlap all rows are tested, and the shortest horizon alone: there evidence is densest (Bonferroni).
    """
    tested = _tested(rows, None if groups is None else RowGroups.of(groups))
    if not isinstance(groups, Windows):
        return tested
    return tested._replace(p_value=min(1.0, 2 * min(tested.p_value, shortest_gate(rows, groups).p_value)))


def shortest_gate(rows: PitScored, windows: Windows) -> Gate:
    """Test the shortest horizon alone, by the times at which forecasts were issued."""
    here, issued = shortest(windows)
    return _tested(rows.only(here), RowGroups.of(issued))


def _tested(rows: PitScored, groups: RowGroups | None) -> Gate:
    known = [k for k, factor in enumerate(_FACTORS) if factor in rows.varying]
    kept = known[: max(1, int(groups.degrees // _GROUPS_EACH))] if groups else known
    factors, directions, weights = _FACTORS[kept], _DIRECTIONS[kept], _WEIGHTS[kept]
    each = rows.factors[factors] * rows.means[directions]
    information = definite(rows.information[factors[:, None], factors, directions[:, None], directions])
    back = np.linalg.inv(np.linalg.cholesky(information))
    z, effect = back @ product(each, rows.total), 1.0
    if groups is None:
        z = hall(z, _skewness(rows, directions, np.diag(information)) * (factors == 0))
    else:
        values, vectors = np.linalg.eigh(
            np.eye(len(kept)) + back @ groups.between(each, rows.total, rows.squared) @ back.T
        )
        effect = max(1.0, float(values.mean()))
        covariance: Floats = (vectors * np.maximum(values, groups.least)) @ vectors.T
        z = _normal(np.asarray(np.linalg.solve(np.linalg.cholesky(covariance), z)), groups.degrees - 1)
    statistic = float(weights @ z**2)
    p_value = weighted_chi2_sf(statistic, weights)
    return Gate(statistic, p_value, effect * rows.design_effect, rows.n / rows.design_effect, len(kept))


def _skewness(rows: PitScored, directions: Ints, information: Floats) -> Floats:
    """Return the skewness of the sums: of an outcome that is known by its cell, a direction has a smaller one."""
    share = information / rows.squared.sum()
    weights = float(rows.cubed.sum() / rows.squared.sum() ** 1.5)
    return np.asarray(third_cumulants()[directions] * share**1.5 * weights)


def _normal(t: Floats, degrees: float) -> Floats:
    """Return the standard normal values of the same probability as those of Student's t."""
    return np.asarray(-np.sign(t) * ndtri(np.maximum(stdtr(max(degrees, 1.0), -np.abs(t)), 1e-300)))
