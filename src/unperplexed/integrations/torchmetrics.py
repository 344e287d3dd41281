"""A metric for training loops: the metrics of an assessment, counted where the tensors are and added up over processes.

Counts are kept in cells, as those of a `Tally`: in tensors of fixed size, in float64 and int64, which add up exactly in
any order. Nothing waits for the device until metrics are asked for.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

import numpy as np

from .._lib.array_libraries import Torch
from .._lib.errors import InputError, needed, refuse_former
from ..assessment.assess import assess_tally
from ..assessment.result import Assessment
from ..assessment.settings import AssessmentSettings
from ..calibration.estimators import Estimator
from ..forecasts.forecasts import Notes
from ..kernels.devices import places, primitives_where_they_are
from ..kernels.exact_sum import ExactSum
from ..kernels.rows import moments, sums_to_one
from ..recalibration.refinement import GRID_FLOOR, POWERS, least_of_grid
from ..report.result import Axes, Figure
from ..scores.rules import SCORES, PrimitiveArrays
from ..statistics.means import DEFAULT_FLOOR, Floor
from ..tally.binary import BinaryRows
from ..tally.class_sums import MOST_CLASSES, ClassSums, length
from ..tally.counter import ROOM, RowSample
from ..tally.tables import MOMENTS, Cells, grid_of
from ..tally.tally import FRACTION_BITS, Tally, View
from .metrics import HEADLINE, REFINEMENT, Scale, check_metrics, check_scale, larger_is_better, named

with needed(__name__, "PyTorch and torchmetrics", "torch"):
    import torch
    from torch import Tensor
    from torchmetrics import Metric


_SUMS = ("total", "happened", "squared", *MOMENTS)
"""Columns of cells that add up, in the order in which they are kept."""

_TABLES = ("pairs", "top labels", "negative", "positive")
"""What is counted: the last two are the rows of two classes by their outcome, at the probability of the positive."""

_ROWS = ("counted", "weighing", "weighted", "ignored", "invalid", "nan")
"""What numbers of rows are kept."""

_MANY = 1 << 62
"""More classes than there are."""

_TORCH = Torch(torch)

_AT_ONCE = 1 << 22
"""Probabilities that are taken at once, for the memory."""


class ForecastMetric(Metric):
    """Metrics of an assessment as a torchmetrics metric: those of `unperplexed.assess`, whatever the batches.

    Parameters
    ----------
    metrics : str or sequence of str, default the headline metrics
        Names in ``Assessment.metrics()``; also ``slope``, ``intercept``, ``ece``, ``auc`` and ``refinement_loss``. A
        sequence makes `compute` give a dictionary, a name its one value.
    scale : {"probability", "logits"}, default "probability"
        What predictions are.
    ignore_index : int, optional
        Targets of this number are left out.
    floor, measured, view
        As in `unperplexed.assess`; the each-class view, which is the default of two classes, of these alone.
    classes : int, optional
        Number of classes, from 3 to 2,000. With it ``assessment().diagnosis`` is made of more than two classes too:
        each batch is copied to the host for its sums, which about doubles the time of counting ten classes.
    fraction_bits : int, default 9
        Cells have relative width 2**-fraction_bits: eight megabytes of state at 7, 33 at 9.
    **settings
        Options of `torchmetrics.Metric`.

    Notes
    -----
    Invalid rows are counted, left out, and refused by `compute`, so that no batch waits for the device; predictions
    that are NaN, as those of a model that has diverged, make the metrics NaN, with a warning. With ``sync_dist`` or
    under `DistributedDataParallel` counts of all processes are added up; of counts below 2**53 that is exact. States
    keep their data types, whatever that of the module they are in. Devices without float64 (MPS) are not supported.

    With two classes rows are counted by their outcome as well, from which ``assessment().diagnosis`` is made. More
    classes are diagnosed where ``classes`` is set; otherwise rows stay on the device, and there is no verdict.

    ``refinement_loss`` is that of `unperplexed.refinement_loss` within 1e-5; a probability of exactly 0 counts as
    1e-8 / C. It adds up the log loss at 41 temperatures, which takes 41 passes over each batch.

    A module that holds the metric can be scripted by ``torch.jit.script`` and saved. The metric counts in Python:
    scripted, neither it nor its `update` and `compute` can be called, so keep the module as it was for evaluation.

    A `MetricCollection` lets metrics share counts that were equal after the first batch. Where members differ in
    ``ignore_index``, give it ``compute_groups=False``.

    Attributes
    ----------
    whole : Tally
        Counts of all processes as of the latest `compute`; None before, and once more was counted.

    Examples
    --------
    >>> import torch
    >>> from unperplexed.integrations.torchmetrics import ForecastMetric
    >>> metric = ForecastMetric(["reported_geometric_accuracy", "prediction_accuracy"])
    >>> metric.update(torch.tensor([[0.8, 0.2], [0.5, 0.5]]), torch.tensor([0, 1]))
    >>> {name: round(value.item(), 4) for name, value in metric.compute().items()}
    {'reported_geometric_accuracy': 0.6325, 'prediction_accuracy': 0.75}
    """

    is_differentiable = False
    full_state_update = False

    if TYPE_CHECKING:  # torch.jit reads annotations, and knows no texts
        counts: Tensor
        lowest: Tensor
        highest: Tensor
        refinement: Tensor
        sums: Tensor
        weights: Tensor
        rows: Tensor
        most_classes: Tensor
        fewest_classes: Tensor
        class_sums: Tensor
        class_rest: Tensor
        sampled: Tensor

    __jit_unused_properties__: ClassVar = [*Metric.__jit_unused_properties__, "_names"]

    def __init__(
        self,
        metrics: str | Sequence[str] = HEADLINE,
        *,
        scale: Scale = "probability",
        ignore_index: int | None = None,
        floor: Floor = DEFAULT_FLOOR,
        measured: str | Estimator = "shrunk-isotonic",
        view: View | Literal["auto"] = "auto",
        classes: int | None = None,
        fraction_bits: int = FRACTION_BITS,
        **settings: Any,
    ) -> None:
        refuse_former("ForecastMetric", settings)
        super().__init__(**settings)
        if classes is not None and not 2 < classes <= MOST_CLASSES:
            raise InputError(
                f"classes: more than two classes are diagnosed from sums, up to {MOST_CLASSES:,} of them, not"
                f" {classes!r}. Two need no sums: leave it out."
            )
        self.classes = classes
        self.metrics = metrics if isinstance(metrics, str) else tuple(metrics)
        self.scale, self.ignore_index = check_scale(scale), ignore_index
        self._how: dict[str, Any] = {"floor": floor, "measured": measured, "view": view}
        self._bits = fraction_bits
        check_metrics(self._names, **self._how)
        self.whole: Tally | None = None
        size = grid_of(Tally.count([], fraction_bits=fraction_bits).fraction_bits).size
        self.add_state("counts", torch.zeros(len(_TABLES), len(_SUMS), size, dtype=torch.float64), "sum")
        self.add_state("lowest", torch.full((len(_TABLES), size), math.inf, dtype=torch.float64), "min")
        self.add_state("highest", torch.full((len(_TABLES), size), -math.inf, dtype=torch.float64), "max")
        self.add_state("sums", torch.zeros(len(SCORES), 3, dtype=torch.float64), "sum")
        self.add_state("weights", torch.zeros(2, dtype=torch.float64), "sum")
        if REFINEMENT in self._names:
            self.add_state("refinement", torch.zeros(len(POWERS), dtype=torch.float64), "sum")
        self.add_state("rows", torch.zeros(len(_ROWS), dtype=torch.int64), "sum")
        self.add_state("most_classes", torch.zeros((), dtype=torch.int64), "max")
        self.add_state("fewest_classes", torch.full((), _MANY), "min")
        if classes is not None:
            self.add_state("class_sums", torch.zeros(2, length(classes), dtype=torch.int64), "sum")
            self.add_state("class_rest", torch.zeros(length(classes), dtype=torch.float64), "sum")
            self.add_state("sampled", torch.zeros(ROOM // classes, classes + 2, dtype=torch.int64), _lowest)

    @property
    def higher_is_better(self) -> bool | None:  # type: ignore[override]
        """Whether larger values are better, of one metric; None of several, and of the slope."""
        return larger_is_better(self.metrics) if isinstance(self.metrics, str) else None

    def _apply(self, fn: Callable[[Tensor], Tensor], exclude_state: Sequence[str] = ()) -> Self:
        """Move to a device; data types stay, for counts in others would not be right."""

        def moved(x: Tensor) -> Tensor:
            return x.to(fn(x.new_empty(0)).device)

        super()._apply(moved, exclude_state)
        return self

    def merge_state(self, incoming_state: dict[str, Any] | Metric) -> None:
        """Count what another metric has counted as well.

        Raises
        ------
        InputError
            For a metric of other cells.
        """
        if isinstance(incoming_state, ForecastMetric) and incoming_state._bits != self._bits:
            raise InputError(f"fraction_bits: {incoming_state._bits} and {self._bits} do not add up.")
        super().merge_state(incoming_state)
        self.whole = None

    def reset(self) -> None:
        """Forget what was counted."""
        super().reset()
        self.whole = None

    @property
    def _names(self) -> tuple[str, ...]:
        return (self.metrics,) if isinstance(self.metrics, str) else self.metrics

    def update(self, preds: Tensor, target: Tensor, sample_weight: Tensor | None = None) -> None:
        """Count a batch.

        Parameters
        ----------
        preds : Tensor of shape (N, C), (N, C, d1, ...), (N,), or of the shape of ``target``
            Probabilities, or logits; of the second of two classes if C is 1 or the shape is that of ``target``.
            Probabilities in half precision may be too coarse to sum to 1 within 0.001; logits are not.
        target : Tensor of shape (N,) or (N, d1, ...)
            Numbers of the classes that happened.
        sample_weight : Tensor of the shape of ``target``, optional
            Non-negative importance weights.

        Raises
        ------
        InputError
            For shapes that do not go together.
        """
        p, y = preds.detach(), target.detach()
        if p.ndim > 1 and y.shape == p.shape:  # of two classes, the probability of the second in each place
            p, y = p.reshape(-1), y.reshape(-1)
        shape = p.shape[:1] + p.shape[2:]
        if not p.is_floating_point() or not p.ndim or y.shape != shape or y.is_floating_point():
            raise InputError(
                f"preds, target: expected floats of shape (N, C, ...) and whole numbers of shape (N, ...), got"
                f" {preds.dtype} of shape {tuple(preds.shape)} and {target.dtype} of shape {tuple(target.shape)}."
            )
        y = y.reshape(-1)
        p = p.float() if p.dtype.itemsize < 4 else p
        p = p.unsqueeze(1) if p.ndim == 1 else p
        p = p.movedim(1, -1).reshape(-1, p.shape[1])
        w = None if sample_weight is None else sample_weight.detach().reshape(-1).double()
        if w is not None and w.shape != y.shape:
            raise InputError(f"sample_weight: expected one for each of {len(y)} targets, got {len(w)}.")
        self.whole = None
        n_classes = max(p.shape[1], 2)
        if self.classes not in (None, n_classes):
            raise InputError(f"preds: {n_classes} classes, where the metric has classes={self.classes}.")
        self.most_classes.clamp_(min=n_classes)
        self.fewest_classes.clamp_(max=n_classes)
        step = max(_AT_ONCE // p.shape[1], 1)
        for at in range(0, len(y), step):
            here = slice(at, at + step)
            self._count(p[here], y[here], None if w is None else w[here])

    def _count(self, p: Tensor, y: Tensor, given: Tensor | None) -> None:
        """Count some rows; those that are left out have weight 0."""
        numbers, given_p = ~p.isnan().any(dim=1), p
        p = _probabilities(p, self.scale)
        kept = torch.ones_like(y, dtype=torch.bool) if self.ignore_index is None else y != self.ignore_index
        n_classes = p.shape[1]
        inside = (y >= 0) & (y < n_classes)
        truth = torch.where(inside, y, 0).long()
        rows = primitives_where_they_are(p, torch.arange(len(p), device=p.device), truth, _TORCH)
        usual = (p >= 0) & (p <= 1)
        sound = inside & usual.all(dim=1) & sums_to_one(rows.total)
        if given is not None:
            sound &= (given >= 0) & given.isfinite()
        counted = kept & sound
        w = counted.double() if given is None else torch.where(counted, given, 0.0)
        p = torch.where(usual, p, 0.0)
        zero = torch.zeros_like(rows.correct)
        correct, top, squares = (torch.where(sound, x, zero) for x in (rows.correct, rows.highest, rows.squares))
        hit = torch.where(sound, rows.hit, zero)

        weighted = counted if given is not None else torch.zeros_like(counted)
        invalid = kept & ~sound
        kinds = (counted, w > 0, weighted, ~kept, invalid & numbers, invalid & ~numbers)
        self.rows += torch.stack([x.sum() for x in kinds])
        self.weights += torch.stack([w.sum(), w.square().sum()])
        self.counts[0, 0].index_add_(0, self._places(p.reshape(-1))[0], w.repeat_interleave(n_classes))
        self._count_happened(0, correct, w)
        self._count_happened(1, top, w * hit, w)  # of the top labels what is counted is what can happen
        if n_classes == 2:
            positive = p[:, 1].double()
            for outcome in (0, 1):
                happened = torch.where(y == outcome, w, 0.0)
                self._count_happened(2 + outcome, positive, happened, happened)
        if self.classes is not None:
            self._count_on_the_host(p[w > 0], truth[w > 0], None if given is None else w[w > 0])
        if REFINEMENT in self._names:
            self._count_refinement(_log_probabilities(given_p, self.scale), truth, w)
        primitives = PrimitiveArrays(correct, squares, hit, n_classes)
        for at, rule in enumerate(SCORES.values()):
            assert rule.formula is not None
            x = torch.where(w > 0, rule.formula(primitives, torch), zero)
            self.sums[at] += torch.stack([(w * x).sum(), (w * w * x).sum(), (w * w * x * x).sum()])

    def _count_on_the_host(self, p: Tensor, truth: Tensor, w: Tensor | None) -> None:
        """Add what more than two classes are diagnosed from: sums over rows, and a sample of them."""
        assert self.classes is not None
        y, given = truth.cpu().numpy(), p.cpu().numpy()
        weights = None if w is None else w.cpu().numpy()
        options: dict[str, Any] = {"labels": range(self.classes), "parts": ["diagnosis"], "exact_limit": 0}
        found = Tally.of(y, given, sample_weight=weights, **options)
        assert found.diagnosis is not None
        assert found.row_sample is not None
        sums = np.stack([found.diagnosis.high, found.diagnosis.low])
        self.class_sums += torch.from_numpy(sums).to(self.device)
        self.class_rest += torch.from_numpy(found.diagnosis.rest.copy()).to(self.device)
        self.sampled = _packed(_sample(self.sampled) + found.row_sample).to(self.device)

    def _count_refinement(self, log_p: Tensor, truth: Tensor, w: Tensor) -> None:
        """Add up the log loss at each power of the probabilities."""
        observed = log_p.gather(1, truth[:, None])[:, 0]
        losses = [(power * log_p).logsumexp(dim=1) - power * observed for power in POWERS.tolist()]
        self.refinement += torch.stack([torch.where(w > 0, w * loss, 0.0).sum() for loss in losses])

    def _count_happened(self, table: int, x: Tensor, weight: Tensor, total: Tensor | None = None) -> None:
        """Count values by the weight with which they happened, and unless it is counted already by that of all."""
        code, place = self._places(x)
        if total is not None:
            self.counts[table, 0].index_add_(0, code, total)
        for column, amount in enumerate((weight, weight * weight, *moments(place, weight)), 1):
            self.counts[table, column].index_add_(0, code, amount)
        some = weight > 0
        ends = torch.where(some, x, math.inf), torch.where(some, x, -math.inf)
        self.lowest[table].scatter_reduce_(0, code, ends[0], "amin")
        self.highest[table].scatter_reduce_(0, code, ends[1], "amax")

    def _places(self, p: Tensor) -> tuple[Tensor, Tensor]:
        """Cell of each probability, and where in it: as `Grid.places`."""
        code, place = places(p, _TORCH, grid_of(self._bits))
        return code.long(), place.long()

    def tally(self) -> Tally:
        """Give what was counted as a `Tally` in cells, which adds up with others.

        Raises
        ------
        InputError
            For rows that were no probabilities, and targets that were no classes.
        """
        rows = dict(zip(_ROWS, self.rows.tolist(), strict=True))
        if invalid := rows["invalid"] + rows["nan"]:
            what = (
                "have a NaN or infinite logit, or a target or weight out of range."
                if self.scale == "logits"
                else "hold what is no probability, do not sum to 1 within 0.001 (half precision is too coarse for many"
                ' classes), or have a target or weight out of range. Logits take scale="logits".'
            )
            raise InputError(f"preds, target: {invalid:,} of {rows['counted'] + invalid:,} rows {what}")
        n_classes = int(self.most_classes)
        if rows["counted"] and int(self.fewest_classes) != n_classes:
            raise InputError(f"preds: of {n_classes} classes and of {int(self.fewest_classes)}; they do not add up.")
        weight, weight_squared = self.weights.tolist()
        pairs, top, *by_outcome = self._tables()
        sums = dict(zip(SCORES, self.sums.tolist(), strict=True))
        diagnosis = None
        if self.classes is not None:
            high, low = self.class_sums.cpu().numpy()
            diagnosis = ClassSums.of(self.classes, high, low, self.class_rest.cpu().numpy())
        return Tally(
            exact_limit=0,
            fraction_bits=self._bits,
            n_rows=rows["counted"],
            n_weighing=rows["weighing"],
            n_classes=n_classes,
            labels=tuple(range(n_classes)),
            weighted=rows["weighted"] > 0,
            weight=weight,
            weight_squared=weight_squared,
            exact=False,
            pairs_table=pairs,
            top_tables={1: top},
            score_sums={
                name: (ExactSum(rest=x), ExactSum(rest=wx), ExactSum(rest=xx)) for name, (x, wx, xx) in sums.items()
            },
            notes=Notes(ignored=rows["ignored"]),
            binary=BinaryRows(*by_outcome) if n_classes == 2 else None,
            diagnosis=diagnosis,
            row_sample=None if self.classes is None else _sample(self.sampled),
        )

    def _tables(self) -> Iterable[Cells]:
        for table in range(len(_TABLES)):
            total = self.counts[table, 0].cpu().numpy()
            key = total.nonzero()[0]
            columns = [self.counts[table, at].cpu().numpy()[key] for at in range(len(_SUMS))]
            ends = [state[table].cpu().numpy()[key] for state in (self.lowest, self.highest)]
            yield Cells(key, *columns, *ends)

    def assessment(self, tally: Tally | None = None, **settings: Any) -> Assessment:
        """Assess what was counted, with intervals and a diagnosis: of two classes, or of so many as ``classes`` says.

        Parameters
        ----------
        tally : Tally, optional
            What to assess instead of `whole`, or of what this process has counted where nothing was computed since.
        **settings
            Options of `unperplexed.assess`, those about what is made of counts: ``resamples``, ``confidence``,
            ``floor`` ...

        Raises
        ------
        InputError
            As `tally`; for the each-class view of more than two classes.
        """
        tally, how = tally or self.whole or self.tally(), self._how | settings
        if how["view"] == "each-class" and not tally.knows_classes:
            raise InputError(
                f"view: counts of each of {tally.n_classes:,} classes are not kept; 'all-classes' or 'top-label', or"
                " assess the rows."
            )
        return assess_tally(tally, AssessmentSettings(**how))

    def compute(self) -> Tensor | dict[str, Tensor]:
        """Give the metrics that were asked for, as float64 scalars; of all processes, whose tally is then `whole`."""
        nothing = self._nothing()
        self.whole = None if nothing else self.tally()
        found = dict.fromkeys(self._names, math.nan) if nothing else named(self.assessment(resamples=0), self._names)
        if REFINEMENT in self._names and not nothing:
            found[REFINEMENT] = least_of_grid((self.refinement / self.weights[0]).cpu().numpy())
        values = {name: torch.tensor(found[name], dtype=torch.float64, device=self.device) for name in self._names}
        return values[self.metrics] if isinstance(self.metrics, str) else values

    def _nothing(self) -> bool:
        """Whether there is nothing to assess; says so of a model that has diverged."""
        counted, nan = (int(self.rows[_ROWS.index(name)]) for name in ("counted", "nan"))
        if nan:
            warnings.warn(f"ForecastMetric: {nan:,} rows of predictions are NaN, and so are the metrics.", stacklevel=3)
        return bool(nan) or not (counted or int(self.rows[_ROWS.index("invalid")]))

    def plot(self, val: Any = None, ax: Axes | None = None) -> tuple[Figure, Axes]:
        """Draw measured against reported probability, whatever metrics were asked for; returns figure and Axes."""
        ax = self.assessment().plot(ax)
        return ax.figure, ax  # type: ignore[return-value]


def _probabilities(p: Tensor, scale: Scale) -> Tensor:
    """Probabilities of all classes, of one column of both."""
    if p.shape[1] > 1:
        return torch.softmax(p.double(), dim=1) if scale == "logits" else p
    if scale == "logits":  # each side by itself, so that neither loses what is small
        return torch.cat([torch.sigmoid(-p.double()), torch.sigmoid(p.double())], dim=1)
    return torch.cat([1 - p, p], dim=1)


def _log_probabilities(p: Tensor, scale: Scale) -> Tensor:
    """Logarithms of the probabilities of all classes, of one column of both; finite where these are 0."""
    if scale == "logits":
        x = torch.cat([torch.zeros_like(p), p], dim=1) if p.shape[1] == 1 else p
        log_p = torch.log_softmax(x.double(), dim=1)
    else:
        log_p = _probabilities(p, "probability").double().log()
    return torch.where(log_p == -math.inf, math.log(GRID_FLOOR / log_p.shape[1]), log_p)


def _packed(sample: RowSample) -> Tensor:
    """Sampled rows as a state of fixed size: hash, how many rows are the same, cells; what is not used is 0."""
    packed = np.zeros((ROOM // sample.cells.shape[1], sample.cells.shape[1] + 2), dtype=np.int64)
    used = slice(len(sample.key))
    packed[used, 0], packed[used, 1], packed[used, 2:] = sample.key, sample.count, sample.cells
    return torch.from_numpy(packed)


def _sample(packed: Tensor) -> RowSample:
    rows = packed.cpu().numpy()
    rows = rows[rows[:, 1] > 0]
    return RowSample(rows[:, 0].copy(), rows[:, 1].astype(np.float64), rows[:, 2:].astype(np.uint8))


def _lowest(states: Tensor) -> Tensor:
    """Put the samples of several processes, or of two metrics, together."""
    whole = sum((_sample(each) for each in states[1:]), _sample(states[0]))
    return _packed(whole).to(states.device)
