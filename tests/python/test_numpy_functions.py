"""NumPy's functions and names on tensors. NumPy is the oracle: each expression runs in a trace and on arrays."""
import inspect

import numpy as np
import pytest

import cleave

RANDOM = np.random.default_rng(20261128)
X = RANDOM.normal(size=(3, 4)).astype(np.float32)
V = RANDOM.normal(size=7).astype(np.float32)
W = RANDOM.normal(size=4).astype(np.float32)
M = RANDOM.normal(size=(4, 4)).astype(np.float32)
T = RANDOM.normal(size=(2, 3, 4)).astype(np.float32)
I = RANDOM.integers(0, 6, 20).astype(np.int32)
N = np.float32([1, np.nan, -np.inf, 3, np.inf])
S = M @ M.T + 4 * np.eye(4, dtype=np.float32)


def same(function, *arrays):
    """Compares a traced function of arrays with the same function on arrays of NumPy; it gets the module to call as its first argument if
    it takes one more."""
    with_module = len(inspect.signature(function).parameters) > len(arrays)
    given = [function] if not with_module else [lambda *inner: function(cleave, *inner), lambda *inner: function(np, *inner)]
    expected = function(np, *arrays) if with_module else function(*arrays)
    for traced in given:
        names = ", ".join(f"a{number}" for number in range(len(arrays)))
        one = eval(f"lambda {names}: traced({names})", {"traced": traced})
        result = cleave.trace(one, *arrays, device="none")(*arrays)
        for mine, numpys in zip(result if isinstance(result, (tuple, list)) else [result],
                                expected if isinstance(expected, (tuple, list)) else [expected]):
            assert mine.shape == np.shape(numpys)
            np.testing.assert_allclose(mine, numpys, rtol=2e-4, atol=2e-5)


@pytest.mark.parametrize("function", [
    lambda x: np.sum(x), lambda x: np.sum(x, axis=1, keepdims=True), lambda x: np.mean(x, axis=0), lambda x: np.max(x, 1), lambda x: np.amin(x),
    lambda x: np.std(x, ddof=1), lambda x: np.var(x, axis=0), lambda x: np.argmax(x, axis=1), lambda x: np.any(x > 1, axis=0),
    lambda x: np.concatenate([x, x + 1]), lambda x: np.concatenate((x, x), axis=1), lambda x: np.concatenate([x, x], axis=None),
    lambda x: np.stack([x, x], axis=1), lambda x: np.vstack([x, x[0]]), lambda x: np.hstack([x, x]), lambda x: np.column_stack([x[:, 0], x]),
    lambda x: np.dstack([x, x]), lambda x: np.dot(x, x.T), lambda x: np.inner(x, x), lambda x: np.outer(x, x), lambda x: np.vdot(x, x),
    lambda x: np.tensordot(x, x, axes=([0], [0])), lambda x: np.tensordot(x, x.T, 1), lambda x: np.einsum("ij,kj->ik", x, x),
    lambda x: np.where(x > 0, x, 0), lambda x: np.transpose(x), lambda x: np.reshape(x, (2, 6)), lambda x: np.ravel(x), lambda x: np.swapaxes(x, 0, 1),
    lambda x: np.expand_dims(x, 1), lambda x: np.squeeze(x[None]), lambda x: np.flip(x), lambda x: np.roll(x, 1, axis=1), lambda x: np.repeat(x, 2),
    lambda x: np.repeat(x, 2, axis=1), lambda x: np.tile(x, (2, 1)), lambda x: np.split(x, 2, axis=1), lambda x: np.array_split(x, 2),
    lambda x: np.cumsum(x), lambda x: np.cumsum(x, axis=1), lambda x: np.cumprod(x, axis=0), lambda x: np.diff(x, axis=1), lambda x: np.sort(x, axis=0),
    lambda x: np.argsort(x, axis=1), lambda x: np.clip(x, -0.5, 0.5), lambda x: np.clip(x, a_min=0, a_max=None), lambda x: np.round(x, 2),
    lambda x: np.ptp(x, axis=0), lambda x: np.median(x), lambda x: np.median(x, axis=0), lambda x: np.quantile(x, [0.1, 0.5], axis=1),
    lambda x: np.quantile(x, 0.3, axis=(0, 1), keepdims=True), lambda x: np.percentile(x, 70, axis=0, method="lower"),
    lambda x: np.average(x, axis=1, weights=np.float32([1, 2, 3, 4])), lambda x: np.cov(x), lambda x: np.corrcoef(x),
    lambda x: np.histogram(x, bins=5), lambda x: np.histogram(x, bins=4, range=(-1, 1)), lambda x: np.histogram(x, [-1.0, 0.0, 0.5], density=True),
    lambda x: np.digitize(x, np.float32([-1, 0, 1])), lambda x: np.isclose(x, x + 1e-9), lambda x: np.allclose(x, x), lambda x: np.array_equal(x, x),
    lambda x: np.kron(x, x[:2, :2]), lambda x: np.diagonal(x), lambda x: np.trace(x), lambda x: np.tril(x), lambda x: np.diag(x[0]), lambda x: np.diag(x, 1),
    lambda x: np.zeros_like(x) + np.ones_like(x), lambda x: np.full_like(x, 3), lambda x: np.copy(x), lambda x: np.take(x, [0, 2], axis=1),
    lambda x: np.take(x, [0, 5]), lambda x: np.take_along_axis(x, np.argsort(x, axis=1), axis=1), lambda x: np.pad(x, ((1, 0), (0, 2))),
    lambda x: np.pad(x, 1, mode="edge"), lambda x: np.pad(x, ((1, 1), (2, 2)), mode="reflect"), lambda x: np.trapezoid(x, dx=0.5),
    lambda x: np.trapezoid(x, np.float32([0, 1, 3, 4])), lambda x: np.meshgrid(x[0], x[1]), lambda x: np.broadcast_to(x[0], (2, 4)),
    lambda x: np.select([x > 1, x > 0], [x, -x], 9.0), lambda x: np.nan_to_num(x / 0), lambda x: np.rot90(x), lambda x: np.moveaxis(x, 0, 1),
    lambda x: np.isin(np.round(x), [0, 1]), lambda x: np.searchsorted(np.float32([-1, 0, 1]), x), lambda x: np.linalg.norm(x),
    lambda x: np.linalg.norm(x, axis=1), lambda x: np.linalg.norm(x, ord=1, axis=0), lambda x: np.linalg.norm(x, np.inf), lambda x: np.linalg.norm(x, "nuc"),
    lambda x: np.linalg.pinv(x), lambda x: np.linalg.svdvals(x), lambda x: np.linalg.matrix_rank(x), lambda x: np.linalg.multi_dot([x, x.T, x]),
    lambda x: np.add.reduce(x), lambda x: np.maximum.reduce(x, axis=1), lambda x: np.add.accumulate(x), lambda x: np.multiply.outer(x[0], x[1]),
    lambda x: np.add(x, 1, dtype=np.float64), lambda x: np.sinc(x), lambda x: np.heaviside(x, 0.5), lambda x: np.fmod(x, 0.3), lambda x: np.deg2rad(x),
    lambda x: np.exp2(x), lambda x: np.fabs(x), lambda x: np.positive(x), lambda x: np.conj(x), lambda x: np.real(x), lambda x: np.atleast_2d(x[0]),
    lambda x: np.float32(np.ndim(x) + np.size(x) + np.shape(x)[0]) + x,
], ids=lambda f: inspect.getsource(f).strip()[:1])
def test_functions_of_a_matrix_are_numpys(function):
    same(function, X)


