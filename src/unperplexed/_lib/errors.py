"""The one error a user of bad input sees, and how it names rows."""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from difflib import get_close_matches
from numbers import Integral, Real
from typing import Any

from .formatting import number_of


class InputError(ValueError):
    """Input that cannot be assessed as it stands.

    The message names the rows (counted from 0), the column and the remedy. The command line prints it and
    leaves with exit code 2.
    """

    __module__ = "unperplexed"
    missing_outcomes = False
    """Whether some rows have no outcome."""
    no_outcomes = False
    """Whether no column can hold outcomes."""

    def reworded(self, text: str) -> InputError:
        """Return the same error with another text."""
        found = InputError(text)
        vars(found).update(vars(self))
        return found


def rows_text(rows: Any) -> str:
    """Name rows for an error message: "3 rows (411, 812, 1203; counted from 0)"."""
    shown = ", ".join(str(int(row)) for row in rows[:8]) + (", ..." if len(rows) > 8 else "")
    return f"{number_of(len(rows), 'row')} ({shown}; counted from 0)"


def listed(values: Sequence[Any], most: int = 10) -> str:
    """Name values for an error message, the first of many."""
    return ", ".join(repr(v) for v in values[:most]) + (f", ... ({len(values):,} in all)" if len(values) > most else "")


def place_text(index: Sequence[int], kind: str = "index") -> str:
    """Name a place in an array for an error message: " at index 3 (counted from 0)"; none in a single number."""
    if not index:
        return ""
    return f" at {kind} {index[0] if len(index) == 1 else tuple(index)} (counted from 0)"


_NAMES = {
    "figures": "metrics",
    "calibration_slope": "slope",
    "calibration_intercept": "intercept",
    "calibration_error": "ece",
    "baseline_score": "reference_score",
    "Skill.baseline": "reference",
    **dict.fromkeys(("Diagnosis.gain", "Finding.gain"), "cost"),
    "Gain.gain": "value",
    "Gain.log_loss": "before",
    "Gain.recalibrated": "after",
    **dict.fromkeys(("sigmoid", "platt"), "logistic"),
    "brier": "brier_score",
    "pvalue": "p_value",
    **dict.fromkeys(("ci", "conf_int"), "interval"),
    "save": "report(path), or to_json()",
    **dict.fromkeys(("to_frame", "to_dataframe", "to_pandas", "to_polars"), "frame()"),
    "net_benefit": "frame(), or models",
    "summary": "to_text()",
    "show": "plot(), or to_text()",
    **dict.fromkeys(("Assessment.brier", "Assessment.brier_score"), 'scores["brier_score"]'),
    "Assessment.log_loss": 'scores["log_loss"]',
    "Assessment.accuracy": "prediction_accuracy",
    "Assessment.roc_auc": "auc",
    "Assessment.ci": "auc.interval",
    "Assessment.p_value": "diagnosis.p_value",
    "Comparison.p_value": 'frame("differences"), or pairs[0].differences["log_loss"].p_value',
    "DistributionAssessment.rps": 'scores["ranked_probability_score"]',
    **dict.fromkeys(("Assessment.brier_skill_score", "Assessment.scaled_brier"), "skill, with reference='base-rate'"),
    **dict.fromkeys(("Decomposition.resolution", "Decomposition.refinement"), "discrimination"),
    "Decomposition.reliability": "miscalibration",
    **dict.fromkeys(("Recalibrator.predict_proba", "Recalibrator.predict"), "transform"),
    **dict.fromkeys(("Recalibrator.temperature", "Recalibrator.temperature_"), 'parameters_["temperature"]'),
    "Recalibrator.fit_transform": "transform, of rows that it was not fitted on",
}
"""What names that were used before, or that other programs have, are called; some in one class alone."""


def called(name: str, of: str = "", known: Collection[str] = ()) -> str:
    """Say what a name in results, or in those of a class, is called here: a synonym, or a known name that is like it.

    If none is, all known names are listed; "" without any.
    """
    return meant(_NAMES.get(f"{of}.{name}") or _NAMES.get(name, ""), name, known)


