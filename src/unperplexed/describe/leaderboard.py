"""A leaderboard as a document."""

from __future__ import annotations

import math

from .._lib.formatting import confidence_interval, number_of, short_name, short_names
from ..language_models.clustered_ratios import with_gap
from ..language_models.ranking import FEWEST, Entry, Leaderboard
from ..report.document import LONGEST_NAME, Block, Code, Column, Document, Section, Table, lookup
from ..report.numbers import between, number, share, signed
from ..report.result import Naming, document
from ..report.tables import aside, ci, estimates


@document.register(Leaderboard)
def leaderboard_document(found: Leaderboard, naming: Naming, *, brief: bool) -> Document:
    """Describe models and their confidences on graded answers.

    Parameters
    ----------
    found : Leaderboard
        What is described.

    Returns
    -------
    Document
    """
    models = {each.model for each in found.entries}
    kinds = list(dict.fromkeys(each.confidence for each in found.entries))
    beaten = [each for each in found.entries if each.beats]
    judged = [each for each in found.entries if each.gain == each.gain]
    of = "confidences" if len(models) == 1 else f"{found.by}s' confidences"
    first = max(found.entries, key=lambda each: each.accuracy.value)
    limits = f"{confidence_interval(found.confidence)} {between(*first.accuracy.interval, share)}"
    lead = f"Most right answers: {_name(first)}, {share(first.accuracy.value)} ({limits})." if len(models) > 1 else ""
    if len(kinds) > 1 and len(models) > 1:
        of = f"confidences of {number_of(len({each.model for each in judged}), found.by)}"
    share_of = f"{len(beaten)} of {len(judged)} {of}"
    beat = f"After recalibration {share_of} beat the base rate on held-out answers{_few(found)}"
    headline = beat if judged else "Too few answers to recalibrate their confidences"
    only = first.overconfidence if len(found.entries) == 1 else None
    headline, remarks = with_gap(only, headline, bool(first.terms))
    tables: list[Block] = [score_table(found), gain_table(found), *abstaining_tables(found), remedy_table(found)]
    if found.differences:
        tables.insert(0, difference_table(found))
    tables += [agreement_table(found)] if found.agreement else []
    tables += [grader_table(found)] if found.graders else []
    return Document(
        title="Graded answers of language models",
        facts=f"{number_of(sum(each.n for each in found.entries) // len(kinds), 'answer')}, "
        f"{number_of(len(models), found.by)}, confidences: {', '.join(kinds)}",
        headline=headline,
        lead=lead,
        calm=True,
        command=Code(found.code, "Lines of Python that fit the first map") if found.code else None,
        further=lookup(term for each in found.entries for term in each.terms),
        first=Section("models", "Models", tables, "Models"),
        summary=tables,
        settings="questions are the clusters; log losses in nats; recalibration and base rate on held-out questions",
        warnings=[*found.remarks, *remarks],
    )


def _without_rank(found: Leaderboard) -> str:
    """Say which confidences cannot beat the base rate, since they do not rank answers."""
    level = confidence_interval(found.confidence)
    chance = [each for each in found.entries if not (each.beats or each.ranks or math.isnan(each.gain))]
    said = [f"{_name(each)}{aside(f'AUC {number(each.auc)}', ci(level, each.auc_interval))}" for each in chance]
    if not said:
        return ""
    return (
        f" No gain is to be expected where right answers have no higher confidences than wrong ones: {', '.join(said)}."
    )


def _few(found: Leaderboard) -> str:
    """Count the confidences that have too few answers to be recalibrated."""
    few = sum(each.n < FEWEST for each in found.entries)
    return f" ({few} of {len(found.entries)} have fewer than {FEWEST} answers, too few for this)" if few else ""


def _name(each: Entry) -> str:
    return short_name(each.model) if each.model else each.confidence


def _names(found: Leaderboard) -> list[Column]:
    kinds = len({each.confidence for each in found.entries}) > 1
    models = any(each.model for each in found.entries)
    first = [Column(found.by, short_names((each.model for each in found.entries), LONGEST_NAME))] if models else []
    return first + ([Column("confidence", [each.confidence for each in found.entries])] if kinds or not first else [])


def score_table(found: Leaderboard) -> Table:
    """Return the share of right answers beside the mean confidence, and how confidences rank answers."""
    rows = found.entries
    return Table.of(
        "Share of right answers beside the mean confidence. AUC: how well confidences rank right answers above wrong"
        " ones (0.5 is chance).",
        *_names(found),
        Column("answers", [f"{each.n:,}" for each in rows]),
        estimates("right", ((each.accuracy.value, each.accuracy.interval) for each in rows), share),
        Column("mean confidence", [share(each.mean_confidence) for each in rows]),
        estimates("AUC", ((each.auc, each.auc_interval) for each in rows)),
        notes=confidence_interval(found.confidence),
    )


