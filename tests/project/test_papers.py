"""The papers' figures and tables: complete, made of public names alone, and what their page says."""

import ast
import json
import sys
from functools import cache
from pathlib import Path

import numpy as np
import pytest

import unperplexed
from pages import text_of
from papers import __main__ as program
from papers import cm, n17
from papers.page import PUBLISHED, differing
from unperplexed.statistics import generalized_mean

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
EXHIBITS = {exhibit.name: exhibit for paper in program.PAPERS for exhibit in paper.EXHIBITS}
FIGURES = json.loads((PUBLISHED / "papers.json").read_text("utf-8"))


@cache
def made(*names):
    return {name: (EXHIBITS[name], EXHIBITS[name].make(lambda: None)) for name in names}


def figures(name, what):
    (line,) = [line for line in FIGURES[name] if line["what"] == what]
    return line


def test_every_figure_and_table_is_there():
    expected = {f"n17-figure-{k}" for k in range(1, 8)} | {f"rp-figure-{k}" for k in range(1, 6)}
    expected |= {"rp-table-1", "cm-figure-1", "cm-table-1", "cm-table-2", "ssr-table", "ssr-definitions"}
    assert expected <= EXHIBITS.keys()
    page = text_of("papers")
    for name, exhibit in EXHIBITS.items():
        assert f"### {exhibit.title}\n" in page
        assert name in FIGURES
    tables = {path.stem for path in (PUBLISHED / "exhibits").glob("*.csv")}
    assert tables == {name for name in EXHIBITS if f":file: exhibits/{name}.csv" in page}
    assert tables == {name for name, lines in FIGURES.items() if lines}
    remarks = {path.stem for path in (PUBLISHED / "remarks").glob("*.csv")}
    assert remarks == {name for name in EXHIBITS if f":file: remarks/{name}.csv" in page}
    pictures = {path.stem for path in (PUBLISHED / "pictures" / "papers").glob("*.svg")}
    assert pictures == {name for name in EXHIBITS if f"(pictures/papers/{name}.svg)" in page}
    assert {name for name in expected if "figure" in name} <= pictures


