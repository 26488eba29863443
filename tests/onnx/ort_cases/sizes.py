"""Cases of sizes that depend on data: what `Compress` and `NonZero` select, from nothing to everything, a data set for each number of elements.
One case for each kind of operator that follows such sizes; most have many outputs."""
import numpy as np
from onnx import helper, numpy_helper

from generate import Numbers, graph_case

EXTENT = 4  # of the axis of which some elements are selected
OPSETS = {"": 18}


def I(*numbers):
    return np.array(numbers, np.int64)


def scalar(number, dtype=np.int64):
    return np.array(number, dtype)


def node(op, inputs, outputs, **attributes):
    return helper.make_node(op, inputs.split(), outputs.split(), **attributes)


def selected(name, nodes, outputs, constants=None, counts=range(EXTENT + 1)):
    """`v` are the selected elements of x, `r` the selected rows of X, `ix` their numbers; `m` selects."""
    numbers = Numbers(name)
    x, rows = numbers.normal(EXTENT), numbers.normal(EXTENT, 3)
    order = numbers.generator.permutation(EXTENT)
    masks = [np.isin(np.arange(EXTENT), order[:count]) for count in counts]
    front = [node("Compress", "x m", "v", axis=0), node("Compress", "X m", "r", axis=0), node("NonZero", "m", "nz"),
             node("Squeeze", "nz front", "ix")]
    used = {name for each in nodes for name in each.input}
    chosen = front[2:] if "ix" in used else front[2:3] if "nz" in used else []
    chosen = [each for each in front[:2] if each.output[0] in used] + chosen
    read = used | {name for each in chosen for name in each.input}
    constants = {**({"front": I(0)} if "front" in read else {}), **(constants or {})}
    given = {key: value for key, value in {"x": x, "X": rows}.items() if key in read}
    case = graph_case(name, chosen + nodes, {**given, "m": masks[0]}, outputs.split(), constants, OPSETS)
    case.sets = [{**given, "m": mask} for mask in masks]
    return case


def cases():
    yield from reductions()
    yield from shapes()
    yield from places()
    yield from products()
    yield from loops()


def reductions():
    over = {"rows": I(0), "columns": I(1)}
    yield selected("reductions", [
        *(node(f"Reduce{op}", "r rows", op.lower(), keepdims=0) for op in ("Sum", "Mean", "Prod", "Max", "Min", "L2", "LogSumExp")),
        node("ReduceSum", "r columns", "each", keepdims=0), node("ReduceSum", "r rows", "kept", keepdims=1),
    ], "sum mean prod max min l2 logsumexp each kept", over)
    yield selected("lines", [
        node("Softmax", "r", "down", axis=0), node("Softmax", "r", "across", axis=1), node("LogSoftmax", "v", "log", axis=-1),
        node("CumSum", "v first", "running"), node("CumSum", "r first", "reverse", reverse=1, exclusive=1),
    ], "down across log running reverse", {"first": scalar(0)})
    yield selected("order", [
        node("ArgMax", "v", "place", axis=0, keepdims=0), node("TopK", "v two", "largest where", axis=0),
        node("TopK", "v two", "smallest there", axis=0, largest=0),
    ], "place largest where smallest there", {"two": I(2)}, range(2, EXTENT + 1))
    yield selected("as_many_as_there_are", [
        node("Shape", "v", "n"), node("Min", "n three", "k"), node("TopK", "v k", "y i", axis=0),
    ], "y i", {"three": I(3)})


