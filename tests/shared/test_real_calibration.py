"""Calibration errors of real forecasts against the definitions of other libraries, written out from their sources.

Run side by side, torchmetrics 1.9, netcal 1.4, relplot 1.0.3 and model-diagnostics 1.5 gave the figures below; the
functions say where they come from.
"""

import numpy as np
import pytest

from real_data import SETS
from unperplexed import Tally, expected_calibration_error
from unperplexed.calibration.errors import _DIVERGENCES, _parts, binned_error, smooth_error
from unperplexed.tally.binary import mirror
from unperplexed.tally.tables import ExactCounts, pooled

BINS = 15
EDGES = np.linspace(0, 1, BINS + 1)
NORMS = [1, 2, np.inf]


def top_label(name):
    """Probability of the first of the top classes, and whether it happened; of one column, the column itself."""
    y, p = SETS[name]()
    y = y.argmax(axis=1) if y.ndim == 2 else y.astype(int)
    return (p, y == 1) if p.ndim == 1 else (p.max(axis=1), p.argmax(axis=1) == y)


def exact_pairs(p, o):
    p, counts = p.astype(np.float64), ExactCounts(p.size)
    counts.add(p[:, None], None)
    counts.add_happened(p[o], None)
    table = counts.table()
    return pooled(table, np.arange(table.key.size))


def error_in(bin_, p, o, norm):
    share = np.bincount(bin_) / p.size
    with np.errstate(invalid="ignore"):
        gap = np.nan_to_num(np.abs(np.bincount(bin_, p) - np.bincount(bin_, o)) / np.bincount(bin_))
    return gap.max() if norm == np.inf else (share @ gap**norm) ** (1 / norm)


def torchmetrics(p, o, norm, edges=EDGES):
    """Bins [k/15, (k + 1)/15) found by bucketize(right=True), and one more that holds exactly 1."""
    return error_in(np.searchsorted(edges, p, side="right") - 1, p, o, norm)


def edges_in_float32():
    """Those of torch, each half from its own end: there 6/15 is above 0.4."""
    step = np.float32(1 / BINS)
    return np.array([k * step if 2 * k <= BINS else 1 - (BINS - k) * step for k in range(BINS + 1)], dtype=np.float32)


def netcal(p, o, norm):
    """The last bin closed, after 0 and 1 have been clipped to the type's next numbers but one."""
    epsilon = np.finfo(p.dtype).eps
    p = np.clip(p, epsilon, 1 - epsilon).astype(np.float64)
    return error_in(np.searchsorted(EDGES, p, side="right") - 1, p, o, norm)


# ECE, RMSCE and MCE in 15 bins as torchmetrics gave them, ECE and MCE as netcal did.
CHECKED = {
    "wideresnet": ((0.053720776, 0.077786244, 0.262389243), (0.053716266, 0.262389243)),
    "densenet": ((0.142156541, 0.167330459, 0.313161790), (0.142152816, 0.313161508)),
    "lenet": ((0.014878475, 0.021735245, 0.306269586), (0.014878473, 0.306269566)),
    "vgg16": ((0.039810047, 0.065291747, 0.285685539), (0.039780067, 0.285685678)),
    "nba": ((0.049188988, 0.054107654, 0.450115114), (0.049188988, 0.450115114)),
    "world cup": ((0.065108523, 0.078625366, 0.196633279), (0.065108544, 0.196633307)),
    "world cup in game": ((0.041943133, 0.055392094, 0.097008526), (0.041019498, 0.097011412)),
    "language models": ((0.230879881, 0.253773872, 0.436619718), (0.230879881, 0.436619718)),
}
# torchmetrics adds up float32, one after the other: thousands of probabilities next to 1 lose digits on the way.
FLOAT32 = {"vgg16": 4e-5}


@pytest.mark.parametrize("name", CHECKED)
def test_peers_by_their_definitions(name):
    """What the peers compute is understood: their definitions, in float64, give their figures."""
    p, o = top_label(name)
    of_torchmetrics, of_netcal = CHECKED[name]
    one_column = SETS[name]()[1].ndim == 1
    single = p if one_column else p.astype(np.float32)
    found = [torchmetrics(single, o, norm, EDGES if one_column else edges_in_float32()) for norm in NORMS]
    assert found == pytest.approx(of_torchmetrics, abs=FLOAT32.get(name, 1e-5))
    assert [netcal(p, o, norm) for norm in (1, np.inf)] == pytest.approx(of_netcal, abs=1e-7)