def test_public_names_alone():
    for path in (ROOT / "papers").glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            modules = [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            modules += [each.name for each in node.names] if isinstance(node, ast.Import) else []
            for module in (module for module in modules if module.startswith("unperplexed")):
                subject = module.removeprefix("unperplexed").removeprefix(".")
                assert subject in {"", *unperplexed.__all__}, path
                public = dir(getattr(unperplexed, subject) if subject else unperplexed)
                assert isinstance(node, ast.Import) or {each.name for each in node.names} <= {*public}, path


def test_the_page_says_what_comes_out_of_the_data():
    """Of the exhibits of [CM], which have data; all others `python -m papers --check` makes, without."""
    assert differing(made(*(exhibit.name for exhibit in cm.EXHIBITS)), PUBLISHED) == []


CHANGES = {
    "n17-figure-4: the page says": ("exhibits/n17-figure-4.csv", "0.7048", "0.7051"),
    "n17-figure-2: the page says": ("papers.md", "Wide lines are the source", "Dotted lines are the source"),
    "n17-figure-2: the page has other lines": (
        "remarks/n17-figure-2.csv",
        '"The paper draws the curves',
        '"One"\n"The paper draws the curves',
    ),
    "n17-figure-4: area under the predicted curve: ours was [0.9": ("papers.json", "0.704", "0.904"),
    "n17-figure-2: other lines": ("papers.json", "area under the actual", "area under"),
    "ssr-table: the page says": ("exhibits/ssr-table.csv", '"0.6534","0.6534"', '"0.6535","0.6534"'),
    "n17-figure-2: the picture is not there": ("exhibits/n17-figure-2.csv", "0.8416", "0.8416"),
}


@pytest.mark.parametrize("message", CHANGES)
def test_what_is_not_so_is_found(tmp_path, message):
    changed, old, new = CHANGES[message]
    names = ("n17-figure-2", "n17-figure-4", "ssr-table")
    tables = [f"{folder}/{name}.csv" for folder in ("exhibits", "remarks") for name in names]
    for folder in ("exhibits", "remarks"):
        (tmp_path / folder).mkdir()
    for name in ("papers.md", "papers.json", *tables):
        text = (PUBLISHED / name).read_text("utf-8")
        if name == changed:
            assert old in text
            text = text.replace(old, new, 1)
        (tmp_path / name).write_text(text, "utf-8")
    pictures = tmp_path / "pictures" / "papers"
    pictures.mkdir(parents=True)
    for name in ("n17-figure-2", "n17-figure-4"):
        if f"{name}: the picture" not in message:
            (pictures / f"{name}.svg").touch()
    found = differing(made(*names), tmp_path)
    assert len(found) == 1 or message.endswith("other lines")
    assert any(message in line for line in found), found


# Of an independent program; each reported and measured over all classes.
INTEGRALS = {
    ("n17-figure-5", "a) "): ((0.6080, 0.5813, 0.5595), (0.6605, 0.5951, 0.5341), (0.6758, 0.6055, 0.5380)),
    ("n17-figure-5", "b) "): ((0.7024, 0.5839, 0.4546), (0.6633, 0.5976, 0.5354), (0.6845, 0.6121, 0.5407)),
    ("n17-figure-6", "a) "): ((0.7035, 0.6082, 0.5061), None, None),
    ("n17-figure-6", "b) "): ((0.6663, 0.6094, 0.5547), None, None),
    ("n17-figure-6", "c) "): ((0.7005, 0.5432, 0.2924), (0.6668, 0.5998, 0.5362), (0.6671, 0.6001, 0.5363)),
}


@pytest.mark.parametrize("case", INTEGRALS)
def test_exact_integrals(case):
    name, prefix = case
    means = "arithmetic mean, geometric mean, −2/3 mean"
    kinds = ("model", "source, measured over all classes", "source, measured class by class")
    for kind, expected in zip(kinds, INTEGRALS[case], strict=True):
        if expected is not None:  # the independent program rounds measured means up
            found = figures(name, f"{prefix}{kind}: {means}")["ours"]
            assert found == pytest.approx(expected, abs=6e-5 if kind == "model" else 1.1e-4)
    source = figures(name, f"{prefix}source, true posterior: {means}")["ours"]
    assert source == pytest.approx((0.6873, 0.6145, 0.5418), abs=5e-5)


# Thirty trials of an independent program, in 2, 4, 6, 8 and 10 dimensions, rounded to two digits.
SIMULATED = {
    ("a) κ = 0, ", "prediction accuracy"): (0.75, 0.81, 0.83, 0.84, 0.84),
    ("a) κ = 0, ", "geometric accuracy"): (0.58, 0.63, 0.61, 0.56, 0.41),
    ("a) κ = 0, ", "robustness"): (0.44, 0.29, 0.08, 0.00, 0.00),
    ("b) κ = 0.162, ", "prediction accuracy"): (0.75, 0.81, 0.83, 0.85, 0.84),
    ("b) κ = 0.162, ", "geometric accuracy"): (0.59, 0.65, 0.66, 0.67, 0.63),
    ("b) κ = 0.162, ", "robustness"): (0.53, 0.48, 0.41, 0.31, 0.14),
    ("c) κ = -0.095, ", "prediction accuracy"): (0.74, 0.78, 0.75, 0.69, 0.61),
    ("c) κ = -0.095, ", "geometric accuracy"): (0.0, 0.0, 0.0, 0.0, 0.0),
    ("c) κ = -0.095, ", "robustness"): (0.0, 0.0, 0.0, 0.0, 0.0),
}


@pytest.mark.parametrize("case", SIMULATED)
def test_simulations_are_within_three_standard_errors(case):
    prefix, name = case
    line = figures("n17-figure-1", f"{prefix}{name} in 2, 4, 6, 8, 10 dimensions")
    for ours, error, expected in zip(line["ours"], line["standard_error"], SIMULATED[case], strict=True):
        assert abs(ours - expected) <= 3 * error + 0.005


def test_what_the_print_says():
    means = "arithmetic mean, geometric mean, −2/3 mean"
    perfect = figures("n17-figure-3", f"model: {means}")
    assert perfect["printed"] == ["0.69", "0.61", "0.52"]
    assert perfect["difference"] == pytest.approx([-0.0027, 0.0045, 0.0218], abs=6e-5)
    a, b = (figures("ssr-table", f"case {case}: Brier score") for case in ("A, right", "B, wrong"))
    assert [a["printed"], b["printed"]] == [["0.6534"], ["0.5202"]]
    assert abs(a["difference"][0]) < 5e-5 > abs(b["difference"][0])


def test_what_the_page_on_the_papers_takes_from_them():
    page = " ".join(text_of("theory").split())
    hit = figures("n17-figure-2", "maximum posterior, actual: green right, orange right")["ours"][0]
    assert f"0.687 and {float(hit.split(',')[0]):.3f} for the perfect model" in page


def test_readings_of_the_order_r():
    """r = .6 in each dimension gives what [RP] prints for it, in and out of reach of one coupling for all."""
    right = figures("rp-figure-5", "prediction accuracy in 2, 4, 6, 8, 10 dimensions")
    largest = figures("rp-figure-5", "prediction accuracy in 2, 4, 6, 8, 10 dimensions: the largest of the trials")
    assert right["ours"][1] == pytest.approx(0.75, abs=0.005 + 3 * right["standard_error"][1])
    assert right["ours"][4] < 0.67 < largest["ours"][4]


def test_the_program(tmp_path, monkeypatch, capsys):
    def run(*arguments):
        monkeypatch.setattr(sys, "argv", ["papers", *arguments])
        program.main()
        return capsys.readouterr().out

    assert [line.split()[0] for line in run("--list").splitlines()] == list(EXHIBITS)
    name = "rp-figure-1"
    assert "1 exhibits in" in run(name, "-o", str(tmp_path))
    first = {path: path.read_bytes() for path in tmp_path.rglob("*.*")}
    assert {path.name for path in first} == {"papers.md", "papers.csv", "papers.json", f"{name}.svg", f"{name}.csv"}
    run(name, "-o", str(tmp_path))
    assert {path: path.read_bytes() for path in first} == first
    assert "as written down" in run(name, "--check", "-o", str(tmp_path))
    there = tmp_path / "papers.json"
    there.write_text(there.read_text("utf-8").replace("0.2419707245", "0.25"), "utf-8")
    with pytest.raises(SystemExit, match=r"average density.*: ours was \[0\.25\], is \[0\.24"):
        run(name, "--check", "-o", str(tmp_path))
    with pytest.raises(SystemExit):
        run(name)
    assert "-o: name a folder for some of the exhibits" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        run("fig-99")
    assert "no exhibit fig-99; --list names them" in capsys.readouterr().err


def test_the_smallest_average_is_that_of_the_density_of_its_order():
    """[RP] section 3; the figures are an independent program's."""
    line = figures("rp-minimum", "average density for κ = 0, 0.25, 0.5, 0.9")
    assert line["ours"] == pytest.approx([0.2107, 0.1977, 0.1925, 0.2184], abs=6e-5)


def test_likelier_misprints():
    """The geometric accuracies that Table 1's other reported means allow hold the measured, not the reported ones."""
    for network, bounds in {"AlexNet": (0.129, 0.253), "DenseNet": (0.229, 0.386)}.items():
        what = f"Table 1, {network}, ImageNet: reported geometric accuracy that the other two reported means allow"
        low, high = figures("cm-table-1", what)["ours"]
        assert (low, high) == pytest.approx(bounds, abs=5e-4)
        reported, measured = (float(x) for x in cm.TABLE_1[f"{network}, ImageNet"][1])
        assert reported < low < measured < high


def test_figure_7_over_a_finite_range():
    for half_width, expected in {8.25: (0.5574, 0.6161, 0.9048), 9.0: (0.5551, 0.6159, 0.9013)}.items():
        reported, source = n17.within(n17.believed(coupling=0), half_width)
        found = reported, source, reported / source
        assert found == pytest.approx(expected, abs=6e-5)
        assert [f"{x:.2f}" for x in found] == ["0.56", "0.62", "0.90"]


def test_without_the_networks_the_published_figures_stay(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(cm, "_FILES", "")
    monkeypatch.setattr(sys, "argv", ["papers", "cm-figure-1", "cm-table-2", "-o", str(tmp_path)])
    program.main()
    assert "as published, since UNPERPLEXED_DATA names no folder: cm-figure-1, cm-table-2" in capsys.readouterr().out
    found = json.loads((tmp_path / "papers.json").read_text("utf-8"))
    assert found == {name: FIGURES[name] for name in ("cm-figure-1", "cm-table-2")}
    picture = Path("pictures/papers/cm-figure-1.svg")
    assert (tmp_path / picture).read_bytes() == (PUBLISHED / picture).read_bytes()
    sections = (tmp_path / "papers.md").read_text("utf-8").split("\n### ")[1:]
    page = text_of("papers")
    assert len(sections) == 2
    for name in ("cm-figure-1", "cm-table-2"):
        for table in (f"exhibits/{name}.csv", f"remarks/{name}.csv"):
            assert (tmp_path / table).read_bytes() == (PUBLISHED / table).read_bytes()
    assert all(section.rstrip() in page for section in sections)


def test_nothing_of_the_print_is_passed_off_as_ours():
    """The outputs of the networks of [CM] are not public: no figure of theirs is beside one of other data."""
    for name in ("cm-figure-1", "cm-table-2"):
        for line in FIGURES[name]:
            assert line["printed"] == [""]
            assert line["how"].startswith("other data")
    for line in FIGURES["cm-table-1"]:
        assert (line["ours"] == [""]) == (line["how"] == "as printed")


def test_bounds_on_what_the_print_can_mean():
    """Any probabilities with two of the three means have the third within the bounds."""
    rng = np.random.default_rng(1)
    for _ in range(50):
        p, w = np.clip(rng.beta(0.5, 0.3, 40), cm.FLOOR, 1), rng.dirichlet(np.ones(40))
        means = {r: generalized_mean(p, r, sample_weight=w) for r in cm.ORDERS}
        for order, mean in means.items():
            low, high = cm.mean_within(order, {r: other for r, other in means.items() if r != order})
            assert low - 1e-3 <= mean <= high + 1e-3
    assert cm.mean_within(-2 / 3, {0: 1 - cm._ROUNDING, 1: 1 - cm._ROUNDING})[0] > 0.95
    assert cm.least_rise() > 2 * cm._ROUNDING
