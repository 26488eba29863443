"""Programs with a mistake in a call of the host. The line of the expected error is marked, with a part of its message."""
import math

import numpy as np

import cleave


@cleave.host
def nothing(x):
    pass


@cleave.host
def text(x):
    return "text"


@cleave.host
def complexes(x):
    return x * 1j


@cleave.host
def objects(x):
    return np.array([{}, {}], dtype=object)


@cleave.host
def pairs(x):
    return x, x[:2]


@cleave.host
def raising(x):
    raise RuntimeError("no plant")


@cleave.host_function("f32[3]")
def declared(x):
    return x[:3]


def no_result_is_used(x):
    return x + nothing(x)  # error: None|nothing


def a_text_is_used(x):
    return x + text(x)  # error: text


def complex_numbers_come_back(x):
    return complexes(x).real  # error: complex


def objects_come_back(x):
    return objects(x)[0]  # error: object


def results_that_are_unpacked_wrongly(x):
    a, b, c = pairs(x)  # error: unpack|values|2
    return a + b[0] + c


def a_declared_shape_does_not_fit(x):
    return x + declared(x)  # error: f32\[3\]


def the_first_call_raises(x):
    return x + raising(x)  # error: no plant


def too_few_arguments(x):
    return declared()  # error: argument


def an_unknown_argument(x):
    return np.sum(x, axes=0)  # error: axes


def an_axis_outside(x):
    return np.sum(x, axis=2)  # error: 2|axis


def a_helper(a, b):
    return a + b


def a_function_without_an_argument(x):
    return a_helper(x)  # error: argument


def no_function(x):
    return math.pi(x)  # error: callable


def an_array_for_a_c_function(x):
    return math.sin(x)  # error: sin|scalar|one element|size
