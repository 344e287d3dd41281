"""Metrics of next tokens from logits: against double precision, in any block, and what is refused."""

import math

import pytest
import torch

from unperplexed import InputError, Tally
from unperplexed.integrations import next_tokens as module
from unperplexed.integrations.next_tokens import next_tokens
from unperplexed.language_models import top_k_bounds


@pytest.fixture
def generator():
    return torch.Generator().manual_seed(28)


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16, torch.float16])
@pytest.mark.parametrize("elements", [1, 5000, 1 << 18])
def test_metrics_are_those_of_double_precision(generator, monkeypatch, dtype, elements):
    monkeypatch.setattr(module, "_ON_HOST", elements)
    logits = (40 * torch.randn(3, 7, 1000, generator=generator)).to(dtype)
    labels = torch.randint(1000, (3, 7), generator=generator)
    labels[0, :3] = -100
    labels[1] = logits[1].argmax(-1)
    found = next_tokens(logits, labels)
    exact = torch.log_softmax(logits.double(), -1)
    own = exact.gather(-1, labels.clamp(min=0)[..., None])[..., 0]
    p, top = exact.exp(), exact.amax(-1)
    expected = (own, torch.special.entr(p).sum(-1), top.exp(), (own == top) / (exact == top[..., None]).sum(-1))
    for each, reference in zip(found, expected, strict=True):
        assert each.shape == labels.shape
        assert each[0, :3].isnan().all()
        kept = labels >= 0
        assert torch.allclose(each[kept].double(), reference[kept].double(), rtol=2e-6, atol=2e-5)


def test_ties_and_impossible_tokens():
    logits = torch.tensor([[0.0, 0.0, -math.inf], [1.0, 2.0, -math.inf]])
    found = next_tokens(logits, torch.tensor([0, 2]))
    assert found.hit.tolist() == [0.5, 0.0]
    assert found.log_prob[1] == -math.inf
    assert found.entropy[0].item() == pytest.approx(math.log(2))
    assert found.top_probability.tolist() == pytest.approx([0.5, 1 / (1 + math.exp(-1))])


def test_a_calibrated_model_expects_its_log_loss(generator):
    logits = 2 * torch.randn(20_000, 50, generator=generator)
    labels = torch.distributions.Categorical(logits=logits).sample()
    found = next_tokens(logits, labels)
    difference = -found.log_prob - found.entropy
    assert abs(difference.mean()) < 4 * difference.std() / math.sqrt(len(labels))
    hits = found.hit - found.top_probability
    assert abs(hits.mean()) < 4 * hits.std() / math.sqrt(len(labels))
    overconfident = next_tokens(1.5 * logits, labels)
    assert overconfident.entropy.mean() < -overconfident.log_prob.mean() - 0.1


def test_the_tally_and_the_bounds_of_the_most_probable_tokens_agree(generator):
    logits, labels = torch.randn(40, 200, generator=generator), torch.randint(200, (40,), generator=generator)
    found = next_tokens(logits, labels)
    assert -found.log_prob.mean().item() == pytest.approx(Tally.of(labels, logits, scale="logits").score("log_loss"))
    tops, at = torch.log_softmax(logits.double(), -1).topk(20)
    equal = at == labels[:, None]
    column = torch.where(equal.any(1), equal.int().argmax(1), -1)
    bounds = top_k_bounds(tops.numpy(), column.numpy(), vocabulary=200)
    for value, (low, high) in (
        (-found.log_prob.mean().item(), bounds.log_loss),
        (found.entropy.mean().item(), bounds.entropy),
    ):
        assert low - 1e-5 <= value <= high + 1e-5
    assert bounds.top_probability == pytest.approx(found.top_probability.mean().item())


@pytest.mark.parametrize(
    ("logits", "labels", "message"),
    [
        (torch.zeros(2, 3), torch.tensor([0, 3]), "labels: 3 in row 1 .* vocabulary of 3"),
        (torch.zeros(2, 3), torch.tensor([0, -1]), "labels: -1 in row 1"),
        (torch.zeros(2, 3), torch.tensor([0]), r"expected shapes \(..., V\)"),
        (torch.tensor([[0.0, math.nan]]), torch.tensor([0]), "NaN or infinite in row 0"),
        (torch.tensor([[0.0, 1.0], [0.0, math.inf]]), torch.tensor([0, 0]), "NaN or infinite in row 1"),
        (torch.full((1, 2), -math.inf), torch.tensor([0]), "NaN or infinite in row 0"),
    ],
)
def test_what_is_no_distribution_is_refused(logits, labels, message):
    with pytest.raises(InputError, match=message):
        next_tokens(logits, labels)
