"""Runs every command that prints a gain, log loss, cost, slope, temperature or clusters; a label has one figure."""

import json
import math
import re
from html import unescape

import numpy as np
import polars as pl
import pytest

from unperplexed import Recalibrator
from unperplexed.cli.parser import main
from unperplexed.report.numbers import number as in_text

N = r"([−\d][\d.,e−]*)"
"""A number as it is printed."""


def agrees(printed, value):
    """Whether a printed number is this value, rounded to so many decimals, or to so many digits with an exponent."""
    text = printed.replace("−", "-").replace(",", "")
    if math.isnan(value):
        return False
    decimals = len(text.partition(".")[2]) if "e" not in text else None
    if decimals is None:
        return float(text) == pytest.approx(value, rel=0.05)
    return abs(float(text) - value) <= 0.5 * 10.0**-decimals * (1 + 1e-6)


MET = ("--require", "rows > 0", "--confidence", 0.95)
REQUIRED = ("--require", "slope > -9", "--confidence", "none")
"""A requirement that is met, without a confidence interval, which there is none of in clusters of many classes."""


class Figures:
    """Numbers by label, and which command gave each."""

    def __init__(self):
        self.known = {}

    def add(self, command, /, **figures):
        """Take a command's numbers; the same label has the same number in all commands."""
        for label, value in figures.items():
            values = np.array(value, dtype=float)
            first, known = self.known.setdefault(label, (command, values))
            np.testing.assert_allclose(
                values, known, rtol=1e-6, atol=1e-12, err_msg=f"{label}: {command} against {first}"
            )

    def printed(self, command, text, pattern, *labels):
        """Find a sentence in a command's text; its numbers are those of the labels, to the printed digit."""
        found = re.search(pattern, text)
        assert found, f"{command}: no {pattern!r} in\n{text}"
        self.shown(command, found, *labels)

    def as_printed(self, command, decimals=None, /, **figures):
        """Compare a command's numbers with those that are known, to the digits in which figures are printed."""
        for label, value in figures.items():
            values, known = (np.ravel(x).tolist() for x in (value, self.known[label][1]))
            printed = [[in_text(each, *([decimals] if decimals else [])) for each in x] for x in (values, known)]
            assert printed[0] == printed[1], f"{label}: {command} gives {values} for {known}"

    def shown(self, command, found, *labels):
        """Compare the numbers of a sentence with those of the labels, to the printed digit."""
        values = np.concatenate([np.atleast_1d(self.known[label][1]) for label in labels])
        for shown, value in zip(found.groups(), values, strict=True):
            assert agrees(shown, value), f"{command} prints {shown} for {value} of {labels}: {found[0]}"


def number(value):
    """A number of JSON, where infinity and NaN are texts."""
    return float(value)


def gain_figures(before, after, gain, interval, label):
    return {
        f"before {label}": before,
        f"after {label}": after,
        f"gain {label}": gain,
        f"gain interval {label}": interval,
    }


class Commands:
    """Runs commands on files of rows: outcomes y, forecasts p or p0, p1, ..., others q, and what rows have beside."""

    def __init__(self, columns, folder, capsys):
        self.capsys, self.folder, self.columns, self.halves = capsys, folder, columns, {}
        frame = pl.DataFrame(self.columns)
        frame.write_csv(folder / "rows.csv")
        self.prob = [column for column in frame.columns if column.startswith("p")]
        other = {column: column.replace("q", "p") for column in frame.columns if column.startswith("q")}
        frame.select(pl.exclude(*other)).write_csv(folder / "p.csv")
        frame.select(pl.exclude(*self.prob)).rename(other).write_csv(folder / "q.csv")
        self.options = ["--truth", "y", "--prob", *self.prob]
        self.options += ["--clusters", "match"] if "match" in frame.columns else []
        self.options += ["--weight", "heft"] if "heft" in frame.columns else []

    def text(self, command, *more, files=("rows.csv",)):
        words = [command, *(str(self.folder / file) for file in files), *self.options, *map(str, more)]
        assert main(words) in ((0, 1) if command == "monitor" else (0,)), self.capsys.readouterr()
        return " ".join(self.capsys.readouterr().out.split())

    def both(self, command, *more, files=("rows.csv",)):
        """What a command writes as JSON, and what it prints."""
        text = self.text(command, *more, "--json", self.folder / "found.json", files=files)
        return json.loads((self.folder / "found.json").read_text("utf-8")), text

    def half(self, value):
        """JSON of the rows of one half, chosen by a condition."""
        if value not in self.halves:
            self.halves[value], _ = self.both("assess", "--where", f"half = {value}", "--reference", "base-rate")
        return self.halves[value]

    def pooled(self, *more):
        """Fit a pool of p and q."""
        at = self.options.index("--prob")
        given, options = self.options, self.options[:at] + self.options[at + 1 + len(self.prob) :]
        others = [column.replace("p", "q") for column in self.prob]
        options += ["--forecaster", f"p={','.join(self.prob)}", f"q={','.join(others)}"]
        self.options = [*options, "--method", "logarithmic", "-o", str(self.folder / "pool.json")]
        try:
            return self.both("pool", *more)
        finally:
            self.options = given

    def of_tally(self, command, *more):
        """Run a command on what was counted."""
        assert main([command, str(self.folder / "rows.tally"), *map(str, more)]) == 0
        return self.capsys.readouterr().out

    def page(self, name="page.html"):
        """Text of the page that a command wrote."""
        page = unescape(re.sub(r"<[^>]+>", " ", (self.folder / name).read_text("utf-8")))
        return " ".join(page.split())


