"""Searches in sorted arrays."""
import numpy as np

from case import Case, numbers


def cases():
    edges = np.sort(numbers(9, seed=7, low=0, high=5, dtype=np.int32))
    special = np.array([-np.inf, -1, 0, 0, 2, np.inf, np.nan, np.nan], np.float32)
    for side in ("left", "right"):
        found = lambda e, x, side=side: np.searchsorted(e, x, side).astype(np.int32)
        expression = f'searchsorted(e, x, side="{side}")'
        yield Case(f"searchsorted {side}", expression, {"e": edges, "x": numbers(4, 6, low=-1, high=6, dtype=np.int32)}, found)
        yield Case(f"searchsorted {side} of special numbers", expression, {"e": special, "x": special[::-1].copy()}, found)
        yield Case(f"searchsorted {side} of many", expression,
                   {"e": np.sort(numbers(1000, dtype=np.float64)), "x": numbers(3000, seed=2, dtype=np.float64)}, found)
