"""One figure for each labelled quantity of real forecasts, by every command."""

import numpy as np
import polars as pl
import pytest

from one_figure import hold_together
from real_data import DATA, npz

pytestmark = pytest.mark.usefixtures("equal_rows_are_fitted_once", "few_samples")


def games(name, by, least):
    """Games of the seasons from a year on; the other forecaster halves the log-odds."""
    frame = pl.read_csv(DATA / "fte_games" / name, infer_schema_length=None)
    frame = frame.filter((pl.col("prob1_outcome") != 0.5) & (pl.col("season") >= least))
    odds = np.sqrt(frame["prob1"].to_numpy() / frame["prob2"].to_numpy())
    columns = {"y": frame["prob1_outcome"].to_numpy().astype(int), "p": frame["prob1"].to_numpy()}
    match = {} if by is None else {"match": frame[by].to_numpy()}
    return columns | {"q": odds / (1 + odds), "half": frame["season"].to_numpy() % 2} | match


def classes(y, p, q):
    columns = {"y": y} | {f"{name}{c}": x[:, c] for name, x in (("p", p), ("q", q)) for c in range(p.shape[1])}
    return columns | {"half": np.arange(y.size) % 2}


def networks():
    y, p = npz("netcal_cifar/wideresnet-16-4-cifar-10.npz", "predictions", "ground_truth")
    _, q = npz("vgg16_cifar10/vgg16_cifar10.npz", "probs", "labels")
    return classes(y[:1000], p[:1000].astype(float), q[:1000].astype(float))


SETS = {
    "nfl by teams": lambda: games("nfl_games.csv", "team1", 2015),
    "networks": networks,
}


@pytest.mark.slow
@pytest.mark.parametrize("name", SETS)
def test_every_command_gives_one_figure_for_a_label(name, tmp_path, capsys):
    hold_together(SETS[name](), tmp_path, capsys)