def meant(here: str, name: str, known: Collection[str]) -> str:
    """Say what a name is called here, or which known name is like it; else list these."""
    words = {*name.split("_")}
    near = nearest(name, known) or [each for each in known if words & {*each.split("_")}][:3]
    if here or near:
        return f"; did you mean {here or ' or '.join(near)}?"
    return f"; it has {', '.join(known)}" if known else ""


def check_choice(name: str, value: object, known: Collection[str]) -> None:
    """Refuse a value that is not among the known names."""
    if not (isinstance(value, str) and value in known):
        text = f"{name}: expected one of {', '.join(map(repr, known))}, got {value!r}{called(str(value))}"
        raise InputError(text if text.endswith("?") else f"{text}.")


def is_number(value: Any, low: float = -math.inf, high: float = math.inf) -> bool:
    """Whether a value is a real number between limits, which NaN and truth values are not."""
    return isinstance(value, Real) and not isinstance(value, bool) and bool(low <= value <= high)  # type: ignore[operator]


def is_whole(value: Any, low: float = -math.inf, high: float = math.inf) -> bool:
    """Whether a value is a whole number between limits, which truth values are not."""
    return isinstance(value, Integral) and is_number(value, low, high)


def check_whole(name: str, value: Any, least: int = 1, most: float = 2**53 - 1) -> int:
    """Refuse what is no whole number of at least so many, or is past all use."""
    if not is_whole(value, least, most):
        raise InputError(f"{name}: expected a whole number of at least {least}, got {value!r}.")
    return int(value)


def check_seed(seed: Any) -> int:
    """Refuse a seed that is no whole number from 0."""
    return check_whole("seed", seed, 0, math.inf)


_ALIKE = 0.75
"""Least similarity of names, as difflib measures it, at which one is taken to be meant."""


def nearest(name: str, known: Collection[str], most: int = 1) -> list[str]:
    """Find names that are spelled nearly the same, at most so many."""
    return get_close_matches(name, known, most, _ALIKE)


_OPTIONS = {
    "from_logits": 'scale="logits"',
    "AssessmentCallback figures": "metrics=",
    "ForecastMetric figures": "metrics=",
    "from_log_probs": 'scale="log-probs"',
    "percent": 'scale="percent"',
    "renormalize": 'invalid="rescale"',
    "drop_invalid": 'invalid="drop"',
    **dict.fromkeys(("na_rm", "na_action", "nan_policy", "dropna", "skipna"), 'invalid="drop"'),
    "groups": "clusters= (for groups of rows: assess_by(..., by=))",
    **dict.fromkeys(("cluster", "id", "ids", "subject", "subjects"), "clusters="),
    "by": "assess_by(..., by=)",
    **dict.fromkeys(("group", "group_by", "groupby", "sensitive_features"), "assess_by(..., by=)"),
    "units": "within=",
    "monitor units": 'clusters="none" or "period"',
    **dict.fromkeys(("date", "dates", "period", "periods", "timestamps"), "time="),
    **dict.fromkeys(("baseline", "ref", "base_rate"), "reference="),
    "climatology": 'reference={"climatology": ...}',
    **dict.fromkeys(("scores", "score", "metric", "scoring"), "metrics="),
    "level": "confidence= (such as 0.95)",
    "alpha": "confidence= (1 - alpha)",
    **dict.fromkeys(("conf_level", "ci", "confidence_level"), "confidence="),
    **dict.fromkeys(("weight", "weights", "wt", "sample_weights", "case_weights"), "sample_weight="),
    **dict.fromkeys(("y_pred", "y_score", "y_proba", "estimate", "prob", "probs", "pred"), "y_prob="),
    **dict.fromkeys(("truth", "y", "observed", "obs", "target"), "y_true="),
    **dict.fromkeys(("positive", "event", "event_level", "pos_class"), "pos_label="),
    **dict.fromkeys(("classes", "class_names", "target_names"), "labels="),
    "expected_calibration_error n_bins": "bins=",
    "expected_calibration_error strategy": "binning=",
    "calibration_test method": "test=",
    **dict.fromkeys(("check baseline", "check reference", "check against"), "earlier="),
    "n_bins": 'measured="equal-width:bins=10"',
    "bins": 'measured="equal-width:bins=10"',
    "strategy": 'measured="equal-population:bins=10"',
    **dict.fromkeys(("bootstrap", "n_bootstrap", "n_bootstraps", "n_boot", "n_resamples", "times"), "resamples="),
    **dict.fromkeys(("random_state", "rng"), "seed="),
    **dict.fromkeys(("cv", "n_splits", "n_folds", "k"), "folds="),
    **dict.fromkeys(("jobs", "workers", "threads"), "n_jobs="),
    "limit": "floor=(low, 1 - low)",
    "eps": "floor=",
    "orders": "result.risk_profile(orders)",
    "exact_limit": "Tally.of(..., exact_limit=...)",
    "fraction_bits": "Tally.of(..., fraction_bits=...)",
    "recalibrate": "map=",
    "decide threshold": "cost_fp= and cost_fn=, whose threshold is cost_fp / (cost_fp + cost_fn)",
    "threshold": "decide(..., cost_fp=, cost_fn=), or decision_curve(..., thresholds=)",
    **dict.fromkeys(("costs", "cost", "cost_matrix", "cost_ratio"), "cost_fp= and cost_fn="),
    "cost_false_positive": "cost_fp=",
    "cost_false_negative": "cost_fn=",
    "benefit_true_positive": "cost_tp= (the negative of a benefit)",
    "benefit_true_negative": "cost_tn= (the negative of a benefit)",
}
"""What options of other names are called, in all functions or in one."""

