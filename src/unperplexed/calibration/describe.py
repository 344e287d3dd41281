"""Calibration errors and decompositions as text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from ..report.numbers import figure
from ..tally.describe import counted, notes_lines
from ..tally.tables import Cells
from ..tally.tally import Tally, View

if TYPE_CHECKING:
    from .decomposition import Decomposition
    from .errors import CalibrationErrors


ERRORS = {
    "ece": ("ECE", "bins of equal width"),
    "ece_equal_population": ("ECE", "bins of equal population"),
    "rmsce": ("RMSCE", "root mean square over bins"),
    "mce": ("MCE", "the largest of a bin"),
    "smooth_ece": ("smooth ECE", "no bins"),
}


def calibration_text(
    tally: Tally, bins: int, errors: Mapping[View, CalibrationErrors], decompositions: Sequence[Decomposition]
) -> str:
    """Give the calibration errors of each view, and scores in their parts."""
    lines = [
        counted(tally.n_rows, tally.n_classes, tally.labels),
        "",
        f"calibration errors in {bins} bins; 0 is best",
        "",
    ]
    lines.append(f"{'':12}" + "".join(f"{view:>12}" for view in errors))
    for name, (shown, meaning) in ERRORS.items():
        figures = "".join(f"{_rounded(getattr(of_view, name)):>12}" for of_view in errors.values())
        lines.append(f"{shown:12}{figures}   {meaning}")
    if "each-class" in errors:
        lines.append("(of each class: the class-wise ECE, and the ACE)")
    else:
        lines.append("(each class: needs a tally with the part classes: tally --parts classes)")
    if isinstance(tally.classes, Cells):
        lines.append("(each class: from coarse cells, so that bins are made of these; --exact-limit allows more)")
    lines += ["", "score = miscalibration - discrimination + uncertainty", ""]
    lines.append(f"{'':13}{'score':>8}{'miscalibration':>16}{'discrimination':>16}{'uncertainty':>13}")
    for d in decompositions:
        parts = f"{_rounded(d.miscalibration):>16}{_rounded(d.discrimination):>16}{_rounded(d.uncertainty):>13}"
        lines.append(f"{d.rule.replace('_', ' '):13}{_rounded(d.score):>8}{parts}   {d.view}")
        if d.rule == "log_loss":
            f = d.factors
            factors = (
                f"{_rounded(f['divergence_probability']):>16}{_rounded(f['gain']):>16}{_rounded(f['reference']):>13}"
            )
            lines.append(f"{'exp of minus':13}{_rounded(f['geometric_accuracy']):>8}{factors}   factors")
    notes = list(notes_lines(tally.notes))
    return "\n".join([*lines, *([""] if notes else []), *notes])


def _rounded(value: float) -> str:
    """Give a figure of which less than 1e-9 is rounding."""
    return figure(0.0 if abs(value) < 1e-9 else value)