def add_assessment(figures, command, a, of=""):
    """Take the figures of an assessment's JSON."""
    d, slope = a["diagnosis"], a["slope"]
    figures.add(
        command,
        **{
            f"log loss{of}": number(a["scores"]["log_loss"]),
            f"cost{of}": d["cost"],
            f"clusters{of}": d["n_clusters"] or 0,
            f"slope{of}": number(slope[0]),
            f"slope interval{of}": [number(end) for end in slope[2]],
            f"errors{of}": [[number(f["parameter"]), *map(number, f["interval"])] for f in d["findings"]],
            f"costs of errors{of}": [number(f["cost"]) for f in d["findings"]],
        },
    )
    if d["temperature"] is not None:
        value, _, ends = d["temperature"]
        label = f"temperature {d['temperature_label']}{of}"
        figures.add(command, **{label: number(value), f"interval of {label}": [number(end) for end in ends]})
        figures.add(command, **{f"lapse in percent{of}": 100 * number(d["lapse"])})
    if a["remedy"] is not None:
        add_remedy(figures, command, a["remedy"], of)


def add_remedy(figures, command, remedy, of=""):
    label = f"by auto{of}"
    gain = remedy["gain"]
    figures.add(command, **gain_figures(gain["before"], gain["after"], gain["value"], gain["interval"], label))
    if "parameters" in remedy:
        add_parameters(figures, command, remedy["parameters"], label)
    if "after" in remedy:
        figures.add(
            command, **{f"after {label}": remedy["after"]["log_loss"], f"base rate {label}": remedy["base_rate"]}
        )


def add_parameters(figures, command, parameters, label):
    """Take temperature and lapse of a map, of an average the heaviest."""
    for name in ("temperature", "lapse"):
        if name in parameters:
            figures.add(command, **{f"{name} {label}": parameters[name]})


def add_groups(figures, run, by):
    """Take the figures of each group, which are those of its rows chosen by a condition."""
    for half in (0, 1):
        of, alone = f" in half {half}", run.half(half)
        add_assessment(figures, "assess --where", alone, of)
        [group] = [group for group in by["groups"] if group["key"] == {"half": half}]
        figures.add("assess --by", **{f"log loss{of}": number(group["log_loss"]), f"cost{of}": group["cost"]})
        assert group["verdict"] == alone["verdict"]
        for remedy in by["remedies"]:
            if remedy["key"] == {"half": half}:
                hold_simultaneous(remedy, alone["remedy"])
                add_remedy(figures, "assess --by", remedy, of)


def hold_simultaneous(remedy, alone):
    """The interval of a gain among those of several groups is wider than alone, by as much at both ends."""
    (low, high), (own_low, own_high) = remedy["interval"], alone["gain"]["interval"]
    assert low < own_low
    assert high - own_high == pytest.approx(own_low - low, rel=1e-6)
    assert (low > 0) == (remedy["adjusted_p_value"] < 0.05 and remedy["gain"]["value"] > 0)


def add_recalibration(figures, made, folder):
    """Take the gain of the average of maps, which the assessment tried too."""
    saved, label = made["gain"], "by auto"
    values = (saved[name] for name in ("log_loss", "recalibrated", "gain", "interval"))
    figures.add("recalibrate", **gain_figures(*values, label), clusters=saved["clusters"] or 0)
    figures.add("recalibrate", **{f"base rate {label}": made["baseline"]["log_loss"]})
    add_parameters(figures, "recalibrate", Recalibrator.load(folder / "map.json").parameters_, label)


