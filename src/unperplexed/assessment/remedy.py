"""The remedy of miscalibration: what recalibration is expected to bring, and what it leaves."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from .._lib.dataclasses import Frozen, field, replace
from .._lib.elementary import logit
from .._lib.errors import InputError
from .._lib.formatting import command_line, shell_word
from .._lib.serialize import plain_values
from .._lib.typing import ByValue
from ..calibration.diagnosis.diagnose import Chunks
from ..calibration.diagnosis.gate import Scored
from ..calibration.diagnosis.kinds.confidence import SWAPPED
from ..calibration.diagnosis.line import calibration_line
from ..calibration.diagnosis.result import Diagnosis, Finding
from ..forecasts.labels import Label, plain
from ..forecasts.reading import SEARCHED
from ..recalibration.gain import FEWEST_ROWS, Baseline, Gain
from ..report.document import Python
from ..statistics.matrices import product
from ..statistics.means import Limit, apply_limit, averages
from ..tally.tables import Pairs
from ..tally.tally import Tally
from .column_names import ColumnNames
from .familiar import ECE_GROUPS, expected_error, probability_groups

if TYPE_CHECKING:
    from ..recalibration.averaging import HeldOut
    from ..recalibration.recalibrator import Recalibrator

MOST_PROBABILITIES = 1_000_000
"""Rows of more than two classes are recalibrated unasked up to so many probabilities: it takes one to four seconds."""


class Commands(Frozen):
    """Command lines that fit a map, without its file, and that apply it; "" for none."""

    fit: str
    apply: str = ""
    scale: str = "probability"
    """What the columns hold."""
    columns: ColumnNames | None = None
    """What names their columns; None where none are named."""
    made: str = "map.json"
    """File of the map."""

    def naming(self, labels: Sequence[Label | None], right: Sequence[Label | None]) -> str:
        """Give the command that names the columns rightly; "" for none."""
        return "" if self.columns is None else self.columns.command(labels, right)

    @property
    def text(self) -> str:
        """Both, each in a line."""
        return self._made()

    def _made(self, option: str = "", where: str = "", of: str = "") -> str:
        """Give both with another option of the fit, or a condition on rows in both; the name of the map says so."""
        made = self.made.removesuffix(".json") + f"{of}.json"
        apply = self.apply.replace(shell_word(self.made), shell_word(made))
        return f"{self.fit}{option}{where} -o {shell_word(made)}\n{apply}{where}".rstrip()

    def of_rows(self, condition: str) -> str:
        """Give both for the rows that meet an SQL condition; "" without a condition, or a command to apply."""
        where = f" --where {shell_word(condition)}"
        return self._made(where=where, of="-group") if condition and self.apply else ""

    def of_groups(self, by: Sequence[str]) -> str:
        """Give both for a map of each group; "" for groups of all rows, such as tenths of a column, and for pairs."""
        from ..sources.derived_columns import derived  # loads polars

        if " --pair " in self.fit or any(derived(name).needs_all for name in by):
            return ""
        return self._made(f" --by {command_line(by)}", of="-groups")


class PythonLine(Frozen):
    """Line of Python that fits a map to rows in memory, read as they were assessed, and applies it."""

    words: Mapping[str, str] = field(default_factory=dict)
    """Options by which rows are read, as they are spelled; arrays by the name of their argument."""

    @classmethod
    def reading(cls, options: Mapping[str, Any]) -> PythonLine:
        """Carry the options that are not left to their defaults."""
        given = {name: value for name, value in options.items() if value is not None or name == "clusters"}
        unsaid = {name for name, word in SEARCHED.items() if isinstance(given.get(name), str) and given[name] == word}
        return cls({name: _argument(name, value) for name, value in given.items() if name not in unsaid})

    def arguments(self, array: str = "{}") -> str:
        """Give the arguments after y_true and y_prob; those with a value a row in a form of their name."""
        words = {name: array.format(word) if name in _ARRAYS else word for name, word in self.words.items()}
        return "".join(f", {name}={word}" for name, word in words.items())

    @property
    def text(self) -> Python:
        """The line."""
        fit = f"fit(y_true, y_prob{self.arguments()})"
        return Python(f"recalibrated = Recalibrator().{fit}.transform(new_y_prob{self._new()})")

    def naming(self, _: Sequence[Label | None], right: Sequence[Label | None]) -> Python:
        """Give the line that assesses the columns, named rightly."""
        few = len(right) <= _MOST_LABELS and None not in right
        named = [*right] if few else "assessment.diagnosis.findings[0].column_labels"
        words = PythonLine({name: word for name, word in self.words.items() if name != "labels"})
        return Python(f"assess(y_true, np.asarray(y_prob), labels={named}{words.arguments()})")

    def of_rows(self, _: str) -> Python:
        """Give the line for some rows, whose places or truth values are called rows."""
        fit = f"fit(y_true[rows], y_prob[rows]{self.arguments('{}[rows]')})"
        return Python(f"Recalibrator().{fit}.transform(new_y_prob[new_rows]{self._new()})")

    def of_groups(self, _: Sequence[str]) -> Python:
        """Give lines for a map of each group, by what was grouped by."""
        fit = f"recalibrator = GroupRecalibrator().fit(y_true, y_prob, by=by{self.arguments()})"
        return Python(f"{fit}\nrecalibrated = recalibrator.transform(new_y_prob, by=new_by{self._new()})")

    def _new(self) -> str:
        """Give the arguments after new_y_prob."""
        return PythonLine({name: word for name, word in self.words.items() if name == "scale"}).arguments()


_ARRAYS = ("sample_weight", "clusters", "columns")
_MOST_LABELS = 10


def _argument(name: str, value: Any) -> str:
    """Spell the value of an option; what has a value a row, and many labels, by the option's name."""
    if name in _ARRAYS and value is not None:
        return name
    if isinstance(value, str) or not hasattr(value, "__iter__"):
        return repr(plain(value))
    values = [plain(each) for each in value]
    return repr(values) if len(values) <= _MOST_LABELS else name


