"""How often the diagnosis tells which parameter of a model is wrong, where it is known.

    python benchmarks/kind_of_error.py [--runs R] [--output FILE.csv]
    python benchmarks/kind_of_error.py --show FILE.csv

The source is the two-class example of Nelson (2017): heavy-tailed classes about 0 and 2, predicted probabilities within
[0.01, 0.99]. The forecaster is wrong about one parameter of the second class, or about none. Each run draws N rows,
diagnoses them, and reads the kind of error off the findings by the rule in `kind_of`. The rule was chosen on other
random numbers, and for the larger errors. 100 runs at N = 500 and 5,000 and 40 at 50,000 take five minutes on one core.
The last whole run is results/kind_of_error.csv.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

from unperplexed import diagnose
from unperplexed.theory import ClassParameters, TwoClassModel

Findings = Sequence[tuple[str, float]]
"""Error and parameter of each."""

SEED = 20261123
RUNS = {500: 100, 5_000: 100, 50_000: 40}
REST = 0.01
"""p-value below which the findings leave a further error."""

FIRST, SECOND = ClassParameters(mean=0, coupling=0.5), ClassParameters(mean=2, coupling=0.5)


def believed(first: ClassParameters = FIRST, **changes: float) -> TwoClassModel:
    """The source, and a forecaster who is wrong about the second class as said."""
    return TwoClassModel((FIRST, SECOND), (first, replace(SECOND, **changes)))


ERRORS = {
    "mean 2 → 1": ("mean too near", believed(mean=1)),
    "mean 2 → 3": ("mean too far", believed(mean=3)),
    "variance 1 → 0.5": ("variance too small", believed(variance=0.5)),
    "variance 1 → 2": ("variance too large", believed(variance=2)),
    "coupling 0.5 → 0": ("tail too light", believed(coupling=0)),
    "coupling 0.5 → 0, both classes": ("tail too light", believed(replace(FIRST, coupling=0), coupling=0)),
    "amplitude 1 → 2": ("amplitude too large", believed(amplitude=2)),
    "amplitude 1 → 0.5": ("amplitude too small", believed(amplitude=0.5)),
    "none": ("none", believed()),
}
"""The kind and the model of each error."""

SMALLER = {
    "mean 2 → 1.5": ("mean too near", believed(mean=1.5)),
    "mean 2 → 2.5": ("mean too far", believed(mean=2.5)),
    "variance 1 → 0.7": ("variance too small", believed(variance=0.7)),
    "variance 1 → 1.4": ("variance too large", believed(variance=1.4)),
    "coupling 0.5 → 0.25": ("tail too light", believed(coupling=0.25)),
    "amplitude 1 → 1.4": ("amplitude too large", believed(amplitude=1.4)),
}
"""Errors half as large, for which the rule was not chosen."""


def diagnosed(y: NDArray[np.int64], p: NDArray[np.float64]) -> Findings:
    """Findings of the package's diagnosis, costliest first, and a "shape" where they leave a further error."""
    diagnosis = diagnose(y, p)
    findings: list[tuple[str, float]] = [(finding.error, finding.parameter) for finding in diagnosis.findings]
    if diagnosis.rest_p_value < REST and "shape" not in diagnosis.errors:
        findings.append(("shape", np.nan))
    return findings


def kind_of(findings: Findings) -> str:
    """Name the parameter that leaves such findings; "not named" where several do or none does."""
    found = dict(findings)
    if not found:
        return "none"
    bias, asymmetry = (np.sign(found.get(error, 0.0)) for error in ("bias", "asymmetry"))
    confidence, tail, noise = (found.get(error, 0.0) for error in ("confidence", "tail", "noise"))
    named = found.keys() & {"bias", "confidence", "asymmetry", "tail", "noise"}
    if named == {"bias"}:
        return "amplitude too small" if bias > 0 else "amplitude too large"
    widened = max(confidence, tail) > 0
    if bias < 0 and widened and asymmetry >= 0:
        return "mean too near"
    if bias > 0 and asymmetry < 0 and not widened:
        return "mean too far"
    if tail < 0 and not bias and (confidence > 0 or named == {"tail"}) and mended(0.99, confidence, tail) < 0.9:
        return "tail too light"
    if confidence > 0 and not bias:
        return "variance too large"
    if not asymmetry and bias >= 0 and not widened and (confidence < 0 or bias > 0) and (confidence or tail or noise):
        return "variance too small"
    return "not named"


