"""The functions that drawn functions call."""

#: Functions that the drawn functions call: host functions that leave an event, and Python functions that become part of the program.
PREAMBLE = '''\
import dataclasses

import numpy as np


@host
def probe_int(label, value) -> "i32[]":
    EVENTS.append((label, int(value)))
    return np.int32(value) + np.int32(1)


@host
def probe_num(label, value):
    EVENTS.append((label, float(value)))
    return np.float32(value) * np.float32(0.5)


@host
def probe_nums(label, values):
    EVENTS.append((label, values.tolist()))
    return values[::-1].copy()


@host
def note(label, *values):
    EVENTS.append((label, [np.asarray(value).tolist() for value in values]))


@dataclasses.dataclass
class Box:
    count: object
    level: object


def bound(v):
    if v > 64.0:
        return 64.0
    if v < -64.0:
        return -64.0
    return v // 0.25 * 0.25


def first_above(values, limit):
    for value in values:
        if value > limit:
            return value
    return -1.0


def mixed(a, b, times=2):
    """The counter's parity decides which one grows."""
    for k in range(times):
        if k % 2 == 1:
            a = (a + b) // 0.25 * 0.25 % 32.0
            continue
        b = b - 1.0
        if b < -20.0:
            break
    else:
        a = a + 0.5
    return a, b


'''
