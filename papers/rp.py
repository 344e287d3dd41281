"""[RP]: entropy on the scale of probabilities, generalized means of a density, and risk profiles."""

from __future__ import annotations

import math
from functools import partial
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from unperplexed.scores import generalized_surprisal
from unperplexed.statistics import coupling_from_order, generalized_mean, log_std_factor
from unperplexed.theory import (
    CoupledExponential,
    CoupledGaussian,
    average_probability,
    coupled_entropy,
    coupled_log,
    cross_entropy,
    divergence,
    entropy,
    escort,
    normalized_tsallis_entropy,
    renyi_entropy,
    risk_exp,
    risk_log,
    tsallis_entropy,
)

from . import ten_dimensions
from .drawing import GREY, ORANGE, panels, printed
from .exhibits import DEFINITION, EXACT, FORMULA, Exhibit, Line, Made, Report

TITLE = "[RP] Reduced perplexity"
SOURCE = 'K. P. Nelson, "Reduced Perplexity: A simplified perspective on assessing probabilistic forecasts".'

BLUE = "#0072B2"
Floats = NDArray[np.float64]

Scale = Literal["nats", "perplexity", "probability"]

P, Q = np.array([0.5, 0.3, 0.2]), np.array([0.4, 0.4, 0.2])
"""Distributions for Table 1, ours: the print has formulas alone."""


def normal(_: Report) -> Made:
    """Fig. 1."""
    density = CoupledGaussian()
    average = density.generalized_average_density(0)
    surprisal = density.entropy()
    x = np.linspace(-2.5, 2.5, 401)
    figure, axes = panels(11.0, 3.8, 1, 3)
    f = density.pdf(x)
    for ax, name, label, curve, level in (
        (axes[0], f"a) density, average {average:.4f}", "f(x)", f, average),
        (axes[1], f"b) inverse: perplexity {1 / average:.4f}", "1/f(x)", 1 / f, 1 / average),
        (axes[2], f"c) its logarithm: entropy {surprisal:.4f}", "−ln f(x), in nats", -np.log(f), surprisal),
    ):
        ax.plot(x, curve, color=BLUE)
        ax.axhline(level, color=ORANGE, label="average")
        ax.plot([-1, 1], [level, level], "o", color=ORANGE)
        ax.axvline(1, color=GREY, linestyle=":", label="mean + standard deviation")
        ax.set_title(name, loc="left", fontsize="medium")
        ax.set(xlabel="standard deviations from the mean", ylabel=label)
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=2, fontsize="small")
    said = 1 / math.sqrt(2 * math.pi * math.e)
    lines = [
        Line("average density", "1/√(2πe)", average, EXACT, value=said, digits=8),
        Line("density at mean + standard deviation", "1/√(2πe)", density.pdf(1.0), FORMULA, value=said, digits=8),
        Line("perplexity", "√(2πe)", 1 / average, EXACT, value=1 / said, digits=6),
        Line("entropy", "ln √(2πe)", surprisal, EXACT, value=-math.log(said), digits=8),
    ]
    return Made(
        lines, figure, ["The paper prints only the formula of the density, from which the other values follow."]
    )


def translations(_: Report) -> Made:
    """Table 1."""
    lines = []
    of_print = {
        "entropy": (-(P * np.log(P)).sum(), (P**-P).prod(), (P**P).prod()),
        "divergence": (-(P * np.log(Q / P)).sum(), ((Q / P) ** -P).prod(), ((Q / P) ** P).prod()),
        "cross-entropy": (-(P * np.log(Q)).sum(), (Q**-P).prod(), (Q**P).prod()),
    }
    ratios = {"entropy": "p", "divergence": "(q/p)", "cross-entropy": "q"}
    scales: dict[Scale, str] = {"nats": "−Σ p ln {}", "perplexity": "∏ {}^−p", "probability": "∏ {}^p"}
    for (scale, formula), *values in zip(scales.items(), *of_print.values(), strict=True):
        ours = entropy(P, scale=scale), divergence(P, Q, scale=scale), cross_entropy(P, Q, scale=scale)
        for name, value, found in zip(of_print, values, ours, strict=True):
            said = formula.format(ratios[name])
            lines.append(Line(f"{name}, {scale}", said, float(found), FORMULA, value=float(value), digits=10))
    both = entropy(P, scale="probability") * divergence(P, Q, scale="probability")
    product = float(of_print["cross-entropy"][-1])
    what = "eq. 2.5: entropy × divergence as probabilities"
    lines.append(Line(what, "∏ q^p", float(both), FORMULA, value=product, digits=10))
    return Made(
        lines,
        None,
        [("The values are for p = (.5, .3, .2) and q = (.4, .4, .2), because the paper prints only formulas.")],
    )


