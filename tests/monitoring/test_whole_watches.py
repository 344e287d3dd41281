"""What is said of watches that are made by hand, beside what is stored: every kind of alarm, and of none."""

import math
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from kept import same_as_kept, written
from unperplexed.calibration.dependence import Dependence
from unperplexed.calibration.dependence_search import DependenceSearch
from unperplexed.describe.alarm import changed_text
from unperplexed.monitoring.control import ControlPoint
from unperplexed.monitoring.drifted import BinShare, Drift, DriftPoint, Shift
from unperplexed.monitoring.event_counts import Kept
from unperplexed.monitoring.measures import PredictionSummary
from unperplexed.monitoring.monitored import Alarm, Impossible, Monitored, OfGroup, Over
from unperplexed.monitoring.pit_counts import PitPoint
from unperplexed.report.result import Naming, document
from unperplexed.report.terminal import text
from unperplexed.statistics.intervals import Interval

KEPT = Path(__file__).with_name("watches.json")
UNKNOWN = Interval(math.nan, math.nan)
PERIODS = tuple("abcdefghijkl")


def point(first="a", last="b", rows=200, **more):
    """Some periods together that are predicted 7 points too low."""
    figures = {
        "predicted": 0.31, "observed": 0.38, "bias": 0.42, "bias_interval": Interval(0.11, 0.73), "slope": 0.84,
        "slope_interval": Interval(0.61, 1.07), "log_loss": 0.61, "skill": 0.12,
    }  # fmt: skip
    return ControlPoint(first, last, rows, **figures | more)


def pit(first="a", last="b", rows=200, **more):
    figures = {
        "held": 0.71, "bias": 0.42, "bias_interval": Interval(0.11, 0.73), "width": 1.3,
        "width_interval": Interval(1.1, 1.6),
    }  # fmt: skip
    return PitPoint(first, last, rows, **figures | more)


def wrong(*errors, terms=("biased",)):
    """A diagnosis that names errors."""
    found = [
        SimpleNamespace(error=each, clause=SimpleNamespace(term=term), interval=Interval(-0.5, -0.2))
        for each, term in zip(errors, terms, strict=True)
    ]
    return SimpleNamespace(errors=errors, findings=found, in_brief="underpredicts 'x'", rest_p_value=1.0, n_classes=2)


BIASED, STEEP = wrong("bias"), wrong("confidence", terms=["overconfident"])
BOTH = wrong("bias", "confidence", terms=["biased", "overconfident"])
TAIL = wrong("tail", terms=["tail"])


def alarm(**more):
    told = {
        "number": 1,
        "period": "g",
        "began": "e",
        "probable": ("e",),
        "further": "",
        "until": "l",
        "log_evidence": 7.3,
        "groups": (),
        "event": "",
        "diagnosis": BIASED,
        "before": point("a", "d", 400, bias=0.02),
        "since": point("e", "l", 800),
        "trend": "",
        "halves": None,
        "over": None,
    }
    return Alarm(**told | more)


CONTROL = tuple(point(each, each, 100 + at, bias=0.1 * at) for at, each in enumerate(PERIODS))


def watch(found=None, **more):
    told = {
        "periods": PERIODS,
        "log_evidence": np.linspace(-1.5, 7.3, 12),
        "alarm": found,
        "others": (),
        "impossible": None,
        "clusters": "period",
        "confidence": 0.95,
        "_control": lambda: CONTROL,
        "groups": {},
        "named": {},
        "dispersion": (1.0, 0.5),
        "rows": (100,) * 12,
        "n_rows": 1266,
        "labels": (0, 1),
    }
    return Monitored(**told | more)


def over(period="k", evidence=-1.2, **after):
    return Over(period, evidence, point(**{"first": "i", "last": "l", "bias_interval": Interval(-0.1, 0.2)} | after))


ENDED = {"until": "h", "since": point("e", "h", 400)}
FIRST = {"began": "a", "before": point("a", "a", 0)}


def halves(**two):
    return point("g", "i", 300, bias=0.2, slope=0.8), point("j", "l", 300, **two)


