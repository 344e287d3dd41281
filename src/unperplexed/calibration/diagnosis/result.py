"""Diagnosis: what is wrong with forecasts, in words and numbers. `diagnose` and ``Assessment.diagnosis`` give one."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ..._lib.dataclasses import field
from ..._lib.formatting import capital
from ..._lib.serialize import plain_values
from ..._lib.typing import ByValue
from ...forecasts.labels import Label
from ...report.result import JsonResult
from ...statistics.intervals import Metric
from ..dependence_search import DependenceSearch
from .line import CalibrationLine, Coefficient

if TYPE_CHECKING:
    from ...report.explanations import Explanation

ROWS, COUNTS = "rows", "sums"
"""What is read of a tally of more than two classes."""

HELD_OUT = "Fit it to these rows only if the forecaster was not trained on them, and assess it on other rows."
"""Stands behind each remedy that is fitted."""


class Clause(ByValue):
    """What is said of an error, or of what was tested, in parts. Sentences are made of clauses, and never read back."""

    name: str
    """In a word or two, for headlines and tables: "overpredicts"; "" for what only sentences say."""
    subject: str = ""
    """What the name is about: a class, quoted."""
    more: str = ""
    """Follows the name in a sentence: " 3 times"."""
    instead: str = ""
    """Stands in a sentence instead of the name."""
    detail: str = ""
    """What stands in brackets: "calibration slope 0.62, 95% CI 0.52 to 0.71"."""
    term: str = ""
    """What to look up about it, in a word that `explain` knows."""

    @property
    def short(self) -> str:
        """The name with what it is about: "overpredicts 'rain'"."""
        return f"{self.name} {self.subject}" if self.subject else self.name

    @property
    def words(self) -> str:
        """All of it, as it stands in a sentence."""
        return f"{self.instead or self.short}{self.more}{f' ({self.detail})' if self.detail else ''}"

    @property
    def beside(self) -> str:
        """What a table says beside the name."""
        rest = (self.instead + self.more).lstrip(",: ")
        return (f"{rest} ({self.detail})" if rest else self.detail) if self.detail else rest or self.short


def joined(clauses: Sequence[Clause], end: str = "") -> str:
    """Join clauses to a sentence, without its full stop."""
    return capital("; ".join(each.words for each in clauses) + end)


class Advice(ByValue):
    """What mends an error, or what to look at."""

    text: str
    fitted: bool = False
    """Whether it is fitted to rows, which should not be those that the forecaster was trained on."""

    @property
    def words(self) -> str:
        """The advice with this caution."""
        return f"{self.text} {HELD_OUT}" if self.fitted else self.text


class Finding(ByValue):
    """One thing that is wrong with the forecasts."""

    error: str
    """The kind of error: "bias", "confidence", "asymmetry", "tail", "noise", "permuted", "certainty", "rows" or
    "shape"; of predictive distributions also "spread", "skew", "level" and "follow". A share of outcomes as if drawn at
    random is "noise"; an error without a name is a "shape"."""
    clause: Clause
    """What is said of it, in parts."""
    advice: Advice = Advice("")
    """What mends it; for "certainty" and "rows" what to look at."""
    words: str = field(init=False, compare=False)
    """The finding in words, such as "overpredicts 'fraud' (mean prediction 36.6%, observed frequency 3.55%)"."""
    parameter: float = math.nan
    """Size of the error on the scale of its map: log-odds of a bias (beside a slope at the mean log-odds, weighted by
    p (1 - p)), calibration slope - 1, a tail's or an asymmetry's coefficient, the share of outcomes as if drawn at
    random; the parameter of `PitMap` for predictive distributions; how many rows for "certainty" and "rows", and how
    many columns for "permuted"."""
    interval: tuple[float, float] = (math.nan, math.nan)
    """Confidence interval of the parameter at 95%; NaN where there is none."""
    p_value: float = math.nan
    """p-value of the likelihood-ratio test of this error beside the others; of a Poisson count for "certainty"; the
    gate's for "rows" and "shape"."""
    cost: float = math.nan
    """Reduction of the log loss in nats a row by mending this error too, after those listed before it."""
    label: Label | None = None
    """The class that the finding is about, where it is about one."""
    remedy: str = field(init=False, compare=False)
    """The advice in words."""
    rows: tuple[int, ...] = ()
    """Numbers of the rows that "certainty" and "rows" are about, counted from 0, as far as they are known."""
    column_labels: tuple[Label | None, ...] = ()
    """For "permuted" the label that is right for each column, to be passed as ``labels``."""

    def __post_init__(self) -> None:
        """Say it in words."""
        object.__setattr__(self, "words", self.clause.words)
        object.__setattr__(self, "remedy", self.advice.words)

    @property
    def explanation(self) -> Explanation:
        """What such a finding means, why it occurs, what to try and how to check; `print` shows it."""
        from ...report.explanations import explain

        return explain(self.clause.term)


class MendedProbability(ByValue):
    """What a predicted probability would be after the findings are mended."""

    predicted: float
    mended: float


NOTABLE_BIAS = 0.5
"""The bias in log-odds that `Detectable.clusters` is about."""


class Detectable(ByValue):
    """Errors that this many rows would show with 80% power: at least so large."""

    bias: float = math.nan
    """Log-odds; of predictive distributions in their spreads."""
    slope: float = math.nan
    """Distance of the calibration slope from 1; of two classes, with the level right. Of predictive distributions the
    distance from 1 of the factor by which their intervals should be wider."""
    clusters: float = math.nan
    """Number of clusters like these that would show a bias of 0.5 even if all rows of a cluster had the same outcome;
    NaN unless events are rare in few clusters, so that the rows hardly show how strongly they depend."""


