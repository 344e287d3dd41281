"""[RP]: entropy on the scale of probabilities, generalized means of a density, and risk profiles."""

from __future__ import annotations

import math
from functools import partial
from typing import Literal

import numpy as np

from unperplexed import (
    CoupledExponential,
    CoupledGaussian,
    average_probability,
    coupled_entropy,
    coupled_log,
    coupling_from_order,
    cross_entropy,
    divergence,
    entropy,
    escort,
    generalized_mean,
    generalized_surprisal,
    normalized_tsallis_entropy,
    order_from_coupling,
    renyi_entropy,
    risk_exp,
    risk_log,
    tsallis_entropy,
)

from . import ten_dimensions
from .drawing import GREY, panels, printed
from .exhibits import DEFINITION, EXACT, FORMULA, Exhibit, Line, Made, Report

TITLE = "[RP] Reduced perplexity"

BLUE, ORANGE, GREEN = "#0072B2", "#E69F00", "#009E73"
ORDERS = {0.0: "0", 0.162: "−0.15", -0.095: "0.6"}
"""Of the models' couplings, as printed."""

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
    for ax, name, curve, level in (
        (axes[0], "density", f, average),
        (axes[1], "inverse density: perplexity", 1 / f, 1 / average),
        (axes[2], "logarithm of the inverse: entropy", -np.log(f), surprisal),
    ):
        ax.plot(x, curve, color=BLUE)
        ax.axhline(level, color=ORANGE, label=f"average {level:.4f}")
        ax.plot([-1, 1], [level, level], "o", color=ORANGE)
        ax.axvline(1, color=GREY, linestyle=":", label="mean + standard deviation")
        ax.set_title(name, loc="left", fontsize="medium")
        ax.set_xlabel("x")
        ax.legend(fontsize="x-small")
    said = 1 / math.sqrt(2 * math.pi * math.e)
    lines = [
        Line("average density, 1/√(2πe) in eq. 2.4", f"{said:.8f}", average, EXACT, digits=8),
        Line("density at mean + standard deviation", f"{said:.8f}", density.pdf(1.0), FORMULA, digits=8),
        Line("perplexity", f"{1 / said:.6f}", 1 / average, EXACT, digits=6),
        Line("entropy", f"{-math.log(said):.8f}", surprisal, EXACT, digits=8),
    ]
    return Made(lines, figure, ["The print has the formula; its value is written out here."])


def translations(_: Report) -> Made:
    """Table 1."""
    lines = []
    of_print = {
        "entropy": (-(P * np.log(P)).sum(), (P**-P).prod(), (P**P).prod()),
        "divergence": (-(P * np.log(Q / P)).sum(), ((Q / P) ** -P).prod(), ((Q / P) ** P).prod()),
        "cross-entropy": (-(P * np.log(Q)).sum(), (Q**-P).prod(), (Q**P).prod()),
    }
    scales: tuple[Scale, ...] = ("nats", "perplexity", "probability")
    for scale, *said in zip(scales, *of_print.values(), strict=True):
        ours = entropy(P, scale=scale), divergence(P, Q, scale=scale), cross_entropy(P, Q, scale=scale)
        for name, value, found in zip(of_print, said, ours, strict=True):
            lines.append(Line(f"{name}, {scale}", f"{value:.10f}", float(found), FORMULA, digits=10))
    both = entropy(P, scale="probability") * divergence(P, Q, scale="probability")
    product = f"{of_print['cross-entropy'][-1]:.10f}"
    lines.append(Line("entropy × divergence as probabilities, eq. 2.5", product, float(both), FORMULA, digits=10))
    remarks = ["*Printed* is the printed formula, evaluated for p = (.5, .3, .2) and q = (.4, .4, .2)."]
    return Made(lines, None, remarks)


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
        ax.set_title(f"{letter}) r = {order:.3g}, κ = {coupling:.3g}", loc="left", fontsize="medium")
        ax.set_xlabel("x, and 2 r_D − r")
        ax.legend(fontsize="x-small")
        what = f"{letter}) average density, and by eq. 2.9 the density at mean + scale"
        lines.append(Line(what, f"{at_scale:.8f}", there, EXACT, digits=8))
    remarks = [
        "*Printed* is the right side of eq. 2.9, the density at mean + scale; *ours* is the integral on its left.",
        "The paper's axis 2 r_D − r is kept, so that the averages grow to the right and meet the density at x = r_D.",
    ]
    return Made(lines, figure, remarks)


