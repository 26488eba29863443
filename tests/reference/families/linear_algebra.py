"""Linear algebra, compared with NumPy, with the signs that cleave chooses."""
import numpy as np

from case import Case, numbers


def far_from_singular(*shape, seed=1, dtype=np.float64):
    x = numbers(*shape, seed=seed, low=-0.7, high=0.7, dtype=dtype)
    for i in range(min(shape[-2:])):
        x[..., i, i] = 2 * i + 3
    return x


def symmetric(x):
    return np.tril(x) + np.swapaxes(np.tril(x, -1), -1, -2)


def signs(columns):
    """1 or -1 for each column: the sign of its first component that is at least half as large as the largest."""
    first = np.argmax(np.abs(columns) >= np.abs(columns).max(axis=-2, keepdims=True) / 2, axis=-2)
    return np.sign(np.take_along_axis(columns, first[..., None, :], axis=-2))


def eigh(x):
    values, vectors = np.linalg.eigh(symmetric(x))
    return values, vectors * signs(vectors)


def svd(x):
    u, s, vh = np.linalg.svd(x, full_matrices=False)
    sign = signs(u)
    return u * sign, s, vh * np.swapaxes(sign, -1, -2)


def qr(x):
    q, r = np.linalg.qr(x)
    sign = np.where(np.diagonal(r, axis1=-2, axis2=-1) < 0, -1, 1).astype(x.dtype)
    return q * sign[..., None, :], r * sign[..., :, None]


def cases():
    for dtype in (np.float32, np.float64):
        kind, loose = np.dtype(dtype), {"relative": 1e-3 if dtype == np.float32 else 1e-9, "absolute": 2e-5 if dtype == np.float32 else 1e-11}
        for shape in ((4, 4), (2, 3, 5, 5), (40, 40)):
            x = far_from_singular(*shape, dtype=dtype)
            size = f"{kind} {list(shape)}"
            yield Case(f"inv {size}", "inv(x)", {"x": x}, np.linalg.inv, **loose)
            yield Case(f"slogdet {size}", "slogdet(x)", {"x": x}, lambda x: tuple(np.linalg.slogdet(x)), **loose)
            yield Case(f"qr {size}", "qr(x)", {"x": x}, qr, **loose)
            yield Case(f"svd {size}", "svd(x)", {"x": x}, svd, **loose)
            yield Case(f"svdvals {size}", "svdvals(x)", {"x": x}, lambda x: np.linalg.svd(x, compute_uv=False), **loose)
            yield Case(f"eigh {size}", "eigh(x)", {"x": x}, eigh, **loose)
            yield Case(f"eigvalsh {size}", "eigvalsh(x)", {"x": x}, lambda x: np.linalg.eigvalsh(x), **loose)
            p = (symmetric(x) + np.eye(shape[-1]) * shape[-1]).astype(dtype)
            yield Case(f"cholesky {size}", "cholesky(x)", {"x": p}, np.linalg.cholesky, **loose)
            yield Case(f"cholesky upper {size}", "cholesky(x, upper=true)", {"x": p}, lambda x: np.swapaxes(np.linalg.cholesky(x), -1, -2),
                       **loose)
            b = numbers(*shape[:-1], 3, seed=2, dtype=dtype)
            yield Case(f"solve {size}", "solve(a, b)", {"a": x, "b": b}, np.linalg.solve, **loose)
            for ord_ in ("fro", "nuc", 1, -1, 2, -2, np.inf, -np.inf):
                yield Case(f"matrix_norm {ord_} {size}", f'matrix_norm(x, ord="{ord_}")', {"x": x},
                           lambda x, ord_=ord_: np.linalg.norm(x, ord_, axis=(-2, -1)).astype(x.dtype), **loose)
        small = far_from_singular(3, 4, 4, dtype=dtype)
        yield Case(f"det {kind}", "det(x)", {"x": small}, np.linalg.det, **loose)
        yield Case(f"det of singular {kind}", "det(x)", {"x": np.ones((3, 3), dtype)}, lambda x: np.zeros((), x.dtype), **loose)
        yield Case(f"solve of a vector {kind}", "solve(a, b)", {"a": small[0], "b": numbers(4, dtype=dtype)}, np.linalg.solve, **loose)
        for shape in ((6, 3), (2, 3, 7)):
            x = far_from_singular(*shape, dtype=dtype)
            yield Case(f"qr {kind} {list(shape)}", "qr(x)", {"x": x}, qr, **loose)
            yield Case(f"svd {kind} {list(shape)}", "svd(x)", {"x": x}, svd, **loose)
        x = numbers(3, 4, 5, dtype=dtype)
        for ord_ in (0, 1, 2, 3, 0.5):
            yield Case(f"vector_norm {ord_} {kind}", f"vector_norm(x, axis=1, ord={ord_})", {"x": x},
                       lambda x, ord_=ord_: np.linalg.norm(x, ord_, axis=1).astype(x.dtype), **loose)
