"""PyTorch losses: the values of the NumPy rules, gradients, extremes, propriety, and cross-entropy's options."""

import math
import pickle
from pathlib import Path

import numpy as np
import pytest
import torch
from torch.nn import functional

from kept import same_as_kept
from unperplexed import InputError
from unperplexed.integrations import torch as losses
from unperplexed.scores import differentiable as _rules
from unperplexed.scores import row_scores

KEPT = Path(__file__).with_name("torch.json")
RULES = {
    "brier_score": (losses.brier_loss, losses.BrierLoss()),
    "penalized_brier_score": (losses.penalized_brier_loss, losses.PenalizedBrierLoss()),
    "penalized_log_loss": (losses.penalized_log_loss, losses.PenalizedLogLoss()),
    **{
        f"power_score({r})": (lambda x, y, r=r, **o: losses.power_loss(x, y, r, **o), losses.PowerLoss(r))
        for r in (-0.9, -2 / 3, -0.25, 0, 1e-9, 0.5, 1, 5)
    },
    **{
        f"generalized_surprisal({r})": (
            lambda x, y, r=r, **o: losses.generalized_surprisal_loss(x, y, r, **o),
            losses.GeneralizedSurprisalLoss(r),
        )
        for r in (-0.9, -2 / 3, 0, 1e-9, 1, 5)
    },
}
PROPER = [name for name in RULES if not name.startswith("generalized") or name == "generalized_surprisal(0)"]
MIXED = {"proper": losses.RiskLoss(decisiveness=1, accuracy=2, robustness=3), "not": losses.RiskLoss(proper=False)}
EVERY = {name: module for name, (_, module) in RULES.items()} | MIXED


@pytest.fixture
def generator():
    return torch.Generator().manual_seed(20240229)


def logits(generator, *shape, dtype=torch.float64):
    return 3 * torch.randn(*shape, generator=generator, dtype=dtype)


def classes(generator, n, *shape):
    return torch.randint(0, n, shape, generator=generator)


def tied(x):
    """Every third row's highest two are the same, and every seventh row is even."""
    top = x.argsort(dim=1)[:, -2:]
    x = x.clone()
    x[::3] = x[::3].scatter(1, top[::3, :1], x[::3].gather(1, top[::3, 1:]))
    x[::7] = 0
    return x


class TestValues:
    @pytest.mark.parametrize("name", RULES)
    @pytest.mark.parametrize("n_classes", [2, 3, 10])
    def test_those_of_the_numpy_rules(self, generator, name, n_classes):
        x, y = tied(logits(generator, 210, n_classes)), classes(generator, n_classes, 210)
        p = torch.softmax(x, dim=1).numpy()
        expected = row_scores(y.numpy(), p, name, labels=range(n_classes))
        found, module = RULES[name]
        np.testing.assert_allclose(found(x, y, reduction="none"), expected, rtol=1e-9, atol=1e-12)
        assert module(x, y).item() == pytest.approx(expected.mean(), rel=1e-9)

    @pytest.mark.parametrize("name", RULES)
    def test_what_is_certain(self, name):
        x = torch.tensor([[0.0, -200.0, -300.0], [0.0, -60.0, -60.0]], dtype=torch.float64)
        p = torch.softmax(x, dim=1).numpy()
        for y in ([0, 0], [1, 2]):
            expected = row_scores(y, p, name, labels=range(3))
            found = RULES[name][0](x, torch.tensor(y), reduction="none")
            np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-11)  # powers of e^-300 are bent

    @pytest.mark.parametrize("r", [-0.9, -2 / 3])
    @pytest.mark.parametrize("dtype", [torch.float16, torch.float32])
    @pytest.mark.parametrize("truth", [1e-3, 1e-6, 1e-7, 1e-9])
    def test_propriety_holds_beyond_the_bend(self, r, dtype, truth):
        """Where powers go on straight, so does their sum: no probability has less than the true one."""
        away = torch.tensor([0.99, 0.5, 0.01, 1.01, 2, 100], dtype=torch.float64).sub(1)
        p = truth + torch.cat([torch.zeros(1, dtype=torch.float64), away * truth])
        log_p = torch.stack([torch.log1p(-p), p.log()], dim=1)
        each = _rules.power_rule(r).score(log_p, log_p, torch, _rules.linearize_below(torch.finfo(dtype).max))
        expected = (1 - truth) * each[:, 0] + truth * each[:, 1]
        assert (expected[1:] >= expected[0] - 1e-15).all()
        assert (expected[2:] > expected[0]).all()

    def test_mixtures_are_weighted_means(self, generator):
        x, y = logits(generator, 20, 4), classes(generator, 4, 20)
        parts = [losses.power_loss(x, y, r) for r in (1, 0, -2 / 3)]
        assert MIXED["proper"](x, y).item() == pytest.approx(
            sum(w * a for w, a in zip((1, 2, 3), parts, strict=True)).item() / 6
        )
        means = [losses.generalized_surprisal_loss(x, y, r) for r in (1, 0, -2 / 3)]
        assert MIXED["not"](x, y).item() == pytest.approx(sum(means).item() / 3)

    @pytest.mark.parametrize("name", RULES)
    def test_half_precision_is_computed_in_single(self, generator, name):
        x, y = logits(generator, 30, 5, dtype=torch.float32), classes(generator, 5, 30)
        for dtype in (torch.float16, torch.bfloat16):
            found = RULES[name][0](x.to(dtype), y, reduction="none")
            assert found.dtype == torch.float32
            torch.testing.assert_close(found, RULES[name][0](x.to(dtype).float(), y, reduction="none"))


