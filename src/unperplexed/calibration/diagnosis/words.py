"""What a diagnosis says: each finding, the verdict and its headline, in words."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from ..._lib.formatting import p_value_text, short_name, three_digits
from ...forecasts.labels import Label
from .class_words import HELD_OUT
from .result import (
    COUNTS,
    Detectable,
    Diagnosis,
    ErrorName,
    Finding,
    MendedProbability,
)

REST_LEVEL = 0.01
"""Level at which a further error is reported."""


@dataclass(frozen=True)
class Facts:
    """What a diagnosis knows beside its findings."""

    n: float
    p_value: float
    by: str
    statistic: float = math.nan
    detectable: Detectable = field(default_factory=Detectable)
    gain: float = 0.0
    alternatives: tuple[tuple[str, ...], ...] = ()
    rest: float = math.nan
    mostly_rest: bool = False
    mended: tuple[MendedProbability, ...] = ()
    clusters: int | None = None


def in_words(labels: tuple[Label | None, ...], findings: Sequence[Finding], about: Facts) -> Diagnosis:
    """Return the diagnosis that says it."""
    n, rest, tested = round(about.n), about.rest < REST_LEVEL, _tested(about.p_value)
    findings = _costliest_first(findings, about.n)
    words = [finding.words for finding in findings]
    if rest:
        p = f"({p_value_text(about.rest)})"
        named = [at for at, finding in enumerate(findings) if finding.error != "certainty"]
        if about.mostly_rest:
            words.insert(named[0], f"miscalibrated mainly in a way that has no name here {p}")
        else:
            words.append(f"the forecasts are also miscalibrated in a way that has no name here {p}")
    if [finding.error for finding in findings] == ["certainty"] and about.p_value == about.p_value:
        words.append(f"no evidence of miscalibration in the other rows ({tested})")
    return Diagnosis(
        verdict=sentence("; ".join(words) or nothing_found(n, about.clusters, tested, at_least=about.by == COUNTS)),
        headline=headline(findings, about.mostly_rest and rest),
        findings=tuple(findings),
        alternatives=about.alternatives,
        p_value=about.p_value,
        statistic=about.statistic,
        gain=about.gain,
        rest_p_value=about.rest,
        mended=about.mended,
        detectable=about.detectable,
        n_rows=n,
        n_classes=len(labels),
        by=about.by,
        n_clusters=about.clusters,
    )


def _costliest_first(findings: Sequence[Finding], n: float) -> list[Finding]:
    """Put rows that were certain and wrong behind errors that cost more than those rows do at the least.

    Each was assigned less than 0.01/n, so that it costs more than ln(100 n) nats.
    """
    found = [finding for finding in findings if finding.error != "certainty"]
    for certain in (finding for finding in findings if finding.error == "certainty"):
        least = certain.parameter * math.log(100 * n) / n
        found.insert(next((at for at, other in enumerate(found) if not other.gain >= least), len(found)), certain)
    return found


def sentence(text: str) -> str:
    """Begin with a capital letter and end with a full stop; labels in quotes keep theirs."""
    return f"{text[0].upper()}{text[1:]}." if text else ""


def _tested(p_value: float) -> str:
    """Give a p-value, or say why there is none."""
    return "too few uncertain predictions to test" if math.isnan(p_value) else p_value_text(p_value)


def nothing_found(n: int, clusters: int | None, tested: str, at_least: bool = False) -> str:
    """Say that there is no evidence, and from how many rows; of counts, clusters may share a shard."""
    among = "" if clusters is None else f" in {'at least ' if at_least else ''}{clusters:,} clusters"
    return f"no evidence of miscalibration (n = {n:,}{among}, {tested})"


def not_made(reason: str, n: int, labels: tuple[Label | None, ...]) -> Diagnosis:
    """Return a diagnosis that could not be made, and why."""
    return Diagnosis(f"No verdict: {reason}.", "No verdict", n_rows=n, n_classes=len(labels), made=False)


def too_few(clusters: int) -> str:
    """Say that there are too few clusters of dependent rows."""
    return f"{clusters} cluster{'s' if clusters != 1 else ''} of dependent rows, of which it takes at least six"


_SHORT = {
    ("tail", False): "extremes overstated",
    ("tail", True): "extremes understated",
}
_ALWAYS: dict[ErrorName, str] = {
    "asymmetry": "asymmetric",
    "noise": "extremes overstated",
    "certainty": "certain and wrong",
    "rows": "a few surprising outcomes",
    "shape": "miscalibrated",
}


def short(finding: Finding) -> str:
    """Return a finding in a word or two."""
    if finding.error == "bias" and math.isnan(finding.parameter):
        return "biased between classes"
    if finding.error == "bias":
        return "biased" if finding.words.startswith("biased") else finding.words.split(" (mean prediction ")[0]
    if finding.error == "confidence":
        return finding.words.split(" (")[0]
    return _SHORT.get((finding.error, finding.parameter > 0)) or _ALWAYS[finding.error]


CERTAIN = "certain-and-wrong"
_TERMS_OF: dict[ErrorName, str] = {
    "tail": "extremes",
    "noise": "extremes",
    "certainty": CERTAIN,
    "rows": "surprising-outcomes",
}


def term(finding: Finding) -> str:
    """Name what to look up about a finding, in a word that `explain` knows."""
    return _TERMS_OF.get(finding.error) or short(finding).removeprefix("perhaps ").split()[0]


def terms(d: Diagnosis) -> list[str]:
    """Name what to look up about all findings, and about what they leave or about a slope of 0."""
    found = [term(finding) for finding in d.findings]
    if found and d.rest_p_value < REST_LEVEL:
        found.append("miscalibrated")
    slopes = [each.interval for each in d.findings if each.error == "confidence" and {*d.errors} <= {*_PLAIN}]
    return found + ["uninformative"] * any(1 + low <= 0 <= 1 + high for low, high in slopes)


def headline(findings: Sequence[Finding], mostly_rest: bool = False) -> str:
    """Return the verdict in a few words, such as "Overconfident, overpredicts 'rain'"."""
    words = ["miscalibrated"] * mostly_rest + [short(finding) for finding in findings]
    text = ", ".join(dict.fromkeys(words)) or "no evidence of miscalibration"
    return text[0].upper() + text[1:]


def worded(
    finding: Finding,
    label: Label | None,
    mean: float,
    frequency: float,
    together: Sequence[str],
    separated: bool,
    slope: float,
    temperature: float,
    all_rows: bool,
) -> Finding:
    """Return a finding of two classes with its words and remedy; ``together`` are all errors of the map.

    Beside a tail the calibration slope says whether it is over- or underconfidence. ``temperature`` is that fitted
    alone, and ``all_rows`` tells that the size of the error is that of the calibration line.
    """
    x, (low, high) = finding.parameter, finding.interval
    few, digits, at = tells_sizes(together), _digits(x), ""
    if few and finding.error != "noise":
        between = (
            "its size is not determined" if separated else f"95% CI {_signed(low, digits)} to {_signed(high, digits)}"
        )
        at = f" ({between})" if separated else f" ({_signed(x, digits)}, {between})"
    over = x < 0
    words = {
        "bias": _bias(x, label, mean, frequency),
        "confidence": _confidence(finding, together, separated, all_rows=all_rows) if few else _confident(slope - 1),
        "asymmetry": f"too {'bold' if over else 'timid'} above 50% and too {'timid' if over else 'bold'} below{at}",
        "tail": f"extreme probabilities are {'over' if over else 'under'}stated{at}",
        "noise": f"extreme probabilities are overstated, as if {x:.1%} of the outcomes were drawn at random",
    }[finding.error]
    remedy = _remedy(finding, together, separated, temperature) if few else _together(together)
    return replace(finding, words=words, remedy=remedy, label=label if finding.error == "bias" else None)


def _confident(slope: float) -> str:
    return f"{'over' if slope < 0 else 'under'}confident"


def _confidence(finding: Finding, together: Sequence[str], separated: bool, *, all_rows: bool) -> str:
    """Name over- or underconfidence with the calibration slope; beside other errors with what multiplies log-odds."""
    x, (low, high) = finding.parameter, finding.interval
    name = "pointing away from the outcomes" if 1 + high < 0 and not separated else _confident(x)
    if separated:
        return f"{name} (the calibration slope is not determined)"
    digits = _digits(x)
    slope, *ends = (f"{1 + each:z.{digits}f}".replace("-", "−") for each in (x, low, high))
    between = "" if math.isnan(low) else f", 95% CI {ends[0]} to {ends[1]}"
    if all_rows:
        return f"{'perhaps ' if low <= 0 <= high else ''}{name} (calibration slope {slope}{between})"
    if {*together} <= {*_PLAIN}:
        return f"{name} (but for rows predicted as certain)"
    return f"{name} (log-odds to be multiplied by {slope}{between})"


def tells_sizes(together: Sequence[str]) -> bool:
    """Whether the sizes of errors, one by one, tell what the map does."""
    return not ({"confidence", "tail"} <= set(together) or len(together) >= 3)


def _remedy(finding: Finding, together: Sequence[str], separated: bool, temperature: float) -> str:
    """Return what mends one error beside at most one other; a shift and a lapse come after that."""
    x, (low, high), digits = finding.parameter, finding.interval, _digits(finding.parameter)
    others = [name for name in together if name in _AFTER and name != finding.error]
    after = f", after {_AFTER[others[0]]}" if others else ""
    if finding.error == "confidence" and set(together) <= set(_PLAIN) and not separated:
        if 1 + high < 0:
            return "Check whether the classes are swapped: the predictions point away from the outcomes."
        if 1 + low <= 0:
            return (
                "Look for better predictors: these predictions show no relation to the outcomes (a calibration slope"
                " of 0 is possible)."
            )
    remedy = {
        "bias": f"Add {'a constant' if separated else _signed(x, digits)} to the log-odds{after}",
        "confidence": _scaling(x, together, separated, temperature),
        "asymmetry": "Fit one slope for each side of even odds (beta calibration)",
        "tail": "Fit the tails apart (logistic recalibration with a tail term)",
        "noise": f"Mix the predictions with a {x:.1%} share of even odds (a lapse){after}",
    }[finding.error]
    return f"{remedy}. {HELD_OUT}"


def _scaling(x: float, together: Sequence[str], separated: bool, temperature: float) -> str:
    """Say how to scale the log-odds: alone by the temperature, beside another error by the slope."""
    digits = _digits(x)
    if separated or not 1 + x > 0.02:
        return "Multiply the log-odds by a constant (temperature scaling)"
    if len(together) == 1 and (temperature - 1) * x < 0:
        return f"Divide the log-odds by {temperature:.{digits}f} (temperature scaling)"
    return f"Multiply the log-odds by {1 + x:.{digits}f}"


_PLAIN = ("bias", "confidence")
_AFTER = {
    "bias": "adding to the log-odds",
    "confidence": "multiplying the log-odds",
    "asymmetry": "fitting the slopes",
    "tail": "fitting the tails",
}
"""What a bias and a lapse, which are mended last, come after."""
_TERMS = {"asymmetry": "their absolute value", "tail": "a tail term", "noise": "a lapse"}


def _together(errors: Sequence[str]) -> str:
    """Return what mends errors of which none is mended alone."""
    terms = ["the log-odds", *(term for error, term in _TERMS.items() if error in errors)]
    return f"Mend these errors together: fit a logistic regression with an intercept, {' and '.join(terms)}. {HELD_OUT}"


def _bias(x: float, label: Label | None, mean: float, frequency: float) -> str:
    name = "the positive class" if label is None else f"'{short_name(str(label), 40)}'"
    predicted, observed = three_digits(mean), three_digits(frequency)
    if (mean > frequency) == (x < 0) and predicted != observed:
        verb = "overpredicts" if x < 0 else "underpredicts"
        return f"{verb} {name} (mean prediction {predicted}, observed frequency {observed})"
    near = f"log-odds of {name} {abs(x):.2f} too {'high' if x < 0 else 'low'} near 50%"
    return f"biased at even odds ({near}; the other errors offset it: mean {predicted}, observed {observed})"


def _signed(x: float, digits: int = 2) -> str:
    return f"{x:+z.{digits}f}".replace("-", "−")


def _digits(x: float) -> int:
    """Return how many decimals tell an error from none."""
    return 2 if not 0 < abs(x) < 0.01 else min(1 - math.floor(math.log10(abs(x))), 9)


def certainty_words(count: int, expected: float, rows: int, exact: bool = True) -> str:
    """Say how often outcomes that were predicted as certain did not occur.

    Sums of weights give an effective number of rows, not an ``exact`` one.
    """
    times = {1: "once", 2: "twice"}.get(count, f"{count:,} times")
    among = f"{rows:,} row{'s' if rows != 1 else ''} predicted as certain{'' if exact else ', by weight'}"
    return f"certain and wrong {times} ({expected:.2g} expected in {among})"


def rows_words(probabilities: Sequence[float]) -> str:
    """Say that a few surprising outcomes carry all the evidence."""
    many = len(probabilities) > 1
    given = ", ".join(f"{p:.2g}" for p in probabilities)
    what = f"{len(probabilities)} surprising outcomes" if many else "1 surprising outcome"
    return f"{what} (assigned probability {given}) {'carry' if many else 'carries'} all the evidence of miscalibration"