class AfterRemedy(ByValue):
    """Metrics after recalibration (cross-fitted). Made as ``Assessment.remedy.after``.

    With more than two classes calibration slope and ECE are those of the most probable class.
    """

    log_loss: float
    """Mean log loss in nats. Smaller is better."""
    brier_score: float
    """Mean Brier score. Smaller is better."""
    accuracy: float
    """Share of rows whose most probable class is the observed one. Larger is better."""
    decisiveness: float
    """Arithmetic mean of the probabilities assigned to the observed classes. Larger is better."""
    geometric_accuracy: float
    """Their geometric mean. Larger is better. All three means have the floor of the assessment."""
    robustness: float
    """Their mean of order -2/3. Larger is better."""
    slope: float
    """Slope of a logistic regression of the outcome on the recalibrated log-odds. 1 is best; NaN if these hardly
    differ."""
    ece: float
    """Expected calibration error in 15 groups of equal size. Smaller is better; NaN for a constant forecast."""


class Remedy(ByValue):
    """Recalibration of miscalibrated forecasts, with the gain it is expected to bring. Made as ``Assessment.remedy``.

    Examples
    --------
    >>> import numpy as np
    >>> from unperplexed import assess
    >>> rng = np.random.default_rng(0)
    >>> s = rng.normal(0, 2, 2000)
    >>> rain = rng.random(2000) < 1 / (1 + np.exp(-s))
    >>> remedy = assess(rain, 1 / (1 + np.exp(-2 * s)), resamples=0).remedy
    >>> remedy.significant
    True
    >>> remedy.gain.after < remedy.gain.before < remedy.base_rate
    True
    """

    map: str
    """The average of maps that `Recalibrator` makes, named by the one with the largest weight, such as
    "an average of maps, mainly temperature 1.55"."""
    gain: Gain
    """Log loss before and after, on held-out rows, and their difference with its 95% confidence interval."""
    base_rate: float
    """Cross-fitted log loss of a constant forecast of the observed frequencies, in nats. Smaller is better."""
    recalibrator: Recalibrator = field(repr=False, compare=False)
    """Fitted to all rows."""
    after: AfterRemedy
    """Metrics of the recalibrated forecasts (cross-fitted)."""
    code: str = ""
    """Commands or line of Python that recalibrates; "" where the gain is not significant."""

    @property
    def significant(self) -> bool:
        """Whether the remedy is advised: its gain is significant, and the average of maps is not mostly none."""
        return self.gain.significant and not self.recalibrator.leave_as_it_is

    @property
    def words(self) -> str:
        """What recalibration brings and what it leaves, in sentences."""
        return " ".join(self.sentences())

    def sentences(self) -> Iterator[str]:
        """Yield what recalibration brings and what it leaves."""
        baseline = self.recalibrator.baseline
        zeros = "" if baseline is None else baseline.zeros_text()
        yield f"{zeros} {self._gain_sentence()}".lstrip()
        yield from remaining_lines(self.gain, baseline)

    def _gain_sentence(self) -> str:
        if self.significant:
            return f"Recalibration ({self.map}) reduces the log loss {gain_text(self.gain)}."
        low, high = map(_nats, self.gain.interval)
        gain = f"{_nats(self.gain.value)} nats (cross-fitted, 95% CI {low} to {high})"
        if self.gain.value > 0:
            return f"The miscalibration is significant, but what recalibration gains is uncertain: {gain}."
        return f"Recalibration is not shown to reduce the log loss: gain {gain}."

    def to_dict(self) -> dict[str, Any]:
        """Return everything but the code as plain Python values."""
        return {
            "advised": self.significant,
            "map": self.map,
            "words": self.words,
            "weights": dict(self.recalibrator.weights_),
            "parameters": dict(self.recalibrator.parameters_),
            "gain": plain_values(self.gain),
            "base_rate": self.base_rate,
            "after": plain_values(self.after),
        }