_IN_ORDER = {
    "compare": 'forecasts come together: compare(y_true, {"a": p, "b": q})',
    "assess_by": "groups are named: assess_by(y_true, y_prob, by=groups)",
    "decide": "costs are named: decide(y_true, y_prob, cost_fp=1, cost_fn=4)",
    "check": 'requirements are named: check(y_true, y_prob, require="ece < 0.05")',
    "drift": "it takes predictions alone; with outcomes: monitor(y_true, y_prob, time=dates)",
    "monitor": "periods are named: monitor(y_true, y_prob, time=dates)",
}
"""What a function takes in place of more arguments without a name."""


def refuse_more(function: str, given: int, most: int) -> None:
    """Refuse more arguments without a name than a function takes, with how the others are given."""
    if given > most:
        how = _IN_ORDER.get(function, "the others are named, such as labels=")
        raise TypeError(f"{function}() takes {number_of(most, 'argument')} without a name, {given} were given; {how}.")


_GROUPS = ("groups", "group", "group_by", "groupby", "sensitive_features")
"""What groups of rows are called, and with some programs dependent rows."""

_BOUND = re.compile(r"(max|min)_(\w+)")


def limit_meant(name: str, number: str) -> str:
    """Write the requirement that a name such as max_ece means; "" of other names."""
    found = _BOUND.fullmatch(name)
    return f"{found[2]} {'<' if found[1] == 'max' else '>'} {number}" if found else ""


def _meant(function: str, name: str, known: Collection[str]) -> str:
    """Name the option that is meant, if the function has it."""
    if "by" in known and name in _GROUPS:
        return "by= (of groups; clusters= of dependent rows)" if "clusters" in known else "by="
    here = _OPTIONS.get(f"{function} {name}") or _OPTIONS.get(name, "")
    if "require" in known and (limit := limit_meant(name, "...")):
        return f'require="{limit}"'
    option = here.partition("=")[0]
    return "" if option.isidentifier() and known and option not in known else here


def refuse_unknown(function: str, given: Collection[str], known: Collection[str]) -> None:
    """Refuse keyword arguments that a function does not have, as Python does, with the one that is meant, or all."""
    for name in given:
        if name not in known:
            near = _meant(function, name, known) or next(map(repr, nearest(name, known)), "")
            also = f"; did you mean {near}?" if near else f"; it takes {', '.join(known)}." if known else ""
            raise TypeError(f"{function}() got an unexpected keyword argument {name!r}{also}")


def refuse_former(function: str, given: Collection[str]) -> None:
    """Refuse keyword arguments that have another name now; the rest is for what they are passed on to."""
    refuse_unknown(function, [name for name in given if {name, f"{function} {name}"} & {*_OPTIONS}], ())


@contextmanager
def needed(what: str, library: str, extra: str) -> Iterator[None]:
    """Import what something needs, and say how to install it where it is missing."""
    try:
        yield
    except ImportError as error:
        raise ImportError(f"{what} needs {library}: pip install 'unperplexed[{extra}]'") from error
