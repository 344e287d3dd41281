"""The kernel for logits is compiled for cards that need not be at hand; what it computes, tests/interpreted holds."""

import pytest
import triton
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

from unperplexed.kernels import triton as _triton


def compiled(capability, dtype, classes, counts=None, weights=None, p=None):
    given = {"logits": f"*{dtype}", "truth": "*i64", "weights": weights, "out": "*fp64", "counts": counts, "p": p}
    numbers = {"row_stride": "i64", "n_rows": "i32", "n_classes": "i32", "size": "i32"}
    shape = _triton.shape(classes)
    constants = {"class_stride": 1, "SHIFT": 14, "COPIES": 16, "ROWS": shape.rows, "CHUNK": shape.chunk}
    constants |= {name: None for name, type_ in given.items() if type_ is None}
    types = {name: type_ for name, type_ in (given | numbers).items() if type_} | dict.fromkeys(constants, "constexpr")
    signature = {name: types[name] for name in _triton._kernel.arg_names}
    source = ASTSource(fn=_triton._kernel, signature=signature, constexprs=constants)
    options = {"num_warps": shape.warps, "enable_fp_fusion": False}
    return triton.compile(source, target=GPUTarget("cuda", capability, 32), options=options)


@pytest.mark.parametrize(
    ("capability", "dtype", "classes"),
    [(80, "fp32", 3), (80, "bf16", 128_000), (90, "fp16", 10), (90, "bf16", 1000), (90, "fp32", 16_384)],
)
def test_counting(capability, dtype, classes):
    assembly = compiled(capability, dtype, classes, counts="*i32").asm["ptx"]
    assert "red.global.gpu.relaxed.add.u32" in assembly  # nothing waits for what was there
    assert "atom." not in assembly


def test_weights_and_probabilities():
    assert compiled(90, "fp32", 1000, counts="*fp64", weights="*fp64").asm["cubin"]
    assert compiled(90, "bf16", 1000, p="*fp64").asm["cubin"]