@pytest.mark.parametrize("function", [
    lambda m: np.linalg.matrix_power(m, 3), lambda m: np.linalg.matrix_power(m, -2), lambda m: np.linalg.matrix_power(m, 0), lambda m: np.linalg.inv(m),
    lambda m: np.linalg.det(m), lambda m: tuple(np.linalg.slogdet(m)), lambda m: np.linalg.cholesky(m), lambda m: np.linalg.solve(m, m[0]),
    lambda m: np.linalg.eigvalsh(m), lambda m: np.linalg.cond(m), lambda m: np.linalg.norm(m, 2), lambda m: np.linalg.norm(m, -1),
    lambda m: np.linalg.svd(m).S, lambda m: np.linalg.eigh(m).eigenvalues, lambda m: np.linalg.outer(m[0], m[1]),
])
def test_linear_algebra_is_numpys(function):
    same(function, S)


@pytest.mark.parametrize("function", [
    lambda t: np.diagonal(t), lambda t: t.diagonal(1), lambda t: np.trace(t), lambda t: t.trace(), lambda t: t.transpose(), lambda t: t.swapaxes(0, 2),
    lambda t: t.repeat(2), lambda t: t.squeeze(), lambda t: t.std(axis=1, ddof=1), lambda t: t.cumsum(), lambda t: t.dot(np.ones((2, 4, 5), np.float32)),
    lambda t: t.mean(axis=(0, 2), dtype=np.float64), lambda t: t.sum(0, np.float64), lambda t: t.take([0, 1]), lambda t: t.clip(0, None),
    lambda t: t.round(1), lambda t: t.ravel(), lambda t: np.linalg.norm(t, axis=(0, 2), ord=1), lambda t: np.median(t, axis=(0, 2)),
])
def test_functions_of_more_axes_are_numpys(function):
    same(function, T)