class UntriedRemedy(ByValue):
    """Recalibration that mends what was found, and takes too long to be tried unasked.

    Made as ``Assessment.untried_remedy``.

    Examples
    --------
    >>> UntriedRemedy(1_000_000, "unperplexed recalibrate ...").words.split(". ")[0]
    'Recalibrate by the average of maps that cross-validation finds best'
    """

    n_probabilities: int
    """Rows times classes."""
    code: str
    """Commands or line of Python that recalibrates."""

    @property
    def words(self) -> str:
        """What recalibration does, and where its gain is found."""
        return (
            "Recalibrate by the average of maps that cross-validation finds best. The fit reports the gain on held-out"
            f" rows, which was not computed here ({self.n_probabilities:,} probabilities)."
        )


def gain_text(gain: Gain) -> str:
    """Give the log loss before and after, and the confidence interval of the gain."""
    low, high = gain.interval
    before, after = gain.losses
    return f"from {before} to {after} (cross-fitted, 95% CI of the gain {_nats(low)} to {_nats(high)})"


def remaining_lines(gain: Gain | None, baseline: Baseline | None) -> Iterator[str]:
    """Say what recalibration leaves: what better predictors may lower, beside a constant forecast."""
    if gain is None or baseline is None:
        return
    base, shown = baseline.log_loss, f"({_loss(baseline.log_loss)}, cross-fitted)"
    if not gain.significant:
        return
    if base >= gain.before:
        yield "Better predictors may reduce the rest."
    elif baseline.interval[0] > 0:
        yield (
            f"A constant forecast of the base rate scores better {shown} than these forecasts, but worse than"
            " the recalibrated ones."
        )
    elif baseline.interval[1] < 0:
        yield (
            f"A constant forecast of the base rate scores better {shown}, even than the recalibrated forecasts: the"
            " predictors show no skill."
        )
    else:
        yield (
            f"A constant forecast of the base rate scores better {shown} than these forecasts, and not significantly"
            " different from the recalibrated ones: there is no evidence of skill."
        )


_SMALL_LOSS = 0.01
"""A log loss below it, in nats, is given in two digits, not in three decimals."""


def _loss(value: float) -> str:
    return f"{value:.3f}" if value >= _SMALL_LOSS else f"{value:.2g}"


def _nats(value: float) -> str:
    return f"{value:.2g}".replace("-", "−")


def remedy_of(
    diagnosis: Diagnosis,
    tally: Tally,
    chunks: Chunks | None,
    commands: Commands | PythonLine,
    floor: float,
    limit: Limit,
) -> Remedy | None:
    """Find the remedy of what a diagnosis found.

    Parameters
    ----------
    diagnosis : Diagnosis
        What was found.
    tally : Tally
        Counts of the forecasts.
    chunks : callable or None
        Reads the rows from the first, where they are at hand.
    commands : Commands or PythonLine
        What recalibrates these forecasts.
    floor, limit : float, {"floor", "both"}
        Floor of the averages after it, and whether there is a ceiling as far from 1.

    Returns
    -------
    Remedy or None

    Notes
    -----
    None under 100 rows or 10 clusters, for more than 100,000 rows in clusters, where nothing was found, where a few
    rows carry all the evidence, for forecasts that point away from the outcomes, and where neither rows nor counts
    suffice.
    """
    if not _can_be_mended(diagnosis) or _takes_long(diagnosis, tally):
        return None
    two = tally.n_classes == 2
    counted = two and diagnosis.n_clusters is None  # of clusters the tally need not know, such as in a comparison
    if not counted and chunks is None:
        return None
    if chunks is not None and diagnosis.n_clusters is None:
        chunks = _independent(chunks)
    from ..recalibration.recalibrator import Recalibrator

    made = Recalibrator()
    try:
        known = counted and not tally.clustered and not _uncounted_zeros(tally)
        if chunks is None or (known and tally.tells_log_odds(chunks)):
            made.fit(tally)
        else:
            made.fit_chunks(chunks)
    except InputError:  # a tally without what a fit needs; rows that cannot be read any more
        return None
    baseline, held_out = made.baseline, made.held_out
    if made.gain_ is None or baseline is None or held_out is None:
        return None
    after = after_remedy(held_out, floor, limit, two=two)
    found = Remedy(made.map_text, made.gain_, baseline.log_loss, made, after)
    return replace(found, code=commands.text) if found.significant else found