def gain_table(found: Leaderboard) -> Table:
    """Return log losses on held-out answers: of the base rate, and of recalibrated confidences."""
    rows = found.entries
    return Table.of(
        "Log loss; smaller is better. Base rate and recalibrated are of held-out answers; the gain is their difference"
        f" (above 0: recalibrated confidences beat the base rate).{_without_rank(found)}",
        *_names(found),
        Column("as stated", [number(each.log_loss) for each in rows]),
        Column("base rate", [number(each.base_rate) for each in rows]),
        Column("recalibrated", [number(each.recalibrated) for each in rows]),
        estimates("gain", ((each.gain, each.gain_interval) for each in rows), signed),
        notes=confidence_interval(found.confidence),
    )


def abstaining_tables(found: Leaderboard) -> tuple[Table, Table]:
    """Return the share of wrong answers among the most confident ones, with the area, and their lowest confidences."""
    rows = [each.risk_coverage for each in found.entries]
    kept = {f"{at}%": [each.points[at // 10 - 1] for each in rows] for at in (20, 50, 80, 100)}
    wrong = Table.of(
        "Abstaining: share of wrong answers among the most confident 20% to 100%, and its mean over all shares (area"
        " under the risk-coverage curve, AURC). Smaller is better.",
        *_names(found),
        *(Column(name, [share(each.risk) for each in points]) for name, points in kept.items()),
        estimates("AURC", ((each.area, each.interval) for each in rows)),
        notes=confidence_interval(found.confidence),
    )
    limits = Table.of(
        "Confidence from which on these most confident 20% to 100% are sent; of the answers with just that confidence,"
        " some may have to be withheld.",
        *_names(found),
        *(Column(name, [number(each.threshold) for each in points]) for name, points in kept.items()),
    )
    return wrong, limits


def remedy_table(found: Leaderboard) -> Table:
    """Return what is wrong with each model's confidences, and what mends it."""
    findings = [with_gap(each.overconfidence, each.finding, bool(each.terms))[0] for each in found.entries]
    return Table.of(
        "What is wrong with the confidences, and the remedy: the map behind the recalibrated log loss above, an average"
        " that GradedAnswers.recalibrator fits. Check it on other questions.",
        *_names(found),
        Column("finding", findings, words=True),
        Column("remedy", [each.remedy for each in found.entries], words=True, detail=len(found.entries) > 20),
    )


def difference_table(found: Leaderboard) -> Table:
    """Return differences between kinds of confidences in the same answers."""
    rows = found.differences
    return Table.of(
        "Two confidences in the same answers, the first minus the second: log loss after recalibration (held out), and"
        " area under the risk-coverage curve. Below 0 the first is better.",
        Column("confidences", [f"{each.first} − {each.second}" for each in rows]),
        *([Column(found.by, [each.model for each in rows], words=True)] if any(each.model for each in rows) else []),
        Column("answers", [f"{each.n:,}" for each in rows]),
        estimates("log loss", ((each.log_loss, each.log_loss_interval) for each in rows), signed),
        estimates("AURC", ((each.area, each.area_interval) for each in rows), signed),
        notes=confidence_interval(found.confidence),
    )


def agreement_table(found: Leaderboard) -> Table:
    """Return how much of the agreement among samples is not chance."""
    rows = found.agreement
    return Table.of(
        "Agreement among samples. Reliability: the share of its variance that is not chance of so few samples; the"
        " standard error is that of one agreement (beta-binomial).",
        Column(found.by, [each[0] or "all" for each in rows]),
        Column("samples", [number(each[1], 1) for each in rows]),
        Column("reliability", [share(each[2]) for each in rows]),
        Column("standard error", [number(each[3]) for each in rows]),
    )


def grader_table(found: Leaderboard) -> Table:
    """Return how often graders agree."""
    rows = found.graders
    return Table.of(
        "Graders. An answer is right if most graders call it right. Cohen's kappa: agreement beyond chance (1 is"
        " best).",
        Column("graders", [f"{each[0]}, {each[1]}" for each in rows]),
        Column("equal grades", [share(each[2]) for each in rows]),
        Column("kappa", [number(each[3]) for each in rows]),
        Column("answers", [f"{each[4]:,}" for each in rows]),
    )