def averages_of_densities(_: Report) -> Made:
    """Fig. 2."""
    figure, axes = panels(12.0, 4.0, 1, 3)
    lines = []
    for ax, letter, order in zip(axes, "abc", (0.0, -2 / 3, 1.0), strict=True):
        coupling = coupling_from_order(order)
        density = CoupledGaussian(order - 1, 1, coupling)
        x = np.linspace(-4, 4, 801)
        ax.plot(x, density.pdf(x), color=BLUE, label="density")
        orders = 2 * order - x
        with np.errstate(all="ignore"):
            averages = [density.generalized_average_density(float(r)) for r in orders]
        ax.plot(x, averages, color=ORANGE, label="generalized average density")
        there, at_scale = density.generalized_average_density(order), density.pdf(order)
        ax.plot(order, there, "o", color="black", markersize=5, label="at the matching order", zorder=5)
        title = f"{letter}) r = {order:.3g}, κ = {coupling:.3g}".replace("-", "−")
        ax.set_title(title, loc="left", fontsize="medium")
        ax.set(xlabel="x; for the average 2 r_D − r, where r is its order", ylabel="density")
        what = f"{letter}) average density of the matching order"
        lines.append(Line(what, "density at mean + scale", there, EXACT, value=float(at_scale), digits=8))
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=3, fontsize="small")
    return Made(lines, figure, [])


SCANNED = np.linspace(-0.2, 0.95, 47)
"""Couplings of densities that are compared with the one of the order −2/3."""


def minimum(_: Report) -> Made:
    """What section 3 states without showing it: the density of an order has the smallest average of that order."""
    order, coupling = -2 / 3, 0.5
    variance = _escort_variance(CoupledGaussian(coupling=coupling), order)

    def average(other: float) -> float:
        """Average density of the coupled Gaussian with this coupling and the same escort variance."""
        unit = _escort_variance(CoupledGaussian(coupling=other), order)
        return float(CoupledGaussian(0, math.sqrt(variance / unit), other).generalized_average_density(order))

    figure, (ax,) = panels(6.4, 4.2)
    ax.plot(SCANNED, [average(float(other)) for other in SCANNED], color=BLUE)
    ax.plot(coupling, average(coupling), "o", color=ORANGE, label="κ = 1/2, the coupling of the order −2/3")
    ax.set(xlabel="coupling κ", ylabel="average density of order −2/3")
    ax.legend(fontsize="small")
    tried = (0.0, 0.25, 0.5, 0.9)
    lines = [
        Line("escort variance of the coupled Gaussian with κ = 1/2 and scale 1", "", variance, EXACT),
        Line(f"average density for κ = {', '.join(f'{each:g}' for each in tried)}", "", [*map(average, tried)], EXACT),
    ]
    remarks = [
        (
            "The scales are chosen so that all densities have the same variance under their escort density "
            "f^(1 − r). The paper names the scale itself as the constraint. But with equal scales the average "
            "only falls with the coupling and has no minimum: it is 0.2720, 0.2283, 0.1925 and 0.1492 for the "
            "four couplings. The paper refers to the maximum of Tsallis entropy."
        )
    ]
    return Made(lines, figure, remarks)


def _escort_variance(density: CoupledGaussian, order: float) -> float:
    """Variance of the normalized density f^(1 − r), by the trapezoidal rule in x = sinh t."""
    t = np.linspace(-30, 30, 24_001)
    x = np.sinh(t)
    weights = density.pdf(x) ** (1 - order) * np.cosh(t)
    return float((x**2 * weights).sum() / weights.sum())


