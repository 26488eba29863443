"""The functions that rewritten code calls, as `_x.name`. Outside of an extraction each of these does what Python would."""
from __future__ import annotations

import builtins
from collections.abc import Callable
from typing import Any

from .._tensor import Tensor
from .._where import here
from ._branches import either, if_
from ._calls import do, f
from ._effects import assert_, raise_
from ._extraction import current
from ._logic import and_, compare, in_, not_, not_in, or_
from ._loops import for_, while_
from ._objects import attribute, aug, aug_attr, aug_item, item, lost, own, set_attr, set_item
from ._texts import percent, text
from ._unmerged import Unmerged
from ._walks import Range, Side

slice = builtins.slice

__all__ = ["and_", "assert_", "attribute", "aug", "aug_attr", "aug_item", "chosen", "compare", "do", "each", "either", "f", "for_", "if_", "in_", "item",
           "lost", "not_", "not_in", "or_", "own", "percent", "raise_", "read", "returned", "set_attr", "set_item", "slice", "text", "while_", "within"]


def read(later: Callable[[], Any], name: str) -> Any:
    """A variable that may not be bound here."""
    ext = current()
    if ext is None:
        return later()
    try:
        value = later()
    except NameError:
        ext.fail("value", f"`{name}` is not bound here")
    doubt = ext.doubt(value)
    if doubt is not None:
        ext.fail("value", doubt)
    return value


def returned(value: Any) -> Any:
    """The result of a function."""
    ext = current()
    if ext is not None:
        ext.last_return = here()
        for leaf in _leaves(value):
            if isinstance(leaf, Unmerged):
                leaf._fail()
            if isinstance(leaf, Tensor) and leaf._stale is not None:
                raise ValueError(leaf._stale)
    return value


def _leaves(value: Any) -> Any:
    if isinstance(value, (list, tuple)):
        for each_ in value:
            yield from _leaves(each_)
    elif isinstance(value, dict):
        yield from _leaves(list(value.values()))
    else:
        yield value


def each(iterable: Any) -> Any:
    """What a comprehension goes through."""
    ext = current()
    if ext is not None and isinstance(iterable, (Range, Side)):
        ext.fail("unsupported", "how many items this comprehension has, is known only when the program runs: allocate an array and write "
                 "x[i] = v in a loop")
    return iterable


def chosen(condition: Any) -> Any:
    """The condition of a comprehension."""
    ext = current()
    if ext is not None and isinstance(condition, Tensor) and condition._operand.literal is None:
        ext.fail("unsupported", "how many items this comprehension has, depends on a value that is known only when the program runs: take "
                 "numpy.where(mask, x, 0), or a loop with `if`")
    return condition


def within(context: Any) -> Any:
    """The object of a `with` statement."""
    ext = current()
    if ext is not None:
        module = type(context).__module__.split(".")[0]
        inner = getattr(getattr(context, "gen", None), "gi_code", None)
        if module not in ("cleave", "numpy") and not (inner is not None and "cleave" in inner.co_filename):
            ext.fail("unsupported", f"`with` of a {type(context).__name__} acts while the program is recorded, not when it runs: put it into a "
                     "function marked with @cleave.host")
    return context