def shapes():
    yield selected("shape", [
        node("Shape", "r", "shape"), node("Size", "r", "size"), node("Shape", "r", "n", start=0, end=1), node("Expand", "one n", "expanded"),
        node("ConstantOfShape", "shape", "zeros"), node("Add", "zeros r", "sums"), node("Range", "zero size step", "range"),
        node("Concat", "n rest", "to", axis=0), node("Reshape", "r to", "reshaped"), node("Reshape", "r flat", "line"),
        node("Reshape", "line pairs", "back"), node("Unsqueeze", "v column", "u"), node("Mul", "u r", "scaled"), node("Transpose", "r", "turned"),
    ], "shape size expanded sums range reshaped line back scaled turned",
        {"one": np.ones(1, np.float32), "zero": scalar(0), "step": scalar(2), "rest": I(1, 3), "flat": I(-1), "pairs": I(-1, 3), "column": I(1)})
    yield selected("joined", [
        node("Concat", "v x", "front", axis=0), node("Concat", "x v", "behind", axis=0), node("Not", "m", "others"),
        node("Compress", "x others", "w", axis=0), node("Concat", "v x w v", "all", axis=0), node("Concat", "r r", "wide", axis=1),
    ], "front behind all wide")
    yield selected("slices", [
        node("Slice", "v first two", "start"), node("Slice", "v less2 far", "end"), node("Slice", "v second less1", "middle"),
        node("Slice", "v first far first step", "other"), node("Slice", "v less1 min first back", "backward"),
        node("Shape", "v", "n"), node("Slice", "x first n", "as_many"), node("Slice", "x n far", "rest"),
    ], "start end middle other backward as_many rest",
        {"first": I(0), "second": I(1), "two": I(2), "less1": I(-1), "less2": I(-2), "far": I(99), "step": I(2), "min": I(-2**63), "back": I(-1)})


def places():
    yield selected("gathered", [
        node("Gather", "X ix", "rows"), node("Gather", "r columns", "two", axis=1), node("Transpose", "nz", "tuples"),
        node("GatherND", "X tuples", "again"), node("OneHot", "ix depth values", "hot"),
    ], "rows two again hot", {"columns": I(2, -1), "depth": I(EXTENT), "values": np.array([0, 1], np.float32)})
    yield selected("last", [node("Gather", "v last", "y"), node("Gather", "r both", "ends")], "y ends", {"last": scalar(-1), "both": I(0, -1)},
                   range(1, EXTENT + 1))
    yield selected("scattered", [
        node("Transpose", "nz", "tuples"), node("Neg", "v", "less"), node("ScatterND", "x tuples less", "put"),
        node("ScatterND", "X tuples r", "added", reduction="add"), node("ScatterElements", "x ix v", "doubled", axis=0, reduction="add"),
        node("Shape", "tuples", "shape"), node("Gather", "shape first", "n"), node("Unsqueeze", "n front", "n1"), node("Expand", "five n1", "fives"),
        node("ScatterND", "x tuples fives", "masked"),
    ], "put added doubled masked", {"first": scalar(0), "five": np.full(1, 5, np.float32)})
    yield selected("selected_twice", [
        node("Greater", "v zero", "g"), node("Compress", "r g", "rows", axis=0), node("NonZero", "g", "numbers"),
        node("Where", "g v zero", "positive"),
    ], "rows numbers positive", {"zero": scalar(0, np.float32)})


def products():
    yield selected("products", [
        node("MatMul", "r w", "rows"), node("Gemm", "r w b", "linear"), node("Transpose", "r", "t", perm=[1, 0]), node("MatMul", "r t", "outer"),
        node("MatMul", "t r", "gram"), node("MatMul", "t v", "vector"),
    ], "rows linear outer gram vector", {"w": Numbers("w").normal(3, 2), "b": Numbers("b").normal(2)})


def loops():
    """A state that grows in each of as many trips as elements are selected, and arms of different sizes."""
    def graph(nodes, inputs, outputs):
        untyped = [helper.make_empty_tensor_value_info(each) for each in outputs.split()]
        given = [helper.make_tensor_value_info(each, kind, shape) for each, kind, shape in inputs]
        return helper.make_graph(nodes, "inner", given, untyped)

    body = graph([node("Gather", "ids less1", "last", axis=0), node("Add", "last one", "next"), node("Concat", "ids next", "more", axis=0),
                  node("Identity", "go", "again")],
                 [("i", 7, []), ("go", 9, []), ("ids", 7, [None])], "again more")
    yield selected("growing", [node("Size", "v", "n"), node("Loop", "n yes start", "ids", body=body)], "ids",
                   {"less1": I(-1), "one": I(1), "start": I(7), "yes": scalar(True, bool)})
    few, all_ = graph([node("Identity", "v", "a")], [], "a"), graph([node("Identity", "x", "b")], [], "b")
    yield selected("arms", [node("ReduceSum", "v", "s", keepdims=0), node("Greater", "s zero", "c"), node("If", "c", "y", then_branch=few, else_branch=all_),
                            node("ReduceSum", "y", "sum", keepdims=0)], "y sum", {"zero": scalar(0, np.float32)})
