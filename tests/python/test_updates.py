"""Assignments to tensors: `x[i] = v`, `x += v`, `x.at[i].set(v)`. NumPy is the oracle."""
import inspect
import random

import numpy as np
import pytest

import cleave

X = np.arange(24, dtype=np.float32).reshape(2, 3, 4)


def on_both(function, *arrays):
    """A function of arrays, traced and by NumPy; both get copies, and both results are compared."""
    traced = cleave.trace(function, *arrays, device="none")(*arrays)
    expected = function(*[np.array(array) for array in arrays])
    for one, other in zip(traced if isinstance(traced, tuple) else (traced,), expected if isinstance(expected, tuple) else (expected,)):
        np.testing.assert_array_equal(one, other)
        assert np.asarray(one).dtype == np.asarray(other).dtype


def changed(change):
    """A function that changes its first argument and returns it."""
    def alone(x):
        change(x)
        return x

    def with_another(x, other):
        change(x, other)
        return x

    return alone if len(inspect.signature(change).parameters) == 1 else with_another


def random_index(draw, shape):
    """An index of an array of that shape, of every kind that NumPy has."""
    parts = []
    lists = draw.choice([0, 0, 1, 2])
    together = draw.choice([(), (2,), (3, 2)])
    axes = draw.randint(0, len(shape))
    for axis in range(axes):
        extent = shape[axis]
        kind = draw.choice(["int", "slice", "slice", "list" if lists else "slice", "new"])
        if kind == "int":
            parts.append(draw.randrange(-extent, extent))
        elif kind == "list":
            lists -= 1
            parts.append(np.random.default_rng(draw.randrange(1000)).integers(-extent, extent, together))
        else:
            parts.append(slice(draw.choice([None, *range(-extent, extent)]), draw.choice([None, *range(-extent, extent + 2)]),
                               draw.choice([None, 1, 2, -1, -2])))
        if kind == "new":
            parts.append(None)
    if draw.random() < 0.2:
        parts.insert(draw.randint(0, len(parts)), Ellipsis)
    return tuple(parts)


@pytest.mark.parametrize("seed", range(60))
def test_random_updates_are_numpys(seed):
    draw = random.Random(seed)
    shape = draw.choice([(5,), (3, 4), (2, 3, 4)])
    x = np.random.default_rng(seed).integers(0, 50, shape).astype(draw.choice(["float32", "int32", "int64", "float64"]))
    for _ in range(6):
        index = random_index(draw, shape)
        value = np.random.default_rng(seed).integers(100, 200, draw.choice([x[index].shape, x[index].shape[1:], ()])).astype(x.dtype)
        np.testing.assert_array_equal(cleave.trace(lambda x: cleave.asarray(x[index]), x, device="none")(x), x[index], err_msg=str(index))
        on_both(changed(lambda x, v: x.__setitem__(index, v)), x, value)
        # Each position is in NumPy's `+=` once, and in `at` as often as it is named.
        expected = x.copy()
        np.add.at(expected, index, np.broadcast_to(value, x[index].shape).copy())
        np.testing.assert_array_equal(cleave.trace(lambda x, v: x.at[index].add(v), x, value, device="none")(x, value), expected, err_msg=str(index))


@pytest.mark.parametrize("change", [
    lambda x: x.__setitem__(0, 5), lambda x: x.__setitem__((0, 1), [1, 2, 3, 4]), lambda x: x.__setitem__((..., -1), 0.5),
    lambda x: x.__setitem__(slice(None), 7), lambda x: x.__setitem__((slice(None), [0, 2]), -1), lambda x: x.__setitem__(x > 4, 0),
    lambda x: x.__setitem__((0, x[0] > 4), 0), lambda x: x.__setitem__((slice(None), x[0, :, 0] > 2), [[9, 8, 7, 6]]),
    lambda x: x.__setitem__(np.arange(24).reshape(2, 3, 4) % 3 == 0, 0), lambda x: x.__setitem__(slice(1, None), x[:-1]),
    lambda x: x.__setitem__((slice(None, None, -1), 1), x[:, 0]), lambda x: x.__setitem__((0, slice(0, 3, 2), [1, 3]), [[1], [2]]),
], ids=lambda f: inspect.getsource(f).strip()[:1])
def test_assignments_are_numpys(change):
    on_both(changed(change), X)


def test_assignments_in_place_are_numpys():
    def rows(x):
        x[0] += 1
        x[1, 2] *= 3
        x[:, 1, ::2] -= x[:, 0, ::2]
        x[x > 10] /= 2
        x[[0, 0], 1] += 100  # once, as in NumPy
        x += 1
        return x

    on_both(rows, X)


