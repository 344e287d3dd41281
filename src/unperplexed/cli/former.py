"""Commands and flags that go by another name: those of earlier versions, and those that other programs have."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence, Set

from .._lib.errors import InputError, nearest

COMMANDS = {
    "profile": "assess FILE --show profile",
    "scores": "assess FILE --show scores",
    "calibration": "assess FILE --show calibration",
    "ordered": "assess FILE --ordered",
    "merge": "tally TALLY TALLY -o SUM",
    "show": "tally TALLY",
    "calibrate": "recalibrate",
    "combine": "pool",
    "diff": "compare",
    "drift": "monitor FILE --drift",
    "ensemble": "pool",
    "evaluate": "assess",
    "plot": "assess FILE --plot PICTURE",
    "report": "assess FILE --report PAGE",
    "score": "assess",
    "test": "check FILE --require TEXT",
    "threshold": "decide",
    "verify": "assess",
}
"""What to type instead of a command."""

FLAGS = {
    "--pos-label": "--prob LABEL=COLUMN, or --labels NEGATIVE POSITIVE",
    "tally --name": "--tag name=",
    "tally --model": "--tag model=",
    "tally --period": "--tag period=",
    "--every": "--time COLUMN:week",
    "--since": "--restart",
    "recalibrate --single": "--method best",
    "--suffix": "--as '*_cal'",
    "pool --column": "--as NAME",
    "pool --order": "--method mean:order=R",
    "pool --power": "--method linear:power=A",
    "--pool-weights": "--method linear:a=0.3,b=0.7, or linear:equal",
    "pool --recalibrate": "--method linear:map=NAME",
    "--cost-fp": "--costs fp=",
    "--cost-fn": "--costs fn=",
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
    "--groups": "--clusters, with a comma between columns of one cluster (--by makes groups)",
    "--group": "--by for groups of rows, --clusters for dependent ones",
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
    "--logits": "--scale logits",
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
    "--delimiter": "--separator",
    "--filter": "--where",
    "--group-by": "--by",
    "--id": "--on",
    "--orders": "--show profile:orders=-2,0,2",
    "--html": "--report",
    "--label": "--truth",
    "--n-jobs": "--jobs",
    "--observed": "--truth",
    "--outcome": "--truth",
    "--pred": "--prob",
    "--predicted": "--prob",
    "--probability": "--prob",
    "--sep": "--separator",
    "--target": "--truth",
    "--positive": "--prob LABEL=COLUMN, or --labels NEGATIVE POSITIVE",
    "--predictions": "--prob",
    "--threads": "--jobs",
    "--y-prob": "--prob",
    "--y-true": "--truth",
}
"""What to type instead of a flag; "COMMAND --flag" is for one command alone."""


_FLAG = re.compile(r"--[a-z-]+")


def refuse_former(words: Sequence[str], commands: Collection[str]) -> None:
    """Refuse a command that has another name."""
    name = words[0] if words else ""
    if name in COMMANDS and name not in commands:
        raise InputError(f"{name}: the command is unperplexed {COMMANDS[name]}.")


def refuse_unknown(words: Sequence[str], known: Set[str]) -> None:
    """Refuse flags that a command does not have, with what to type instead: flags are typed in full."""
    command = words[0]
    for word in words[1:]:
        flag = word.partition("=")[0]
        if not flag.startswith("--") or flag == "--" or flag in known:
            continue
        today = FLAGS.get(f"{command} {flag}", FLAGS.get(flag, ""))
        first = _FLAG.match(today)
        if today and (first is None or first[0] in known):
            raise InputError(f"{flag}: {today}" if first is None else f"{flag}: {command} takes {today}.")
        begun = sorted(each for each in known if each.startswith(flag))
        near = begun or nearest(flag, sorted(known))
        also = f"; did you mean {' or '.join(near[:3])}?" if near else f"; see unperplexed {command} --help."
        raise InputError(f"{flag}: {command} has no such option{also}")
