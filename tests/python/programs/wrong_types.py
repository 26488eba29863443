"""Programs with a mistake in their types. The line of the expected error is marked, with a part of its message."""
import numpy as np


def a_scalar_becomes_an_array(x, n):
    s = 0.0
    for i in range(n):
        s = s + x  # error: `s`
    return s


def an_array_grows(x, n):
    print("before")
    y = x
    while y.sum() < 100:
        y = np.concatenate([y, x])  # error: `y`
    return y


def a_bool_becomes_an_integer(n):
    flag = n > 1
    for i in range(n):
        flag = flag + i  # error: `flag`
    return flag


def a_tuple_grows(x, n):
    p = (x,)
    for i in range(n):
        p = p + (x * i,)  # error: `p`
    return p


def a_tuple_becomes_an_array(x, n):
    p = (x, x)
    for i in range(n):
        p = x  # error: `p`
    return p


def a_dict_gets_a_key(x, n):
    d = {"a": x}
    for i in range(n):
        d["b"] = x * i  # error: `d`
    return d


def none_becomes_an_array(x, n):
    best = None
    for i in range(n):
        best = x * i  # error: `best`
    return best


def a_text_grows(x, n):
    s = "a"
    for i in range(n):
        s = s + "b"  # error: `s`
    return x


def f32_becomes_f64(x, d, n):
    y = x
    for i in range(n):
        y = y + d  # error: `y`
    return y


def arms_of_two_shapes(x, n):
    print("before")
    if n > 1:
        y = x
    else:
        y = x.sum()
    return y + 1  # error: `y`


def a_list_that_grows(x, n):
    print("before")
    out = []
    for i in range(n):
        out.append(x * i)  # error: append|grow
    return out


def a_list_that_is_extended(x, n):
    out = [x]
    while len(out) < 3 and n > 0:
        out += [x]  # error: `out`|grow
        n = n - 1
    return out


def a_list_that_shrinks(x, n):
    out = [x, x, x]
    for i in range(n):
        out.pop()  # error: pop|grow|`out`
    return out


def a_counter_as_the_index_of_a_list(x):
    print("before")
    ws = [x, x * 2, x * 3]
    s = 0.0
    for i in range(3):
        s = s + ws[i].sum()  # error: unrolled
    return s


def a_counter_as_a_key(x):
    d = {0: x, 1: x * 2}
    s = 0.0
    for i in range(2):
        s = s + d[i].sum()  # error: unrolled
    return s


def a_counter_in_a_key(x):
    d = {"w0": x, "w1": x * 2}
    s = 0.0
    for i in range(2):
        s = s + d[f"w{i}"].sum()  # error: text|format|key|unrolled
    return s


def a_counter_as_a_size(n):
    s = 0.0
    for i in range(n):
        s = s + np.ones(i, np.float32).sum()  # error: unrolled|number|known|tensor
    return s


def a_counter_as_an_axis(m):
    s = 0.0
    for i in range(2):
        s = s + m.sum(axis=i)[0]  # error: unrolled|known|number
    return s


def a_counter_repeats_a_list(x, n):
    s = 0
    for i in range(n):
        s = s + len([1] * i)  # error: unrolled|number|tensor|known
    return s


def a_counter_as_the_end_of_a_slice(x, n):
    s = 0.0
    for i in range(n):
        s = s + x[:i].sum()  # error: slice|shape|known
    return s


def a_number_of_the_program_as_a_size(x, n):
    return np.zeros(n)  # error: number|known|tensor


def a_shape_from_a_number_of_the_program(x, n):
    return x.reshape(n, 2)  # error: number|known|tensor


def shapes_that_do_not_fit(x, m):
    print("before")
    for i in range(3):
        x = x + m  # error: f32\[4\]
    return x


def product(a, b):
    return a @ b  # error: matmul|@


def a_mistake_in_a_function(x, m):
    return product(m, x)


def bits_of_a_float(x):
    print("before")
    return x & 1  # error: f32


def a_float_as_an_index(x, t):
    return x[t]  # error: integer|index


def a_fraction_as_an_index(x):
    return x[0.5]  # error: integer|index


def inverse_of_a_float(x):
    return ~x  # error: f32


def an_index_outside(x):
    return x[7]  # error: 7


def too_many_indices(x):
    return x[0, 1]  # error: ind


def a_store_outside(x):
    y = np.zeros(3, np.float32)
    y[3] = x[0]  # error: 3
    return y


def a_store_of_another_shape(x):
    y = np.zeros(3, np.float32)
    y[:] = x  # error: f32\[4\]|shape|broadcast
    return y


def a_ragged_list(x):
    print("before")
    return np.array([x, x[:2]])  # error: shape|ragged|length|f32


def a_ragged_stack(x):
    return np.stack([x, x[:2]])  # error: f32\[4\]|shape


def an_integer_too_large_for_i32(n):
    print("before")
    return n + 3_000_000_000  # error: 3000000000|i32


def a_state_too_large_for_i32(n):
    c = 2**40
    for i in range(n):  # error: 1099511627776|i32|`c`
        c = c + 1  # error: 1099511627776|i32|`c`
    return c


def an_array_and_a_large_integer(q):
    return q * 10**12  # error: 1000000000000|i32


def a_store_of_a_large_integer(q):
    p = np.zeros(4, np.int32)
    p[0] = 2**31  # error: 2147483648|i32
    return p + q


def complex_numbers(x):
    return x * 1j  # error: complex


def a_text_as_an_operand(x):
    return x + "one"  # error: str|text|unsupported


def none_as_an_operand(x):
    y = None
    return x + y  # error: None


def a_missing_attribute(x):
    return x.meann()  # error: meann


def a_missing_function_of_numpy(x):
    return np.meann(x)  # error: meann


def a_misspelled_name(x):
    return npp.sum(x)  # noqa: F821 # error: npp


def a_number_of_a_whole_array(x):
    return float(x)  # error: scalar|one element|f32\[4\]


def a_list_of_numbers(x):
    return x.tolist()  # error: tolist|numbers


def selection_by_a_mask(x):  # error: mask|run time
    return x[x > 0].shape[0]  # error: mask|run time


def unpacking_of_too_many(x):
    a, b, c = x  # error: unpack|values
    return a + b + c


def values_of_unknown_number(x):
    return np.unique(x)[0]  # error: how many
