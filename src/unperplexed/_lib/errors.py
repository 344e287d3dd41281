"""The one error a user of bad input sees, and how it names rows."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from difflib import get_close_matches
from numbers import Integral
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


_FORMER_NAMES = {
    "figures": "metrics",
    "calibration_slope": "slope",
    "calibration_intercept": "intercept",
    "calibration_error": "ece",
    "baseline_score": "reference_score",
    "Skill.baseline": "reference",
    "Diagnosis.gain": "cost",
    "Finding.gain": "cost",
    "Gain.gain": "value",
    "Gain.log_loss": "before",
    "Gain.recalibrated": "after",
}
"""What names in results are called now, some of one class alone."""

_OTHER_NAMES = {
    "sigmoid": "logistic",
    "platt": "logistic",
    "Assessment.brier_score": 'scores["brier_score"]',
    "Assessment.log_loss": 'scores["log_loss"]',
    "Assessment.accuracy": "prediction_accuracy",
    "Assessment.roc_auc": "auc",
    "Assessment.summary": "to_text()",
    "Assessment.ci": "auc.interval",
    "Assessment.brier_skill_score": "skill, with reference='base-rate'",
    "Assessment.scaled_brier": "skill, with reference='base-rate'",
}
"""What names that other programs have are called here, likewise."""


def former(name: object, of: str = "") -> str:
    """Say what a name in results, or in those of a class, is called now, or here; "" of unknown names."""
    now, here = (names.get(f"{of}.{name}") or names.get(str(name)) for names in (_FORMER_NAMES, _OTHER_NAMES))
    return f"; it is now {now!r}" if now else f"; did you mean {here}?" if here else ""


def check_choice(name: str, value: object, known: Collection[str]) -> None:
    """Refuse a value that is not among the known names."""
    if not (isinstance(value, str) and value in known):
        text = f"{name}: expected one of {', '.join(map(repr, known))}, got {value!r}{former(value)}"
        raise InputError(text if text.endswith("?") else f"{text}.")


def check_whole(name: str, value: Any) -> int:
    """Refuse what is no whole number of at least 1, or is past all use."""
    if isinstance(value, bool) or not isinstance(value, Integral) or not 1 <= int(value) < 2**53:
        raise InputError(f"{name}: expected a whole number of at least 1, got {value!r}.")
    return int(value)


def nearest(name: str, known: Collection[str], most: int = 1) -> list[str]:
    """Find names that are spelled nearly the same, at most so many."""
    return get_close_matches(name, known, most, 0.75)


_FORMER = {
    "from_logits": 'scale="logits"',
    "AssessmentCallback figures": "metrics=",
    "ForecastMetric figures": "metrics=",
    "from_log_probs": 'scale="log-probs"',
    "percent": 'scale="percent"',
    "renormalize": 'invalid="rescale"',
    "drop_invalid": 'invalid="drop"',
    "groups": "clusters= (for groups of rows: assess_by(..., by=))",
    "by": "assess_by(..., by=)",
    "units": "within=",
    "monitor units": 'clusters="none" or "period"',
    "baseline": "reference=",
    "climatology": 'reference={"climatology": ...}',
    "scores": "metrics=",
    "score": "metric=",
    "level": "confidence= (such as 0.95)",
    "alpha": "confidence= (1 - alpha)",
    "conf_level": "confidence=",
    "weights": "sample_weight=",
    "y_pred": "y_prob=",
    "n_bins": 'measured="equal-width:bins=10"',
    "bins": 'measured="equal-width:bins=10"',
    "strategy": 'measured="equal-population:bins=10"',
    "limit": "floor=(low, 1 - low)",
    "orders": "result.risk_profile(orders)",
    "exact_limit": "Tally.of(..., exact_limit=...)",
    "fraction_bits": "Tally.of(..., fraction_bits=...)",
    "recalibrate": "map=",
    "cost_false_positive": "cost_fp=",
    "cost_false_negative": "cost_fn=",
    "benefit_true_positive": "cost_tp= (the negative of a benefit)",
    "benefit_true_negative": "cost_tn= (the negative of a benefit)",
}
"""What options of other names are called, in all functions or in one."""


def refuse_unknown(function: str, given: Collection[str], known: Collection[str]) -> None:
    """Refuse keyword arguments that a function does not have, as Python does, with the nearest that it has."""
    for name in given:
        if name not in known:
            near = _FORMER.get(f"{function} {name}") or _FORMER.get(name) or next(map(repr, nearest(name, known)), "")
            also = f"; did you mean {near}?" if near else ""
            raise TypeError(f"{function}() got an unexpected keyword argument {name!r}{also}")


def refuse_former(function: str, given: Collection[str]) -> None:
    """Refuse keyword arguments that have another name now; the rest is for what they are passed on to."""
    refuse_unknown(function, [name for name in given if {name, f"{function} {name}"} & {*_FORMER}], ())