class TestOptions:
    """Those of cross-entropy, which is the power score of order 0."""

    @pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
    @pytest.mark.parametrize("smoothing", [0.0, 0.1, 1.0])
    @pytest.mark.parametrize("weighted", [False, True])
    @pytest.mark.parametrize("kind", ["classes", "some ignored", "distributions"])
    def test_those_of_cross_entropy(self, generator, reduction, smoothing, weighted, kind):
        x, y = logits(generator, 40, 6), classes(generator, 6, 40)
        if kind == "some ignored":
            y[::4] = -100
        if kind == "distributions":
            y = torch.softmax(logits(generator, 40, 6), dim=1)
        weight = torch.rand(6, generator=generator, dtype=torch.float64) if weighted else None
        options = {"weight": weight, "label_smoothing": smoothing, "reduction": reduction}
        torch.testing.assert_close(losses.power_loss(x, y, 0, **options), functional.cross_entropy(x, y, **options))

    @pytest.mark.parametrize("shape", [(5,), (4, 5), (4, 5, 3), (2, 5, 3, 4)])
    def test_shapes_of_cross_entropy(self, generator, shape):
        x = logits(generator, *shape)
        y = classes(generator, 5, *(shape[:1] * (len(shape) > 1) + shape[2:]))
        for reduction in ("mean", "none"):
            found, expected = (
                losses.power_loss(x, y, 0, reduction=reduction),
                functional.cross_entropy(x, y, reduction=reduction),
            )
            torch.testing.assert_close(found, expected)

    @pytest.mark.parametrize("name", EVERY)
    def test_distributions_are_expectations(self, generator, name):
        x, shares = logits(generator, 12, 4), torch.softmax(logits(generator, 12, 4), dim=1)
        module = EVERY[name]
        each = torch.stack([module(x[i : i + 1], torch.tensor([c])) for i in range(12) for c in range(4)]).view(12, 4)
        torch.testing.assert_close(module(x, shares), (each * shares).sum(dim=1).mean())
        sure = functional.one_hot(torch.arange(12) % 4, 4).double()
        torch.testing.assert_close(module(x, sure), module(x, torch.arange(12) % 4))

    @pytest.mark.parametrize("name", EVERY)
    def test_what_is_ignored_has_no_gradient(self, generator, name):
        x = logits(generator, 6, 3).requires_grad_()
        EVERY[name](x, torch.tensor([0, -100, 2, 1, -100, 0])).backward()
        assert (x.grad[[1, 4]] == 0).all()
        assert (x.grad[[0, 2, 3, 5]] != 0).all()

    @pytest.mark.parametrize("name", EVERY)
    def test_classes_that_cannot_happen(self, generator, name):
        """Masked by logits of minus infinity, they count as if they were not there, but for a penalty."""
        x, y = logits(generator, 8, 3), classes(generator, 3, 8)
        masked = torch.cat([x, torch.full((8, 1), -math.inf)], dim=1).requires_grad_()
        found = EVERY[name](masked, y)
        found.backward()
        assert torch.isfinite(masked.grad).all()
        if "penalized" not in name:
            torch.testing.assert_close(found, EVERY[name](x, y))