def grouped(names, *alarms, of=None, control=CONTROL, **more):
    """A watch of groups of which some have alarms, the first one the strongest."""
    own = {name: OfGroup(tuple(np.linspace(-1, 8, 12).tolist()), control) for each in alarms for name in each.groups}
    evidence = {name: 8.0 - at for at, name in enumerate(names)}
    return watch(alarms[0], others=alarms[1:], named=own, groups=of or evidence, **more)


def of_group(name, **more):
    return alarm(groups=(name,), **more)


def searched(taken, **more):
    fields = {
        "columns": ("site",), "block": None, "taken": taken, "n_clusters": 40, "effective_clusters": 30.0,
        "design_effect": 2.5, "correlation": 0.2, "also": (), "looked_at": ("site",), "order": False, "sampled": 1.0,
        "n_rows": 1000,
    }  # fmt: skip
    names = Dependence.__dataclass_fields__
    return DependenceSearch(
        looked_at=("site",), found=Dependence(**{k: v for k, v in (fields | more).items() if k in names})
    )


CALM = {"log_evidence": np.linspace(0, -2.5, 12)}
WATCHES = {
    "calm": lambda: watch(**CALM),
    "calm of one period": lambda: watch(
        periods=("a",), log_evidence=np.array([0.3]), rows=(9,), _control=lambda: (point("a", "a", 9),)
    ),
    "weak": lambda: watch(log_evidence=np.linspace(0, 2.9, 12), confidence=0.999, clusters="none"),
    "early": lambda: watch(**CALM, earliest=7, labels=(), whole=pit(), _control=lambda: (pit(), pit("c", "d", 99))),
    "early, exactly half": lambda: watch(
        **CALM, earliest=6, labels=(), whole=pit(bias=-0.3), _control=lambda: (pit(),)
    ),
    "early, unknown": lambda: watch(**CALM, earliest=9, labels=(), whole=pit(bias=math.nan), _control=lambda: ()),
    "phases": lambda: watch(**CALM, phases=3, earliest=5, labels=(), whole=pit(width=0.9), _control=lambda: (pit(),)),
    "phases of groups": lambda: watch(
        **CALM, phases=2, groups={"s": 0.1, "t": 0.2}, labels=(), whole=pit(), _control=lambda: (pit(),)
    ),
    "impossible": lambda: watch(**CALM, impossible=Impossible("c", 1)),
    "impossible in groups": lambda: watch(
        **CALM, impossible=Impossible("c", 12, ("s", "t")), groups={"s": 0.1, "t": 0.2, "u": 0.0}
    ),
    "impossible numbers": lambda: watch(**CALM, impossible=Impossible("c", 2), labels=(), _control=lambda: (pit(),)),
    "requirements": lambda: watch(
        **CALM, kept=(Kept("log_loss < 0.5", False, 0.61, 5.0, "f"), Kept("accuracy > 0.5", True, 0.7, -3.0, None))
    ),
    "broke": lambda: watch(alarm()),
    "broke somewhere": lambda: watch(alarm(probable=("d", "e"), further="j", period="f")),
    "broke anywhere": lambda: watch(alarm(probable=("c", "d", "e", "f", "g"), until="j")),
    "perhaps from the first": lambda: watch(alarm(probable=("a", "b", "c", "d"))),
    "first": lambda: watch(alarm(**FIRST, probable=("a",))),
    "first, perhaps": lambda: watch(alarm(**FIRST, probable=("a", "b"), further="f")),
    "second of the first": lambda: watch(alarm(**FIRST, probable=("a",), number=2)),
    "grew": lambda: watch(alarm(halves=halves(bias=0.9, slope=0.5), trend="bias")),
    "grew the other way": lambda: watch(alarm(halves=halves(bias=-0.9, slope=0.5), trend="bias")),
    "fell": lambda: watch(alarm(halves=halves(bias=0.1), trend="bias")),
    "stays": lambda: watch(alarm(halves=halves(bias=0.2), trend="bias")),
    "from nothing": lambda: watch(alarm(halves=(point("g", "i", bias=0.0), point("j", "l", bias=0.5)), trend="bias")),
    "steeper": lambda: watch(alarm(diagnosis=STEEP, halves=halves(slope=0.5), trend="slope")),
    "less steep": lambda: watch(alarm(diagnosis=STEEP, halves=halves(slope=0.9), trend="slope")),
    "too flat now": lambda: watch(alarm(diagnosis=STEEP, halves=halves(slope=1.3), trend="slope")),
    "both": lambda: watch(alarm(diagnosis=BOTH, since=point("e", "l", 800, slope_interval=UNKNOWN))),
    "tail": lambda: watch(
        alarm(diagnosis=TAIL, event="x", since=point("e", "l", 800, log_loss=0.7)), labels=("w", "x", "y")
    ),
    "tail, no loss": lambda: watch(alarm(diagnosis=TAIL, since=point("e", "l", 800, log_loss=math.nan))),
    "unnamed": lambda: watch(alarm(diagnosis=None, event="most probable class"), labels=("w", "x", "y")),
    "numbers": lambda: watch(
        alarm(diagnosis=None, before=pit("a", "d", 400, bias=-0.001), since=pit("e", "l", 800)),
        labels=(),
        _control=lambda: (pit(), pit("c", "d", 9)),
    ),
    "over": lambda: watch(alarm(**ENDED, over=over())),
    "over in one": lambda: watch(alarm(**ENDED | {"until": "e"}, over=over(bias_interval=Interval(0.01, 0.2)))),
    "over at the end": lambda: watch(alarm(**ENDED | {"until": "l"}, over=over(rows=0))),
    "over at the edge": lambda: watch(alarm(**ENDED, over=over(bias_interval=Interval(0.0, 0.2)))),
    "over at the other edge": lambda: watch(alarm(**ENDED, over=over(bias_interval=Interval(-0.2, 0.0)))),
    "over and unknown": lambda: watch(alarm(**ENDED, over=over(bias_interval=UNKNOWN, bias=math.nan, rows=1))),
    "over, both": lambda: watch(
        alarm(diagnosis=BOTH, **ENDED, over=over(bias_interval=Interval(0.1, 0.2), slope_interval=Interval(0.5, 0.9)))
    ),
    "over, slope": lambda: watch(alarm(diagnosis=STEEP, **ENDED, over=over(slope_interval=Interval(0.5, 1.0)))),
    "over, numbers": lambda: watch(
        alarm(
            diagnosis=None,
            until="h",
            before=pit("a", "d"),
            since=pit("e", "h"),
            over=Over("k", -1.0, pit("i", "l", 50, bias=-0.004)),
        ),
        labels=(),
        _control=lambda: (pit(),),
    ),
    "over before": lambda: watch(
        alarm(number=3), others=tuple(alarm(**ENDED, number=at, over=over()) for at in (2, 1))
    ),
    "over often": lambda: watch(
        alarm(number=4), others=tuple(alarm(**ENDED, number=at, over=over()) for at in (3, 2, 1))
    ),
    "over very often": lambda: watch(
        alarm(number=6), others=tuple(alarm(**ENDED, number=at, over=over()) for at in (5, 4, 3, 2, 1))
    ),
    "dispersed": lambda: watch(alarm(), clusters="none", dispersion=(1.51, 0.0009)),
    "not dispersed": lambda: watch(alarm(), clusters="none", dispersion=(1.5, 0.0001)),
    "not surely dispersed": lambda: watch(alarm(), clusters="none", dispersion=(9.0, 0.001)),
    "dispersed, calm": lambda: watch(**CALM, clusters="none", dispersion=(3.26, 0.0001)),
    "dependent": lambda: watch(alarm(), dependence=searched(True)),
    "perhaps dependent": lambda: watch(alarm(), clusters="none", dependence=searched(False)),
    "dependent, calm": lambda: watch(**CALM, clusters="none", dependence=searched(True)),
    "few at last": lambda: watch(alarm(), rows=(100, 90, 80, 100, 100, 90, 100, 100, 100, 9, 8, 60)),
    "as few before": lambda: watch(alarm(), rows=(100, 100, 60, 60, 60, 90, 100, 100, 100, 9, 8, 60)),
    "cells": lambda: watch(
        **CALM, _control=lambda: (*CONTROL[:-1], point("l", "l", 5, by="cells", log_loss=math.nan, skill=math.nan))
    ),
    "two a row": lambda: watch(
        alarm(), _control=lambda: tuple(point(PERIODS[k], PERIODS[k + 1]) for k in range(0, 12, 2))
    ),
    "uneven rows": lambda: watch(alarm(), _control=lambda: (point("a", "c"), point("d", "g"), point("h", "l"))),
    "three classes": lambda: watch(alarm(event="w"), labels=("w", "x", "y")),
    "no intervals": lambda: watch(
        alarm(),
        _control=lambda: tuple(point(each, each, bias_interval=UNKNOWN, slope_interval=UNKNOWN) for each in PERIODS),
    ),
    "small biases": lambda: watch(
        **CALM, _control=lambda: (point(bias=0.0049), point("c", "d", bias=0.005), point("e", "f", bias=-0.0051))
    ),
    "group": lambda: grouped("st", of_group("s")),
    "only group": lambda: grouped("s", of_group("s")),
    "group from its first": lambda: grouped("stu", of_group("t", **FIRST, probable=("a", "b"))),
    "group perhaps from the first": lambda: grouped("stu", of_group("t", probable=("a", "b"))),
    "groups alike": lambda: watch(alarm(), groups={"s": math.log(20 * 3), "t": math.log(20 * 3) + 1e-9, "u": 3.9}),
    "one group alike": lambda: watch(alarm(), groups={"s": math.log(20) + 1e-9}),
    "groups": lambda: grouped("stu", of_group("s"), of_group("u", began="f", number=2)),
    "all groups": lambda: grouped("st", of_group("s"), of_group("t", halves=halves(bias=0.9), trend="bias")),
    "groups that grew": lambda: grouped(
        "stu", of_group("s", halves=halves(bias=0.9), trend="bias"), of_group("t", **FIRST)
    ),
    "many groups": lambda: grouped("pqrstuv", *(of_group(each) for each in "pqrstu"), by=("site",)),
    "numbered groups": lambda: grouped(["1", "2", "3.5"], of_group("1"), of_group("3.5"), by=("site",)),
    "groups over": lambda: grouped(
        "stu", of_group("s", **ENDED, over=over()), of_group("u", **ENDED, over=over(bias_interval=Interval(0.1, 0.2)))
    ),
    "groups over, both small": lambda: grouped(
        "st",
        of_group("s", **ENDED, over=over(bias_interval=Interval(0.1, 0.2))),
        of_group("t", **ENDED, over=over(bias_interval=Interval(-0.2, -0.1))),
    ),
    "group over before": lambda: grouped(
        "stu", of_group("s"), of_group("s", **ENDED, over=over()), of_group("t", **ENDED, over=over())
    ),
    "group gone": lambda: grouped("st", of_group("s"), control=CONTROL[:8]),
    "group not gone": lambda: grouped("st", of_group("s"), control=CONTROL[:9]),
    "group seldom": lambda: grouped("st", of_group("s"), control=(CONTROL[0], CONTROL[4], CONTROL[7])),
    "group once": lambda: grouped("st", of_group("s"), control=CONTROL[:1]),
    "groups gone": lambda: grouped("stu", of_group("s"), of_group("t"), control=CONTROL[:8]),
}


