"""Metrics of next tokens from logits of a large vocabulary, beside what PyTorch and torchmetrics take; as JSON.

    python benchmarks/next_tokens.py [--tokens 256] [--vocabulary 128000] [--rounds 9] [--json FILE]

On a CUDA device where there is one, else on the host, and the output says which. Times are ratios to PyTorch's
``log_softmax`` and ``gather`` in the precision of the logits, the median over rounds in which all run one after
another. "error" is the largest deviation of a token's log-probability from that in double precision.
"""

from __future__ import annotations

import argparse
import json
import math
import statistics
import time
from collections.abc import Callable
from pathlib import Path

import torch
import torchmetrics
from torch.nn import functional
from torchmetrics.text import Perplexity

from unperplexed import Tally, __version__
from unperplexed.integrations.next_tokens import next_tokens

Work = Callable[[torch.Tensor, torch.Tensor], torch.Tensor | float]


def gathered(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    """Log-probabilities as most programs compute them."""
    return torch.log_softmax(x, -1).gather(-1, y[:, None])[:, 0]


def perplexity(x: torch.Tensor, y: torch.Tensor) -> float:
    """Mean log loss of torchmetrics."""
    metric = Perplexity().to(x.device)
    metric.update(x[None], y[None])
    return math.log(float(metric.compute()))


WORKS: dict[str, Work] = {
    "log_softmax and gather": gathered,
    "log_softmax of float32 and gather": lambda x, y: gathered(x.float(), y),
    "cross_entropy of float32": lambda x, y: -functional.cross_entropy(x.float(), y, reduction="none"),
    "torchmetrics' Perplexity": perplexity,
    "log-probability, entropy and top label (next_tokens)": lambda x, y: next_tokens(x, y).log_prob,
    "all metrics and cells (Tally.of)": lambda x, y: Tally.of(y, x, scale="logits").score("log_loss"),
}


def timed(work: Work, x: torch.Tensor, y: torch.Tensor) -> float:
    """Seconds that it takes: of the processor on the host, since other programs may run."""
    clock = time.perf_counter if x.is_cuda else time.process_time
    start = clock()
    work(x, y)
    if x.is_cuda:
        torch.cuda.synchronize()
    return clock() - start


def measured(x: torch.Tensor, y: torch.Tensor, rounds: int) -> dict[str, object]:
    """Ratios of times, and errors, of one precision."""
    exact = torch.cat([gathered(some.double(), own) for some, own in zip(x.split(16), y.split(16), strict=True)])
    errors = {}
    for name, work in WORKS.items():
        found = work(x, y)
        if isinstance(found, torch.Tensor):
            errors[name] = float((found.double() - exact).abs().max())
    ratios: dict[str, list[float]] = {name: [] for name in WORKS}
    for _ in range(rounds):
        times = {name: timed(work, x, y) for name, work in WORKS.items()}
        for name, seconds in times.items():
            ratios[name].append(seconds / times["log_softmax and gather"])
    return {
        name: {"time": round(statistics.median(each), 2)}
        | ({"error": float(f"{errors[name]:.2g}")} if name in errors else {})
        for name, each in ratios.items()
    }


def main() -> None:
    """Measure both precisions and print what was found."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tokens", type=int, default=256)
    parser.add_argument("--vocabulary", type=int, default=128_000)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--json", type=Path, help="write what is printed to this file too")
    given = parser.parse_args()
    cuda = torch.cuda.is_available()
    generator = torch.Generator().manual_seed(0)
    logits = 3 * torch.randn(given.tokens, given.vocabulary, generator=generator)
    y = torch.randint(given.vocabulary, (given.tokens,), generator=generator)
    device = "cuda" if cuda else "cpu"
    found = {
        "device": torch.cuda.get_device_name() if cuda else f"host, {torch.get_num_threads()} thread(s)",
        "versions": {
            "unperplexed": __version__,
            "torch": torch.__version__,
            "torchmetrics": torchmetrics.__version__,
        },
        "tokens": given.tokens,
        "vocabulary": given.vocabulary,
        "measured": {
            str(dtype): measured(logits.to(device, dtype), y.to(device), given.rounds)
            for dtype in (torch.bfloat16, torch.float32)
        },
    }
    text = json.dumps(found, indent=2)
    print(text)
    if given.json:
        given.json.write_text(text + "\n", "utf-8")


if __name__ == "__main__":
    main()