@pytest.mark.parametrize("name", CHECKED)
def test_errors_are_the_peers(name):
    """Ours are netcal's, but for its clipping; and torchmetrics', with what is exactly 1 put into the last bin."""
    p, o = top_label(name)
    pairs = exact_pairs(p, o)
    for norm in NORMS:
        ours = binned_error([pairs], BINS, norm=norm)
        assert ours == pytest.approx(netcal(p, o, norm), abs=1e-7)
        inside = np.minimum(p.astype(np.float64), np.nextafter(1, 0))
        assert ours == pytest.approx(torchmetrics(inside, o, norm), abs=1e-9)


@pytest.mark.parametrize("name", ["wideresnet", "densenet", "lenet", "vgg16", "world cup", "world cup in game"])
def test_the_tally_says_the_same(name):
    """Exactly where its counts are exact, within 1e-4 in cells; ties are shared, not given to the first class."""
    y, p = SETS[name]()
    y = y.argmax(axis=1) if y.ndim == 2 else y.astype(int)
    conf, o = top_label(name)
    exact, cells = (Tally.of(y, p, exact_limit=limit) for limit in (1 << 22, 0))
    tied = (p == conf[:, None]).sum(axis=1)
    share = np.where(p[np.arange(len(y)), y] == conf, 1 / tied, 0.0)
    bin_ = np.minimum((conf.astype(np.float64) * BINS).astype(int), BINS - 1)
    for norm in NORMS:
        expected = error_in(bin_, conf.astype(np.float64), share, norm)
        arguments = {"bins": BINS, "view": "top-label", "norm": norm}
        assert expected_calibration_error(exact, **arguments) == pytest.approx(expected, rel=1e-9)
        assert expected_calibration_error(cells, **arguments) == pytest.approx(expected, abs=1e-4)


# smECE of relplot 1.0.3, which finds the width to 1/1024 and draws on 200 points.
@pytest.mark.parametrize(("name", "of_relplot"), [("lenet", 0.015591), ("nba", 0.048632), ("world cup", 0.054986)])
def test_smooth_error_is_relplots_away_from_the_ends(name, of_relplot):
    assert smooth_error([exact_pairs(*top_label(name))]) == pytest.approx(of_relplot, abs=1e-4)


@pytest.mark.parametrize("name", ["wideresnet", "densenet"])
def test_smooth_error_of_overconfident_networks_is_their_excess(name):
    """Where the kernel leaves one sign, nothing cancels: the error is the mean residual, 0.054 for the wideresnet.

    relplot gives .076 and .169 here. It reflects a grid about its outermost points, of which one copy remains,
    so that half of what lies at them is lost from the residual and from the density by which it divides.
    """
    p, o = top_label(name)
    excess = p.astype(np.float64).mean() - o.mean()
    assert excess - 1e-9 <= smooth_error([exact_pairs(p, o)]) <= excess + 1e-4


# Score, MCB, DSC and UNC that decompose of model-diagnostics gave; its squared error is that of one class.
DECOMPOSED = {
    ("nba", "brier_score"): (0.214654, 0.004077, 0.034284, 0.244861),
    ("nba", "log_loss"): (0.619093, 0.010826, 0.074567, 0.682834),
    ("nfl", "brier_score"): (0.220826, 0.003846, 0.030783, 0.247764),
    ("nfl", "log_loss"): (0.631516, 0.01002, 0.067171, 0.688668),
    ("review", "brier_score"): (0.030482, 0.005935, 0.223548, 0.248095),
    ("review", "log_loss"): (0.105863, 0.025705, 0.609174, 0.689332),
    ("brackets", "brier_score"): (0.015352, 0.000684, 0.106983, 0.121651),
    ("brackets", "log_loss"): (0.048999, 0.002551, 0.361663, 0.408111),
}


@pytest.mark.parametrize(("name", "score"), DECOMPOSED)
def test_decompositions_are_those_of_model_diagnostics(name, score):
    p, o = top_label(name)
    pairs = exact_pairs(p, o)
    found = np.sum([_parts(_DIVERGENCES[score], group) for group in (pairs, mirror(pairs))], axis=0) / p.size
    assert found / (2 if score == "brier_score" else 1) == pytest.approx(DECOMPOSED[name, score], abs=6e-7)
