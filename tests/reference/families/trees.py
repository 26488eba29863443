"""Ensembles of decision trees, walked node by node."""
import numpy as np

from case import Case, numbers


def forest(trees, depth, width, seed):
    """Full trees as arrays over all nodes and leaves."""
    random = np.random.default_rng(seed)
    roots, features, children, leaves = [], [], [], 0
    for _ in range(trees):
        first, count = len(features), 2**depth - 1
        roots.append(first)
        for node in range(count):
            features.append(random.integers(width))
            if 2 * node + 2 < count:
                children.append([first + 2 * node + 1, first + 2 * node + 2])
            else:
                children.append([-1 - leaves, -2 - leaves])
                leaves += 2
    as_i32 = lambda values: np.array(values, np.int32)
    return as_i32(roots), as_i32(features), as_i32(children), leaves


def walked(x, roots, features, thresholds, children, passes):
    """The leaf that each row reaches in each tree."""
    found = np.zeros((len(x), len(roots)), np.int64)
    for row, values in enumerate(x):
        for tree, node in enumerate(roots):
            while node >= 0:
                node = children[node][0 if passes(values[features[node]], thresholds[node]) else 1]
            found[row, tree] = -1 - node
    return found


def cases():
    for dtype in (np.float32, np.float64):
        roots, features, children, leaves = forest(7, 4, 5, 3)
        thresholds, values, wide = numbers(len(features), seed=1, dtype=dtype), numbers(leaves, seed=2, dtype=dtype), numbers(leaves, 3, seed=4, dtype=dtype)
        x = numbers(40, 5, seed=5, dtype=dtype)
        arrays = {"x": x, "r": roots, "f": features, "t": thresholds, "c": children, "v": values}
        for strict, passes in (("false", np.less_equal), ("true", np.less)):
            leaf = lambda x, r, f, t, c, passes=passes: walked(x, r, f, t, c, passes)
            yield Case(f"tree_ensemble strict={strict} {dtype.__name__}", f"tree_ensemble(x, r, f, t, c, v, strict={strict})", arrays,
                       lambda x, r, f, t, c, v, leaf=leaf: v[leaf(x, r, f, t, c)].sum(1))
        leaf = lambda x, r, f, t, c: walked(x, r, f, t, c, np.less_equal)
        for aggregate in ("mean", "min", "max"):
            yield Case(f"tree_ensemble {aggregate} {dtype.__name__}", f'tree_ensemble(x, r, f, t, c, v, aggregate="{aggregate}")', {**arrays, "v": wide},
                       lambda x, r, f, t, c, v, aggregate=aggregate: getattr(v[leaf(x, r, f, t, c)], aggregate)(1))
        targets = np.arange(leaves, dtype=np.int32) % 4
        yield Case(f"tree_ensemble targets {dtype.__name__}", "tree_ensemble(x, r, f, t, c, v, g, outputs=4)", {**arrays, "g": targets},
                   lambda x, r, f, t, c, v, g: np.stack([np.where(g[leaf(x, r, f, t, c)] == k, v[leaf(x, r, f, t, c)], 0).sum(1) for k in range(4)], 1))
