"""Programs whose values are easily taken for others. Each returns and prints what Python does, or has its error marked."""
import dataclasses

import numpy as np


@dataclasses.dataclass
class Pair:
    a: object
    b: object


class Counter:
    """An object with a state and methods."""

    def __init__(self, start):
        self.count = start
        self.total = 0.0

    def add(self, v):
        self.count += 1
        self.total = self.total + v
        return self

    @property
    def mean(self):
        return self.total / self.count


def an_object_in_a_loop(x):
    c = Counter(0)
    for i in range(4):
        c.add(x[i])
    return c.count, c.total, c.mean


def an_object_in_a_branch(x, n):
    c = Counter(n)
    if n > 1:
        c.add(x[0])
    return c.count, c.total


def two_names_for_one_object(x):
    c = Counter(0)
    d = c
    for i in range(2):
        c.add(x[i])
    return d.count, d.total


def a_dataclass_in_a_loop(x):
    p = Pair(x, 0)
    for i in range(3):
        p = Pair(p.a * 2, p.b + i)
    return p.a, p.b


def a_dict_in_a_loop(x):
    d = {"w": x, "n": 0}
    for i in range(3):
        d["w"] = d["w"] + 1
        d["n"] += i
    return d


def a_dict_under_two_names(x):
    d = {"w": x}
    e = d
    e["w"] = x * 2
    return d["w"]


def a_dict_under_two_names_in_a_loop(x):
    d = {"n": 0}
    e = d
    for i in range(3):
        e["n"] = e["n"] + 1
    return d["n"]


def a_list_under_two_names(x):
    a = [x, x * 2]
    b = a
    for i in range(2):
        b[0] = b[0] + 1
    return a[0]


def a_nest_of_nests(x):
    s = {"p": (x, [1, 2.0]), "q": {"r": x * 2}}
    for i in range(2):
        s["q"]["r"] = s["q"]["r"] + s["p"][1][0]
        s["p"][1][0] = s["p"][1][0] + 1
    return s


def a_list_built_before_the_loop(x):
    ws = []
    for k in (1, 2, 3):
        ws.append(x * k)
    for i in range(2):
        ws = [w + 1 for w in ws]
    return ws


def rows_after_each_other(m):
    s = m[0]
    for row in m:
        s = s * 2 + row
    return s


def a_store_after_a_read(x):
    y = x * 1
    first = y[0]
    y[0] = 7.0
    return first, y


def a_store_does_not_reach_a_copy(x):
    y = x * 2
    z = y.copy()
    for i in range(4):
        y[i] = i
    return y, z


def a_store_does_not_reach_a_sum(x):
    y = x * 2
    z = y + 0
    y[1] = 50.0
    return y, z


def stores_at_computed_places(x, n):
    y = x * 1
    for i in range(4):
        y[(i + n) % 4] += i
        y[-1] = y[-1] * 0.5
        y[i - 2] -= 1
    return y


def stores_of_slices(x, m):
    y = m * 1
    y[:, 1] = x[:2]
    y[0, ::2] += 1
    y[1] = y[0]
    y[:, -1] *= 2
    return y


def stores_by_masks(x):
    y = x * 1
    y[y < 0] = 0
    y[y > 1] += 2
    y[(y > 0) & (y < 1)] *= -1
    return y


def stores_by_lists(x):
    y = x * 1
    y[[0, 2]] = 9
    y[[1, 3]] += x[:2]
    return y


def a_store_of_a_float_in_integers(q):
    p = q * 1
    p[0] = 2.7
    p[1] = -2.7
    return p


def a_store_of_an_integer_in_floats(x, n):
    y = x * 1
    y[0] = n
    y[1] = True
    return y


def sums_in_place(x):
    y = x * 1
    for i in range(3):
        y += i
        y *= 2
    return y, x


def a_sum_in_place_of_an_argument_of_scalars(n, t):
    n += 1
    t *= 2
    return n, t


def floor_division_and_remainder(n):
    return (-7) // n, (-7) % n, 7 // -n, 7 % -n, divmod(-7, n)


def floor_division_of_floats(t):
    return -1.75 // t, -1.75 % t, 1.75 // -t, 1.75 % -t


def integer_division(n, q):
    return n / 2, q / 2, q // 2, 7 / 2


def powers(n, x, t):
    return n ** 2, 2 ** n, x ** 2, x ** 0, 2.0 ** x, abs(t) ** 0.5


def negative_powers(t):
    return t ** -1, t ** -2


def rounding(t):
    return round(t), round(t + 1), round(-t), int(-1.5 * t), int(t * 3)


