"""The PyTorch module of a fitted recalibration computes what transform computes."""

import numpy as np
import pytest
import torch
from scipy.special import expit, log_softmax, softmax

from unperplexed import InputError, Recalibrator
from unperplexed.maps.parameters import MANY_CLASSES
from unperplexed.recalibration.fitting import BINARY_METHODS
from unperplexed.recalibration.torch_module import ends_of


def binary(n=600):
    rng = np.random.default_rng(5)
    s = rng.normal(0, 3, n)
    return (rng.random(n) < 0.95 * expit(0.6 * s + 0.3) + 0.02).astype(int), expit(s)


def classes(n=600, C=4):
    rng = np.random.default_rng(6)
    log_p = log_softmax(2 * rng.normal(size=(n, C)), axis=1)
    return (0.6 * log_p + 0.5 * np.arange(C) / C + rng.gumbel(size=log_p.shape)).argmax(axis=1), np.exp(log_p)


EXTREME = [[1, 0, 0, 0], [0, 0.5, 0.5, 0], [1e-300, 1e-20, 1e-9, 1 - 1e-9], [0.25] * 4]


@pytest.mark.parametrize("method", [*BINARY_METHODS, "auto"])
def test_two_classes(method):
    y, p = binary()
    fitted = Recalibrator(method).fit(y, p)
    module = fitted.to_torch()
    at = np.concatenate([p, [0.0, 1e-300, 1e-9, 0.5, 1 - 1e-12, 1.0]])
    np.testing.assert_allclose(module(torch.tensor(at)).numpy(), fitted.transform(at), atol=1e-12)
    both = np.stack([1 - at, at], axis=1)
    np.testing.assert_allclose(module(torch.tensor(both)).numpy(), fitted.transform(both), atol=1e-12)


def test_a_new_prevalence():
    y, p = binary()
    fitted = Recalibrator("beta").fit(y, p).for_prevalence(0.02)
    np.testing.assert_allclose(fitted.to_torch()(torch.tensor(p)).numpy(), fitted.transform(p), atol=1e-12)


@pytest.mark.parametrize("method", [*MANY_CLASSES, "auto"])
def test_more_classes(method):
    y, p = classes()
    fitted = Recalibrator(method).fit(y, p)
    at = np.concatenate([p, EXTREME])
    found = fitted.to_torch()(torch.tensor(at))
    np.testing.assert_allclose(found.numpy(), fitted.transform(at), atol=1e-12)
    np.testing.assert_allclose(found.sum(dim=1).numpy(), 1, atol=1e-12)


@pytest.mark.parametrize(("form", "scale"), [("logits", "logits"), ("log_probabilities", "log-probs")])
def test_forms_of_input(form, scale):
    y, p = classes()
    x = np.log(p) + (1.5 if form == "logits" else 0)
    fitted = Recalibrator("vector").fit(y, p)
    found = fitted.to_torch(form)(torch.tensor(x)).numpy()
    np.testing.assert_allclose(found, fitted.transform(x, scale=scale), atol=1e-12)
    y, p = binary()
    one = np.log(p) - np.log1p(-p) if form == "logits" else np.log(p)
    fitted = Recalibrator("logistic").fit(y, p)
    found = fitted.to_torch(form)(torch.tensor(one)).numpy()
    np.testing.assert_allclose(found, fitted.transform(one, scale=scale), atol=1e-12)
    two = np.stack([np.log1p(-p), np.log(p)], axis=1)
    found = fitted.to_torch(form)(torch.tensor(two)).numpy()
    np.testing.assert_allclose(found, fitted.transform(two, scale=scale), atol=1e-12)


def test_single_precision_keeps_its_type_and_stays_inside():
    y, p = classes()
    fitted = Recalibrator("tail").fit(y, p)
    at = np.concatenate([p, EXTREME]).astype(np.float32)
    found = fitted.to_torch()(torch.tensor(at))
    assert found.dtype == torch.float32
    assert bool(((found > 0) & (found < 1)).all())
    np.testing.assert_allclose(found.numpy(), fitted.transform(at, scale="probability"), atol=1e-6)


