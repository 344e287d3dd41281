"""What options mean to the library, where it has other names for it: read once, when the words have been parsed."""

from __future__ import annotations

import argparse

from .._lib.errors import InputError

_PAIRED = ("compare", "skill")
_NONE = ["none"]


def settle(a: argparse.Namespace) -> None:
    """Read the options that are more than one argument of the library."""
    if hasattr(a, "clusters"):
        _read_clusters(a)
    if hasattr(a, "lag"):
        _read_lag(a)


def _read_clusters(a: argparse.Namespace) -> None:
    """Read A,B, values that rows of a cluster share together, or A B, either of which they share; or none."""
    a.groups, a.cluster, a.units = [], [], "auto"
    if a.command == "monitor" and a.clusters in (_NONE, ["period"]):
        a.units = "rows" if a.clusters == _NONE else "periods"
    elif len(a.clusters) == 1 and a.clusters != _NONE:
        a.groups = a.clusters[0].split(",")
    elif a.clusters[1:]:
        if a.command not in _PAIRED:
            both = ",".join(a.clusters)
            raise InputError(
                f"--clusters {' '.join(a.clusters)}: rows that share either are for compare and skill. For rows that"
                f" share all name {both}, with commas."
            )
        a.cluster = a.clusters


def _read_lag(a: argparse.Namespace) -> None:
    """Read L, or L:COLUMN, places within the rows of each value of the columns."""
    number, _, columns = (a.lag or "").partition(":")
    a.unit = [column for column in columns.split(",") if column]
    if a.lag is None:
        return
    try:
        a.lag = int(number)
    except ValueError:
        raise InputError(f"--lag {a.lag}: expected places, such as 14, or places within units, 14:station.") from None
