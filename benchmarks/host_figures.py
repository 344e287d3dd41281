"""Metrics of logs, by one command each, beside those that the evaluation tools reported for the same run; in Markdown.

    python benchmarks/host_figures.py FOLDER [FOLDER ...]

Of lm-evaluation-harness the reported metrics are those of the ``results_*.json`` beside a log, of Inspect those in the
log, of lighteval those of its ``results.json``. Answers of servers report none: for these a file ``expected.json``
above them has what a script computed from the model. A line has the largest relative difference of a log's metrics.
Metrics that a task aggregates by a function of its own are left out.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from unperplexed.cli import main as command
from unperplexed.language_models.reading import records

STAMP = re.compile(r"_(\d{4}-\d\d-\d\dT[\d.:-]*\d)\.jsonl$")


class Line(NamedTuple):
    """One log: the command's options, and each metric as computed here and as the host reported it."""

    log: Path
    options: tuple[str, ...]
    metrics: dict[str, tuple[float, float]]

    @property
    def difference(self) -> float:
        """The largest relative difference; of a reported 0 the value."""
        return max((abs(own - host) / (abs(host) or 1.0) for own, host in self.metrics.values()), default=0.0)


def logs(folder: Path) -> Iterator[Path]:
    """Find the logs in a folder."""
    for path in sorted(folder.rglob("*")):
        if path.is_file() and "recipe" not in path.parts:
            found = path.suffix in (".jsonl", ".eval", ".parquet") or path.parent.name in ("api_shapes", "inspect")
            if found:
                yield path


def reported(path: Path) -> tuple[dict[str, float], tuple[str, ...]]:
    """Return what the host reported of a log, and the options that the command needs."""
    stamp = STAMP.search(path.name)
    if stamp:
        task = STAMP.sub("", path.name).removeprefix("samples_")
        run = json.loads(next(path.parent.glob(f"*{stamp[1]}.json")).read_text("utf-8"))
        metrics = run["configs"][task]["metric_list"]
        own = {each["metric"] for each in metrics if "def " in each.get("aggregation", "")}
        found = _numbers(run["results"][task])
        return {name: value for name, value in found.items() if name.partition(",")[0] not in own}, ()
    if path.suffix == ".parquet":
        results = json.loads((path.parent / "results.json").read_text("utf-8"))["results"]
        return _numbers(results[next(each for each in results if each != "all")]), ()
    if path.parent.name == "inspect":
        record = next(records(path))[1]
        scores = record["results"]["scores"]
        found = {name: each["value"] for score in scores for name, each in score["metrics"].items()}
        stated = any("brier" in name for name in found)
        return _numbers(found), ("--stated", "metadata.confidence") if stated else ()
    above = next(each for each in path.parents if (each / "expected.json").exists())
    return json.loads((above / "expected.json").read_text("utf-8"))["api_shapes"], ()


def _numbers(found: dict[str, Any]) -> dict[str, float]:
    return {name: value for name, value in found.items() if isinstance(value, int | float) and "stderr" not in name}


def computed(path: Path, options: tuple[str, ...]) -> dict[str, float]:
    """Return the metrics of the command, by the names of the hosts."""
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        assert command(["lm", str(path), *options, "--resamples", "0", "--json", "-", "-q"]) == 0
    found = json.loads(printed.getvalue())
    if "rates" not in found:
        means = {name: each["value"] for name, each in found["metrics"].items()}
        return {re.sub(r"^mean grade \((.*)\)$", r"\1", name): value for name, value in means.items()}
    rates = found["rates"]
    own = {"perplexity": rates["document"]["perplexity"]}
    if "token" in rates:
        token = rates["token"]
        own = {"perplexity": token["perplexity"], "nll_per_token": -token["log_probability"]}
        own |= {"n_scored_tokens": token["total"], "sum_logprob": token["log_probability"] * token["total"]}
    if "word" in rates:
        own["word_perplexity"] = rates["word"]["perplexity"]
    if "byte" in rates:
        own |= {"bits_per_byte": rates["byte"]["bits"], "byte_perplexity": rates["byte"]["perplexity"]}
        own["n_bytes"] = rates["byte"]["total"]
    return own if found["greedy"] is None else own | {"acc": found["greedy"]["value"]}


def line(path: Path) -> Line:
    """Compare the metrics of a log that both have."""
    host, options = reported(path)
    own = computed(path, options)
    metrics = {}
    for name, value in host.items():
        short = name.partition("/")[2] or name
        grades = [each for each in own if each not in ("brier_score", "acc")]
        of = {"accuracy": grades[0] if grades else "", "upx_brier": "brier_score"}.get(short, name)
        of = of if of in own else of.partition(",")[0]
        if of in own:
            metrics[name.partition(",none")[0]] = own[of], value
    return Line(path, options, metrics)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="+", type=Path)
    print("| log | metrics | largest relative difference |\n|---|---|---|")
    for folder in parser.parse_args().folders:
        for path in logs(folder):
            found = line(path)
            name = STAMP.sub("", str(path.relative_to(folder))) + " ".join(("", *found.options))
            print(f"| `{name}` | {', '.join(found.metrics) or 'none of its own'} | {found.difference:.1g} |")


if __name__ == "__main__":
    main()