def untried_remedy(
    diagnosis: Diagnosis, tally: Tally, chunks: Chunks | None, commands: Commands | PythonLine
) -> UntriedRemedy | None:
    """Give the remedy that is not tried unasked, since its fit takes long.

    Parameters
    ----------
    diagnosis, tally, chunks, commands
        As in `remedy_of`.

    Returns
    -------
    UntriedRemedy or None
        None where `remedy_of` tries one, and where nothing can be mended.
    """
    if not _can_be_mended(diagnosis) or chunks is None or not _takes_long(diagnosis, tally):
        return None
    return UntriedRemedy(tally.n_rows * tally.n_classes, commands.text)


def _can_be_mended(diagnosis: Diagnosis) -> bool:
    return diagnosis.made and diagnosis.n_rows >= FEWEST_ROWS and mendable(diagnosis.findings)


def _takes_long(diagnosis: Diagnosis, tally: Tally) -> bool:
    """Whether a fit takes longer than a second or two."""
    if tally.n_classes > 2 and tally.n_rows * tally.n_classes > MOST_PROBABILITIES:
        return True
    return diagnosis.n_clusters is not None and tally.n_rows > MOST_CLUSTERED


def _independent(chunks: Chunks) -> Chunks:
    """Read rows of which each is a cluster of its own as rows without clusters."""
    return lambda: (forecasts.in_clusters(None) for forecasts in chunks())


def _uncounted_zeros(tally: Tally) -> bool:
    """Whether outcomes had probability 0 in rows whose weights do not tell how many they are."""
    return tally.uneven and "log_loss" in tally.scores and math.isinf(tally.score("log_loss"))


def mendable(findings: Sequence[Finding]) -> bool:
    """Whether recalibration is a remedy of any of these findings: columns are to be named rightly first."""
    # Beside a tail term the slope alone does not say where the forecasts point.
    bent = any(f.error == "tail" for f in findings)
    reversed_forecasts = not bent and any(f.error == "confidence" and f.interval[1] < -1 for f in findings)
    amiss = reversed_forecasts or any(f.error == "permuted" or f.advice == SWAPPED for f in findings)
    return not amiss and any(f.error != "rows" for f in findings)


MOST_CLUSTERED = 100_000
"""Rows in clusters up to which a remedy is looked for unasked: the fit holds each of them."""


def after_remedy(found: HeldOut, floor: float, limit: Limit, *, two: bool) -> AfterRemedy:
    """Compute the metrics of recalibrated forecasts.

    Parameters
    ----------
    found : HeldOut
        Rows recalibrated by maps of the other folds.
    floor, limit : float, {"floor", "both"}
        Floor of the three means, and whether there is a ceiling as far from 1.
    two : bool
        Whether forecasts are of two classes.

    Returns
    -------
    AfterRemedy
    """
    means = averages(apply_limit(found.correct, floor, limit), found.weights)
    pairs = Pairs(found.predicted, found.happened, found.total)
    return AfterRemedy(
        log_loss=-float(product(found.weights, np.log(found.correct))) / float(found.weights.sum()),
        brier_score=found.brier_score,
        accuracy=_accuracy(pairs, two=two),
        decisiveness=means.decisiveness,
        geometric_accuracy=means.geometric_accuracy,
        robustness=means.robustness,
        slope=math.nan if found.constant else _slope(pairs),
        ece=math.nan if found.constant else expected_error(probability_groups(pairs, ECE_GROUPS)),
    )


def _accuracy(pairs: Pairs, *, two: bool) -> float:
    """Count the rows that are right; a probability of one half is right half of the time."""
    p, happened, total = pairs
    right = np.where(p > 0.5, happened, np.where(p < 0.5, total - happened, total / 2)) if two else happened
    return float(right.sum() / total.sum())


_LEAST_INFORMATION = 1.96**2
"""Information on a slope of 1 with less of which, at 5%, it cannot be told from 0: then predictions hardly differ."""


def _slope(pairs: Pairs) -> float:
    """Return the calibration slope, where predictions differ enough to have one."""
    p, happened, total = pairs
    scored = Scored(logit(p), total, happened, total, happened, total)
    if product(total * scored.variance, (scored.s - scored.centre) ** 2) < _LEAST_INFORMATION:
        return math.nan
    return calibration_line(scored).slope.value