@pytest.mark.parametrize("function", [
    lambda np, v, w: np.convolve(v, w), lambda np, v, w: np.convolve(w, v, "same"), lambda np, v, w: np.convolve(v, w, "valid"),
    lambda np, v, w: np.correlate(v, w, "full"), lambda np, v, w: np.interp(v, np.sort(w), w), lambda np, v, w: np.interp(v, np.sort(w), w, left=0, right=1),
    lambda np, v, w: np.power(np.abs(v), 2.5), lambda np, v, w: np.quantile(v, np.abs(w) / 10), lambda np, v, w: np.average(v),
])
def test_functions_of_vectors_are_numpys(function):
    same(function, V, W)


@pytest.mark.parametrize("function", [
    lambda n: np.nansum(n[:2]), lambda n: np.nanmean(n[:2]), lambda n: np.nanmax(n), lambda n: np.nanmin(n[:2]), lambda n: np.nan_to_num(n),
    lambda n: np.fmin(n, 0), lambda n: np.fmax(n, n[::-1]), lambda n: np.median(n), lambda n: np.isclose(n, n, equal_nan=True), lambda n: np.max(n),
])
def test_nan_is_numpys(function):
    same(function, N)


@pytest.mark.parametrize("function", [
    lambda i: np.bincount(i, minlength=6), lambda i: np.bincount(i, weights=i * 0.5, minlength=6), lambda i: np.isin(i, [1, 2]), lambda i: np.fmod(i - 3, 2),
    lambda i: np.sum(i, dtype=np.int64), lambda i: np.histogram(i, bins=3), lambda i: np.median(i), lambda i: np.power(i, 2), lambda i: np.cumsum(i),
    lambda i: np.convolve(i, i[:3]), lambda i: np.exp2(i),
])
def test_functions_of_integers_are_numpys(function):
    same(function, I)


def test_bincount_refuses_what_is_outside():
    model = cleave.trace(lambda i: cleave.bincount(i, minlength=3), "i32[2]", device="none")
    for wrong in ([0, 3], [0, -1]):
        with pytest.raises(cleave.UserError, match="index 3 is outside"):
            model(wrong)
    with pytest.raises(ValueError, match="minlength=n"):
        cleave.trace(lambda i: np.bincount(i), "i32[2]")


def test_updates_by_functions_of_numpy():
    def model(x):
        np.add.at(x, [0, 0, 1], 1)
        np.maximum.at(x, (2, slice(None)), 0)
        np.add(x, 1, out=x)
        np.copyto(x[0], 7)
        x.sort(axis=1)
        x[1].fill(3)
        return x

    expected = model(X.copy())
    np.testing.assert_allclose(cleave.trace(model, X, device="none")(X), expected, rtol=1e-6)


@pytest.mark.parametrize("function, words", [
    (lambda x: np.fft.fft(x), "complex numbers"), (lambda x: np.where(x > 0, x), "or a condition and two"),
    (lambda x: np.unique(x), "known only at run time"), (lambda x: np.linalg.eigvals(x), "eigh and eigvalsh"), (lambda x: np.gradient(x), "derivative"),
    (lambda x: np.spacing(x), "numpy.spacing cannot be traced"), (lambda x: np.apply_along_axis(np.sum, 0, x), "numpy.apply_along_axis cannot be traced"),
    (lambda x: np.sum(x, where=x > 0), "got an unexpected keyword argument 'where'; it takes"), (lambda x: np.add(x, 1, where=x > 0), "takes no `where`"),
    (lambda x: np.ones(4, np.float32).__iadd__(x[0]), "a = cleave.asarray"), (lambda x: f"{x.sum():.3f}", "no numbers to write"),
    (lambda x: cleave.linalg.svd(x), "full_matrices=False"), (lambda x: cleave.fft.fft(x[0]), "pairs in a last axis"), (lambda x: x[None].T, "x.transpose"),
    (lambda x: cleave.random.default_rng(), "takes a seed"),
])
def test_what_is_not_there_says_what_is(function, words):
    with pytest.raises((TypeError, ValueError), match=words):
        cleave.trace(function, "f32[3, 4]")


def test_fourier_transforms_are_pairs():
    x = RANDOM.normal(size=8).astype(np.float32)

    def model(x):
        spectrum = cleave.fft.rfft(x)
        return (spectrum, cleave.fft.irfft(spectrum), cleave.fft.magnitude(cleave.fft.fft(cleave.fft.pairs(x))), cleave.fft.fftshift(x), cleave.fft.rfftfreq(8),
                cleave.fft.rfft(x, n=5), cleave.fft(cleave.fft.pairs(x)))

    spectrum, back, magnitude, shifted, frequencies, cut, called = cleave.trace(model, x, device="none")(x)
    np.testing.assert_allclose(spectrum[:, 0] + 1j * spectrum[:, 1], np.fft.rfft(x), atol=1e-5)
    np.testing.assert_allclose(back, x, atol=1e-6)
    np.testing.assert_allclose(magnitude, np.abs(np.fft.fft(x)), atol=1e-5)
    np.testing.assert_array_equal(shifted, np.fft.fftshift(x))
    np.testing.assert_allclose(frequencies, np.fft.rfftfreq(8))
    np.testing.assert_allclose(cut[:, 0] + 1j * cut[:, 1], np.fft.rfft(x, 5), atol=1e-5)
    np.testing.assert_allclose(called[:, 0] + 1j * called[:, 1], np.fft.fft(x), atol=1e-5)


