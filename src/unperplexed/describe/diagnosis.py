"""A diagnosis in the lines of a report: verdict, cost, remedy, alternatives, and what could have been seen."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from .._lib.formatting import capital, number_of
from ..calibration.dependence_search import dependence_words
from ..calibration.diagnosis.kinds import KINDS, shape
from ..calibration.diagnosis.result import COUNTS, HELD_OUT, NOTABLE_BIAS, Advice, Diagnosis, joined
from ..calibration.diagnosis.words import REST_LEVEL, terms
from ..report.document import Action, Document, lookup
from ..report.numbers import number
from ..report.result import Naming, document


def unnamed_error(d: Diagnosis) -> str:
    """Say that the named errors do not explain everything; "" where they do."""
    if not d.findings or not d.rest_p_value < REST_LEVEL:
        return ""
    return f"{joined([shape.left(d.rest_p_value)])}."


def _cost(d: Diagnosis, log_loss: float) -> str:
    """Say what the findings cost, as a share of the log loss of the forecasts where that is known."""
    if not d.cost > 0:
        return ""
    cost = number(d.cost)
    parts = [f"{x.clause.short} {number(x.cost)}" for x in d.findings if x.cost > 0]
    each = f" ({', '.join(parts)})" if len(parts) > 1 else ""
    of, all_rows = (_UNCERTAIN, " of all rows") if "certainty" in d.errors else ("Miscalibration", "")
    if 0 < log_loss < math.inf:
        share = _percent(d.cost / log_loss)
        return f"{of} causes {share} of the log loss{all_rows}: {cost} of {number(log_loss)} nats{each}."
    return f"{of} costs about {cost} nats a row of the log loss{all_rows}{each}."


_UNCERTAIN = "Miscalibration of the rows that were not predicted as certain"


def _percent(share: float) -> str:
    return f"{100 * share:.0f}%" if share >= 0.1 else f"{100 * share:.2g}%"


class NamedAdvice(NamedTuple):
    """Advice with the error that it is for; "" where one advice is for all."""

    error: str
    advice: Advice


def _remedies(d: Diagnosis) -> Iterator[NamedAdvice]:
    """Give each advice once, as they are to be applied."""
    findings = sorted(d.findings, key=lambda finding: KINDS[finding.error].applied)
    advised = list(dict.fromkeys(finding.advice for finding in findings if finding.advice.text))
    for advice in advised:
        names = dict.fromkeys(finding.clause.short for finding in d.findings if finding.advice == advice)
        yield NamedAdvice(", ".join(names) if len(advised) > 1 else "", advice)
    if d.rest_p_value < REST_LEVEL and shape.FLEXIBLE not in advised:
        yield NamedAdvice(shape.KIND.brief, shape.FLEXIBLE)


def _mended(d: Diagnosis) -> Iterator[str]:
    if d.mended:
        pairs = ", ".join(f"{x.predicted:.0%} to {100 * x.mended:.3g}%" for x in d.mended)
        yield f"Mended together, predictions would move from {pairs}."


def _alternatives(d: Diagnosis) -> Iterator[str]:
    if d.alternatives:
        sets = (
            " and ".join(KINDS[name].noun for name in names) + " alone" * (set(names) < set(d.errors))
            for names in d.alternatives
        )
        what = "Another explanation fits" if len(d.alternatives) == 1 else "Other explanations fit"
        yield f"{what} these rows about as well: {'; or '.join(sets)}."


def seen(d: Diagnosis, points: float = math.nan) -> Iterator[str]:
    """Say which errors so many rows would have shown; ``points`` is the bias as a change of the mean prediction."""
    bias, slope = d.detectable.bias, d.detectable.slope
    if not math.isfinite(bias) or d.negligible >= 0:
        return
    no_slope = ", and no wrong slope" if d.n_clusters is not None and math.isnan(slope) else ""
    slope = slope if math.isfinite(slope) else math.inf
    digits = max(2, 1 - math.floor(math.log10(slope))) if slope < _LARGEST else 0
    above = f"above {1 + slope:.{digits}f}"
    slopes = f"below {1 - slope:.{digits}f} or {above}" if slope < 1 else above
    or_slope = f" or, with the level right, a calibration slope {slopes}" if slope < _LARGEST else ""
    if d.n_classes > 2 and slope < _LARGEST:  # whose calibration slope, in the metrics, is that of the top class
        or_slope = f" or a temperature {detectable_temperatures(slope)}"
    rows = f"{d.n_rows:,} row{' detects' if d.n_rows == 1 else 's detect'} only"
    size = f"{bias:.2g} in log-odds" if math.isnan(points) else f"{100 * points:.2g} points ({bias:.2g} in log-odds)"
    yield f"{rows} a bias of {size} or more{or_slope} (80% power){no_slope}."
    if math.isfinite(d.detectable.clusters):
        about = float(f"{d.detectable.clusters:.2g}")
        yield (
            "Events are too rare in each cluster to show how strongly its rows depend on one another. If they have the"
            f" same outcome, it takes about {about:,.0f} such clusters to detect a bias of {NOTABLE_BIAS} in log-odds."
        )


def detectable_temperatures(slope: float) -> str:
    """Give the temperatures that a change of the slope by so much means: "below 0.91 or above 1.12"."""
    digits = max(2, 1 - math.floor(math.log10(slope)))
    above = f" or above {1 / (1 - slope):.{digits}f}" if slope < 1 else ""
    return f"below {1 / (1 + slope):.{digits}f}{above}"


_LARGEST = 10.0
"""Distance of the calibration slope from 1; predictions that would show only a larger one say nothing about it."""


UNTOLD = (
    "From counts: outcomes at random next to another error, and what the named errors leave, are not looked for;"
    " assess the rows, without --by, for these."
)
"""What a tally of more than two classes does not tell."""

UNORDERED = "Permuted columns are not looked for: the tally was written by an earlier version. Count it anew for these."

_MOST_SHORT = 2


def short_verdict(diagnosis: Diagnosis) -> str:
    """Return the verdict for a column: "biased, overconfident", "none detected"; "" where there is none."""
    if not diagnosis.made:
        return ""
    words = list(dict.fromkeys(KINDS[each.error].brief or each.clause.short for each in diagnosis.findings))
    more = ", ..." if len(words) > _MOST_SHORT else ""
    return f"{', '.join(words[:_MOST_SHORT])}{more}" or ("negligible" if diagnosis.negligible >= 0 else "none detected")


class DiagnosisParts(NamedTuple):
    """What stands beside a verdict, in sentences."""

    cost: str
    remedies: tuple[NamedAdvice, ...]
    others: tuple[str, ...]
    """What mending would do, other explanations, and what the rows would have shown."""


def diagnosis_parts(d: Diagnosis, log_loss: float = math.nan) -> DiagnosisParts:
    """Return what stands beside the verdict; ``log_loss`` is that of the forecasts."""
    others = [*_mended(d), *_alternatives(d)] if d.findings else list(seen(d)) if d.made else []
    untold = [UNTOLD] * (d.by == COUNTS) + [UNORDERED] * (not d.any_order)
    return DiagnosisParts(_cost(d, log_loss), tuple(_remedies(d)), (*others, *untold))


def remedies_text(remedies: Sequence[NamedAdvice]) -> str:
    """Join the remedies of a diagnosis; the advice about held-out rows stands once, at the end."""
    found = [capital(f"{error}: {advice.text}" if error else advice.text) for error, advice in remedies]
    last = [HELD_OUT] if any(advice.fitted for _, advice in remedies) else []
    return " ".join([*found, *last]) or "No remedy is known for this; look at the diagram and the rows."


@document.register(Diagnosis)
def diagnosis_document(d: Diagnosis, naming: Naming, *, brief: bool) -> Document:
    """Describe a diagnosis."""
    parts = diagnosis_parts(d)
    actions = [Action("What it costs", parts.cost, "Cost")] if parts.cost else []
    if d.findings:
        actions.append(Action("What to do", remedies_text(parts.remedies), "Remedy"))
    return Document(
        title=d.headline,
        facts=f"{number_of(d.n_rows, 'forecast')} of {d.n_classes:,} classes",
        headline=joined(d.clauses),
        lead="" if d.dependence is None else dependence_words(d.dependence.tested(d.p_value, d.independent_p_value)),
        calm=not d.findings,
        actions=actions,
        further=lookup(terms(d)),
        remarks=parts.others,
    )