class TestGradients:
    @pytest.mark.parametrize("name", EVERY)
    def test_finite_differences(self, generator, name):
        x, y = logits(generator, 6, 4).requires_grad_(), classes(generator, 4, 6)
        weight = torch.rand(4, generator=generator, dtype=torch.float64)
        module = pickle.loads(pickle.dumps(EVERY[name]))
        module.weight, module.label_smoothing = weight, 0.1
        shares = torch.softmax(logits(generator, 6, 4), dim=1)
        assert torch.autograd.gradcheck(lambda z: module(z, y), x)
        assert torch.autograd.gradcheck(lambda z: module(z, shares), x)

    @pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16, torch.float16])
    @pytest.mark.parametrize("name", EVERY)
    def test_extremes_are_finite(self, name, dtype):
        for targets in ([0, 1, 2], [1, 2, 0], [2, 0, 1]):
            x = torch.tensor([[1e4, -1e4, 0], [0, 1e4, -1e4], [-1e4, 0, 1e4]], dtype=dtype, requires_grad=True)
            loss = EVERY[name](x, torch.tensor(targets))
            loss.backward()
            assert torch.isfinite(loss)
            assert torch.isfinite(x.grad).all()

    @pytest.mark.parametrize("name", ["power_score(-0.9)", "generalized_surprisal(-0.6666666666666666)", "proper"])
    def test_the_worst_still_descends(self, name):
        """Beyond the bend the loss is straight: what was given next to nothing is still pulled up."""
        x = torch.tensor([[500.0, 0.0]], requires_grad=True)
        EVERY[name](x, torch.tensor([1])).backward()
        assert x.grad[0, 0] > 0 > x.grad[0, 1]

    @pytest.mark.parametrize("name", [*PROPER, "proper"])
    def test_the_minimum_is_the_truth(self, name):
        truth = torch.tensor([[0.5, 0.3, 0.15, 0.05]], dtype=torch.float64)
        torch.testing.assert_close(minimum(EVERY[name], truth), truth, atol=1e-5, rtol=0)

    @pytest.mark.parametrize("r", [-2 / 3, 0.5])
    def test_an_improper_one_leads_elsewhere(self, r):
        """Of two classes it is least where (p / (1 - p))^(1 - r) are the odds."""
        found = minimum(EVERY["not"], torch.tensor([[0.8, 0.2]], dtype=torch.float64))
        assert abs(found[0, 0] - 0.8) > 1e-3
        found = minimum(losses.GeneralizedSurprisalLoss(r), torch.tensor([[0.8, 0.2]], dtype=torch.float64))
        odds = 4 ** (1 / (1 - r))
        assert found[0, 0].item() == pytest.approx(odds / (1 + odds), abs=1e-5)


def minimum(loss, target):
    """Probabilities at which a loss is least."""
    x = torch.zeros_like(target, requires_grad=True)
    settings = {"max_iter": 500, "tolerance_grad": 1e-12, "tolerance_change": 0, "line_search_fn": "strong_wolfe"}
    optimizer = torch.optim.LBFGS([x], **settings)

    def closure():
        optimizer.zero_grad()
        value = loss(x, target)
        value.backward()
        return value

    optimizer.step(closure)
    return torch.softmax(x, dim=1).detach()