def add_comparison(figures, compared, alone):
    forecaster, step = compared["forecasters"]["p"], compared["next_step"]
    add_assessment(figures, "compare", forecaster["assessment"])
    figures.add("compare", clusters=compared["n_clusters"] or 0)
    at = " at the floor" if compared["scored_floor"] else ""
    score = forecaster["scores"]["log_loss"]
    figures.add("compare", **{f"log loss{at}": score["mean"], f"log loss interval{at}": score["interval"]})
    assert ("p" in step["mended"]) == (alone["remedy"] is not None and alone["remedy"]["advised"])
    if "p" in step["mended"]:
        add_remedy(figures, "compare", step["mended"]["p"])
        figures.add("compare", **{f"after by auto{at}": step["log_losses"]["p"]})
    return at


def hold_pool(figures, run):
    """A forecaster that is recalibrated alone has the log losses of its recalibration: in JSON, text and page."""
    found, text = run.pooled("--report", run.folder / "page.html")
    held_out = found["held_out"]
    losses = {"before by auto": held_out["members"]["p"], "after by auto": held_out["recalibrated"]["p"]}
    figures.add("pool", **losses)
    for command, shown in (("pool", text), ("pool --report", run.page())):
        figures.printed(command, shown, rf" p \d\.\d+ {N} {N} q \d", *losses)


def hold_monitor(figures, run):
    """Each half as a period, and the rows since an alarm: in JSON, text and page, with the figures of `assess`."""
    found, text = run.both("monitor", "--time", "half", "--report", run.folder / "page.html")
    page = run.page()
    for point in found["control"]:
        of, end = f" in half {point['first']}", rf" {point['first']} [\d,]+ \S+% \S+%"
        alone = run.half(int(point["first"]))
        intercept = alone["intercept"]
        for label, key in {"log loss": "log_loss", "slope": "slope", "intercept": "bias"}.items():
            figures.add("monitor", **{f"{label}{of}": number(point[key])})
        figures.printed(
            "monitor", text, rf"{end} {N} ", re.search(r"frequency (slope|intercept) evidence", text)[1] + of
        )
        known = f"intercept{of}", f"intercept interval{of}"
        figures.add("assess --where", **dict(zip(known, (intercept[0], list(map(number, intercept[2]))), strict=True)))
        shown = ["intercept", "intercept interval", "slope", "slope interval", "log loss", "skill"]
        if found["clusters"] == "none":
            ends = {f"{name} interval{of}": list(map(number, point[key])) for name, key in ENDS.items()}
            figures.as_printed("monitor", 2, **ends)
        else:
            shown = [each for each in shown if "interval" not in each]
        finite = math.isfinite(number(point["log_loss"]))
        if finite:
            [skills] = alone["skill"]["whole"]["scores"].values()
            figures.add("assess --where", **{f"skill{of}": skills["log_loss"]["skill"]})
            figures.add("monitor", **{f"skill{of}": point["skill"]})
        else:
            shown = [each for each in shown if each not in ("log loss", "skill")]
        columns = (f"{N} to {N}" if "interval" in each else N for each in shown)
        row = " ".join([end, *columns, *([] if finite else ["∞ –"])])
        figures.printed("monitor --report", page, row, *(each + of for each in shown))
    alarm = found["alarm"]
    if alarm is not None and (alarm["began"], alarm["until"]) == ("0", "1") and not alarm["event"]:
        hold_alarm(figures, alarm, found["clusters"] == "none")
        hold_change(figures, alarm, text, page)


ENDS = {"slope": "slope_interval", "intercept": "bias_interval"}
"""Intervals of a period, with their keys in JSON."""


def hold_alarm(figures, alarm, by_rows):
    """An error from the first period to the last has the figures of all rows."""
    since, d = alarm["since"], alarm["diagnosis"]
    figures.add("monitor", **{"log loss": number(since["log_loss"]), "slope": since["slope"]})
    if by_rows:
        figures.as_printed("monitor", 2, **{"slope interval": since["slope_interval"]})
        costs = {"cost": d["cost"], "costs of errors": [number(each["cost"]) for each in d["findings"]]}
        figures.as_printed("monitor", **costs)
        errors = [[number(f["parameter"]), *map(number, f["interval"])] for f in d["findings"]]
        figures.as_printed("monitor", 2, errors=errors)