def profiles(
    model: ten_dimensions.Model,
    said: ten_dimensions.Print,
    others: tuple[ten_dimensions.Model, ...],
    remarks: list[str],
    report: Report,
) -> Made:
    """Figs. 3 to 5: risk profiles of the models in ten dimensions, and what of their classifications was right."""
    found = ten_dimensions.trials(model, report)
    figure, (profile, bars) = panels(10.0, 4.4, 1, 2)
    for j, d in enumerate(ten_dimensions.DIMENSIONS):
        profile.plot(ten_dimensions.ORDERS, found.profiles[:, j].mean(axis=0), label=f"{d} dimensions")
    for name, order in ten_dimensions.NAMED.items():
        profile.axvline(order, color=GREY, linewidth=0.8, linestyle=":")
        profile.text(order, 0.02, name, rotation=90, fontsize="x-small", color=GREY, ha="right", va="bottom")
    of_print = sorted({float(x) for x in said.get("geometric accuracy", {}).values()})
    printed(profile, [0.0] * len(of_print), of_print)
    profile.set(xlabel="order of the mean: robust to decisive", ylabel="generalized mean", ylim=(0, 1))
    profile.set_title(f"a) risk profiles, {model.name}", loc="left", fontsize="medium")
    profile.legend(fontsize="x-small")
    ten_dimensions.draw_bars(bars, found, said)
    bars.set_title("b) the same means, and correct classifications", loc="left", fontsize="medium")
    figure.legend(*bars.get_legend_handles_labels(), loc="outside lower center", ncols=3, fontsize="small")
    lines = ten_dimensions.lines_of(found, "", said)
    outside = [ten_dimensions.UNDECIDED] if model is ten_dimensions.COMPACT_ORDER else []
    lines += ten_dimensions.reading(found, outside)
    for other in (ten_dimensions.SHARED[model.name], *others):
        lines += ten_dimensions.reading(ten_dimensions.trials(other, report), [*ten_dimensions.MAIN, *outside])
    if model.order is not None:
        lines.append(couplings_of(model.order))
    return Made(lines, figure, ["The trials are the same as in [N17] Figure 1.", *remarks])


def couplings_of(r: float) -> Line:
    """The coupling that belongs to an order in each number of dimensions, of which [N17] has one for all."""
    dimensions = sorted({*ten_dimensions.DIMENSIONS, 7})
    couplings = [coupling_from_order(r, d=d) for d in dimensions]
    what = f"coupling of r = {r:g} in {', '.join(map(str, dimensions))} dimensions"
    return Line(what, "", couplings, FORMULA, digits=3)


def best_couplings(report: Report) -> Made:
    """What the papers suggest and do not do."""
    figure, (ax,) = panels(7.0, 4.6)
    scanned = list(ten_dimensions.SCANNED)
    found = {k: ten_dimensions.trials(ten_dimensions.fixed(k), report) for k in scanned}
    means = np.stack([ten_dimensions.mean_and_error(found[k].named("geometric accuracy"))[0] for k in scanned])
    chosen = []
    for j, d in enumerate(ten_dimensions.DIMENSIONS):
        best = int(means[:, j].argmax())
        (line,) = ax.plot(scanned, means[:, j], ".-", label=f"{d} dimensions")
        ax.plot(scanned[best], means[best, j], "o", color=line.get_color(), markersize=9)
        chosen.append(scanned[best])
    lines = [
        Line("best coupling of those tried in 2, 4, 6, 8, 10 dimensions", "", [f"{x:g}" for x in chosen], "simulation")
    ]
    for name in ten_dimensions.MAIN:
        there = np.stack([found[coupling].named(name)[:, j] for j, coupling in enumerate(chosen)], axis=1)
        gain = there - found[0.162].named(name)
        for what, each in ((f"{name} there", there), (f"{name} there, less that at 0.162", gain)):
            mean, error = ten_dimensions.mean_and_error(each)
            lines.append(Line(what, "", mean.tolist(), "simulation", error.tolist(), digits=3))
    ax.axvline(0.162, color=GREY, linestyle=":", label="[N17]'s 0.162")
    ticks = [0, 0.05, 0.162, 0.5, 1, 3, 10, 100, 1000]
    ax.set_xscale("symlog", linthresh=0.05)
    ax.set(xlabel="coupling", ylabel="geometric accuracy", xticks=ticks, xlim=(-0.005, 1500))
    ax.set_xticklabels([f"{tick:g}" for tick in ticks])
    ax.minorticks_off()
    ax.legend(fontsize="x-small")
    remarks = [
        (
            f"{len(scanned)} couplings from 0 to 1000 are tried on the trials of Figs. 3 to 5. The best one is "
            "chosen on the test samples, so its values are slightly too good. But the curves are flat near "
            "it."
        ),
        'To find a coupling from the training samples, use `CoupledDiscriminantAnalysis(coupling="cv")`.',
    ]
    return Made(lines, figure, remarks)