def test_views_are_written_through_and_follow():
    def views(x):
        first, flat, turned = x[0], x.reshape(-1), x.transpose(2, 0, 1)
        first[1] = -1
        flat[-1] = 50
        turned[0, 0, 0] = 70
        x[0, 2] = 9
        for row in x[1]:
            row[0] = 3
        x[1][2][3] = 12
        alias = x
        alias += 1
        copy = x.copy()
        copy[:] = 0
        return x, first, flat, turned, x.sum()

    on_both(views, X)


def test_read_only_views_are_not_assigned_to():
    for view in (lambda x: np.diagonal(x), lambda x: np.broadcast_to(x, (2, 4, 4))):
        with pytest.raises(ValueError, match="read-only"):
            cleave.trace(changed(lambda x: view(x).__setitem__(0, 1)), np.ones((4, 4), np.float32))


def test_indices_and_values_may_be_traced():
    def model(x, i, v, positions, mask):
        x[i] = v
        x[:, i, i + 1] = 1
        x[-i] *= 2
        x[:, 0, i:i + 2] = v[:2]
        x[0, :, positions] += 100
        x[1, mask] = -1
        return x

    on_both(model, X, np.int32(1), np.float32([5, 6, 7, 8]), np.int32([3, 0]), np.array([True, False, True]))


def test_slices_may_begin_anywhere():
    def model(x, i):
        return x[i:i + 2], x[2 * i:2 * (i + 1), None], x[i - 1:i + 1]

    on_both(model, np.arange(10, dtype=np.float32), np.int32(3))
    for wrong in (lambda x, i: x[i:], lambda x, i: x[:i], lambda x, i: x[i:i + 4:2], lambda x, i: x[i:2 * i]):
        with pytest.raises(IndexError, match="how long a slice is"):
            cleave.trace(wrong, np.ones(5, np.float32), np.int32(1))
    with pytest.raises(cleave.Error, match="longer than its axis"):
        cleave.trace(lambda x, i: x[i:i + 9], np.ones(5, np.float32), np.int32(1))


def test_at_leaves_the_tensor_as_it_was():
    def model(x):
        return (x.at[0].set(5), x.at[[0, 0]].add(1), x.at[1].multiply(2), x.at[..., 0].min(3), x.at[:, [1]].max(5), x.at[0].subtract(1),
                x.at[1].divide(2), x.at[x > 5].add(1), x.at[0].get(), x)

    results = cleave.trace(model, X, device="none")(X)
    expected = [X.copy() for _ in range(8)]
    expected[0][0] = 5
    expected[1][0] += 2
    expected[2][1] *= 2
    expected[3][..., 0] = np.minimum(X[..., 0], 3)
    expected[4][:, [1]] = np.maximum(X[:, [1]], 5)
    expected[5][0] -= 1
    expected[6][1] /= 2
    expected[7][X > 5] += 1
    for one, other in zip(results, [*expected, X[0], X]):
        np.testing.assert_array_equal(one, other)


def test_loops_assign_to_their_state():
    def model(x):
        def body(i, out, x):
            out[i] = x[-1 - i]
            out[i, 0] += i
            return out, x

        return cleave.for_loop(3, (cleave.zeros((3, 4)), x), body)[0]

    expected = X[0][::-1].copy()
    expected[:, 0] += [0, 1, 2]
    np.testing.assert_array_equal(cleave.trace(model, X[0], device="none")(X[0]), expected)


def test_a_tensor_from_outside_of_a_loop_is_not_assigned_to():
    def loop(x):
        def body(i, s):
            x[i] = 0
            return s + x.sum()

        return cleave.for_loop(2, 0.0, body)

    def arm(x):
        def then():
            x[0] = 0
            return x

        return cleave.cond(x.sum() > 0, then, lambda: x)

    for function in (loop, arm):
        with pytest.raises(cleave.Error, match="`x` from outside of a loop or branch is assigned to inside of it") as raised:
            cleave.trace(function, "f32[4]")
        assert raised.value.line is not None


def test_values_that_do_not_fit_are_errors_at_their_line():
    cases = [(lambda x: x.__setitem__(0, 300), np.uint8, "does not fit in u8"), (lambda x: x.__setitem__(0, 2.5), np.int32, "2.5"),
             (lambda x: x.__setitem__(0, cleave.ones(())), np.int32, "a value of type f32"), (lambda x: x.__iadd__(0.5), np.int32, "a value of type f32"),
             (lambda x: x.__setitem__(slice(0, 2), [1, 2, 3]), np.float32, r"a value of shape \[3\] is assigned to elements of shape \[2\]"),
             (lambda x: x.__setitem__(9, 1), np.float32, "index 9 is outside axis 0"),
             (lambda x: x.__setitem__([0, 9], 1), np.float32, "index 9 is outside axis 0"),
             (lambda x: x.__setitem__(x[:2] > 0, 1), np.float32, "a mask of shape"),
             (lambda x: x.at[0].divide(2), np.int32, "divided in place"),
             (lambda x: x.__setitem__(([0, 1], [0, 1, 2]), 1), np.float32, "indices for 1 axis")]
    for number, (change, dtype, words) in enumerate(cases):
        with pytest.raises((cleave.Error, TypeError), match=words):
            cleave.trace(changed(change), np.zeros(4, dtype))
            pytest.fail(f"case {number} is accepted")


