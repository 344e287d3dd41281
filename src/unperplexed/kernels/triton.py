"""Logits of a CUDA tensor: primitives of rows and counts of cells in one kernel, without probabilities in memory.

A program goes over the classes of a few rows twice, a chunk of them at a time: for the highest logit and the sums, made
right as a higher one is met; then for the cells. Where a row is one chunk it stays in registers in between. With x the
logits, m the highest and e = exp(x - m), the highest probability is 1 / (ties + sum of the other e) in float64, so that
what it lacks to 1 is not lost; the others are float32, and below it. What is counted is what is reported: a cell never
has fewer probabilities than happened.
"""

import os
from typing import Any, NamedTuple

import torch
import triton
import triton.language as tl
from numpy.typing import NDArray

from .rows import CellTotals, Grid

_LONGEST = 1 << 14
"""Rows of up to so many classes are one chunk."""
COPIES = 16
"""Counts that programs share by turns, so that they seldom wait for each other."""
_MOST = 1 << 31
"""Fewer probabilities than this are counted at once, in int32."""


def takes(x: Any) -> bool:
    """Whether logits can be given to the kernel: on a CUDA device, or anywhere where Triton interprets its kernels."""
    if x.dtype not in (torch.float32, torch.float16, torch.bfloat16):
        return False
    if os.environ.get("TRITON_INTERPRET") == "1":
        return True
    return bool(x.is_cuda) and torch.cuda.get_device_capability(x.device) >= (8, 0)


