"""Traced functions as methods: the model of each instance. Knows nothing of tracing."""
from __future__ import annotations

import functools
import weakref
from collections.abc import Callable
from typing import Any

_PLAIN = (bool, int, float, str, bytes, type(None))


class Methods:
    """The models of the instances that a traced method was called on. A model is made anew when an attribute of its instance is another object
    than before, or another number or text: the program has the attributes' values as constants."""

    def __init__(self) -> None:
        self._models: dict[int, tuple[Any, dict[str, Any], Any]] = {}

    def of(self, instance: Any, make: Callable[[], Any]) -> Any:
        """The model of an instance."""
        attributes = dict(getattr(instance, "__dict__", {}))
        found = self._models.get(id(instance))
        if found is not None and found[0]() is instance and _same(found[1], attributes):
            return found[2]
        model = make()
        try:
            held: Any = weakref.ref(instance, functools.partial(self._forget, id(instance)))
        except TypeError:
            held = _Strong(instance)
        self._models[id(instance)] = (held, attributes, model)
        return model

    def _forget(self, key: int, reference: Any) -> None:
        self._models.pop(key, None)


class _Strong:
    """In place of a weak reference to an object that allows none."""

    def __init__(self, instance: Any) -> None:
        self._instance = instance

    def __call__(self) -> Any:
        return self._instance


def _same(before: dict[str, Any], now: dict[str, Any]) -> bool:
    return len(before) == len(now) and all(
        name in before and (before[name] is value or type(value) in _PLAIN and type(before[name]) is type(value) and before[name] == value)
        for name, value in now.items())
