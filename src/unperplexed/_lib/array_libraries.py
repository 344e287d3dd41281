"""Arrays of torch, CuPy and JAX: where they are, and the few things that each of these libraries does in its own way.

All else is written once, with the functions that each of them has as NumPy has. None is imported here: an array of a
library that has not been imported cannot be at hand.
"""

from __future__ import annotations

import sys
from contextlib import AbstractContextManager
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray


class Library(Protocol):
    """What is done differently in each."""

    xp: Any
    """Where the functions are."""

    def __init__(self, xp: Any) -> None:
        """Take the module that has the functions."""
        self.xp = xp

    def here(self, x: Any) -> bool:
        """Whether an array is where NumPy can read it in place."""
        return False

    def computes(self, x: Any) -> bool:
        """Whether there is float64 where it is."""
        return True

    def to_host(self, x: Any) -> NDArray[Any]:
        """Give an array to NumPy; where it is here, without a copy."""

    def beside(self, x: Any, values: NDArray[Any]) -> Any:
        """Put values of NumPy where x is."""
        return self.xp.asarray(values)

    def cast(self, x: Any, dtype: str) -> Any:
        """Change the data type, to one of this name."""

    def scope(self, x: Any) -> AbstractContextManager[Any]:
        """Where x is computed with."""


class Torch(Library):
    """Arrays of PyTorch."""

    def here(self, x: Any) -> bool:
        return bool(x.device.type == "cpu")

    def computes(self, x: Any) -> bool:
        try:
            x.new_zeros(1, dtype=self.xp.float64)
        except (TypeError, RuntimeError):  # MPS, and some other graphics processors
            return False
        return True

    def to_host(self, x: Any) -> NDArray[Any]:
        x = x.detach()
        return np.asarray((x.float() if x.dtype == self.xp.bfloat16 else x).cpu().numpy())

    def beside(self, x: Any, values: NDArray[Any]) -> Any:
        return self.xp.tensor(values, device=x.device)

    def cast(self, x: Any, dtype: str) -> Any:
        return x.to(getattr(self.xp, dtype))

    def scope(self, x: Any) -> AbstractContextManager[Any]:
        none: AbstractContextManager[Any] = self.xp.no_grad()
        return none


class CuPy(Library):
    """Arrays of CuPy, all on CUDA devices."""

    def to_host(self, x: Any) -> NDArray[Any]:
        return np.asarray(x.get())

    def cast(self, x: Any, dtype: str) -> Any:
        return x.astype(dtype, copy=False)

    def scope(self, x: Any) -> AbstractContextManager[Any]:
        device: AbstractContextManager[Any] = x.device  # what is made without saying where goes there
        return device


class Jax(Library):
    """Arrays of JAX, which has no float64 unless it is asked for; those of NumPy go along with what they meet."""

    def __init__(self, jax: Any) -> None:
        super().__init__(jax.numpy)
        self._jax = jax

    def here(self, x: Any) -> bool:
        return {device.platform for device in x.devices()} == {"cpu"}

    def computes(self, x: Any) -> bool:
        return {device.platform for device in x.devices()} <= {"cpu", "gpu"}

    def to_host(self, x: Any) -> NDArray[Any]:
        values = np.asarray(x)
        return values.astype(np.float32) if values.dtype.name == "bfloat16" else values

    def cast(self, x: Any, dtype: str) -> Any:
        return x.astype(dtype)

    def scope(self, x: Any) -> AbstractContextManager[Any]:
        wide: AbstractContextManager[Any] = self._jax.enable_x64(True)  # by itself it has no float64
        return wide


def library_of(data: object) -> Library | None:
    """Library of an array; None for what is of NumPy, or of none of them."""
    for name, array, kind in (("torch", "Tensor", Torch), ("cupy", "ndarray", CuPy), ("jax", "Array", Jax)):
        module = sys.modules.get(name)
        if module is not None and isinstance(data, getattr(module, array)):
            return kind(module)
    return None


def dtype_name(x: Any) -> str:
    """Name of the data type, which all of them share."""
    return str(x.dtype).rpartition(".")[2]
