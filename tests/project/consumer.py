"""A program of a user, as type checkers see it: `.ci/types` has mypy and pyright read it against the installed package.

A comment that ignores an error which is none is an error itself, so that the refused calls are refused.
"""

from typing import assert_type

import numpy as np
import numpy.typing as npt

from unperplexed import Recalibrator, Tally, assess, assess_by, check, compare, tally_files
from unperplexed.results import Assessment, Breakdown, Check, Comparison
from unperplexed.scores import log_loss


def program(y: npt.NDArray[np.int64], p: npt.NDArray[np.float64]) -> bool:
    """Assess, compare, recalibrate and check."""
    assessment = assess(y, p, labels=["dry", "rain"], confidence=0.9)
    assert_type(assessment, Assessment)
    assert_type(assessment.verdict, str)
    assert_type(assessment.reported.geometric_accuracy, float)
    assert_type(assess(Tally.of(y, p) + Tally.of(y, p)), Assessment)
    assert_type(sum((Tally.of(y, p) for _ in range(2)), Tally()), Tally)
    assert_type(tally_files("days/*.csv", truth="rain", prob="p"), Tally)
    assert_type(assess_by(y, p, by=y), Breakdown)
    assert_type(compare(y, {"ours": p, "theirs": 1 - p}), Comparison)
    assert_type(Recalibrator().fit(y, p), Recalibrator)
    assert_type(assessment.to_flat(), dict[str, float | None])
    gate = check(assessment, require=["log_loss < 0.5"])
    assert_type(gate, Check)
    assert_type(log_loss(y, p), float)
    print(assessment.verdikt)  # type: ignore[attr-defined]  # pyright: ignore
    assess(y, p, lables=["dry", "rain"])  # type: ignore[call-overload]  # pyright: ignore[reportCallIssue]
    compare(y, {"ours": p}, clustrs=y)  # type: ignore[call-overload]  # pyright: ignore[reportCallIssue]
    Recalibrator().fit(y, p, groups=y)  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
    assess(y, p, scale="logit")  # type: ignore[call-overload]  # pyright: ignore[reportArgumentType]
    assess(y, p, view="al")  # type: ignore[call-overload]  # pyright: ignore[reportArgumentType]
    return bool(gate)