def test_random_numbers_of_a_generator():
    def model(x):
        rng = cleave.random.default_rng(7)
        again = cleave.random.default_rng(7)
        return (rng.normal(size=1000), rng.normal(2, 3, 1000), rng.uniform(size=1000), rng.integers(3, size=1000), rng.permutation(10), again.normal(size=1000),
                rng.normal(x, 0.0), rng.exponential(2.0, 1000), cleave.for_loop(3, cleave.zeros(3), lambda i, s: s.at[i].set(rng.random(step=i))))

    first, second, uniform, integers, order, again, around, waits, steps = cleave.trace(model, "f32[2]", device="none")(np.float32([1, 2]))
    assert abs(first.mean()) < 0.1 and abs(second.mean() - 2) < 0.4 and abs(second.std() - 3) < 0.3 and 0 <= uniform.min() and uniform.max() < 1
    assert sorted(order) == list(range(10)) and set(integers) == {0, 1, 2} and abs(waits.mean() - 2) < 0.3 and len(set(steps)) == 3
    np.testing.assert_array_equal(first, again)
    np.testing.assert_array_equal(around, [1, 2])
    assert not np.array_equal(first, second)

    def wrong(x):
        rng = cleave.random.default_rng(7)
        return cleave.for_loop(3, x, lambda i, s: s + rng.normal())

    with pytest.raises(TypeError, match="pass step=i"):
        cleave.trace(wrong, "f32[2]")


def test_functions_beside_numpys():
    x = np.float32([-100, -1, 0, 2])
    silu, softplus, leaky, elu = cleave.trace(lambda x: (cleave.silu(x), cleave.softplus(x), cleave.leaky_relu(x, 0.1), cleave.elu(x)), x, device="none")(x)
    wide = x.astype(np.float64)
    np.testing.assert_allclose(silu, wide / (1 + np.exp(-wide)), rtol=1e-5, atol=1e-30)
    np.testing.assert_allclose(softplus, np.logaddexp(wide, 0), rtol=1e-5, atol=1e-30)
    np.testing.assert_allclose(leaky, np.where(wide > 0, wide, 0.1 * wide), rtol=1e-6)
    np.testing.assert_allclose(elu, np.where(wide > 0, wide, np.expm1(np.minimum(wide, 0))), rtol=1e-5)


def test_types_of_the_namespace():
    assert cleave.result_type(np.int32, np.float32) == np.float32 and cleave.result_type(np.int8, np.uint8) == np.int16
    assert cleave.result_type(np.float16, 2.5) == np.float16 and cleave.result_type(np.int32, 2.5) == np.float32 and cleave.result_type(np.bool_, 1) == np.int32
    with pytest.raises(TypeError, match="holds both"):
        cleave.result_type(np.int8, np.uint64)
    assert cleave.can_cast(np.int8, np.int16) and not cleave.can_cast(np.int16, np.int8) and not cleave.can_cast(np.int32, np.float32)
    assert cleave.isdtype(np.float32, "real floating") and cleave.isdtype(np.uint8, ("bool", "integral")) and not cleave.isdtype(np.float32, "integral")
    assert cleave.finfo(np.float32).eps == np.finfo(np.float32).eps and cleave.iinfo("int8").max == 127
    assert cleave.float32 == np.float32 and cleave.newaxis is None and cleave.pi == np.pi
    info = cleave.__array_namespace_info__()
    assert info.default_dtypes()["integral"] == np.int32 and "float32" in info.dtypes(kind="real floating") and not info.capabilities()["boolean indexing"]


def test_types_promote_as_operations_do():
    names = ["bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16", "float32", "float64"]
    for a in names:
        for b in names:
            types = (np.zeros((), a), np.zeros((), b))
            if a == b == "bool":
                continue
            try:
                expected = cleave.trace(lambda x, y: cleave.where(x == y, x, y), *types).outputs["output0"].dtype
            except cleave.Error:
                with pytest.raises(TypeError):
                    cleave.result_type(a, b)
                continue
            assert cleave.Type(cleave.result_type(a, b)).dtype == expected, (a, b)
