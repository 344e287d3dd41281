"""Commands and flags that go by another name: those of earlier versions, and those that other programs have."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence, Set

from .._lib.errors import InputError, limit_meant, nearest


def _by_former(names: Mapping[str, tuple[str, ...]]) -> dict[str, str]:
    """Give what is typed today for each former name, from the former names of each."""
    return {former: today for today, formers in names.items() for former in formers}


COMMANDS = _by_former(
    {
        "assess": ("describe", "evaluate", "metrics", "score", "validate", "verify"),
        "assess FILE --by COLUMN": ("groups", "subgroups"),
        "assess FILE --ordered": ("ordered",),
        "assess FILE --plot PICTURE": ("calibration-curve", "plot", "reliability"),
        "assess FILE --report PAGE": ("report",),
        "assess FILE --show calibration": ("calibration",),
        "assess FILE --show profile": ("profile",),
        "assess FILE --show scores": ("scores",),
        "assess FILE, which says what so many rows can detect": ("power", "sample-size"),
        "check FILE --require TEXT": ("gate", "test"),
        "compare": ("benchmark", "diff"),
        "decide": ("threshold",),
        "decide FILE --plot CURVE": ("dca", "decision-curve", "net-benefit"),
        "lm": ("perplexity",),
        "monitor": ("watch",),
        "monitor FILE --drift": ("drift",),
        "pool": ("combine", "ensemble"),
        "recalibrate": ("calibrate",),
        "recalibrate FILE --apply MAP -o ROWS": ("apply", "predict", "transform"),
        "recalibrate FILE -o MAP": ("fit",),
        "skill": ("skill-score",),
        "tally TALLY": ("show",),
        "tally TALLY TALLY -o SUM": ("merge",),
    }
)
"""What to type instead of a command."""

FLAGS = _by_former(
    {
        "--anytime": ("--sequential", "check --looks"),
        "--apply": ("--recalibration", "recalibrate --map", "--map"),
        "--as '*_cal'": ("--suffix",),
        "--as NAME": ("pool --column",),
        "--by": ("lm --groups", "--group-by", "--groupby", "--per", "--stratify", "--strata", "--facet", "-g"),
        "--by for groups of rows, --clusters for dependent ones": ("--group", "--groups"),
        "--cells EXACT:BITS": ("tally --exact-limit", "tally --fraction-bits"),
        "--censored above=COLUMN": ("--censored-at", "--censoring"),
        "--clusters": ("--cluster", "--dependent"),
        "--clusters none or period": ("monitor --units",),
        "--compare": ("lm --baseline",),
        "--confidence": ("--ci", "--conf", "--conf-level"),
        "--confidence none": ("check --point",),
        "--confidence, which is 1 - alpha": ("--alpha",),
        "--confidence, which is 1 - level": ("compare --level", "monitor --level"),
        "--costs fp=1 fn=4": ("--cost-fp", "--cost-fn"),
        "--costs tn= (the negative of a benefit)": ("--benefit-tn",),
        "--costs tp= (the negative of a benefit)": ("--benefit-tp",),
        "--costs, which set it (--plot draws the curve of all thresholds)": ("--threshold",),
        "--earlier": ("check --baseline", "check --reference", "check --against", "check --previous", "--compare-to"),
        "--engine dask:ADDRESS": ("--scheduler",),
        "--engine spark:URL": ("--master",),
        "--floor LOW": ("--limit",),
        "--floor LOW HIGH": ("assess --limit",),
        "--folds": ("--cv", "--k-folds", "--n-folds"),
        "--forecaster": ("--forecast", "--model", "--models"),
        "--format": ("lm --form", "--input-format", "--csv", "--parquet", "-f"),
        "--invalid": ("lm --missing",),
        "--invalid drop": ("--drop-invalid", "--dropna", "--na-rm", "--skip-na", "--ignore-missing", "--skip-invalid"),
        "--invalid rescale": ("--renormalize",),
        "--jobs": ("--n-jobs", "--threads", "--workers", "--parallel", "-j"),
        "--json": ("--output-format", "--as-json"),
        "--json, --plot or --report": ("--output", "--out", "--save", "-o"),
        "--labels": ("--classes", "--class-names"),
        "--lag L:COLUMN": ("--unit",),
        "--method": ("--calibrator", "recalibrate --map-type"),
        "--method best": ("recalibrate --single",),
        "--method linear:a=0.3,b=0.7": ("pool --weights",),
        "--method linear:a=0.3,b=0.7, or linear:equal": ("--pool-weights",),
        "--method linear:map=NAME": ("pool --recalibrate",),
        "--method linear:power=A": ("pool --power",),
        "--method mean:order=R": ("pool --order",),
        "--metric": ("--scores", "--score"),
        "--na": ("--null", "--na-values", "--missing"),
        "--on": ("--id", "--key", "--join"),
        "--output": (
            *("recalibrate --out", "recalibrate --save", "pool --out"),
            *("pool --save", "tally --out", "tally --save"),
        ),
        "--outside renormalize": ("lm --renormalize",),
        "--prob": (
            *("--pred", "--predicted", "--predictions", "--probability", "--probs"),
            *("--score-column", "--y-prob", "--p", "-p"),
        ),
        "--prob COLUMN --scale logits": ("--logits",),
        "--prob LABEL=COLUMN, or --labels NEGATIVE POSITIVE": (
            *("--pos-label", "--event", "--event-level"),
            *("--positive", "--pos-class"),
        ),
        "--question": ("lm --cluster",),
        "--reference": ("--baseline", "--ref", "--climatology"),
        "--report": ("--html",),
        "--require 'ece < 0.05'": (
            *("check --limit", "check --threshold", "check --fail-under"),
            *("check --fail-if", "check --gate"),
        ),
        "--require, which names its metrics": ("check --scores",),
        "--resamples": ("--bootstrap", "--times", "--n-boot", "--n-bootstrap"),
        "--restart": ("--since",),
        "--scale 100": ("lm --percent",),
        "--scale log-probs": ("--from-log-probs",),
        "--scale logits": ("--from-logits",),
        "--scale percent": ("--percent",),
        "--samples": ("--members", "--ensemble", "--draws"),
        "--seed": ("--random-state",),
        "--separator": ("--delimiter", "--delim", "--sep", "--field-separator", "-d", "-s"),
        "--show calibration:bins=20": ("--bins",),
        "--show profile:orders=-2,0,2": ("--orders",),
        "--style axes=nelson": ("assess --axes",),
        "--summary": ("--markdown",),
        "--tag model=": ("tally --model",),
        "--tag name=": ("tally --name",),
        "--tag period=": ("tally --period",),
        "--time": ("--date", "--timestamp"),
        "--time COLUMN:day": ("--freq", "--interval", "--window", "--daily"),
        "--time COLUMN:month": ("--period",),
        "--time COLUMN:week": ("--every", "--weekly", "--resample"),
        "--target-data": ("--observations", "--truth-data"),
        "--truth": ("--label", "--observed", "--outcome", "--target", "--actual", "--y-true", "--y", "-t"),
        "--weight": ("--weights",),
        "--where": ("--filter", "--query", "--sql", "--subset", "-w"),
        "logs hold log-probabilities; leave it out.": ("lm --logits", "lm --from-logits", "lm --from-log-probs"),
        "shrunken accuracies are in the report and the JSON of --by, unasked.": ("assess --shrink",),
        "up to 200,000 groups are counted (--by); most_groups of Python allows more.": ("assess --most-groups",),
    }
)
"""What to type instead of a flag; "COMMAND --flag" is for one command alone."""


_IS_FLAG = re.compile(r"--.|-[A-Za-z]$")
_FLAG = re.compile(r"--[a-z-]+")


def refuse_former(words: Sequence[str], commands: Collection[str]) -> None:
    """Refuse a command that has another name."""
    name = words[0] if words else ""
    if name == "help":
        raise InputError("help: the help of a command is unperplexed COMMAND --help.")
    if name in COMMANDS and name not in commands:
        raise InputError(f"{name}: the command is unperplexed {COMMANDS[name]}.")


def refuse_unknown(words: Sequence[str], known: Set[str]) -> None:
    """Refuse flags that a command does not have, with what to type instead: flags are typed in full."""
    found = [said for word in words[1:] if (said := _refused(words[0], word.partition("=")[0], known))]
    if found:
        raise InputError(" ".join(found))


def _refused(command: str, flag: str, known: Set[str]) -> str:
    """Say what to type instead of a flag; "" of one that there is."""
    if not _IS_FLAG.match(flag) or flag in known:
        return ""
    spelled = flag.replace("_", "-")
    today = FLAGS.get(f"{command} {spelled}", FLAGS.get(spelled, ""))
    if limit := limit_meant(spelled[2:].replace("-", "_"), "LIMIT"):
        today = f"--require '{limit}'"
        if "--require" not in known:
            return f"{flag}: limits are for unperplexed check FILE {today}."
    first = _FLAG.match(today)
    if today and (first is None or first[0] in known):
        return f"{flag}: {today}" if first is None else f"{flag}: {command} takes {today}."
    near = sorted(each for each in known if each.startswith(flag)) or nearest(flag, sorted(known))
    also = f"; did you mean {' or '.join(near[:3])}?" if near else f"; see unperplexed {command} --help."
    return f"{flag}: {command} has no such option{also}"