def rounding_to_places(x):
    return np.round(x * 1.37, 1)


def booleans_are_numbers(x, n):
    big = n > 1
    return big + 1, big * 2.5, (x > 0) * 3, (x > 0).sum(), sum([n > 1, n > 2])


def min_and_max(n, t):
    return min(n, 2), max(n, 2, 7), min(t, 0.25), max([n, 5]), min(3, 4)


def sum_and_any(x):
    return sum(x), any([x[0] > 1, x[1] > 1]), all([x[0] > -9, x[1] > -9])


def abs_and_len(x, m, n):
    return abs(x), abs(-n), len(x), len(m), len((n, n))


def in_a_tuple(n):
    return n in (1, 2, 3), n not in (1, 2), n in [7]


def is_none(x, n):
    y = None
    if y is None:
        y = x
    return y, n is None


def isinstance_of_a_counter(x):
    s = 0
    for i in range(3):
        if isinstance(i, int):
            s = s + 1
        else:
            s = s + 100
    return s


def isinstance_of_an_array(x, t):
    return 1 if isinstance(x, np.ndarray) else 2


def the_kind_of_a_number(t):
    return 1 if isinstance(t, (float, np.floating)) else 2


def sorted_numbers(n):
    a = sorted([n, 2, 9])
    return a[0], a[2]


def a_formatted_text(n, t, x):
    print(f"{n:>5}|{n:05d}|{t:.3e}|{t!r:>20}" if False else f"{n:>5}|{n:05d}|{t:.3e}")
    print("%d %.2f" % (n, t))
    print("{} {:.1f} {name}".format(n, t, name=n + 1))
    print(str(n) + "!", n, t, sep=", ", end=".\n")
    print(x, x.shape, x[0] > 0, x.sum())
    return n


def a_text_in_a_loop(n):
    for i in range(3):
        print(f"step {i + 1}/{n}: {i * 0.5:.2f} {i == 1}", end="; ")
    print()
    return n


def a_print_of_python_values(n):
    names = ["a", "b"]
    print(names, {"k": 1}, None, 2.5)
    return n


def shapes_are_python_numbers(m):
    rows, columns = m.shape
    s = 0.0
    for i in range(rows):
        for j in range(columns):
            s = s + m[i, j] * (i * columns + j)
    return s, m.size, m.ndim


def a_size_from_a_shape(m):
    return np.zeros(m.shape[0], np.float32), np.ones_like(m), np.full(m.shape, 2.5, np.float32)


def a_comprehension_over_a_range(x):
    return sum([x[i] * (i + 1) for i in range(4)])


def a_generator_expression(x):
    return sum(x[i] * k for i, k in enumerate((3, 1, 2, 4)))


def a_dict_comprehension(x):
    d = {k: x * v for k, v in (("a", 1), ("b", 2))}
    return d["a"] + d["b"]


def a_comprehension_with_a_condition(x):
    return sum([x[k] for k in (0, 1, 2, 3) if k % 2])


def unpacking_of_an_array(m):
    a, b = m
    return a - b


def nested_unpacking(x, n):
    (a, b), c = (x, n), 3
    return a * b + c


def a_scalar_array_in_a_branch(x):
    s = np.sum(x)
    return np.sqrt(s) if s > 0 else -s


def a_large_sum(n):
    s = 0
    for i in range(1000):
        s = s + i * n
    return s


def a_product_that_wraps(n):
    s = 1
    for i in range(40):
        s = s * n
    return s


def a_shift_that_wraps(n):
    return (n + 40) << 30


def a_constant_array_stays(x):
    table = np.array([1, 2, 3, 4], np.float32)
    for i in range(4):
        x = x + table[i]
    return x


def a_constant_array_is_written(x):
    table = np.zeros(4, np.float32)
    for i in range(4):
        table[i] = x[i] * i
    return table


def zeros_of_f64(d):
    y = np.zeros(4)
    for i in range(4):
        y[i] = d[i] * 2
    return y


def a_result_that_is_an_argument(x, n):
    return x, n


def a_result_given_twice(x):
    y = x + 1
    return y, y


def results_in_a_dict(x, n):
    return {"x": x, "n": n, "both": (x, n), "name": None}


def no_result(n):
    print("n", n)


def python_results(x):
    return 3, 2.5, True, x


def an_integer_becomes_a_float(x, n):
    c = 0
    for i in range(n):
        c = c + 0.5
    return c


def arms_of_two_kinds(x, n):
    if n > 1:
        y = 1
    else:
        y = 0.5
    return x * y
