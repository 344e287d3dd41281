"""Names for the array types that signatures speak of, and arrays that stay as they are."""

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from .by_value import ByValue

Floats: TypeAlias = NDArray[np.float64]
Ints: TypeAlias = NDArray[np.int64]
Bools: TypeAlias = NDArray[np.bool_]
Codes: TypeAlias = NDArray[np.signedinteger[Any]]
AnyFloats: TypeAlias = NDArray[np.floating[Any]]


class ReadOnlyArrays(ByValue):
    """A frozen dataclass whose arrays cannot be written to either."""

    def __post_init__(self) -> None:
        """Close the arrays."""
        for value in vars(self).values():
            if isinstance(value, np.ndarray):
                value.setflags(write=False)
