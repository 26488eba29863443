"""Programs that write through a second name, or let a value of the program out.

The line of the expected error is marked, with a part of its message. A write under a second name is an error where the first name is read.
"""
import dataclasses

import numpy as np

GRID = np.zeros(4, np.float32)
SEEN = []
CACHE = {}


@dataclasses.dataclass
class Model:
    w: object


SHARED = Model(None)


def two_names_for_one_array(x):
    print("before")
    y = x * 2
    z = y
    z[0] = 7.0
    return y  # error: written


def two_names_and_a_branch(x, n):
    y = x * 2
    z = y
    if n > 1:
        z[0] = 7.0
    return y  # error: written


def two_names_and_a_loop(x, n):
    y = x * 2
    z = y
    for i in range(n):
        z[i] = 7.0
    return y  # error: written


def a_sum_in_place_under_two_names(x):
    y = x * 2
    z = y
    z += 1
    return y  # error: written


def a_sum_in_place_of_a_second_name_of_an_argument(x):
    z = x
    z += 1
    return x  # error: written|outside|argument|second name


def zeros_under_two_names(x):
    y = np.zeros(4, np.float32)
    z = y
    z[0] = x[0]
    return y  # error: written


def zeros_under_two_names_in_a_branch(x, n):
    y = np.zeros(4, np.float32)
    z = y
    if n > 1:
        z[0] = x[0]
    return y  # error: written


def zeros_under_two_names_in_a_loop(x, n):
    y = np.zeros(4, np.float32)
    z = y
    for i in range(n):
        z[i] = x[i]
    return y  # error: written


def assigned_to_two_names_at_once(x):
    a = b = np.zeros(4, np.float32)
    a[0] = x[0]
    return b  # error: written


def a_row_is_a_view(m):
    y = m * 2
    row = y[0]
    row[0] = 5.0
    return y  # error: written


def a_row_of_zeros_is_a_view(m):
    y = np.zeros((2, 3), np.float32)
    row = y[0]
    row[0] = m[0, 0]
    return y  # error: written


def a_write_under_a_view(m):
    y = m * 2
    row = y[0]
    y[0, 0] = 5.0
    return row  # error: written


def a_write_under_a_view_in_a_loop(m, n):
    y = m * 2
    row = y[0]
    for i in range(n):
        y[0, 0] += 5.0
    return row  # error: written


def a_write_under_a_reversed_view(x):
    y = x * 2
    back = y[::-1]
    y[0] = 5.0
    return back  # error: written


def a_write_under_a_reshaped_view(m):
    y = m * 2
    flat = y.reshape(6)
    flat[0] = 9.0
    return y  # error: written


def a_write_under_a_raveled_view(m):
    y = m * 2
    flat = np.ravel(y)
    flat[0] = 9.0
    return y  # error: written


def a_write_under_a_transposed_view(m):
    y = m * 2
    back = y.T
    back[0, 0] = 9.0
    return y  # error: written


def a_write_under_a_row_of_a_loop(m):
    y = m * 2
    for row in y:
        row[0] = 7.0
    return y  # error: written


def a_tuple_holds_the_array(x):
    y = x * 2
    pair = (y, x)
    y[0] = 7.0
    return pair[0]  # error: written


def a_list_holds_the_array(x):
    y = x * 2
    ws = [y]
    ws[0][1] = 7.0
    return y  # error: written


def a_dict_holds_the_array(x):
    y = x * 2
    d = {"w": y}
    d["w"] += 1
    return y  # error: written


def an_object_holds_the_array(x):
    y = x * 2
    model = Model(y)
    model.w[0] = 7.0
    return y  # error: written


def a_closure_holds_the_array(x):
    y = x * 2

    def total():
        return y.sum()  # error: written

    z = y
    z[0] = 100.0
    return total()


def fill(v):
    v[0] = 7.0
    return v.sum()


def a_function_writes_its_argument(x):
    y = x * 2
    s = fill(y)
    return y + s  # error: written


def a_function_writes_zeros(x):
    y = np.zeros(4, np.float32)
    s = fill(y)
    return y + s + x  # error: written


def names_meet_in_a_branch(x, n):
    y = x * 2
    z = x * 3
    w = y if n > 1 else z
    w[0] = 7.0
    return y, z  # error: written


def names_meet_in_an_arm(x, n):
    y = x * 2
    w = x * 3
    if n > 1:
        w = y
    w[0] = 7.0
    return y  # error: written


def names_meet_in_a_loop(x, n):
    y = x * 2
    last = x * 0
    for i in range(n):
        last = y
        y[0] += 7.0
    return last  # error: written


def names_meet_in_the_next_trip(x, n):
    y = x * 2
    z = x * 3
    for i in range(n):
        z[0] += 7.0
        z = y
    return y  # error: written


def a_write_into_a_global_array(x):
    print("before")
    GRID[0] = x[0]  # error: outside
    return x


def a_sum_into_a_global_array(x):
    GRID[:] += x  # error: outside
    return x


def a_global_array_under_a_local_name(x):
    grid = GRID
    grid[0] = x[0]  # error: outside
    return grid


def a_view_of_a_global_array(x):
    grid = GRID[1:]
    grid[0] = x[0]  # error: outside|second name|view
    return grid


def a_value_leaves_by_a_list(x):
    print("before")
    SEEN.append(x.sum())  # error: outside
    return x


def a_value_leaves_by_a_dict(x):
    CACHE["x"] = x * 2  # error: outside
    return x


def a_value_leaves_by_an_object(x):
    SHARED.w = x * 2  # error: outside
    return x


def a_value_leaves_by_setattr(x):
    setattr(SHARED, "w", x * 2)  # error: outside
    return x


def a_write_into_a_tuple(x):
    p = (x, x)
    p[0] = x * 2  # error: tuple
    return p
