"""Commands and flags that go by another name: those of earlier versions, and those that other programs have."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence, Set

from .._lib.errors import InputError, limit_meant, nearest

COMMANDS = {
    "profile": "assess FILE --show profile",
    "scores": "assess FILE --show scores",
    "calibration": "assess FILE --show calibration",
    "ordered": "assess FILE --ordered",
    "merge": "tally TALLY TALLY -o SUM",
    "show": "tally TALLY",
    "calibrate": "recalibrate",
    "combine": "pool",
    "apply": "recalibrate FILE --apply MAP -o ROWS",
    "benchmark": "compare",
    "calibration-curve": "assess FILE --plot PICTURE",
    "dca": "decide FILE --plot CURVE",
    "decision-curve": "decide FILE --plot CURVE",
    "describe": "assess",
    "diff": "compare",
    "drift": "monitor FILE --drift",
    "ensemble": "pool",
    "fit": "recalibrate FILE -o MAP",
    "gate": "check FILE --require TEXT",
    "groups": "assess FILE --by COLUMN",
    "evaluate": "assess",
    "metrics": "assess",
    "net-benefit": "decide FILE --plot CURVE",
    "perplexity": "lm",
    "plot": "assess FILE --plot PICTURE",
    "power": "assess FILE, which says what so many rows can detect",
    "predict": "recalibrate FILE --apply MAP -o ROWS",
    "reliability": "assess FILE --plot PICTURE",
    "report": "assess FILE --report PAGE",
    "sample-size": "assess FILE, which says what so many rows can detect",
    "score": "assess",
    "skill-score": "skill",
    "subgroups": "assess FILE --by COLUMN",
    "test": "check FILE --require TEXT",
    "threshold": "decide",
    "transform": "recalibrate FILE --apply MAP -o ROWS",
    "validate": "assess",
    "verify": "assess",
    "watch": "monitor",
}
"""What to type instead of a command."""

FLAGS = {
    "--pos-label": "--prob LABEL=COLUMN, or --labels NEGATIVE POSITIVE",
    "tally --name": "--tag name=",
    "tally --model": "--tag model=",
    "--every": "--time COLUMN:week",
    "--since": "--restart",
    "recalibrate --single": "--method best",
    "--suffix": "--as '*_cal'",
    "pool --column": "--as NAME",
    "pool --order": "--method mean:order=R",
    "pool --power": "--method linear:power=A",
    "--pool-weights": "--method linear:a=0.3,b=0.7, or linear:equal",
    "pool --recalibrate": "--method linear:map=NAME",
    **dict.fromkeys(("--cost-fp", "--cost-fn"), "--costs fp=1 fn=4"),
    "--benefit-tp": "--costs tp= (the negative of a benefit)",
    "--benefit-tn": "--costs tn= (the negative of a benefit)",
    "lm --form": "--format",
    "--scheduler": "--engine dask:ADDRESS",
    "--master": "--engine spark:URL",
    "--limit": "--floor LOW",
    "assess --limit": "--floor LOW HIGH",
    "tally --exact-limit": "--cells EXACT:BITS",
    "tally --fraction-bits": "--cells EXACT:BITS",
    "assess --most-groups": "up to 1,000 groups are counted (--by); most_groups of Python allows more.",
    "assess --shrink": "shrunken accuracies are in the report and the JSON of --by, unasked.",
    "--axes": "--style axes=nelson",
    "--forecast": "--forecaster",
    "--recalibration": "--apply",
    "--baseline": "--reference",
    "check --baseline": "--earlier",
    **dict.fromkeys(("--group", "--groups"), "--by for groups of rows, --clusters for dependent ones"),
    "lm --groups": "--by",
    "lm --cluster": "--question",
    "lm --baseline": "--compare",
    "check --reference": "--earlier",
    "pool --weights": "--method linear:a=0.3,b=0.7",
    "check --limit": "--require 'ece < 0.05'",
    "--cluster": "--clusters",
    "--unit": "--lag L:COLUMN",
    "monitor --units": "--clusters none or period",
    "--percent": "--scale percent",
    "lm --percent": "--scale 100",
    **dict.fromkeys(
        ("lm --logits", "lm --from-logits", "lm --from-log-probs"), "logs hold log-probabilities; leave it out."
    ),
    "--from-logits": "--scale logits",
    "--from-log-probs": "--scale log-probs",
    "--logits": "--prob COLUMN --scale logits",
    "lm --renormalize": "--outside renormalize",
    "--renormalize": "--invalid rescale",
    "--drop-invalid": "--invalid drop",
    "lm --missing": "--invalid",
    "--scores": "--metric",
    "check --scores": "--require, which names its metrics",
    "--score": "--metric",
    "--sequential": "--anytime",
    "check --looks": "--anytime",
    "check --point": "--confidence none",
    "compare --level": "--confidence, which is 1 - level",
    "monitor --level": "--confidence, which is 1 - level",
    "--alpha": "--confidence, which is 1 - alpha",
    "--bins": "--show calibration:bins=20",
    "--bootstrap": "--resamples",
    **dict.fromkeys(("--delimiter", "--delim", "--sep", "--field-separator"), "--separator"),
    **dict.fromkeys(("--filter", "--query", "--sql", "--subset"), "--where"),
    **dict.fromkeys(("--group-by", "--groupby", "--per", "--stratify", "--strata", "--facet"), "--by"),
    **dict.fromkeys(("--id", "--key", "--join"), "--on"),
    "--orders": "--show profile:orders=-2,0,2",
    "--html": "--report",
    **dict.fromkeys(("--label", "--observed", "--outcome", "--target", "--actual", "--y-true", "--y"), "--truth"),
    **dict.fromkeys(("--n-jobs", "--threads", "--workers", "--parallel"), "--jobs"),
    **dict.fromkeys(
        ("--pred", "--predicted", "--predictions", "--probability", "--probs", "--score-column", "--y-prob", "--p"),
        "--prob",
    ),
    **dict.fromkeys(("--model", "--models"), "--forecaster"),
    **dict.fromkeys(
        ("--event", "--event-level", "--positive", "--pos-class"), "--prob LABEL=COLUMN, or --labels NEGATIVE POSITIVE"
    ),
    **dict.fromkeys(("--classes", "--class-names"), "--labels"),
    **dict.fromkeys(("--dropna", "--na-rm", "--skip-na", "--ignore-missing", "--skip-invalid"), "--invalid drop"),
    **dict.fromkeys(("--null", "--na-values", "--missing"), "--na"),
    **dict.fromkeys(("--ref", "--climatology"), "--reference"),
    **dict.fromkeys(("--ci", "--conf", "--conf-level"), "--confidence"),
    **dict.fromkeys(("--times", "--n-boot", "--n-bootstrap"), "--resamples"),
    **dict.fromkeys(("--cv", "--k-folds", "--n-folds"), "--folds"),
    "--random-state": "--seed",
    "recalibrate --map": "--apply",
    **dict.fromkeys(("--calibrator", "recalibrate --map-type"), "--method"),
    "--map": "--apply",
    **dict.fromkeys(
        ("check --threshold", "check --fail-under", "check --fail-if", "check --gate"), "--require 'ece < 0.05'"
    ),
    **dict.fromkeys(("check --against", "check --previous", "--compare-to"), "--earlier"),
    **dict.fromkeys(
        ("--threshold", "--thresholds"), "--costs, which set it (--plot draws the curve of all thresholds)"
    ),
    **dict.fromkeys(("--date", "--timestamp"), "--time"),
    **dict.fromkeys(("--freq", "--interval", "--window", "--daily"), "--time COLUMN:day"),
    "--period": "--time COLUMN:month",
    "tally --period": "--tag period=",
    **dict.fromkeys(("--weekly", "--resample"), "--time COLUMN:week"),
    "--weights": "--weight",
    **dict.fromkeys(("--input-format", "--csv", "--parquet"), "--format"),
    **dict.fromkeys(("--output-format", "--as-json"), "--json"),
    **dict.fromkeys(("--output", "--out", "--save"), "--json, --plot or --report"),
    **dict.fromkeys(
        (f"{command} {flag}" for command in ("recalibrate", "pool", "tally") for flag in ("--out", "--save")),
        "--output",
    ),
    "--markdown": "--summary",
    "--dependent": "--clusters",
    "-o": "--json, --plot or --report",
    "-p": "--prob",
    "-t": "--truth",
    **dict.fromkeys(("-d", "-s"), "--separator"),
    "-g": "--by",
    "-w": "--where",
    "-j": "--jobs",
    "-f": "--format",
}
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