def mended(p: float, confidence: float, tail: float) -> float:
    """Probability that a predicted one above 1/2 becomes by mending confidence and tail."""
    s = np.log(p / (1 - p))
    return float(1 / (1 + np.exp(-s * (1 + confidence) - tail * ((1 + s) * np.log1p(s) - s))))


SIGNED = ("bias", "asymmetry", "confidence", "tail")
ORDER = ("bias", "asymmetry", "confidence", "tail", "noise", "shape", "certainty", "rows")


def in_words(findings: Findings) -> str:
    """Findings with their signs, in an order that does not depend on what each costs."""
    found = dict(findings)
    signs = {error: (" +" if found[error] > 0 else " −") if error in SIGNED else "" for error in found}
    return ", ".join(f"{error}{signs[error]}" for error in ORDER if error in found) or "nothing"


def results(runs: dict[int, int]) -> pl.DataFrame:
    """Diagnose samples of every error and size."""
    rows = []
    for at, (name, (kind, model)) in enumerate((ERRORS | SMALLER).items()):
        for n, times in runs.items():
            kinds, prints = Counter[str](), Counter[str]()
            for run in range(times):
                y, _, p = model.sample(n, np.random.default_rng([SEED, at, n, run]))
                findings = diagnosed(y, p)
                kinds[kind_of(findings)] += 1
                prints[in_words(findings)] += 1
            (most, times_most), *_ = prints.most_common(1)
            others = Counter({other: k for other, k in kinds.items() if other not in (kind, "not named", "none")})
            row = {"error": name, "kind": kind, "n": n, "runs": times, "right": kinds[kind]}
            row |= {"another": others.total(), "not_named": kinds["not named"], "nothing": kinds["none"]}
            row |= {"most_common_other": others.most_common(1)[0][0] if others else ""}
            rows.append(row | {"findings": most, "times": times_most})
            print(rows[-1], file=sys.stderr)
    return pl.DataFrame(rows)


def table(found: pl.DataFrame, errors: Iterable[str]) -> str:
    """One of the tables, of which docs/evidence/studies/kind-of-error.csv is the first."""
    sizes = sorted(found["n"].unique())
    lines = [f"| error | most frequent findings at N = 5,000 |{''.join(f' N = {n:,} |' for n in sizes)}"]
    lines.append(f"|---|---|{'---|' * len(sizes)}")
    for name in errors:
        cells = []
        for n in sizes:
            row = found.row(by_predicate=(pl.col("error") == name) & (pl.col("n") == n), named=True)
            cells.append(f"{round(100 * row['right'] / row['runs'])}%")
            if n == 5_000:
                frequent = f"{row['findings']} ({round(100 * row['times'] / row['runs'])}%)"
        lines.append(f"| {name} | {frequent} | {' | '.join(cells)} |")
    return "\n".join(lines)


def main() -> None:
    """Read the command line, and run or show."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, help="runs of every size")
    parser.add_argument("--output", type=Path, help="write the results to this file")
    parser.add_argument("--show", type=Path, help="show results written before, and run nothing")
    arguments = parser.parse_args()
    if arguments.show:
        found = pl.read_csv(arguments.show)
    else:
        found = results(dict.fromkeys(RUNS, arguments.runs) if arguments.runs else RUNS)
    if arguments.output:
        found.write_csv(arguments.output)
    print(table(found, ERRORS), table(found, SMALLER), sep="\n\n")


if __name__ == "__main__":
    main()