class TestModules:
    @pytest.mark.parametrize("name", EVERY)
    def test_compiled_in_one_graph(self, generator, name):
        torch.compiler.reset()  # each rule is a graph of its own
        x, y = logits(generator, 10, 4), classes(generator, 4, 10)
        compiled = torch.compile(EVERY[name], backend="eager", fullgraph=True)
        torch.testing.assert_close(compiled(x, y), EVERY[name](x, y))
        torch.testing.assert_close(compiled(x, torch.softmax(x, dim=1)), EVERY[name](x, torch.softmax(x, dim=1)))

    @pytest.mark.parametrize("name", EVERY)
    def test_under_autocast(self, generator, name):
        layer, x, y = torch.nn.Linear(8, 4), logits(generator, 10, 8, dtype=torch.float32), classes(generator, 4, 10)
        with torch.autocast("cpu", dtype=torch.bfloat16):
            loss = EVERY[name](layer(x), y)
        assert loss.dtype == torch.float32
        loss.backward()
        assert torch.isfinite(layer.weight.grad).all()

    def test_class_weights_move_with_the_module(self):
        module = losses.PowerLoss(0.5, weight=torch.tensor([1.0, 2.0])).double()
        assert module.weight.dtype == torch.float64
        assert list(module.state_dict()) == ["weight"]

    def test_settings_are_shown(self):
        assert repr(losses.PowerLoss(0.5, ignore_index=3)) == "PowerLoss(ignore_index=3, r=0.5)"
        assert repr(losses.BrierLoss()) == "BrierLoss()"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((torch.zeros(2, 3, dtype=torch.int64), torch.tensor([0, 1])), "input: expected logits of two classes or more"),
        ((torch.zeros(2, 1), torch.tensor([0, 0])), "input: expected logits of two classes or more"),
        ((torch.zeros(()), torch.tensor(0)), "input: expected logits"),
        ((torch.zeros(2, 3), torch.tensor([0, 1, 2])), r"expected numbers of classes of shape \(2,\)"),
        ((torch.zeros(2, 3), torch.zeros(2, 2)), r"distributions have the shape of the logits, \(2, 3\)"),
        ((torch.zeros(2, 3), torch.tensor([True, False])), "expected numbers of classes"),
        ((torch.zeros(2, 3), torch.tensor([0, 3])), "target: class 3 of 3; they are numbered from 0 to 2"),
        ((torch.zeros(2, 3), torch.tensor([0, -1])), "target: class -1 of 3"),
    ],
)
def test_bad_input(arguments, message):
    with pytest.raises(InputError, match=message):
        losses.brier_loss(*arguments)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: losses.PowerLoss(-1), "r: the order must be a finite number above -1"),
        (lambda: losses.GeneralizedSurprisalLoss(math.inf), "r: the order"),
        (lambda: losses.PowerLoss("1"), "r: the order"),
        (lambda: losses.RiskLoss(robustness=-1), "robustness: expected a weight of at least 0"),
        (lambda: losses.RiskLoss(decisiveness=0, accuracy=0, robustness=0), "one of the weights must be above 0"),
        (lambda: losses.BrierLoss(reduction="average"), "reduction"),
        (lambda: losses.BrierLoss(label_smoothing=2), "label_smoothing: expected a share from 0 to 1"),
        (
            lambda: losses.brier_loss(torch.zeros(2, 3), torch.tensor([0, 1]), weight=torch.ones(2)),
            "weight: expected one for each of 3 classes",
        ),
    ],
)
def test_bad_options(make, message):
    with pytest.raises(InputError, match=message):
        make()


def test_gradients_of_each_sample(generator):
    x, y = logits(generator, 5, 3), classes(generator, 3, 5)
    each = torch.func.vmap(torch.func.grad(lambda z, t: losses.power_loss(z, t, r=-0.5)))(x, y)
    whole = x.clone().requires_grad_()
    losses.power_loss(whole, y, r=-0.5, reduction="sum").backward()
    torch.testing.assert_close(each, whole.grad)


def test_classes_to_ignore_are_none_of_distributions():
    with pytest.raises(InputError, match="ignore_index: targets are distributions"):
        losses.brier_loss(torch.zeros(2, 3), torch.full((2, 3), 1 / 3), ignore_index=1)