def logit_rows(x: Any, truth: Any, weights: Any, into: CellTotals | None) -> NDArray[Any]:
    """Primitives of rows, NaN in those that are no distribution; the others are counted where cells are given.

    Parameters
    ----------
    x : tensor of shape (n, C)
        Logits, float32, float16 or bfloat16.
    truth : tensor of shape (n,)
        Number of the observed class of each row, int64.
    weights : tensor of shape (n,) or None
        Positive weights, float64; None if all are 1.
    into : CellTotals or None
        Cells that the probabilities are counted into.

    Returns
    -------
    ndarray of shape (6, n)
        Correct, lowest, highest, ties, total and squares, as in `Rows`.
    """
    counts = None
    if into is not None:
        dtype = torch.int32 if weights is None else torch.float64
        copies = max(1, min(COPIES, (1 << 21) // into.grid.size))
        counts = torch.zeros((copies, into.grid.size), dtype=dtype, device=x.device)
    out = launch(x, truth, weights, counts, None if into is None else into.grid)
    if into is not None and counts is not None:
        into.total[:] += counts.sum(0).cpu().numpy()
    columns: NDArray[Any] = out.cpu().numpy()
    return columns


def probabilities(x: Any) -> Any:
    """Probabilities as the kernel has them, in float64, on the device."""
    p = torch.empty(x.shape, dtype=torch.float64, device=x.device)
    launch(x, torch.zeros(len(x), dtype=torch.int64, device=x.device), p=p)
    highest = x.amax(1, keepdim=True)
    return torch.where(highest.isposinf(), torch.inf, p)  # refused as what it is


class Shape(NamedTuple):
    """How many rows a program has, how many classes it looks at together, and with how many warps."""

    rows: int
    chunk: int
    warps: int


def shape(classes: int) -> Shape:
    """Enough rows of few classes to keep a program busy; of many a whole row, or parts of it."""
    chunk = triton.next_power_of_2(classes)
    chunk = chunk if chunk <= _LONGEST else _LONGEST // 2
    rows = max(1, 2048 // chunk)
    return Shape(rows, chunk, min(max(rows * chunk // 512, 1), 16))


def launch(x: Any, truth: Any, weights: Any = None, counts: Any = None, grid: Grid | None = None, p: Any = None) -> Any:
    """Run the kernel: primitives in float64 in the order of `PRIMITIVES` but for the hit; counts and p are filled.

    Parameters
    ----------
    x : tensor of shape (n, C)
        Logits.
    truth : tensor of shape (n,)
        Number of the observed class of each row, int64.
    weights : tensor of shape (n,), optional
        Positive weights, float64; None if all are 1.
    counts : tensor of shape (copies, cells), optional
        Counts of cells, which are added to.
    grid : Grid, optional
        The cells of these.
    p : tensor of shape (n, C), optional
        Probabilities, float64, which are written.

    Returns
    -------
    tensor of shape (6, n)
        On the same device.
    """
    n, classes = x.shape
    out = torch.zeros((6, n), dtype=torch.float64, device=x.device)
    if n == 0:
        return out
    assert x.numel() < _MOST
    tile = shape(classes)
    size, shift = (0, 0) if grid is None else (grid.size, grid.shift)
    with torch.cuda.device(x.device if x.is_cuda else -1):
        _kernel[(triton.cdiv(n, tile.rows),)](
            x,
            *x.stride(),
            truth,
            weights,
            out,
            counts,
            p,
            n,
            classes,
            size,
            SHIFT=shift,
            COPIES=1 if counts is None else len(counts),
            ROWS=tile.rows,
            CHUNK=tile.chunk,
            num_warps=tile.warps,
            enable_fp_fusion=False,
        )
    return out


@triton.jit
def _loaded(start, row, there, class_stride, n_classes, CHUNK: tl.constexpr):
    """Logits of a chunk of classes from start on, and which of them there are."""
    column = (start + tl.arange(0, CHUNK)).to(tl.int64)
    here = there[:, None] & (column < n_classes)[None, :]
    x = tl.load(row[:, None] + (column * class_stride)[None, :], mask=here, other=-float("inf"))
    return x.to(tl.float32), here


@triton.jit
def _added(x, here, highest, ties, others, squares):
    """Go on with another chunk: how many are highest, and the sums over the others of e and its square."""
    top = tl.maximum(highest, tl.max(x, axis=1))
    zero = tl.where(top == -float("inf"), 0.0, top)  # of minus infinities alone e is 0, not NaN
    scale = tl.exp(highest - zero).to(tl.float64)
    fallen = tl.where(highest == top, 0, ties)
    others = (others + fallen) * scale
    squares = (squares + fallen) * scale * scale
    at_top = x == top[:, None]
    e = tl.where(at_top, 0.0, tl.exp(x - zero[:, None]))
    others += tl.sum(e, axis=1).to(tl.float64)
    squares += tl.sum(e * e, axis=1).to(tl.float64)
    ties += tl.sum((at_top & here).to(tl.int32), axis=1) - fallen
    return top, ties, others, squares


@triton.jit
def _put(x, here, start, zero, top, below, sound, weight, counts, p, none, SHIFT: tl.constexpr, CHUNK: tl.constexpr):
    """Count the probabilities of a chunk but the highest, write all if asked, and add up how many are 0."""
    value = tl.minimum(tl.exp(x - zero[:, None]) * top.to(tl.float32)[:, None], below[:, None])
    if counts is not None:
        other = here & (x != zero[:, None]) & sound[:, None]
        code = (value.to(tl.int32, bitcast=True) >> SHIFT) + 1
        amount = tl.broadcast_to(weight[:, None], code.shape)
        tl.atomic_add(counts + code, amount, mask=other & (value > 0), sem="relaxed")
        none += tl.sum((other & (value == 0)).to(tl.int32), axis=1)
    if p is not None:
        value64 = tl.where(x == zero[:, None], top[:, None], value.to(tl.float64))
        column = (start + tl.arange(0, CHUNK))[None, :]
        tl.store(p[:, None] + column, tl.where(sound[:, None], value64, top[:, None]), mask=here)
    return none


@triton.jit
def _code(p, size, SHIFT: tl.constexpr):
    """Cell of a probability above 0 in float64."""
    upper = p > 0.5
    distance = tl.where(upper, 1 - p, p).to(tl.float32)
    code = (distance.to(tl.int32, bitcast=True) >> SHIFT) + 1
    return tl.where(p == 1, size - 1, tl.where(upper, size - 1 - code, code))


@triton.jit
def _below(top):
    """The largest float32 that is below the highest probability, and at most 1/2 as all others are."""
    single = top.to(tl.float32)
    under = (single.to(tl.int32, bitcast=True) - 1).to(tl.float32, bitcast=True)
    return tl.minimum(tl.where(single.to(tl.float64) >= top, under, single), 0.5)


@triton.jit
def _kernel(logits, row_stride, class_stride, truth, weights, out, counts, p, n_rows, n_classes, size,
            SHIFT: tl.constexpr, COPIES: tl.constexpr, ROWS: tl.constexpr, CHUNK: tl.constexpr):  # fmt: skip
    index = tl.program_id(0).to(tl.int64) * ROWS + tl.arange(0, ROWS)
    there = index < n_rows
    row = logits + index * row_stride

    highest = tl.full([ROWS], -float("inf"), tl.float32)
    ties = tl.zeros([ROWS], tl.int32)
    others = tl.zeros([ROWS], tl.float64)
    squares = tl.zeros([ROWS], tl.float64)
    first, first_here = _loaded(0, row, there, class_stride, n_classes, CHUNK)
    highest, ties, others, squares = _added(first, first_here, highest, ties, others, squares)
    for start in range(CHUNK, n_classes, CHUNK):
        x, here = _loaded(start, row, there, class_stride, n_classes, CHUNK)
        highest, ties, others, squares = _added(x, here, highest, ties, others, squares)

    finite = (highest > -float("inf")) & (highest < float("inf"))
    zero = tl.where(finite, highest, 0.0)
    total = tl.where(finite, ties + others, float("nan"))
    sound = there & (total > 0)
    top = 1.0 / total
    below = _below(top)

    happened = tl.load(truth + index, mask=there, other=0)
    x_happened = tl.load(row + happened * class_stride, mask=there, other=-float("inf")).to(tl.float32)
    value = tl.minimum(tl.exp(x_happened - zero) * top.to(tl.float32), below).to(tl.float64)
    to = out + index
    tl.store(to, tl.where(sound & (x_happened != zero), value, top), mask=there)
    tl.store(to + 2 * n_rows, top, mask=there)
    tl.store(to + 3 * n_rows, ties.to(tl.float64), mask=there)
    tl.store(to + 4 * n_rows, total * top, mask=there)
    tl.store(to + 5 * n_rows, (ties + squares) * (top * top), mask=there)

    if (counts is not None) | (p is not None):
        weight = ties
        if counts is not None:
            counts += (tl.program_id(0) % COPIES) * size
            if weights is None:
                weight = tl.full([ROWS], 1, tl.int32)
            else:
                weight = tl.load(weights + index, mask=there, other=0.0)
        if p is not None:
            p += index * n_classes
        none = tl.zeros([ROWS], tl.int32)
        none = _put(first, first_here, 0, zero, top, below, sound, weight, counts, p, none, SHIFT, CHUNK)
        for start in range(CHUNK, n_classes, CHUNK):
            x, here = _loaded(start, row, there, class_stride, n_classes, CHUNK)
            none = _put(x, here, start, zero, top, below, sound, weight, counts, p, none, SHIFT, CHUNK)
        if counts is not None:
            tl.atomic_add(counts + _code(top, size, SHIFT), weight * ties, mask=sound, sem="relaxed")
            tl.atomic_add(counts + tl.zeros([ROWS], tl.int32), weight * none, mask=sound & (none > 0), sem="relaxed")
