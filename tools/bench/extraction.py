#!/usr/bin/env python3
"""Measures how long `cleave.program` takes to make a program of a function of 200 lines, until it could be planned.

    pip install .
    tools/bench/extraction.py

The function has ten blocks of twenty lines: loops, nested loops, `break`, `continue`, branches, stores into arrays, f-strings and a nest.
`rewriting` is from the function to the code of its rewritten form: source, tree, steps, compilation. `recording` runs that code until the
program is complete. Every round starts from a new definition of the function, of which nothing is known. The figures are the shortest and
the median of the processor's milliseconds: other users of the machine make them longer, never shorter."""
import argparse
import linecache
import statistics
import time

import numpy as np

from cleave import program

BLOCK = '''\
    total@ = 0.0
    count@ = 0
    w@ = np.zeros(8, np.float32)
    for i in range(n):
        if x[i % 8] > total@:
            total@ = total@ + x[i % 8] * 0.5
            continue
        elif total@ > 100.0 and count@ > 3:
            break
        for j in range(4):
            w@[j] += x[j] * total@ + y[j + 1]
            if w@[j] > 10.0 or -5.0 < w@[j] < -4.0:
                w@[j] = 0.0
        count@ += 1
    pair@ = (total@, {"w": w@ / 2, "n": count@})
    while total@ > 1.0:
        total@ = total@ / 2 if count@ > 2 else total@ / 3
        print(f"block @: {total@:.3f} {count@}")
    y = np.where(y > total@, y - w@, y) + pair@[1]["w"] * pair@[0]
    x = x + y * 0.125
'''
BLOCKS = 10


def source_of_function():
    """The text of the function."""
    return "def long(n, x, y):\n" + "".join(BLOCK.replace("@", str(at)) for at in range(BLOCKS)) + "    return x, y\n"


def defined(source, number):
    """A new function of this text, at lines of its own."""
    source = "\n" * number + source
    name = f"<long function {number}>"
    linecache.cache[name] = (len(source), None, source.splitlines(True), name)
    names = {"np": np}
    exec(compile(source, name, "exec"), names)
    return names["long"]


def measured(source, number):
    """The milliseconds of the processor for the two parts, with a function that nothing is known of."""
    function = defined(source, number)
    model = program(function)
    begin = time.process_time()
    model._rewrite()
    middle = time.process_time()
    model._program_of({"n": "i32[]", "x": "f32[8]", "y": "f32[8]"}, None)
    return 1e3 * (middle - begin), 1e3 * (time.process_time() - middle)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=30)
    arguments = parser.parse_args()
    source = source_of_function()
    measured(source, 0)
    found = [measured(source, number + 1) for number in range(arguments.rounds)]
    print(f"a function of {len(source.splitlines())} lines\n\n| part | shortest, ms | median, ms |\n|---|--:|--:|")
    for name, values in (("rewriting", [a for a, _ in found]), ("recording", [b for _, b in found]), ("both", [a + b for a, b in found])):
        print(f"| {name} | {min(values):.1f} | {statistics.median(values):.1f} |")


if __name__ == "__main__":
    main()