def hold_change(figures, alarm, text, page):
    """The sentence of what changed has the slope, or the log loss, of all rows."""
    since = alarm["since"]
    for command, shown in (("monitor", text), ("monitor --report", page)):
        during = rf"from {since['first']} to {since['last']}, {N} \("
        if "alibration slope: " in shown:
            interval = math.isfinite(number(since["slope_interval"][0]))
            more = rf"95% CI {N} to {N};" if interval else ""
            labels = "slope", *(["slope interval"] if interval else [])
            figures.printed(command, shown, f"alibration slope: {during}{more}", *labels)
        if "og loss: " in shown and math.isfinite(number(since["log_loss"])):
            figures.printed(command, shown, f"og loss: {during}", "log loss")


COSTS = {"cost": "predicted probabilities", "recalibrated": "recalibrated probabilities"}
"""Costs of decisions in JSON, and as they are printed."""


def hold_decision(figures, run):
    """Costs of decisions by held-out probabilities, and clusters: in JSON, text and page; of rows and of a tally."""
    costs = "--costs", "fp=1", "fn=4"
    found, text = run.both("decide", *costs, "--report", run.folder / "page.html")
    figures.add("decide", clusters=found["n_clusters"] or 0)
    for name, shown in COSTS.items():
        value, ends = found[name]["value"], found[name]["interval"]
        figures.add("decide", **{f"decisions by {shown}": value, f"interval of decisions by {shown}": ends})
    if not {"match", "heft"} & {*run.columns}:
        run.text("tally", "-o", run.folder / "rows.tally")
        of_tally = json.loads(run.of_tally("decide", *costs, "--json", "-", "-q"))
        for name, shown in COSTS.items():
            figures.add("decide TALLY", **{f"decisions by {shown}": of_tally[name]["value"]})
    for command, printed in (("decide", text), ("decide --report", run.page())):
        for shown in COSTS.values():
            labels = f"decisions by {shown}", f"interval of decisions by {shown}"
            figures.printed(command, printed, rf"(?i){shown} {N} {N} to {N}", *labels)
        if "match" in run.columns:
            figures.printed(command, printed, rf"{N} clusters", "clusters")


def figures_of(run):
    """Run every command that gives such a figure, and take them from JSON; return what the commands print, too."""
    figures, texts = Figures(), {}
    alone, texts["assess"] = run.both("assess")
    by, texts["assess --by"] = run.both("assess", "--by", "half")
    add_assessment(figures, "assess", alone)
    limits = [number(end) for end in alone["uncertainty"]["intervals"]["log_loss"]]
    figures.add("assess", **{"log loss interval": limits})
    add_assessment(figures, "assess --by", by["whole"])
    add_groups(figures, run, by)
    outputs = "-o", run.folder / "map.json", "--report", run.folder / "map.html"
    made, texts["recalibrate"] = run.both("recalibrate", *outputs)
    add_recalibration(figures, made, run.folder)
    compared, texts["compare"] = run.both("compare", "--in-order", files=("p.csv", "q.csv"))
    at = add_comparison(figures, compared, alone)
    skill, texts["skill"] = run.both("skill")
    [score] = [of["log_loss"]["score"] for of in skill["whole"]["scores"].values()]
    figures.add("skill", **{f"log loss{at}": score, "clusters": skill["n_clusters"] or 0})
    checked, _ = run.both("check", *MET)
    if not at:
        limits = [checked["log_loss.lower"], checked["log_loss.upper"]]
        figures.add("check", **{"log loss": checked["log_loss"], "log loss interval": limits})
    figures.add("check", slope=checked["slope"])
    hold_pool(figures, run)
    if "heft" not in run.columns:
        hold_monitor(figures, run)
    if len(run.prob) == 1:
        hold_decision(figures, run)
    return figures, alone, texts | {"check": run.text("check", *REQUIRED)}


X = r"(\d(?:[\d.e−]*\d)?)"
"""A number above 0 that a full stop may follow."""

TEMPERATURES = {
    rf"temperature {X} alone, 95% CI {X} to {X}": ("temperature alone", "interval of temperature alone"),
    rf"temperature {X} with {X}% of the outcomes as if random, 95% CI {X} to {X}": (
        "temperature with a lapse",
        "lapse in percent",
        "interval of temperature with a lapse",
    ),
    rf"an average of maps, mainly temperature {X}": ("temperature by auto",),
    rf"(?:Recalibration \(|Recalibrate with )temperature {X}": ("temperature by auto",),
    rf"temperature-lapse: temperature {X}, lapse {X}": ("temperature by auto", "lapse by auto"),
}
"""How temperatures are printed, with their labels."""


