"""A metric script of Hugging Face's evaluate: ``evaluate.load(unperplexed.integrations.evaluate_metric.PATH)``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from unperplexed import assess
from unperplexed._lib.errors import needed

PATH = str(Path(__file__).resolve())
"""This file, which evaluate loads without a network."""

with needed("unperplexed.integrations.evaluate_metric", "evaluate", "evaluate"):
    import datasets
    import evaluate


class Unperplexed(evaluate.Metric):  # type: ignore[misc, unused-ignore]
    """Geometric accuracy, log loss, Brier score and the verdict on probabilities of the positive class."""

    def _info(self) -> Any:
        features = datasets.Features({"predictions": datasets.Value("float64"), "references": datasets.Value("int64")})
        text = "Probabilities of the positive class, and whether it was observed (0 or 1)."
        return evaluate.MetricInfo(description=text, citation="", inputs_description=text, features=features)

    def _compute(self, predictions: Any, references: Any) -> dict[str, Any]:
        found = assess(references, predictions, labels=[0, 1], pos_label=1, resamples=0)
        metrics = found.metrics()
        names = ("reported_geometric_accuracy", "log_loss", "brier_score")
        return {name: metrics[name] for name in names} | {"verdict": found.verdict}
