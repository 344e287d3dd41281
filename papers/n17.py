"""[N17]: two classes on a line, and what is reported against what happens."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache, partial
from typing import Any, Literal

import numpy as np
from matplotlib.axes import Axes

from unperplexed import assess
from unperplexed.results import Assessment
from unperplexed.statistics import Averages, generalized_mean, log_std_factor
from unperplexed.theory import ClassParameters, TwoClassAverages, TwoClassModel, total_probability

from . import ten_dimensions
from .drawing import BROWN, DIAGONAL, GREEN, GREY, ORANGE, ORDER_MARKS, panels, printed
from .exhibits import EXACT, FORMULA, Exhibit, Line, Made, Report

TITLE = "[N17] Assessing probabilistic inference"
SOURCE = (
    'K. P. Nelson, "Assessing Probabilistic Inference by Comparing the Generalized Mean of the Model and Source '
    'Probabilities", *Entropy* 19 (2017), 286.'
)

GREEN_CLASS = ClassParameters(mean=0, variance=1, coupling=0.5)
ORANGE_CLASS = ClassParameters(mean=2, variance=1, coupling=0.5)
SAMPLE, SEED, BINS = 400_000, 2017, 20
"""For the bubbles: rows, seed, and bins of each class with equal numbers of correct-class probabilities."""

MEANS = {"decisiveness": "arithmetic", "geometric_accuracy": "geometric", "robustness": "−2/3"}


WHICH: tuple[tuple[Literal["source", "model"], dict[str, Any]], ...] = (
    ("source", {"linewidth": 4, "alpha": 0.4}),
    ("model", {"linewidth": 1.2, "linestyle": "--"}),
)
RATES: tuple[tuple[Literal["actual", "predicted"], dict[str, Any], dict[str, Any]], ...] = (
    ("actual", {"color": BROWN, "linewidth": 4, "alpha": 0.4}, {"color": BROWN, "markersize": 11, "fillstyle": "none"}),
    ("predicted", {"color": GREY, "linewidth": 1.2, "linestyle": "--"}, {"color": GREY, "markersize": 5}),
)
"""Styles of lines and marks. What is drawn first is wide or open, so that both are seen where they coincide."""


def believed(**changes: float) -> TwoClassModel:
    """The source of all the figures, and a model that is wrong about the orange class as said."""
    return TwoClassModel((GREEN_CLASS, ORANGE_CLASS), (GREEN_CLASS, replace(ORANGE_CLASS, **changes)))


@cache
def bubbles(model: TwoClassModel, label: int) -> Assessment:
    """Bins of a class, from a sample: two classes have one curve, that of the class in the second column."""
    y, _, p = model.sample(SAMPLE, random_state=SEED)
    if label == 0:
        y, p = 1 - y, p[:, ::-1]
    return assess(y, p, view="each-class", measured=f"equal-population:bins={BINS}", floor=(0.01, 0.99), resamples=0)


def setting(model: TwoClassModel, _: Report) -> Made:
    """Parameters, likelihoods, posteriors and ROC curves: Figs. 2 and 4."""
    figure, (table, likelihoods, posteriors, curves) = panels(8.4, 6.4, 2, 2)
    rows = [
        [name, *(f"{getattr(classes[1], name):g}" for classes in (model.source, model.model))]
        for name in ("mean", "variance", "coupling", "amplitude")
    ]
    table.set_axis_off()
    table.table(rows, colLabels=["orange", "source", "model"], loc="center", cellLoc="center").scale(1, 1.8)
    table.text(0.5, 0.1, "green: the same with mean 0", ha="center", transform=table.transAxes)
    x = np.linspace(-5, 5, 501)
    for which, style in WHICH:
        for column, (name, colour) in enumerate((("green", GREEN), ("orange", ORANGE))):
            label = f"{name}, {which}"
            likelihoods.plot(x, model.likelihoods(x, which)[:, column], color=colour, label=label, **style)
            posteriors.plot(x, model.posteriors(x, which)[:, column], color=colour, **style)
    lines = []
    for rates, style, mark in RATES:
        roc = model.roc(rates)
        false, true = roc.maximum_posterior
        curves.plot(1 - roc.false_positive_rate, roc.true_positive_rate, label=rates, **style)
        curves.plot(1 - false, true, "s", label=f"maximum posterior, {rates}", **mark)
        lines += [
            Line(f"area under the {rates} curve", "", roc.area, EXACT),
            Line(f"maximum posterior, {rates}: green right, orange right", "", f"{1 - false:.4f}, {true:.4f}", EXACT),
        ]
    for ax, title, labels in (
        (table, "a) orange class", ("", "")),
        (likelihoods, "b) likelihoods", ("feature", "density")),
        (posteriors, "c) posterior probabilities", ("feature", "probability of the class")),
        (curves, "d) receiver operating curve", ("share of green right", "share of orange right")),
    ):
        ax.set_title(title, loc="left", fontsize="medium")
        ax.set(xlabel=labels[0], ylabel=labels[1])
    likelihoods.legend(fontsize="x-small")
    curves.legend(fontsize="x-small", loc="lower left")
    return Made(
        lines,
        figure,
        [
            (
                "The paper draws the curves over the share of class A. Here each axis is the share of one class "
                "that is classified correctly."
            )
        ],
    )


CLASS_MARKS = {"green": ("#00523b", 20), "orange": ("#9c5f00", 14)}
"""Colours and sizes of open marks, which all show where they coincide."""


def against_source(ax: Axes, model: TwoClassModel) -> TwoClassAverages:
    """Draw reported probability over how often it comes true, as the paper has its axes."""
    exact = model.averages("each-class")
    ax.plot([0, 1], [0, 1], **DIAGONAL)
    for label, name, colour in ((0, "green", GREEN), (1, "orange", ORANGE)):
        found = bubbles(model, label)
        bins, table = found.bins, found.classes
        assert table is not None
        here = bins.happened > 0
        size = 300 * bins.happened[here] / bins.happened.max()
        ax.scatter(
            bins.measured[here],
            bins.geometric_accuracy[here],
            s=size,
            color=colour,
            alpha=0.5,
            edgecolor=colour,
            label=f"{name}: bins",
            zorder=3,
            clip_on=False,
        )
        at = table.label.index(1)
        for marker, mean in ORDER_MARKS:
            place = (getattr(table, f"measured_{mean}")[at], getattr(table, f"reported_{mean}")[at])
            shown = f"{name}: means" if mean == "geometric_accuracy" else None
            dark, size = CLASS_MARKS[name]
            style: dict[str, Any] = {"markersize": size, "fillstyle": "none", "markeredgewidth": 1.6, "zorder": 5}
            ax.plot(*place, marker, color=dark, label=shown, linestyle="none", **style)
    xs, ys = ([getattr(means, name) for _, name in ORDER_MARKS] for means in (exact.measured, exact.reported))
    ax.plot(xs, ys, color=BROWN, linewidth=1.2, zorder=4)
    for x, y, (marker, name) in zip(xs, ys, ORDER_MARKS, strict=True):
        size = 11 if name == "geometric_accuracy" else 8
        ax.plot(x, y, marker, color=BROWN, markeredgecolor="white", markersize=size, zorder=6, label=MEANS[name])
    ax.set(xlim=(0, 1), ylim=(0, 1), aspect="equal", xlabel="source probability", ylabel="model probability")
    return exact


def means_of(what: str, means: Averages, said: Sequence[str] | str = "") -> Line:
    """The three means as a line."""
    names = ", ".join(f"{name} mean" for name in MEANS.values())
    return Line(f"{what}: {names}", said, [getattr(means, name) for name in MEANS], EXACT)


def figures_of(model: TwoClassModel, prefix: str = "", orientation: str = "") -> list[Line]:
    """What the exact integrals say of a model, in both views."""
    pooled, each = model.averages(), model.averages("each-class")
    return [
        means_of(f"{prefix}model", pooled.reported),
        means_of(f"{prefix}source, true posterior", pooled.source),
        means_of(f"{prefix}source, measured over all classes", pooled.measured),
        means_of(f"{prefix}source, measured class by class", each.measured),
        Line(f"{prefix}orientation, over all classes", orientation, f"{pooled.orientation:.1f}°", EXACT),
        Line(f"{prefix}orientation, class by class", orientation, f"{each.orientation:.1f}°", EXACT),
    ]


def perfect(_: Report) -> Made:
    """Fig. 3."""
    figure, (ax,) = panels(5.6, 5.6)
    model = believed()
    exact = against_source(ax, model)
    said = ("0.69", "0.61", "0.52")
    printed(ax, [float(x) for x in said], [float(x) for x in said])
    ax.legend(fontsize="small", loc="upper left", labelspacing=0.9)
    lines = [
        means_of("model", exact.reported, said),
        means_of("source, true posterior", exact.source),
        means_of("source, measured", exact.measured),
    ]
    remarks = [
        (
            "The printed −2/3 mean, .52, is not reproduced. The integral is .5418 in every view and at every "
            "limit up to .05, and it is .5423 within the finite range of Figure 7."
        ),
        "The caption refers to Fig. 1 for the model, but the model is the one of Fig. 2.",
        "Open marks are the means of one class, filled marks the means of all.",
        "Predicted probabilities are limited to [0.01, 0.99], because section 7 states this precision.",
    ]
    return Made(lines, figure, remarks)


def errors(
    cases: dict[str, TwoClassModel],
    says: tuple[str, ...],
    remarks: list[str],
    unseen: dict[str, TwoClassModel],
    _: Report,
) -> Made:
    """Figs. 5 and 6: models that are wrong in one way each, and others that the print has no picture of."""
    rows = len(cases) // 2
    figure, axes = panels(9.2, 4.6 * rows, rows, 2)
    lines = []
    for ax, letter, (name, model), said in zip(axes, "abcd", cases.items(), says, strict=False):
        against_source(ax, model)
        ax.set_title(f"{letter}) {name}", loc="left", fontsize="medium")
        lines += figures_of(model, f"{letter}) ", said)
    axes[0].legend(fontsize="x-small", loc="upper left", labelspacing=1)
    for name, model in unseen.items():
        lines += figures_of(model, f"{name}, ")
    return Made(lines, figure, remarks)


RANGES = (8.25, 9.0)
"""Half-widths, about the middle between the classes, of the feature ranges that give what Fig. 7 prints."""


def within(model: TwoClassModel, half_width: float) -> tuple[float, float]:
    """Geometric means, reported and true, of the rows whose feature lies so near the middle between the classes."""
    x = 1 + np.linspace(-half_width, half_width, 200_001)
    density = model.likelihoods(x, "source")
    true = np.clip(model.posteriors(x, "source"), model.limit, 1 - model.limit)
    reported, source = (
        generalized_mean(p.ravel(), 0, sample_weight=density.ravel()) for p in (model.posteriors(x), true)
    )
    return reported, source


def divergence(_: Report) -> Made:
    """Fig. 7."""
    model = believed(coupling=0)
    both = TwoClassModel(model.source, (replace(GREEN_CLASS, coupling=0), model.model[1]))
    by_class = model.averages("each-class")
    figure, (ax,) = panels(5.6, 5.6)
    against_source(ax, model)
    x, y = by_class.measured.geometric_accuracy, by_class.reported.geometric_accuracy
    ax.plot([0, 1], [0, y / x], color=BROWN, linewidth=1)
    ax.plot([0, x, x], [y, y, 0], color=BROWN, linewidth=1, linestyle=":")
    ax.plot(1, y / x, "D", color=BROWN, clip_on=False, label=f"divergence probability {y / x:.3f}")
    near, true = within(model, RANGES[-1])
    label = f"x in {_range(RANGES[-1])}, true posterior"
    ax.plot([true, 1], [near, near / true], "s", color=GREY, clip_on=False, markersize=5, label=label, zorder=8)
    printed(ax, [0.62, 1.0], [0.56, 0.90])
    ax.legend(fontsize="x-small", loc="upper left", labelspacing=1)
    lines: list[Line] = []
    for name, of in (("the orange class normal", model), ("both classes normal", both)):
        for half_width in RANGES:
            near, true = within(of, half_width)
            again = bool(lines)
            lines += _three(f"{name}, x in {_range(half_width)}", near, {"true posterior": true}, again)
        at, by_class = of.averages(), of.averages("each-class")
        lines += _three(
            f"{name}, whole line",
            at.reported.geometric_accuracy,
            {
                "true posterior": at.source.geometric_accuracy,
                "measured over all classes": at.measured.geometric_accuracy,
                "measured class by class": by_class.measured.geometric_accuracy,
            },
            again=True,
        )
    remarks = [
        (
            "A finite range of the feature reproduces all three printed values, but the paper names no range. "
            "With the limit of .01, the integral over x from −8 to 10 gives .5551, .6159 and .9013, and every "
            "half-width from 8.25 to 9 rounds to the printed .56, .62 and .90."
        ),
        (
            "Section 5 describes errors in the model of one class, so the orange class is normal here. If "
            "both classes are normal, the rounded values are the same."
        ),
        (
            'Section 7 calls the divergence probability "always less than one". This is true for exact source '
            "and calibrated probabilities. But if they are estimated in bins, the ratio can exceed 1, as in "
            "[CM] Table 1."
        ),
    ]
    return Made(lines, figure, remarks)


def _range(half_width: float) -> str:
    return f"[{1 - half_width:g}, {1 + half_width:g}]".replace("-", "−")


def _three(where: str, reported: float, sources: Mapping[str, float], again: bool) -> list[Line]:
    """Compare a reading with what Fig. 7 prints: the model's probability, the source's, and their ratio."""
    lines = [Line(f"{where}: model probability", "0.56", reported, EXACT, again=again)]
    for name, source in sources.items():
        lines.append(Line(f"{where}: source probability, {name}", "0.62", source, EXACT, again=again))
        lines.append(Line(f"{where}: divergence probability, {name}", "0.90", reported / source, EXACT, again=again))
    return lines


def ten(report: Report) -> Made:
    """Fig. 1."""
    figure, axes = panels(12.0, 4.4, 1, 3)
    lines = []
    for ax, letter, (name, model, said) in zip(axes, "abc", TEN, strict=True):
        found = ten_dimensions.trials(model, report)
        ten_dimensions.draw_bars(ax, found, said)
        ax.set_title(f"{letter}) {name}, {model.name}", loc="left", fontsize="medium")
        lines += ten_dimensions.lines_of(found, f"{letter}) {model.name}, ", said)
        if model is ten_dimensions.GAUSSIAN:
            for figure_of in ("prediction accuracy", "geometric accuracy"):
                largest = ten_dimensions.DIMENSIONS[int(found.named(figure_of).mean(axis=0).argmax())]
                what = f"{letter}) {model.name}, dimensions at which {figure_of} is largest"
                lines.append(Line(what, "6 dimensions", f"{largest} dimensions", "simulation"))
    lines += ten_dimensions.reading(ten_dimensions.trials(ten_dimensions.COMPACT, report), [ten_dimensions.UNDECIDED])
    shared = ten_dimensions.SHARED
    for other in (
        shared[ten_dimensions.GAUSSIAN.name], shared[ten_dimensions.HEAVY.name],
        ten_dimensions.PRINTED_SIGN, ten_dimensions.DIAGONAL,
    ):  # fmt: skip
        lines += ten_dimensions.reading(ten_dimensions.trials(other, report))
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=3, fontsize="small")
    remarks = [
        ten_dimensions.OURS,
        (
            'The text says that "25 samples are used to estimate of the two means and single variance". With '
            "25 samples of each class and a covariance of each, as in the picture, the geometric mean is "
            "largest at four dimensions. But with 25 in all and one covariance (the last rows of the table) "
            "it is largest at six, as printed, and within three standard errors of the printed .63 and .69."
        ),
        "A model with variances but without correlations does not overfit.",
        (
            "For c, caption and text have κ = 0.095. But compact support requires −0.095, because with +0.095 "
            "no probability is 0, and the geometric mean is far from 0."
        ),
    ]
    return Made(lines, figure, remarks)


TEN: tuple[tuple[str, ten_dimensions.Model, ten_dimensions.Print], ...] = (
    ("Gaussian", ten_dimensions.GAUSSIAN, {"geometric accuracy": {6: "0.63"}, "robustness": {8: "0", 10: "0"}}),
    ("heavy tails", ten_dimensions.HEAVY, {"geometric accuracy": dict.fromkeys((6, 8, 10), "0.69")}),
    (
        "compact support",
        ten_dimensions.COMPACT,
        {"geometric accuracy": dict.fromkeys(ten_dimensions.DIMENSIONS, "0")},
    ),
)
"""Of each panel the model, and what [N17] prints of it."""


def equations(_: Report) -> Made:
    """Equations of sections 2 to 4, and what their readings give."""
    p = np.array([0.95, 0.9, 0.2])
    mean = generalized_mean(p, 0)
    model = believed()
    y, _x, said = model.sample(SAMPLE, random_state=SEED)
    settings: dict[str, Any] = {"view": "all-classes", "floor": (0.01, 0.99), "resamples": 0}
    lines = [
        Line(
            "theorem 1: N-th root of the total probability",
            "∏ p^(1/N)",
            mean,
            FORMULA,
            value=total_probability(p) ** (1 / 3),
        ),
        Line(
            "eq. 10: the mean over the factor of one standard deviation",
            "can exceed 1",
            mean / log_std_factor(p),
            FORMULA,
        ),
    ]
    lines.append(means_of("what eq. 19 estimates, for the model that is right", model.averages().measured))
    for kind, bins in (("equal-population", BINS), ("equal-width", 100)):
        found = assess(y, said, measured=f"{kind}:bins={bins}", **settings).bins
        some = found.happened > 0
        for weights, how in (
            (np.ones(int(some.sum())), "each bin 1/B, as printed"),
            (found.happened[some], "each bin by what happened in it"),
        ):
            means = [generalized_mean(found.measured[some], order, sample_weight=weights) for order in (1, 0, -2 / 3)]
            what = f"eq. 19 with {kind} bins, {how}: {', '.join(f'{name} mean' for name in MEANS.values())}"
            lines.append(Line(what, "", means, f"simulation, {SAMPLE:,} rows"))
    remarks = [
        (
            "Theorem 1 and eq. 10 are evaluated at p = (.95, .9, .2). The paper writes that eq. 10 gives no "
            "meaningful bound, and indeed the upper one exceeds 1."
        ),
        (
            'Eq. 17 is the contribution of bin k to the accuracy, "weighting the model average by the source '
            'average". On a logarithmic scale this is `(N*_k/N_k) ln Q_k`. Here `Q_k` is the geometric mean '
            "of the correct-class probabilities in the bin, `N*_k` is their number, and `N_k` is the number "
            "of all probabilities in it. For bins of equal data (step 2) it is proportional to the package's "
            "`(N*_k/N) ln Q_k`, which sums to the log geometric accuracy for any bins."
        ),
        'The paper draws the predicted probability on y, as `plot(axes="nelson")` does.',
    ]
    return Made(lines, None, remarks)


_MEAN_CASES = {"mean 2 → 1": believed(mean=1), "mean 2 → 3": believed(mean=3)}
_OTHER_CASES = {
    "variance 1 → 0.5": believed(variance=0.5),
    "variance 1 → 2": believed(variance=2),
    "coupling 0.5 → 0": believed(coupling=0),
    "coupling of both 0.5 → 1": TwoClassModel(
        (GREEN_CLASS, ORANGE_CLASS), (replace(GREEN_CLASS, coupling=1), replace(ORANGE_CLASS, coupling=1))
    ),
}
_BUBBLES = (
    f"Bubbles are bins of a simulated sample of {SAMPLE:,} rows (seed {SEED}), {BINS} for each class, "
    "with equal numbers of correct-class probabilities. Their area is the number of events. Open "
    "marks are the means of a class, and filled marks are the exact means of all rows. Predicted "
    "probabilities are limited to [0.01, 0.99]."
)

EXHIBITS = [
    Exhibit(
        "n17-figure-1",
        "Figure 1: ten dimensions, three tails",
        (
            "Models with normal, heavy and compact tails learn two Gaussians from 25 samples of each. Bars "
            "show prediction accuracy, squares geometric accuracy, and lines reach from robustness to "
            "decisiveness."
        ),
        ten,
        ten_dimensions.STEPS,
        why="The paper may mean 25 samples in all, not 25 of each class: then the best six dimensions are as printed.",
    ),
    Exhibit(
        "n17-figure-2",
        "Figure 2: two classes, and a model that is right",
        (
            "The picture shows likelihoods, posteriors and ROC curves of the orange class. Wide lines are "
            "the source, that is, the truth. Dashed lines are the model, which coincides with it here."
        ),
        partial(setting, believed()),
    ),
    Exhibit(
        "n17-figure-3",
        "Figure 3: model against source probability of the model that is right",
        (f"Because the model is right, the means lie on the diagonal. Bubbles are bins of {SAMPLE:,} simulated rows."),
        perfect,
        why="The printed −2/3 mean, .52, is not the integral, .5418.",
    ),
    Exhibit(
        "n17-figure-4",
        "Figure 4: the mean of the orange class at 1, not 2",
        (
            "The model puts the classes of Fig. 2 too close together. So its posteriors are nearer to 1/2, "
            "and its predicted ROC curve lies below the actual one."
        ),
        partial(setting, believed(mean=1)),
    ),
    Exhibit(
        "n17-figure-5",
        "Figure 5: a mean that is too near, and one too far",
        ("If a mean is wrong, the bubbles of the two classes separate, and the means turn off the diagonal."),
        partial(errors, _MEAN_CASES, ("below 45°", "above 45°"), [], {}),
    ),
    Exhibit(
        "n17-figure-6",
        "Figure 6: wrong variances and tails",
        ("Now variances are too small or too large, and tails too light or too heavy."),
        partial(
            errors,
            _OTHER_CASES,
            ("above 45°", "below 45°", "above 45°", ""),
            [
                (
                    "For b, the caption calls a variance of 2 over-confident but prints an orientation below 45°, "
                    "which means under-confidence. Ours is below 45°."
                ),
                (
                    "For d, the paper does not state how heavy the tail is. If only the orange class has it, the "
                    f"orientation is {believed(coupling=0.8).averages().orientation:.1f}° with coupling 0.8, "
                    f"{believed(coupling=1).averages().orientation:.1f}° with 1 and "
                    f"{believed(coupling=2).averages().orientation:.1f}° with 2. Here both classes have coupling 1, "
                    "because this shows the error better."
                ),
                (
                    "Section 5 names a fourth error, the amplitude, but shows no picture of it. In the last rows the "
                    "likelihood of the orange class is doubled, which makes the model over-confident."
                ),
            ],
            {"amplitude 1 → 2": believed(amplitude=2)},
        ),
    ),
    Exhibit(
        "n17-figure-7",
        "Figure 7: the divergence probability",
        (
            "To read off the divergence probability, the model's geometric mean divided by the source's, follow the "
            "line from the origin through the point of both means until the source probability is 1."
        ),
        divergence,
    ),
    Exhibit(
        "n17-equations",
        "Equations of sections 2 to 4",
        "Some of these equations can be read in several ways.",
        equations,
    ),
]
