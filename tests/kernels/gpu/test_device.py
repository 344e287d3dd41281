"""Losses and metric on a device: what they give on the host, and nothing waits for it before figures are asked for.

Run on request, by a device's name: UNPERPLEXED_DEVICE=cuda pytest tests/gpu
"""

import contextlib
import os

import numpy as np
import pytest
import torch

from unperplexed.integrations.torch import (
    BrierLoss,
    GeneralizedSurprisalLoss,
    PenalizedBrierLoss,
    PenalizedLogLoss,
    PowerLoss,
    RiskLoss,
)
from unperplexed.integrations.torchmetrics import ForecastMetric

DEVICE = torch.device(os.environ["UNPERPLEXED_DEVICE"])
LOSSES = [
    BrierLoss(),
    PenalizedBrierLoss(),
    PenalizedLogLoss(),
    PowerLoss(-0.5),
    PowerLoss(2),
    GeneralizedSurprisalLoss(-2 / 3),
    RiskLoss(label_smoothing=0.1, weight=torch.linspace(0.5, 2, 10)),
]


@pytest.fixture
def forecasts():
    generator = torch.Generator().manual_seed(3)
    z = 3 * torch.randn(5000, 10, generator=generator)
    z[:10] = torch.eye(10) * 1e4  # certain, right and wrong
    return z, torch.randint(10, (5000,), generator=generator)


@contextlib.contextmanager
def nothing_waits():
    """Make whatever waits for the device an error."""
    if DEVICE.type != "cuda":
        yield
        return
    torch.cuda.set_sync_debug_mode("error")
    try:
        yield
    finally:
        torch.cuda.set_sync_debug_mode("default")


def value_and_gradient(loss, z, y):
    z = z.clone().requires_grad_()
    value = loss(z, y)
    value.backward()
    return value.detach().cpu(), z.grad.cpu()


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_losses_are_those_of_the_host(loss, forecasts):
    z, y = forecasts
    z = z.double()
    expected = value_and_gradient(loss, z, y)
    there = z.to(DEVICE), y.to(DEVICE)
    on_device = loss.to(DEVICE)
    with nothing_waits():
        on_device(*there)
    for found, wanted in zip(value_and_gradient(on_device, *there), expected, strict=True):
        torch.testing.assert_close(found, wanted, rtol=1e-9, atol=1e-12)
    loss.to("cpu")


@pytest.mark.filterwarnings("ignore")  # what PyTorch deprecates of its own
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_autocast_and_compile(loss, dtype, forecasts):
    z, y = (x.to(DEVICE) for x in forecasts)
    layer = torch.nn.Linear(10, 10).to(DEVICE)
    on_device = loss.to(DEVICE)
    with torch.autocast(DEVICE.type, dtype=dtype):
        scores = layer(z)
        plain = on_device(scores, y)
        compiled = torch.compile(on_device)(scores, y)
    assert plain.dtype == torch.float32
    torch.testing.assert_close(compiled, plain, rtol=1e-4, atol=1e-5)
    plain.backward()
    assert all(p.grad.isfinite().all() for p in layer.parameters())
    loss.to("cpu")


def test_counts_are_those_of_the_host(forecasts):
    z, y = forecasts
    p = torch.softmax(z, dim=1)
    host, there = ForecastMetric(), ForecastMetric().to(DEVICE)
    host.update(p, y)
    batch = p.to(DEVICE), y.to(DEVICE)
    with nothing_waits():
        there.update(*batch)
    assert torch.equal(there.counts.cpu(), host.counts)
    assert torch.equal(there.lowest.cpu(), host.lowest)
    assert torch.equal(there.rows.cpu(), host.rows)
    for name, value in host.compute().items():
        assert there.compute()[name].item() == pytest.approx(value.item(), rel=1e-12)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
def test_logits_of_any_data_type(forecasts, dtype):
    z, y = forecasts
    z = z.clamp(-50, 50).to(dtype)
    host, there = ForecastMetric(scale="logits"), ForecastMetric(scale="logits").to(DEVICE)
    host.update(z, y)
    batch = z.to(DEVICE), y.to(DEVICE)
    with nothing_waits():
        there.update(*batch)
    for name, value in host.compute().items():
        assert there.compute()[name].item() == pytest.approx(value.item(), rel=1e-6)


def test_fifty_million_constant_forecasts():
    """Counts in float32 stop at 2**24."""
    metric = ForecastMetric("reported_geometric_accuracy").to(DEVICE)
    p = torch.tensor([0.3, 0.7], device=DEVICE).expand(1_000_000, 2)
    y = torch.ones(1_000_000, dtype=torch.int64, device=DEVICE)
    for _ in range(50):
        metric.update(p, y)
    assert metric.tally().n_rows == 50_000_000
    assert metric.counts[0, 1].sum().item() == 50_000_000
    assert metric.compute().item() == pytest.approx(np.float32(0.7), rel=1e-9)