def readings(_: Report) -> Made:
    """Equations, and slips of the print with what each reading gives."""
    p = np.array([0.9, 0.6, 0.3])
    r, n = -2 / 3, p.size
    coupling, d, alpha = 0.5, 1, 2
    mean = generalized_mean(p, r)
    inner = float(np.mean(p**r))
    outer = (1 + alpha * coupling) / (-alpha * coupling)
    power = (1 + d * coupling) / (-alpha * coupling)
    surprisal = generalized_surprisal([1] * n, p, r)
    summed = -float(((1 + r) / r * (p**r - 1)).sum())
    exponential, tailed = CoupledExponential(), CoupledExponential(coupling=coupling)
    weights, powers, h = escort(P, r), P ** (1 - r), 1e-4
    below, at, above = (float(risk_log(0.4 + step, r)) for step in (-h, 0, h))
    sensitivity = 1 + 0.4 * ((above - 2 * at + below) / h**2) / ((above - below) / (2 * h))
    one, other = (float(coupled_entropy(x, coupling)) for x in (P, Q))
    joint = float(coupled_entropy(np.outer(P, Q).ravel(), coupling))
    averages = [
        float(found)
        for found in (
            average_probability(P, r),
            renyi_entropy(P, r, scale="probability"),
            tsallis_entropy(P, r, scale="probability"),
            normalized_tsallis_entropy(P, r, scale="probability"),
            coupled_entropy(P, coupling, scale="probability"),
        )
    ]
    total = powers.sum()
    normal = CoupledGaussian(coupling=coupling)
    lines = [
        Line(
            "eq. 2.3: average density of the exponential",
            "1/(σe)",
            exponential.generalized_average_density(),
            EXACT,
            value=1 / math.e,
            digits=8,
        ),
        Line(
            "average density of the coupled exponential, below eq. 2.9",
            "1/(σ e_r)",
            tailed.generalized_average_density(),
            EXACT,
            value=float(tailed.pdf(1.0)),
            digits=8,
        ),
        Line(
            "its left side as printed, exp_r ∫ f ln_r f, which lacks the escort",
            "1/(σ e_r)",
            tailed.generalized_average_density(1 / 3),
            EXACT,
            value=float(tailed.pdf(1.0)),
            digits=8,
        ),
        Line(
            "average density of the coupled Gaussian, below that",
            "e_r^(−1/2)/Z_r",
            normal.generalized_average_density(),
            EXACT,
            value=float(normal.pdf(1.0)),
            digits=8,
        ),
        Line(
            "its left side as printed, exp_r ∫ f ln f, with a plain logarithm",
            "e_r^(−1/2)/Z_r",
            float(risk_exp(-normal.entropy(), r)),
            EXACT,
            value=float(normal.pdf(1.0)),
            digits=8,
        ),
        Line(
            "eq. 2.7: escort probabilities",
            "p^(1−r)/Σ p^(1−r)",
            weights.tolist(),
            FORMULA,
            value=(powers / total).tolist(),
        ),
        Line(
            "eq. 2.8: the mean of order r weighted by the escort",
            "(Σ p^(1−r))^(−1/r)",
            generalized_mean(P, r, sample_weight=weights),
            FORMULA,
            value=float(total ** (-1 / r)),
            digits=8,
        ),
        Line(
            "the same as the mean of order −r weighted by p",
            "P_−r(p, p)",
            generalized_mean(P, -r, sample_weight=P),
            FORMULA,
            value=float(total ** (-1 / r)),
            digits=8,
        ),
        Line("standard deviation of ln p, the first eq. 2.6: its factor e^−σ", "", log_std_factor(P, P), FORMULA),
        Line("the mean, the second eq. 2.6, with the outer power 1/r", "", mean, DEFINITION),
        Line("the same as printed, without it", "Σ w p^r", mean, FORMULA, value=inner),
        Line(
            "eq. 3.2, its first form: mean generalized surprisal",
            "−(1/N) Σ ln_r p",
            surprisal,
            FORMULA,
            value=summed / n,
        ),
        Line("eq. 3.2, its second form, which lacks 1/N", "−Σ ln_r p", surprisal, FORMULA, value=summed),
        Line("eq. 3.3: 1 + p f″/f′ of the generalized logarithm", "r", sensitivity, "differences", value=r, digits=6),
        Line(
            "eq. 3.5: exp_r of −S_r",
            "((1/N) Σ p^r)^(1/r)",
            float(risk_exp(-surprisal, r)),
            FORMULA,
            value=inner ** (1 / r),
        ),
        Line("appendix: exponent of the density's tail, which is to fall", "−α/r", 2 / r, FORMULA, value=-2 / r),
        Line("coupling of risk bias 1", "−1/3", coupling_from_order(1.0), FORMULA, value=-1 / 3, digits=8),
        Line("its conjugate, of order −2/3", "1/2", coupling_from_order(-2 / 3), FORMULA, value=0.5, digits=8),
        Line(
            "eq. A.2: coupled entropy of two independent systems",
            "H_A + H_B + κ H_A H_B",
            joint,
            FORMULA,
            value=one + other + coupling * one * other,
            digits=8,
        ),
        Line("eq. A.3: the integral of ln_κ(1/p) over p", "1", _information(0.5), EXACT, digits=8),
        Line(
            "eq. A.5: outer power (1 + dκ)/(−ακ) of inner powers −ακ/(1 + dκ), in two dimensions",
            "",
            _a5(p, coupling, 2, alpha, 1 + 2 * coupling),
            FORMULA,
        ),
        Line(
            "the same as printed in its last line, with inner powers −ακ/(1 + κ)",
            "(Σ w p^(−ακ/(1+κ)))^((1+dκ)/(−ακ))",
            _a5(p, coupling, 2, alpha, 1 + 2 * coupling),
            FORMULA,
            value=_a5(p, coupling, 2, alpha, 1 + coupling),
        ),
        Line(
            "eq. A.6: average probability, by Rényi, Tsallis, normalized Tsallis and coupled entropy",
            "(Σ p^(1−r))^(−1/r)",
            averages,
            FORMULA,
            value=[float(total ** (-1 / r))] * len(averages),
        ),
        Line(
            "its first form as printed, with the outer power (1 + ακ)/(ακ)",
            "(Σ w p^r)^((1+ακ)/(ακ))",
            averages[0],
            FORMULA,
            value=float((1 / total) ** ((1 + alpha * coupling) / (alpha * coupling))),
        ),
        Line("eq. A.8 with the outer power (1 + dκ)/(−ακ)", "", inner**power, FORMULA),
        Line(
            "the same as printed, with (1 + ακ)/(−ακ)",
            "((1/N) Σ p^r)^((1+ακ)/(−ακ))",
            inner**power,
            FORMULA,
            value=inner**outer,
        ),
    ]
    remarks = [
        (
            "Probabilities are (.9, .6, .3) or, if they must sum to 1, (.5, .3, .2) and (.4, .4, .2). Unless "
            "stated otherwise, r = −2/3, κ = 1/2, α = 2 and d = 1. The coupled exponential has κ = 1/2, for "
            "which r = −1/3."
        ),
        (
            "A difference other than 0 is a slip of the print. The slips are the outer power of the second "
            "eq. 2.6, the escort and the logarithm below 2.9, 1/N in 3.2, the sign of the exponent of the "
            "tail, d in A.5, and the outer powers in A.6 and A.8."
        ),
    ]
    return Made(lines, None, remarks)