def profiles(at: int, remarks: list[str], report: Report) -> Made:
    """Figs. 3 to 5: risk profiles of the models in ten dimensions, and what of their classifications was right."""
    name, coupling, said = ten_dimensions.MODELS[at]
    found = ten_dimensions.trials(report)[coupling]
    figure, (profile, bars) = panels(10.0, 4.2, 1, 2)
    for j, d in enumerate(ten_dimensions.DIMENSIONS):
        profile.plot(ten_dimensions.ORDERS, found.profiles[:, j].mean(axis=0), label=f"{d} dimensions")
    for order in ten_dimensions.NAMED.values():
        profile.axvline(order, color=GREY, linewidth=0.6, linestyle=":")
    of_print = sorted({float(x) for x in said.get("geometric accuracy", {}).values()})
    printed(profile, [0.0] * len(of_print), of_print)
    profile.set(xlabel="order of the mean: robust to decisive", ylabel="generalized mean", ylim=(0, 1))
    profile.set_title(f"a) risk profiles, {name}", loc="left", fontsize="medium")
    profile.legend(fontsize="x-small")
    ten_dimensions.draw_bars(bars, found, said)
    bars.set_title("b) the same means, and right classifications", loc="left", fontsize="medium")
    bars.legend(fontsize="x-small", loc="lower left")
    dimensions = (1, 2, 4, 6, 7, 8, 10)
    orders = [order_from_coupling(coupling, d) for d in dimensions]
    what = f"order of the coupling {coupling:g} in {', '.join(map(str, dimensions))} dimensions"
    said_order = ORDERS[coupling]
    lines = [
        *ten_dimensions.lines_of(found, "", said),
        Line(what, [said_order] * len(dimensions), orders, FORMULA, digits=3),
    ]
    return Made(lines, figure, [*ten_dimensions.REMARKS, *remarks])


