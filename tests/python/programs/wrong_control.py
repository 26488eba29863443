"""Programs with a mistake in their control flow. The line of the expected error is marked, with a part of its message."""
import asyncio  # noqa: F401

import numpy as np


def bound_in_the_first_arm_only(x):
    print("before")
    if x.sum() > 0:
        y = x * 2
    return y + 1  # error: `y`


def bound_in_the_other_arm_only(x):
    if x.sum() > 0:
        print("positive")
    else:
        y = x * 2
    return y + 1  # error: `y`


def bound_in_one_of_three_arms(x, n):
    if n > 2:
        k = 1
    elif n > 1:
        print("no k")
    else:
        k = 2
    return x * k  # error: `k`


def bound_in_a_loop_that_may_not_run(x, n):
    print("before")
    for i in range(n):
        y = x * i
    return y  # error: `y`


def bound_in_a_while_loop_only(x):
    while x.sum() < 10:
        x = x + 1
        y = x * 2
    return y  # error: `y`


def the_counter_after_a_loop_that_may_not_run(x, n):
    for i in range(n):
        x = x + 1
    return x * i  # error: `i`


def bound_after_a_continue(x, n):
    s = 0.0
    for i in range(n):
        if i > 1:
            s = s + z  # error: `z`
            continue
        z = x[0]
    return s


def used_before_it_is_bound(x):
    print("before")
    z = y + 1  # error: `y`
    y = x
    return z + y


def a_branch_on_an_array(x):
    print("before")
    if x > 0:  # error: scalar|one element|truth
        return x
    return -x


def a_loop_on_an_array(x):
    while x > 0:  # error: scalar|one element|truth
        x = x - 1
    return x


def and_of_arrays(x, y):
    return x > 0 and y > 0  # error: scalar|one element|truth


def not_of_an_array(x):
    return not x  # error: scalar|one element|truth


def a_chain_on_an_array(x):
    return 0 < x < 2  # error: scalar|one element|truth


def a_conditional_expression_on_an_array(x):
    return 1.0 if x > 0 else 2.0  # error: scalar|one element|truth


def an_assertion_on_an_array(x):
    assert x > 0, "positive"  # error: scalar|one element|truth
    return x


def a_loop_over_a_scalar(n):
    print("before")
    s = 0
    for each in n:  # error: scalar|iterate|axis|range
        s = s + each
    return s


def a_range_of_a_float(x, t):
    for i in range(t):  # error: integer
        x = x + i
    return x


def a_range_of_an_array(x, q):
    for i in range(q):  # error: scalar|integer|index
        x = x + i
    return x


def a_step_of_zero(x, n):
    for i in range(0, n, 0):  # error: zero|step
        x = x + i
    return x


def try_around_work(x):
    print("before")
    try:  # error: `try`
        y = x / x.sum()
    except ZeroDivisionError:
        y = x
    return y


def finally_around_work(x):
    try:  # error: `try`
        y = x * 2
    finally:
        print("after")
    return y


def a_generator(x):
    yield x  # error: `yield`


def yield_from_a_list(x):
    yield from [x, x]  # error: `yield`


async def a_coroutine(x):  # error: async
    return x


def recursion(x, n):
    print("before")
    if n > 0:
        return recursion(x * 2, n - 1)  # error: recurs|calls itself
    return x


def even(x, n):
    return x if n <= 0 else odd(x, n - 1)


def odd(v, k):
    return -v if k <= 0 else even(v, k - 1)  # error: recurs|calls itself


TOTAL = 0.0


def a_global_store(x):
    global TOTAL  # error: `global`
    TOTAL = x.sum()
    return x


def a_nonlocal_store(x):
    s = 0.0

    def add(v):
        nonlocal s  # error: `nonlocal`
        s = s + v
        return s

    return add(x.sum()) + s


def del_of_a_name(x):
    y = x * 2
    del y  # error: `del`
    return x


def returns_of_two_shapes(x, n):
    print("before")
    if n > 1:
        return x
    return x.sum()  # error: returns?|type|f32


def returns_of_two_nests(x, n):
    for i in range(n):
        if i > 1:
            return x, x
    return x, x, x  # error: returns?|nest|value


def a_return_in_one_arm_only(x, n):  # error: returns?
    if n > 1:
        return x * 2


def a_return_of_another_kind(x, n):
    while n > 0:
        if n == 2:
            return n
        n = n - 1
    return x[0]  # error: returns?|type|i32


def texts_bound_in_two_arms(x, n):
    print("before")
    if n > 1:
        mode = "double"
    else:
        mode = "half"
    if mode == "double":  # error: `mode`
        return x * 2
    return x / 2


def functions_bound_in_two_arms(x, n):
    if n > 1:
        g = np.sin
    else:
        g = np.cos
    return g(x)  # error: `g`


def lists_of_two_lengths(x, n):
    ws = [x]
    if n > 1:
        ws = [x, x]
    return ws[0]  # error: `ws`


def a_match_on_a_tensor(x, n):
    match n:  # error: match
        case 1:
            return x
        case _:
            return -x


def stars_of_unknown_length(x, n):
    first, *rest = (x[i] for i in range(n))  # error: length|unknown|star|generator|range|comprehension
    return first + sum(rest)


def bound_in_one_arm_of_an_inner_branch(x, n):
    if n > 2:
        if n > 3:
            k = 1
    else:
        k = 2
    return x * k  # error: `k`


def bound_in_one_arm_and_carried(x, n):
    for i in range(n):
        if i > 1:
            k = i
        else:
            print("no k")
    return x * k  # error: `k`


def bound_in_a_loop_in_an_arm(x, n):
    if n > 1:
        for i in range(n):
            k = i
    else:
        k = 0
    return x * k  # error: `k`


def read_where_it_is_not_bound_yet(x, n):
    for i in range(n):
        if i > 0:
            x = x + k  # error: `k`
        if i > 1:
            k = 2
    return x