class Diagnosis(JsonResult):
    """What is wrong with forecasts. Made by `diagnose` and as ``Assessment.diagnosis``; nothing in it is random."""

    clauses: tuple[Clause, ...]
    """What was found, costliest first, or that there is no evidence of miscalibration. Permuted columns come first of
    all, and the others are then those of the columns named rightly."""
    verdict: str = field(init=False, compare=False)
    """The clauses as one sentence, the level of two classes first where mean prediction and frequency differ."""
    headline: str = field(init=False, compare=False)
    """Their names, for titles and tables."""
    findings: tuple[Finding, ...] = ()
    """What is wrong, costliest first."""
    alternatives: tuple[tuple[str, ...], ...] = ()
    """Names of other sets of errors that the data cannot tell apart from the findings."""
    p_value: float = math.nan
    """p-value of the test whether anything is wrong (the gate W), at 5%, without the rows predicted as certain; NaN
    where nothing could be tested. `overall_p_value` has those too."""
    statistic: float = math.nan
    """W itself."""
    cost: float = 0.0
    """Reduction of the log loss in nats a row by mending all findings: the sum of theirs."""
    negligible: float = math.nan
    """Errors that are significant, but too small to be findings: root mean square in log-odds; NaN where none are."""
    rest_p_value: float = math.nan
    """p-value of the test whether the findings leave a further error; NaN where none was made."""
    mended: tuple[MendedProbability, ...] = ()
    """Where a single number would mislead: mended probabilities at 1, 10, 50, 90 and 99%, of two classes, or that an
    outcome is below such a point of its predictive distribution."""
    detectable: Detectable = field(default_factory=Detectable)
    n_rows: int = 0
    n_named_by: int = 0
    """Rows, chosen at random, by which errors are named and priced where there are many more; else 0."""
    n_classes: int = 0
    by: str = ""
    """What was read: "rows", the "values" or "cells" of a tally, or with more than two classes its "sums"."""
    any_order: bool = True
    """Whether permuted columns were looked for: tally files of earlier versions do not tell."""
    n_clusters: int | None = None
    """Number of clusters of dependent rows, in a tally that of its shards; None for independent rows."""
    independent_p_value: float = math.nan
    """What ``p_value`` would be if the rows of clusters were independent; NaN without clusters."""
    dependence: DependenceSearch | None = None
    """What `diagnose` found of dependence that nobody declared; None in an assessment, which has it itself."""
    made: bool = field(init=False, compare=False)
    """Whether a diagnosis could be made."""
    reason: str = ""
    """Why none could be made; "" where one was."""
    line: CalibrationLine | None = field(default=None, repr=False)
    """Calibration slope and intercept of the rows that were read: of two classes, and of the most probable class where
    rows of more classes are in clusters. `slope` and `intercept` are of them."""

    power: Coefficient | None = field(default=None, repr=False)
    """Slope of all log-odds or log-probabilities, certain ones too: 1 / `temperature`."""
    lapse: float = 0.0
    """Share of a uniform forecast that is fitted with the temperature where that pays, more than two classes only."""

    def __post_init__(self) -> None:
        """Join the clauses."""
        object.__setattr__(self, "verdict", f"{joined(self.clauses)}.")
        object.__setattr__(self, "headline", capital(self.in_brief))
        object.__setattr__(self, "made", not self.reason)

    @property
    def in_brief(self) -> str:
        """The headline inside a sentence."""
        return ", ".join(dict.fromkeys(each.short for each in self.clauses if each.name))

    @property
    def temperature(self) -> Metric | None:
        """The number that all log-odds or log-probabilities are to be divided by; None where not known.

        1 is best; above 1 forecasts are overconfident. `temperature_label` says what was fitted with it.
        """
        return None if self.power is None else self.power.inverse()

    @property
    def temperature_label(self) -> str:
        """What was fitted with the temperature: "alone", or "with a lapse", which is `lapse`; "" without one."""
        return "" if self.power is None else "with a lapse" if self.lapse else "alone"

    @property
    def slope(self) -> Metric | None:
        """Slope of the logistic regression of the outcome on the predicted log-odds, with an intercept. 1 is best."""
        return None if self.line is None else self.line.slope.metric()

    @property
    def intercept(self) -> Metric | None:
        """Intercept of that regression at slope 1 (calibration in the large). 0 is best."""
        return None if self.line is None else self.line.intercept.metric()

    @property
    def overall_p_value(self) -> float:
        """The p-value for whether anything is wrong, rows predicted as certain included (Bonferroni); 1 if none can be.

        ``p_value`` is that of the gate alone, which leaves those rows out.
        """
        certain = [finding.p_value for finding in self.findings if finding.error == "certainty"]
        tested = [p for p in (self.p_value, *certain) if not math.isnan(p)]
        return min(1.0, len(tested) * min(tested)) if tested else 1.0

    @property
    def miscalibrated(self) -> bool:
        """Whether anything was found."""
        return bool(self.findings)

    @property
    def errors(self) -> tuple[str, ...]:
        """Names of the findings' errors, costliest first."""
        return tuple(finding.error for finding in self.findings)

    def to_dict(self) -> dict[str, Any]:
        """Give everything as plain Python values, under the attributes' names."""
        plain = super().to_dict()
        del plain["line"], plain["power"]
        names = ("slope", "intercept", "temperature", "temperature_label")
        return plain | {name: plain_values(getattr(self, name)) for name in names}

    def __str__(self) -> str:
        """Return the verdict."""
        return self.verdict