def best_couplings(report: Report) -> Made:
    """What the papers suggest and do not do."""
    found = ten_dimensions.trials(report)
    figure, (ax,) = panels(7.0, 4.6)
    scanned = list(ten_dimensions.SCANNED)
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
    for name in ("geometric accuracy", "robustness", "prediction accuracy"):
        there = np.stack([found[coupling].named(name)[:, j] for j, coupling in enumerate(chosen)], axis=1)
        gain = there - found[0.162].named(name)
        for what, each in ((f"{name} there", there), (f"{name} there, less that at 0.162", gain)):
            mean, error = ten_dimensions.mean_and_error(each)
            lines.append(Line(what, "", mean.tolist(), "simulation", error.tolist(), digits=3))
    ax.axvline(0.162, color=GREY, linestyle=":", label="the papers' 0.162")
    ticks = [0, 0.05, 0.162, 0.5, 1, 3, 10, 100, 1000]
    ax.set_xscale("symlog", linthresh=0.05)
    ax.set(xlabel="coupling", ylabel="geometric accuracy", xticks=ticks, xlim=(-0.005, 1500))
    ax.set_xticklabels([f"{tick:g}" for tick in ticks])
    ax.minorticks_off()
    ax.legend(fontsize="x-small")
    remarks = [
        f"Tried are {len(scanned)} couplings from 0 to 1000 on the trials of Figs. 3 to 5. The best one is chosen by"
        " the test samples, so that its figures are a little too good; the curves are flat about it.",
        "In eight and ten dimensions no tail is too heavy: the best is the limit, in which the density falls as the"
        " distance to the power −d, whatever the scale.",
        '`CoupledDiscriminantAnalysis(coupling="cv")` finds a coupling from the samples to learn from alone.',
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
    turned = generalized_mean(P, -r, sample_weight=P)
    lines = [
        Line(
            "eq. 2.3: average density of the exponential",
            f"{1 / math.e:.8f}",
            exponential.generalized_average_density(),
            EXACT,
            digits=8,
        ),
        Line(
            "eq. 2.9, coupled exponential, κ = .5: average density, density at mean + scale",
            f"{tailed.pdf(1.0):.8f}",
            tailed.generalized_average_density(),
            EXACT,
            digits=8,
        ),
        Line("eq. 2.7: escort probabilities", [f"{x:.4f}" for x in powers / powers.sum()], weights.tolist(), FORMULA),
        Line(
            "eq. 2.8: mean of order r weighted by the escort, of order −r weighted by p",
            f"{turned:.8f}",
            generalized_mean(P, r, sample_weight=weights),
            FORMULA,
            digits=8,
        ),
        Line(
            "eq. 3.3: 1 + p f″/f′ of the generalized logarithm, which is r",
            f"{r:.6f}",
            sensitivity,
            "differences",
            digits=6,
        ),
        Line(
            "eq. A.2: coupled entropy of two independent systems",
            f"{one + other + coupling * one * other:.8f}",
            joint,
            FORMULA,
            digits=8,
        ),
        Line(
            "eq. A.6: average probability; by Rényi, Tsallis, normalized Tsallis, coupled entropy",
            f"{powers.sum() ** (-1 / r):.4f}",
            averages,
            FORMULA,
        ),
        Line("eq. 2.6 with the outer power 1/r", "", mean, DEFINITION),
        Line("eq. 2.6 as printed, without it", f"{inner:.4f}", mean, FORMULA),
        Line("eq. A.8 with the outer power (1 + dκ)/(−ακ)", "", inner**power, FORMULA),
        Line("eq. A.8 as printed, (1 + ακ)/(−ακ)", f"{inner**outer:.4f}", mean, FORMULA),
        Line("eq. 3.2, its first form: mean generalized surprisal", f"{summed / n:.4f}", surprisal, FORMULA),
        Line("eq. 3.2, its second form, which lacks 1/N", f"{summed:.4f}", surprisal, FORMULA),
        Line("eq. 3.5: exp_r of −S_r is the generalized mean", f"{mean:.4f}", float(risk_exp(-surprisal, r)), FORMULA),
        Line("eq. A.3: the integral of ln_κ(1/p) over p, κ = .5", "1", _information(0.5), EXACT, digits=8),
        Line("κ of order 1", "−1/3", coupling_from_order(1.0), FORMULA, digits=8),
        Line("its conjugate, of order −2/3", "1/2", coupling_from_order(-2 / 3), FORMULA, digits=8),
    ]
    remarks = [
        "Eqs. 2.6, A.8, 3.2 and 3.5 for the probabilities (.9, .6, .3); 2.7, 2.8, A.2 and A.6 for the distributions of"
        " Table 1. r = −2/3, κ = 1/2, α = 2, d = 1.",
    ]
    return Made(lines, None, remarks)


def _information(coupling: float) -> float:
    """Integral of the coupled logarithm of 1/p from 0 to 1, by Gauss and Legendre in p^(1/6), which makes it smooth."""
    x, w = np.polynomial.legendre.leggauss(60)
    u = (x + 1) / 2
    return float((w / 2 * 6 * u**5 * coupled_log(u**-6.0, coupling)).sum())


EXHIBITS = [
    Exhibit(
        "rp-figure-1",
        "Figure 1: density, perplexity and entropy of the normal",
        "The average density of the standard normal, the perplexity and the entropy are where the density, its inverse"
        " and the logarithm of that are one standard deviation from the mean.",
        normal,
    ),
    Exhibit(
        "rp-table-1",
        "Table 1: entropy, divergence and cross-entropy on three scales",
        "Sums of logarithms become products of powers on the scale of probabilities.",
        translations,
    ),
    Exhibit(
        "rp-figure-2",
        "Figure 2: generalized average densities",
        "A normal, a heavy-tailed and a compact coupled Gaussian with the average of the density over itself for all"
        " orders. At the order that belongs to the distribution the average is the density at mean + scale.",
        averages_of_densities,
    ),
    Exhibit(
        "rp-figure-3",
        "Figure 3: risk profiles of the normal model",
        "Risk profiles in two to ten dimensions; beside them the three means and the share of right classifications.",
        partial(profiles, 0, []),
        ten_dimensions.STEPS,
    ),
    Exhibit(
        "rp-figure-4",
        "Figure 4: risk profiles of the heavy-tailed model",
        "The same with tails that decay as a power. The print has r = −.15 for the coupling .162.",
        partial(profiles, 1, ["r = −.15 belongs to κ = .162 in seven dimensions, in none of the five shown."]),
        ten_dimensions.STEPS,
    ),
    Exhibit(
        "rp-figure-5",
        "Figure 5: risk profiles of the model of compact support",
        "The same with a model that gives some events probability 0. The print has r = .6 for the coupling −.095.",
        partial(
            profiles,
            2,
            [
                "r = .6 is, to the digit printed, κ = −.095 in seven dimensions.",
                "In two dimensions a trial can have no event outside the support; then its geometric mean is not 0, and"
                " the mean over the trials is a little above it.",
            ],
        ),
        ten_dimensions.STEPS,
    ),
    Exhibit(
        "rp-best-couplings",
        "Beyond the print: the best coupling",
        'The papers say that robustness "could be improved by optimizing the coupling value used", and leave it there.'
        " Geometric accuracy over the coupling, with the best marked.",
        best_couplings,
        ten_dimensions.STEPS,
    ),
    Exhibit(
        "rp-equations",
        "Equations of sections 2 to 4, and of the appendix",
        "What equations give; of those with a slip, as printed and as they are meant.",
        readings,
    ),
]