def _a5(p: Floats, coupling: float, d: int, alpha: float, below: float) -> float:
    """Eq. A.5's last line with equal weights."""
    power = -alpha * coupling / below
    return float(np.mean(p**power) ** ((1 + d * coupling) / (-alpha * coupling)))


def _information(coupling: float) -> float:
    """Integral of the coupled logarithm of 1/p from 0 to 1, by Gauss and Legendre in p^(1/6), which makes it smooth."""
    x, w = np.polynomial.legendre.leggauss(60)
    u = (x + 1) / 2
    return float((w / 2 * 6 * u**5 * coupled_log(u**-6.0, coupling)).sum())


EXHIBITS = [
    Exhibit(
        "rp-figure-1",
        "Figure 1: density, perplexity and entropy of the normal",
        (
            "For the standard normal, the average density equals the density at one standard deviation from "
            "the mean. Perplexity is its inverse, and entropy is the logarithm of perplexity."
        ),
        normal,
    ),
    Exhibit(
        "rp-table-1",
        "Table 1: entropy, divergence and cross-entropy on three scales",
        "On the scale of probabilities, sums of logarithms become products of powers.",
        translations,
    ),
    Exhibit(
        "rp-figure-2",
        "Figure 2: generalized average densities",
        (
            "The picture shows a normal, a heavy-tailed and a compact coupled Gaussian, and their average "
            "densities of all orders. At the order of the distribution, the average equals the density at "
            "mean + scale."
        ),
        averages_of_densities,
    ),
    Exhibit(
        "rp-minimum",
        "Section 3: the density with the smallest average",
        (
            "Among densities with the same escort variance, the coupled Gaussian that belongs to an order has "
            "the smallest average of that order."
        ),
        minimum,
    ),
    Exhibit(
        "rp-figure-3",
        "Figure 3: risk profiles of the normal model",
        (
            "The risk profiles have the means of all orders in two to ten dimensions, with the three means and the "
            "prediction accuracy."
        ),
        partial(
            profiles,
            ten_dimensions.GAUSSIAN,
            {"prediction accuracy": {6: "0.84"}, "geometric accuracy": {6: "0.63"}, "robustness": {10: "0"}},
            (),
            [],
        ),
        ten_dimensions.STEPS,
        why="The trials are the same as in [N17] Figure 1, with the same open question.",
    ),
    Exhibit(
        "rp-figure-4",
        "Figure 4: risk profiles of the heavy-tailed model",
        ("This model has power-law tails, r = −.15, and the coupling that belongs to this order in each dimension."),
        partial(
            profiles,
            ten_dimensions.HEAVY_ORDER,
            {"prediction accuracy": {10: "0.86"}, "geometric accuracy": dict.fromkeys((6, 8, 10), "0.69")},
            (ten_dimensions.HEAVY, ten_dimensions.LITERAL[0]),
            [
                (
                    "Two readings come nearer to the printed .69 in eight and ten dimensions. One is 25 samples in "
                    "all with one covariance. The other is eq. 3.6 to the letter, which has r/(2 + r) before the "
                    "squared distance, although its own exponent has r/(2 + d r). With [N17]'s coupling .162 in all "
                    "dimensions, the geometric accuracy is lower in ten."
                ),
            ],
        ),
        ten_dimensions.STEPS,
        why="The same. Two readings come nearer, for example eq. 3.6 to the letter.",
    ),
    Exhibit(
        "rp-figure-5",
        "Figure 5: risk profiles of the model of compact support",
        "This model assigns probability 0 to some events, with r = .6 in each dimension.",
        partial(
            profiles,
            ten_dimensions.COMPACT_ORDER,
            {
                "prediction accuracy": {4: "0.75", 10: "0.67"},
                "geometric accuracy": dict.fromkeys(ten_dimensions.DIMENSIONS, "0"),
            },
            (ten_dimensions.COMPACT, ten_dimensions.LITERAL[1]),
            [
                (
                    "The printed 75% in four dimensions is reproduced. The printed 67% in ten lies between the "
                    "smallest and the largest of the trials. In ten dimensions over half of the test samples are "
                    "outside both supports, and each of them counts as half a hit. Neither [N17]'s coupling −.095 (r "
                    "= .6 in seven dimensions) nor the readings of Fig. 4 reach the printed value."
                ),
            ],
        ),
        ten_dimensions.STEPS,
        why="The printed 67% in ten dimensions is above our mean of 65%, but within the range of the trials.",
    ),
    Exhibit(
        "rp-best-couplings",
        "Beyond the print: the best coupling",
        (
            'The caption of Fig. 4 says that robustness "could be improved by optimizing the coupling value '
            'used". The picture shows the geometric accuracy for each coupling, and marks the best.'
        ),
        best_couplings,
        ten_dimensions.STEPS,
    ),
    Exhibit(
        "rp-equations",
        "Equations of sections 2 to 4, and of the appendix",
        "An equation with a slip is evaluated both as meant and as printed.",
        readings,
        why="Slips of the print.",
    ),
]