CHARTED = (
    "calm",
    "calm of one period",
    "weak",
    "broke somewhere",
    "numbers",
    "over",
    "over in one",
    "two a row",
    "uneven rows",
    "three classes",
    "no intervals",
    "cells",
    "groups",
    "group",
    "early, unknown",
)
"""Watches of which the page is stored too."""


@pytest.mark.parametrize("part", range(4))
def test_watches(part):
    shown = []
    for name in list(WATCHES)[part::4]:
        found = WATCHES[name]()
        page = document(found, Naming(), brief=False)
        shown += [f"# {name}", text(document(found, Naming("rain.csv"), brief=True), 110), changed_text(found, "day")]
        shown += [written([page.figure, *page.sections])] * (name in CHARTED)
    same_as_kept(KEPT, f"watches-{part}", "\n\n".join([*shown, ""]))


def test_usual_numbers_of_rows_are_looked_at_where_there_are_enough():
    from unperplexed.monitoring.monitored import usual_rows

    def usual(*rows):
        return usual_rows(watch(rows=rows))

    assert usual(*[100] * 6, 69, 60, 50) == 100
    assert usual(*[100] * 6, 70, 60, 50) == 0
    assert usual(*[100] * 5, 69, 60, 50) == 0
    assert usual(100, 60, 69, 60, 100, 100, 69, 60, 50) == 0  # as few as three before


