"""Arrays that begin where they would begin on one machine.

A message of Dask is one stretch of bytes, and the arrays that it brings are parts of
it, which may begin at any byte. NumPy does not hand such arrays to BLAS but multiplies
them by loops of its own, whose sums differ in the last bit. So whatever arrives is
looked through, and arrays that do not begin where numbers should are copied.
"""

from __future__ import annotations

import functools
import sys
from types import FunctionType, MethodType, ModuleType
from typing import Any, TypeVar

import numpy as np

A = TypeVar("A")

_PLAIN = (str, bytes, int, float, complex, type(None), type, ModuleType)


def align(value: A) -> A:
    """A value all of whose arrays are aligned; it may be the same one, changed.

    Looks into containers, objects, and what functions and methods carry with them.
    """
    found: A = _Walk().visit(value)
    return found


class _Walk:
    """One look through a value, which visits everything once."""

    def __init__(self) -> None:
        # By identity; the values are kept, lest others take their place in memory.
        self._seen: dict[int, tuple[Any, Any]] = {}

    def visit(self, value: Any) -> Any:
        if isinstance(value, _PLAIN):
            return value
        if id(value) not in self._seen:
            self._seen[id(value)] = (value, value)  # for those that hold themselves
            self._seen[id(value)] = (value, self._visit_new(value))
        return self._seen[id(value)][1]

    def _visit_new(self, value: Any) -> Any:
        if isinstance(value, np.ndarray):
            return value if value.flags.aligned else value.copy(order="K")
        if isinstance(value, tuple):
            parts = self._visit_all(value)
            return value if parts is None else tuple.__new__(type(value), parts)
        if isinstance(value, list):
            found = self._visit_all(value)
            if found is not None:
                value[:] = found
        elif isinstance(value, dict):
            self._visit_names(value)
        elif isinstance(value, FunctionType):
            self._visit_function(value)
        elif isinstance(value, MethodType):
            return MethodType(value.__func__, self.visit(value.__self__))
        elif isinstance(value, functools.partial):
            words = dict(value.keywords)
            self._visit_names(words)
            return functools.partial(
                self.visit(value.func), *self.visit(value.args), **words
            )
        else:
            self._visit_object(value)
        return value

    def _visit_all(self, values: Any) -> list[Any] | None:
        """The values, or nothing if all of them are as they were."""
        found = [self.visit(one) for one in values]
        same = all(one is other for one, other in zip(found, values, strict=True))
        return None if same else found

    def _visit_names(self, names: dict[Any, Any]) -> None:
        for name, value in list(names.items()):
            if name == "__builtins__":
                continue
            found = self.visit(value)
            if found is not value:
                names[name] = found

    def _visit_function(self, function: FunctionType) -> None:
        for cell in function.__closure__ or ():
            try:
                value = cell.cell_contents
            except ValueError:  # empty
                continue
            found = self.visit(value)
            if found is not value:
                cell.cell_contents = found
        defaults = self.visit(function.__defaults__)
        if defaults is not function.__defaults__:  # else Python would forget its cache
            function.__defaults__ = defaults
        self.visit(function.__kwdefaults__)
        # One that came as code brought the globals that it needs.
        module = sys.modules.get(function.__module__)
        if module is None or function.__globals__ is not vars(module):
            self._visit_names(function.__globals__)

    def _visit_object(self, value: Any) -> None:
        names = getattr(value, "__dict__", None)
        if isinstance(names, dict):
            self._visit_names(names)
        for kind in type(value).__mro__:
            slots = vars(kind).get("__slots__", ())
            for name in (slots,) if isinstance(slots, str) else slots:
                inner = getattr(value, name, None)
                found = self.visit(inner)
                if found is not inner:
                    object.__setattr__(value, name, found)
