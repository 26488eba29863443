"""Programs that write through a second name, or let a value of the program out. The line of the expected error is marked."""
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
    z[0] = 1.0  # error: `y`|`z`|two names|alias
    return y


def a_sum_in_place_under_two_names(x):
    y = x * 2
    z = y
    z += 1  # error: `y`|`z`|two names|alias
    return y


def assigned_to_two_names_at_once(x):
    a = b = np.zeros(4, np.float32)
    a[0] = x[0]  # error: `a`|`b`|two names|alias
    return b


def a_row_is_a_view(m):
    y = m * 2
    row = y[0]
    row[0] = 5.0  # error: view|part|`row`|`y`
    return y


def a_write_under_a_view(m):
    y = m * 2
    row = y[0]
    y[0, 0] = 5.0  # error: view|part|`row`|`y`
    return row


def a_write_under_a_reversed_view(x):
    y = x * 2
    back = y[::-1]
    y[0] = 5.0  # error: view|part|`back`|`y`
    return back


def a_write_under_a_reshaped_view(m):
    y = m * 2
    flat = y.reshape(6)
    flat[0] = 9.0  # error: view|part|`flat`|`y`
    return y


def a_write_under_a_transposed_view(m):
    y = m * 2
    back = y.T
    back[0, 0] = 9.0  # error: view|part|`back`|`y`
    return y


def a_tuple_holds_the_array(x):
    y = x * 2
    pair = (y, x)
    y[0] = 1.0  # error: `y`|`pair`|two names|alias
    return pair[0]


def a_list_holds_the_array(x):
    y = x * 2
    ws = [y]
    ws[0][1] = 1.0  # error: `y`|`ws`|two names|alias
    return y


def a_dict_holds_the_array(x):
    y = x * 2
    d = {"w": y}
    d["w"] += 1  # error: `y`|`d`|two names|alias
    return y


def an_object_holds_the_array(x):
    y = x * 2
    model = Model(y)
    model.w[0] = 1.0  # error: `y`|`model`|two names|alias
    return y


def fill(v):
    v[0] = 1.0  # error: `v`|argument|alias|two names
    return v.sum()


def a_function_writes_its_argument(x):
    y = x * 2
    s = fill(y)
    return y + s


def names_meet_in_a_branch(x, n):
    y = x * 2
    z = x * 3
    w = y if n > 1 else z
    w[0] = 1.0  # error: `w`|`y`|two names|alias
    return y, z


def names_meet_in_a_loop(x, n):
    y = x * 2
    last = x * 0
    for i in range(n):
        last = y
        y[0] += 1.0  # error: `last`|`y`|two names|alias
    return last


def a_write_into_a_global_array(x):
    print("before")
    GRID[0] = x[0]  # error: `GRID`|global|outside
    return x


def a_sum_into_a_global_array(x):
    GRID[:] += x  # error: `GRID`|global|outside
    return x


def a_value_leaves_by_a_list(x):
    print("before")
    SEEN.append(x.sum())  # error: `SEEN`|append|outside
    return x


def a_value_leaves_by_a_dict(x):
    CACHE["x"] = x * 2  # error: `CACHE`|outside|global
    return x


def a_value_leaves_by_an_object(x):
    SHARED.w = x * 2  # error: `SHARED`|outside|global
    return x


def a_value_leaves_by_setattr(x):
    setattr(SHARED, "w", x * 2)  # error: setattr|`SHARED`|outside
    return x


def a_write_into_a_tuple(x):
    p = (x, x)
    p[0] = x * 2  # error: tuple
    return p