def summary(rows=500, mean=0.4, log_odds=-0.41, spread=1.3):
    return PredictionSummary(rows, mean, log_odds, spread)


def shift(**more):
    told = {
        "number": 1, "period": "g", "began": "e", "probable": ("e",), "further": "", "until": "l", "log_evidence": 7.3,
        "groups": (), "event": "", "measure": "mean", "before": summary(), "since": summary(700, 0.6, 0.42, 0.9),
        "moved": BinShare(0.1, 0.2, 0.3, 0.4),
    }  # fmt: skip
    return Shift(**told | more)


def drifted(found=None, **more):
    points = tuple(
        DriftPoint(each, 100 + at, 0.4 + at / 50, at / 10, 1 + at / 20) for at, each in enumerate("abcdefghijklm")
    )
    told = {
        "periods": tuple("abcdefghijklm"),
        "log_evidence": np.linspace(-1.5, 7.3, 13),
        "alarm": found,
        "confidence": 0.95,
        "points": points,
        "groups": {},
        "resemblance": (0.2, 0.0001),
        "enough_periods": 9,
        "too_few": False,
        "n_rows": 1366,
        "labels": (0, 1),
    }
    return Drift(**told | more)


DRIFTS = {
    "none": drifted,
    "few": lambda: drifted(too_few=True, confidence=0.99),
    "mean": lambda: drifted(shift()),
    "spread": lambda: drifted(shift(measure="spread", groups=("s",), probable=("d", "e")), groups={"s": 7.1, "t": 0.2}),
    "shares": lambda: drifted(shift(measure="shares", groups=("s", "t")), groups={"s": 7.1, "t": 6.2}),
    "exactly 0 or 1": lambda: drifted(
        shift(
            measure="shares",
            event="w",
            moved=BinShare(0.0, 0.0, 0.3, 0.4),
            before=summary(9, math.nan, math.nan, math.nan),
        ),
        labels=("w", "x", "y"),
        points=tuple(DriftPoint(each, 9, math.nan, math.nan, math.nan) for each in "abcdefghijklm"),
    ),
    "alike": lambda: drifted(resemblance=(0.21, 0.0009)),
    "alike, alarm": lambda: drifted(shift(), resemblance=(0.5, 0.0001)),
    "not surely alike": lambda: drifted(resemblance=(0.5, 0.001)),
    "twelve": lambda: drifted(
        points=drifted().points[:12], log_evidence=np.linspace(0, 1, 12), periods=tuple("abcdefghijkl")
    ),
    "one": lambda: drifted(points=drifted().points[:1], log_evidence=np.array([0.5]), periods=("a",)),
}


def test_drifts():
    shown = []
    for name, make in DRIFTS.items():
        found = make()
        page = document(found, Naming(), brief=False)
        brief = text(document(found, Naming("rain.csv"), brief=True), 110)
        shown += [f"# {name}", brief, *[written([page.figure, *page.sections])] * (name in ("none", "mean", "one"))]
    same_as_kept(KEPT, "drifts", "\n\n".join([*shown, ""]))
