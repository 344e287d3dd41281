"""The kinds of errors, a module each with all that is known of it: `KINDS`, by name and in order.

A new kind is a new module with a record of its own, which is called ``KIND``.
"""

from __future__ import annotations

from importlib import import_module
from pkgutil import iter_modules

from ..kind import Kind

_RECORDS: list[Kind] = [import_module(f"{__name__}.{module.name}").KIND for module in iter_modules(__path__)]

KINDS = {kind.error: kind for kind in sorted(_RECORDS, key=lambda kind: kind.place)}
