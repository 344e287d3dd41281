"""[SSR]: scoring rules that punish a wrong class on top."""

from __future__ import annotations

import math

import numpy as np

from unperplexed.scores import brier_score, log_loss, penalized_brier_score, penalized_log_loss

from .drawing import GREEN, GREY, ORANGE, panels
from .exhibits import DEFINITION, Exhibit, Line, Made, Report

TITLE = "[SSR] Superior scoring rules"
SOURCE = 'R. Ahmadian, M. Ghatee and J. Wahlström, "Superior scoring rules", *IJAR* (2025), 109421.'

CASES = {"A, right": ([0.33, 0.34, 0.33], "0.6534", "0.4685"), "B, wrong": ([0.51, 0.49, 0.0], "0.5202", "0.3098")}
"""Forecasts of which the second class happened, with the printed Brier score and log loss."""

EXAMPLE = ([0, 1, 3], [[0.9, 0.05, 0.05, 0], [0.1, 0.8, 0.05, 0.05], [0.1, 0.1, 0.1, 0.7]])
"""Of its section on use."""


def table(_: Report) -> Made:
    """The table of the two cases, with what the penalized scores make of them."""
    lines = []
    for name, (p, brier, log) in CASES.items():
        lines += [
            Line(f"case {name}: Brier score", brier, brier_score([1], [p]), DEFINITION),
            Line(f"case {name}: log loss, to base 10", log, log_loss([1], [p]) / math.log(10), DEFINITION),
            Line(f"case {name}: log loss, in nats as its formula has it", "", log_loss([1], [p]), DEFINITION),
            Line(f"case {name}: penalized Brier score", "", penalized_brier_score([1], [p]), DEFINITION),
            Line(f"case {name}: penalized log loss", "", penalized_log_loss([1], [p]), DEFINITION),
        ]
    remarks = [
        'The table\'s "Log Loss" is to base 10, but formula and program use the natural logarithm.',
        (
            "The scores without penalty prefer B, although another class has the largest probability there. "
            "The penalized scores prefer A."
        ),
    ]
    return Made(lines, None, remarks)


def definitions(_: Report) -> Made:
    """Formulas against program."""
    y, p = EXAMPLE
    cases = {
        **{name: each[0] for name, each in CASES.items()},
        "a tie with the true class, (.5, .5, 0)": [0.5, 0.5, 0.0],
    }
    lines = []
    for name, score, formula, said in (
        ("Brier score", penalized_brier_score, _formula_brier, "Σ (y − p)² + (c − 1)/c if wrong"),
        ("log loss", penalized_log_loss, _formula_log, "−Σ y ln p − ln(1/c) if wrong"),
    ):
        for case, forecast in cases.items():
            what = f"penalized {name}, {case}"
            published = score([1], [forecast], variant="published-code")
            lines += [
                Line(what, said, score([1], [forecast]), DEFINITION, value=formula(1, forecast)),
                Line(f"{what}, as the published program computes it", "", published, DEFINITION),
            ]
        what = f"penalized {name}, its example of three rows"
        published = score(y, p, variant="published-code")
        lines += [
            Line(what, "", score(y, p), DEFINITION),
            Line(f"{what}, as the published program computes it", "", published, DEFINITION),
        ]
    remarks = [
        "The formula takes the first of tied classes as the top one, as `argmax` does.",
        (
            "The program takes the mean over classes where the formula has the sum, and it does not penalize "
            "a tie with the true class. Ours is the formula with ties shared, so a k-way tie with the true "
            "class receives 1 − 1/k of the penalty."
        ),
    ]
    return Made(lines, None, remarks)


def properness(_: Report) -> Made:
    """What a forecaster expects to get for saying something else than the truth."""
    truth, said = 0.51, np.linspace(0, 1, 101)
    figure, axes = panels(10.0, 4.2, 1, 2)
    lines = []
    for ax, name, score in ((axes[0], "Brier score", penalized_brier_score), (axes[1], "log loss", penalized_log_loss)):
        for variant, label, colour, size in (
            ("published-code", "published program", ORANGE, 9),
            ("proper", "ours", GREEN, 4),
        ):
            expected = [_expected(score, variant, truth, float(q)) for q in said]
            ax.plot(said, expected, ".", color=colour, markersize=size, label=label)
            honest, tied = (_expected(score, variant, truth, q) for q in (truth, 0.5))
            lines += [
                Line(f"penalized {name}, {label}: expected of the truth, (.49, .51)", "", honest, DEFINITION),
                Line(f"penalized {name}, {label}: expected of (.5, .5)", "", tied, DEFINITION),
            ]
        ax.axvline(truth, color=GREY, linestyle=":", label="the truth")
        ax.set(
            xlabel="probability reported for the second class (true probability .51)",
            ylabel="expected score, smaller is better",
        )
        ax.set_title(f"penalized {name}", loc="left", fontsize="medium")
        ax.legend(fontsize="x-small")
    axes[1].set_ylim(0, 3)
    remarks = [
        (
            "The paper calls the rules strictly proper. The formulas are, if ties are shared. But the program "
            "is not, because reporting .5 when the probability is .51 halves the expected penalized Brier "
            "score."
        ),
    ]
    return Made(lines, figure, remarks)


def _expected(score: object, variant: str, truth: float, said: float) -> float:
    p = [[1 - said, said]] * 2
    weights = [1 - truth, truth]
    return float(score([0, 1], p, sample_weight=weights, variant=variant))  # type: ignore[operator]


def _formula_brier(y: int, p: list[float]) -> float:
    one_hot = np.eye(len(p))[y]
    return float(((one_hot - p) ** 2).sum() + (len(p) - 1) / len(p) * (np.argmax(p) != y))


def _formula_log(y: int, p: list[float]) -> float:
    return float(-np.log(p[y]) - math.log(1 / len(p)) * (np.argmax(p) != y))


EXHIBITS = [
    Exhibit(
        "ssr-table",
        "Table: right and unsure against wrong and sure",
        ("The second of three classes occurs. A assigns it the largest probability, but B does not."),
        table,
    ),
    Exhibit(
        "ssr-definitions",
        "Definitions: formula and program",
        "The penalized scores come from the formulas, the published program and this package.",
        definitions,
        why="Ours shares the penalty among tied classes, but the formula takes the first of them as the top one.",
    ),
    Exhibit(
        "ssr-properness",
        "Properness",
        (
            "The true probability of the second of two classes is .51. The curves show the expected score "
            "of each predicted probability."
        ),
        properness,
    ),
]