def test_state_can_be_saved_and_rows_batched():
    y, p = classes()
    fitted = Recalibrator("isotonic").fit(y, p)
    module, other, x = fitted.to_torch("logits"), fitted.to_torch("logits"), torch.tensor(np.log(p))
    for values in other.buffers():
        values.zero_()
    other.load_state_dict(module.state_dict())
    torch.testing.assert_close(other(x), module(x), rtol=0, atol=0)
    torch.testing.assert_close(module(x.reshape(30, 20, 4)), module(x).reshape(30, 20, 4), rtol=0, atol=0)
    assert not list(module.parameters())


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("method", ["tail", "isotonic"])
def test_modules_can_be_exported(method):
    y, p = classes()
    module, x = Recalibrator(method).fit(y, p).to_torch("logits"), torch.tensor(np.log(p))
    exported = torch.export.export(module, (x[:7],), dynamic_shapes=({0: torch.export.Dim.AUTO},))
    torch.testing.assert_close(exported.module()(x), module(x), rtol=0, atol=1e-14)
    assert "searchsorted" not in exported.graph_module.code  # which ONNX has not


def test_gradients_flow_to_the_network():
    y, p = classes(200)
    x = torch.tensor(np.log(p), requires_grad=True)
    module = Recalibrator("logistic").fit(y, p).to_torch("logits")
    assert torch.autograd.gradcheck(module, x[:3])


def test_wrong_input_is_refused():
    y, p = classes(200)
    fitted = Recalibrator("bias").fit(y, p)
    with pytest.raises(InputError, match="4 classes"):
        fitted.to_torch()(torch.ones(3, 5) / 5)
    with pytest.raises(InputError, match="form"):
        fitted.to_torch("odds")
    with pytest.raises(InputError, match="not fitted"):
        Recalibrator().to_torch()


def test_logits_need_no_normalization():
    y, p = classes(300)
    module = Recalibrator("matrix").fit(y, p).to_torch("logits")
    x = torch.randn(5, 4, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    torch.testing.assert_close(module(x), module(x + 100.0), rtol=0, atol=1e-12)
    np.testing.assert_allclose(softmax(x.numpy(), axis=1).sum(1), module(x).sum(1).numpy(), atol=1e-12)


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("data", [binary, classes])
@pytest.mark.parametrize("output", ["probabilities", "logits"])
def test_scripts_compute_the_same(data, output):
    y, p = data(200)
    module = Recalibrator("isotonic").fit(y, p).to_torch(output=output)
    found, x = torch.jit.script(module), torch.tensor(p)
    for at in (x, x[:7].float(), x[:3].half()):
        torch.testing.assert_close(found(at), module(at), rtol=0, atol=0)
    if p.ndim > 1:
        with pytest.raises(torch.jit.Error, match=r"expected 4 classes in the last dimension, got shape \[3, 5\]"):
            found(torch.ones(3, 5))


def test_logits_come_out_if_asked_for():
    y, p = classes(300)
    fitted = Recalibrator("temperature").fit(y, p)
    x = torch.tensor(np.log(p))
    found = fitted.to_torch("logits", output="logits")(x)
    tempered = x / fitted.state.maps["temperature"].parameters()["temperature"]
    torch.testing.assert_close(found.softmax(1), tempered.softmax(1), rtol=0, atol=1e-12)
    y, p = binary(300)
    fitted = Recalibrator("logistic").fit(y, p)
    found = fitted.to_torch(output="logits")(torch.tensor(p))
    np.testing.assert_allclose(expit(found.numpy()), fitted.transform(p), rtol=1e-12)
    far = fitted.to_torch("logits", output="logits")(torch.tensor([-300.0, 300.0]).double())
    assert far[0] < -100
    assert far[1] > 100
    with pytest.raises(InputError, match="output"):
        fitted.to_torch(output="odds")


@pytest.mark.parametrize("precision", [torch.float16, torch.bfloat16])
def test_a_network_in_half_precision_has_its_map_in_full(precision):
    y, p = classes(300)
    fitted = Recalibrator("vector").fit(y, p)
    module, x = fitted.to_torch("logits"), torch.tensor(np.log(p)).to(precision)
    network = torch.nn.Sequential(module).to(precision)
    assert network(x).dtype == precision
    expected = fitted.transform(x.double().numpy(), scale="logits")
    np.testing.assert_allclose(network(x).double().numpy(), expected, atol=torch.finfo(precision).eps)


@pytest.mark.parametrize("precision", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
def test_ends_are_those_of_the_precision(precision):
    limits = torch.finfo(precision)
    assert ends_of(precision) == (limits.tiny, 1 - limits.eps / 2)
