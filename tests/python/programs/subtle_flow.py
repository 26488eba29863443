"""Programs whose control flow is easily taken for another one. Each returns and prints what Python does, or has its error marked."""
import cleave
import numpy as np


@cleave.host
def probe(label, value) -> "i32[]":
    print(label, value)
    return np.int32(value + 1)


def the_counter_after_the_loop(x):
    for i in range(3):
        x = x + i
    return x, i


def the_counter_has_an_outer_name(n):
    i = 10
    for i in range(n):
        pass
    return i


def the_counter_is_assigned(n):
    s = 0
    for i in range(n):
        i = i * 10
        s = s + i
    return s, i  # error: `i`


def the_bound_is_changed_inside(n):
    s = 0
    for i in range(n):
        n = n + 1
        s = s + 1
    return s, n


def a_count_below_zero(x, n):
    for i in range(n - 10):
        x = x + 1
    return x


def a_count_backwards(n):
    s = 0
    for i in range(n, -3, -2):
        s = s * 3 + i
    return s


def the_else_of_a_loop_of_no_trip(n):
    s = 0
    for i in range(n - n):
        s = 1
    else:
        s = 2
    return s


def break_skips_else(n):
    s = 0
    for i in range(5):
        if i == n:
            break
        s = s + i
    else:
        s = -1
    return s


def continue_reaches_else(n):
    s = 0
    while n > 0:
        n = n - 1
        if n % 2 == 0:
            continue
        s = s + n
    else:
        s = s + 100
    return s


def break_of_the_inner_loop_only(n):
    s = 0
    for i in range(4):
        for j in range(4):
            if j > i:
                break
            s = s + 1
        s = s + 10
    return s + n


def return_from_two_loops(x, n):
    for i in range(4):
        for j in range(4):
            if i * j == n:
                return x * i, j
            print("at", i, j)
    return x, -1


def nothing_after_a_break(n):
    for i in range(5):
        print("start", i)
        if i == n:
            break
        print("end", i)
    print("over")
    return n


def a_condition_with_effects(n):
    k = 0
    while probe("test", k) < n:
        k = k + 1
    return k


def the_middle_of_a_chain_once(n):
    if 0 < probe("middle", n) < 10 and n < 100:
        print("in")
    return n


def the_chain_stops_early(n):
    return n > 100 and 5 < probe("never", n) < 9


def or_stops_early(n):
    return n < 100 or probe("never", n) > 0


def and_within_or(n):
    return (n > 100 and probe("a", n) > 0) or probe("b", n) > 0


def one_arm_of_a_conditional_expression(n):
    return probe("then", n) if n > 1 else probe("otherwise", n)


def nested_conditional_expressions(n):
    return probe("a", n) if n > 5 else probe("b", n) if n > 1 else probe("c", n)


def order_of_operands(n):
    return probe("left", n) - probe("right", n) * probe("last", n)


def order_of_arguments(n):
    return max(probe("first", n), probe("second", n + 1))


def order_within_a_tuple(n):
    a, b = probe("a", n), probe("b", n)
    return a, b


def a_walrus(n):
    k = 0
    while (k := k + 1) < 5:
        n = n + k
    return n, k


def a_walrus_in_a_condition(x):
    if (s := x.sum()) > 0:
        return s
    return -s


def while_true_with_return(n):
    k = 0
    while True:
        k = k + 1
        if k * k > n:
            return k


def while_true_with_two_exits(x, n):
    while True:
        n = n - 1
        if n < -2:
            break
        if x[0] > 2:
            return x
        x = x + 1
    return -x


def a_python_flag(x):
    verbose = False
    for i in range(3):
        if verbose:
            print("never")
        x = x + 1
    return x


def a_flag_that_changes(x):
    first = True
    for i in range(3):
        if first:
            first = False
        else:
            x = x + 1
    return x, first


def a_swap_in_a_loop(x, y):
    for i in range(3):
        x, y = y, x + y
    return x, y


def a_rotation_of_three(n):
    a, b, c = 1, 2, 3
    for i in range(n):
        a, b, c = c, a, b
    return a, b, c


def closures_see_later_values(x):
    k = 1

    def times(v):
        return v * k

    k = 3
    return times(x)


def a_closure_in_a_loop(x):
    def step(v, i):
        return v + i

    for i in range(3):
        x = step(x, i)
    return x


def a_default_is_bound_once(x):
    k = 2

    def scaled(v, k=k):
        return v * k

    k = 5
    return scaled(x) + k


def a_lambda(x):
    square = lambda v: v * v  # noqa: E731
    return square(x) + square(2)


def keyword_arguments(x):
    def line(a, *, slope=1, offset=0):
        return a * slope + offset

    return line(x, offset=3, slope=2)


def star_arguments(x, y):
    def total(*parts):
        s = 0.0
        for part in parts:
            s = s + part.sum()
        return s

    return total(x, y, x)


def a_function_with_early_returns(x):
    def sign(v):
        if v > 0:
            return 1
        if v < 0:
            return -1
        return 0

    return sign(x[0]), sign(x[1]), sign(x[0] * 0)


def a_function_that_prints(n):
    def told(k):
        print("told", k)
        return k + 1

    for i in range(2):
        n = told(n)
    return n


def unrolled_with_break(n):
    s = 0
    for k in (1, 2, 3, 4):
        if k > n:
            break
        s = s + k
    else:
        s = s + 100
    return s


def unrolled_with_continue(x):
    for name, k in {"a": 1, "b": -2, "c": 3}.items():
        if x[0] * k < 0:
            continue
        print(name)
        x = x + k
    return x


def unrolled_with_return(n):
    for k in [1, 2, 3, 4]:
        if k * k >= n:
            return k
    return -1


def loops_in_every_arm(x, n):
    if n > 1:
        for i in range(2):
            x = x + i
    else:
        while x[0] < 10:
            x = x * 2 + 1
    return x


def pass_and_ellipsis(x, n):
    if n > 1:
        pass
    else:
        ...
    return x


def a_string_of_branches(n):
    if n == 0:
        r = 0
    elif n == 1:
        r = 10
    elif n == 2:
        r = 20
    elif n == 3:
        r = 30
    else:
        r = 40
    return r


def an_empty_loop_body(n):
    for _ in range(n):
        pass
    return n


def reversed_range(n):
    s = 0
    for i in reversed(range(4)):
        s = s * 10 + i
    return s + n


def enumerate_of_an_array(x):
    s = 0.0
    for i, v in enumerate(x):
        s = s + i * v
    return s


def zip_of_arrays(x, y):
    s = 0.0
    for a, b in zip(x, y):
        s = s + a * b
    return s


def an_assertion_that_fails(n):
    print("before")
    assert n < 0, f"n is {n}"
    print("after")
    return n


def a_raise_in_a_loop(n):
    for i in range(5):
        print(i)
        if i == n:
            raise ValueError(f"stopped at {i}")
    return n