def test_orders_next_to_0_are_0():
    x, y = torch.tensor([[1.0, 2.0]]), torch.tensor([0])
    for r in (1e-40, -1e-45):
        assert losses.power_loss(x, y, r) == functional.cross_entropy(x, y)


def test_values_are_not_looked_at_where_that_would_wait_for_a_device():
    """A class out of range is refused where outcomes lie in this memory; elsewhere only shapes are known."""
    x = torch.zeros(3, 4)
    with pytest.raises(InputError):
        losses.brier_loss(x, torch.tensor([0, 1, 4]))
    away = losses.brier_loss(x.to("meta"), torch.tensor([0, 1, 4], device="meta"), reduction="none")
    assert (away.shape, away.device.type) == ((3,), "meta")


def test_an_empty_batch_sums_to_nothing():
    none = torch.zeros(0, 4), torch.zeros(0, dtype=torch.long)
    assert float(losses.brier_loss(*none, reduction="sum")) == 0
    assert losses.brier_loss(*none, reduction="none").shape == (0,)


def outcome(of, *given, **named):
    """What a call gives, or what it is refused with."""
    try:
        return of(*given, **named)
    except InputError as error:
        return f"refused: {error}"


def array(found):
    return found if isinstance(found, str) else found.detach().numpy()


@pytest.mark.parametrize("name", EVERY)
def test_values_and_gradients_with_every_option(generator, name):
    """Of all losses, beside those that are kept."""
    x, y = logits(generator, 6, 4), classes(generator, 4, 6)
    shares = torch.softmax(logits(generator, 6, 4), dim=1)
    many, of_many = logits(generator, 3, 4, 2), classes(generator, 4, 3, 2)
    x[0], x[1, 2] = 0, x[1].max()
    each, by_class = EVERY[name], torch.tensor([1.0, 0.5, 2.0, 0.0], dtype=torch.float64)
    asked = {
        "plain": (x, y, {}),
        "sum": (x, y, {"reduction": "sum"}),
        "each": (x, y, {"reduction": "none"}),
        "weights": (x, y, {"weight": by_class}),
        "weights of each": (x, y, {"weight": by_class, "reduction": "none"}),
        "smoothed": (x, y, {"label_smoothing": 0.1}),
        "smoothed with weights": (x, y, {"label_smoothing": 0.3, "weight": by_class}),
        "ignored": (x, torch.where(y == 2, -100, y), {}),
        "all ignored": (x, torch.full_like(y, -100), {"reduction": "sum"}),
        "another ignored": (x, y, {"ignore_index": int(y[0])}),
        "shares": (x, shares, {}),
        "shares with weights": (x, shares, {"weight": by_class, "label_smoothing": 0.1}),
        "of many places": (many, of_many, {"reduction": "none"}),
        "one row": (x[2], y[2], {}),
        "far": (30 * x, y, {"reduction": "none"}),
        "single precision": (x.float(), y, {}),
        "half precision": (x.half(), y, {}),
        "out of range": (x, y + 4, {}),
        "below": (x, y - 9, {}),
        "smoothing": (x, y, {"label_smoothing": 1.1}),
        "reduction": (x, y, {"reduction": "median"}),
        "shape": (x, y[:3], {}),
        "whole numbers": (x.long(), y, {}),
        "weight": (x, y, {"weight": by_class[:2]}),
    }
    found = {}
    for key, (values, target, options) in asked.items():
        leaf = values.detach().clone()
        if leaf.is_floating_point():
            leaf.requires_grad_()

        def made(leaf=leaf, target=target, options=options):
            known = {
                key: getattr(each, key)
                for key in ("r", "decisiveness", "accuracy", "robustness", "proper")
                if hasattr(each, key)
            }
            return type(each)(**known, **options)(leaf, target)

        value = outcome(made)
        found[key] = array(value)
        if not isinstance(value, str) and value.requires_grad:
            value.sum().backward()
            found[f"{key}, slope"] = leaf.grad.numpy()
    same_as_kept(KEPT, f"torch {name}", (repr(each), found))