def hold_temperatures(figures, command, text):
    """Each temperature that is printed has a label, and is the one of that label; return how many there are."""
    shown = [(found, labels) for pattern, labels in TEMPERATURES.items() for found in re.finditer(pattern, text)]
    for found, labels in shown:
        figures.shown(command, found, *labels)
    assert len(shown) == len(re.findall(rf"temperature {X}", text)), f"{command}: one has no label in\n{text}"
    return len(shown)


def hold_recalibration_page(figures, page):
    """The page of a recalibration has the figures of the assessment."""
    low, high = figures.known["gain interval by auto"][1]
    figures.add("recalibrate", **{"minus gain": -figures.known["gain by auto"][1], "minus ends": [-high, -low]})
    pattern = rf"Log loss of recalibrated − raw: {N} \(95% CI {N} to {N},"
    figures.printed("recalibrate --report", page, pattern, "minus gain", "minus ends")
    found = re.search(rf"Log loss recalibrated {N} {N} to {N} raw {N} {N} to {N}", page)
    assert agrees(found[1], figures.known["after by auto"][1])
    figures.printed("recalibrate --report", page, rf" raw {N} {N} to {N} Brier", "log loss", "log loss interval")


def hold_together(columns, folder, capsys):
    """Run every command on these rows, and compare what is in JSON, and in text, label by label."""
    run = Commands(columns, folder, capsys)
    figures, alone, texts = figures_of(run)
    advised = alone["remedy"] is not None and alone["remedy"]["advised"]
    by = "by auto" if alone["remedy"] else ""
    finite = math.isfinite(number(alone["scores"]["log_loss"]))
    for command, text in texts.items():
        if "match" in run.columns and command != "check":
            figures.printed(command, text, rf"{N} clusters", "clusters")
        if command.startswith("assess") and finite:
            figures.printed(command, text, rf"of the log loss(?: of all rows)?: {N} of {N} nats", "cost", "log loss")
    gain = rf"from {N} to {N} \(cross-fitted, 95% CI of the gain {N} to {N}\)"
    if advised:
        labels = f"before {by}", f"after {by}", f"gain interval {by}"
        figures.printed("assess", texts["assess"], f"reduces the log loss {gain}", *labels)
        figures.printed("assess --by", texts["assess --by"], f"reduces the log loss {gain}", *labels)
        figures.printed("compare", texts["compare"], f"would reduce the log loss of p {gain}", *labels)
    elif alone["remedy"]:
        labels = f"gain {by}", f"gain interval {by}"
        figures.printed(
            "assess", texts["assess"], rf"(?:gain|uncertain:) {N} nats \(cross-fitted, 95% CI {N} to {N}\)", *labels
        )
    hold_temperatures(figures, "assess", texts["assess"])
    hold_temperatures(figures, "recalibrate", texts["recalibrate"].split("Smaller held-out log loss")[0])
    for found in re.finditer(r"Recalibration \([^()]*\) would reduce the log loss of p ", texts["compare"]):
        hold_temperatures(figures, "compare", found[0])
    labels = "before by auto", "after by auto", "gain by auto", "gain interval by auto"
    figures.printed(
        "recalibrate", texts["recalibrate"], rf"Log loss {N} to {N} \(gain {N}, 95% CI {N} to {N},", *labels
    )
    figures.printed("compare", texts["compare"], rf" p: [^.]*?, about {N} nats a row", "cost")
    figures.printed("check", texts["check"], rf"slope > -9 {N} ", "slope")
    if finite:
        labels = "log loss", "log loss interval", *([f"after {by}"] if advised else [])
        figures.printed("assess", texts["assess"], rf"Log loss {N} {N} to {N}" + f" {N}" * advised, *labels)
        figures.printed("compare", texts["compare"], rf" p {N} \d\.\d+ [\d.]+%", "log loss")
        hold_recalibration_page(figures, run.page("map.html"))
    if np.isfinite(figures.known["slope interval"][1]).all():
        slope = rf"Calibration slope(?:, top class)? {N} {N} to {N}"
        figures.printed("assess", texts["assess"], slope, "slope", "slope interval")