def test_positions_out_of_range_are_errors_of_the_run():
    model = cleave.trace(changed(lambda x, i: x.__setitem__(i, 0)), "f32[4]", "i32[]", device="none")
    with pytest.raises(cleave.UserError, match="from the start 4"):
        model(np.zeros(4, np.float32), 4)
    model = cleave.trace(changed(lambda x, i: x.__setitem__(i, 0)), "f32[4]", "i32[2]", device="none")
    with pytest.raises(cleave.UserError, match="the index 4 is outside"):
        model(np.zeros(4, np.float32), [0, 4])


def test_what_a_mask_chooses_has_sums_and_no_shape():
    def model(x):
        chosen = x[x > 5]
        return chosen.sum(), chosen.mean(), chosen.size, np.sqrt(chosen).sum(), (chosen * 2 + 1).sum(), chosen.any(), chosen.all()

    chosen = X[X > 5]
    expected = [chosen.sum(), chosen.mean(), chosen.size, np.sqrt(chosen).sum(), (chosen * 2 + 1).sum(), True, True]
    np.testing.assert_allclose(cleave.trace(model, X, device="none")(X), expected, rtol=1e-6)
    for wrong in (lambda x: x[x > 5].shape, lambda x: x[x > 5][0], lambda x: x[x > 5] + x, lambda x: x[x > 5] + x[x > 6]):
        with pytest.raises(IndexError, match="known only at run time"):
            cleave.trace(wrong, X)
    for wrong in (lambda x: len(x[x > 5]), lambda x: list(x[x > 5])):
        with pytest.raises(TypeError, match="known only at run time"):
            cleave.trace(wrong, X)


@pytest.mark.parametrize("function", [
    lambda x: x[x > 5], lambda x: x[x > 50], lambda x: x[x[:, 0] > 3], lambda x: x[:, x[0] > 1], lambda x: x[1, x[1] > 5], lambda x: x[x > 5].max(),
    lambda x: np.sort(x[x > 5]), lambda x: np.sqrt(x[x > 5]) * 2, lambda x: np.cumsum(x[x > 5]), lambda x: np.max(x[x > 5]),
    lambda x: x[x > 5] @ x[x > 5], lambda x: x[x[:, 1] > 3].sum(axis=0), lambda x: np.nonzero(x > 4), lambda x: (x - 5).nonzero(),
    lambda x: np.where(x > 7), lambda x: np.flatnonzero(x > 7), lambda x: np.argwhere(x > 7), lambda x: np.extract(x > 5, x),
    lambda x: np.compress(x[0] > 1, x, axis=1), lambda x: np.compress(x[0] > 1, x)])
def test_what_a_mask_chooses_has_the_size_of_the_run(function):
    x = np.arange(12, dtype=np.float32).reshape(3, 4)
    model = cleave.trace(function, x, device="none")
    for given in (x, x + 3, x * 0 + 8):  # other numbers of elements, all of them too
        expected, got = function(given.copy()), model(given)
        for a, b in zip(expected, got) if isinstance(expected, tuple) else [(expected, got)]:
            assert np.shape(a) == np.shape(b)
            np.testing.assert_allclose(b, a, rtol=1e-6)


def test_more_than_the_size_is_an_error_at_the_call():
    def model(x):
        return cleave.compress(x > 0, x, size=2)  # line of the error

    traced = cleave.trace(model, "f32[4]", device="none")
    np.testing.assert_array_equal(traced(np.array([0, 1, 0, 2], np.float32)), [1, 2])
    with pytest.raises(cleave.UserError, match="there are 3 elements where the condition holds, and `size` makes room for 2") as raised:
        traced(np.array([3, 1, 0, 2], np.float32))
    assert f"test_updates.py:{model.__code__.co_firstlineno + 1}" in str(raised.value)


def test_gradients_go_through_updates():
    def model(x, v):
        def loss(parts):
            x, v = parts
            x[1:3] = v
            x[[0, 3]] *= 3
            return (x * x).sum()

        return cleave.value_and_gradient(loss)((x, v))[1]

    x, v = np.float32([1, 2, 3, 4]), np.float32([5, 6])
    dx, dv = cleave.trace(model, x, v, device="none")(x, v)
    np.testing.assert_allclose(dx, [18, 0, 0, 72])
    np.testing.assert_allclose(dv, [10, 12])
