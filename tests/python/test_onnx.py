"""ONNX models: open sizes, constants, and messages that name nodes."""
import json
import subprocess
import sys

import numpy as np
import pytest

import cleave

onnx = pytest.importorskip("onnx")


@pytest.fixture
def onnx_file(tmp_path):
    """Writes an ONNX model of some nodes and returns its path."""

    def write(nodes, inputs, outputs, name="model.onnx", values=None):
        kinds = {"f": onnx.TensorProto.FLOAT, "i": onnx.TensorProto.INT64}

        def infos(described):
            return [onnx.helper.make_tensor_value_info(key, kinds[kind], shape) for key, (kind, shape) in described.items()]

        made = [onnx.helper.make_node(*node[:3], **(node[3] if len(node) > 3 else {})) for node in nodes]
        graph = onnx.helper.make_graph(made, "main", infos(inputs), infos(outputs), value_info=infos(values or {}))
        model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 18)], ir_version=10)
        onnx.save(model, tmp_path / name)
        return tmp_path / name

    return write


def test_open_sizes_are_those_of_the_arrays(onnx_file):
    path = onnx_file([("Relu", ["x"], ["y"])], {"x": ("f", ["batch", 3, None])}, {"y": ("f", None)})
    model = cleave.load(path, device="none")
    assert model.name == "model"
    assert model.inputs == {"x": "f32[batch, 3, ?]"}
    for shape in ((2, 3, 4), (1, 3, 1)):
        x = np.random.default_rng(1).standard_normal(shape).astype(np.float32)
        np.testing.assert_array_equal(model.run({"x": x})["y"], np.maximum(x, 0))
        assert model.outputs == {"y": f"f32[{', '.join(map(str, shape))}]"}
    with pytest.raises(cleave.UsageError, match='give arrays, or dims={"batch": …}'):
        cleave.load(path).explain()
    with pytest.raises(cleave.UsageError, match=r"f32\[2, 5, 4\] is given"):
        model.run(x=np.zeros((2, 5, 4), np.float32))
    assert "relu" in str(model.explain({"x": "f32[8, 3, 2]"}))


def test_sizes_are_given_when_it_is_read(onnx_file):
    path = onnx_file([("Relu", ["x"], ["y"])], {"x": ("f", ["batch", 3, None])}, {"y": ("f", None)})
    model = cleave.load(path, dims={"batch": 2}, shapes={"x": (None, None, 5)}, device="none")
    assert model.inputs == {"x": "f32[2, 3, 5]"}
    assert model(np.ones((2, 3, 5), np.float32)).shape == (2, 3, 5)


def test_constants_decide_shapes(onnx_file):
    path = onnx_file([("Reshape", ["x", "shape"], ["y"])], {"x": ("f", [2, 3]), "shape": ("i", [2])}, {"y": ("f", None)})
    for shape in (np.array([3, 2]), "[3, 2]"):
        model = cleave.load(path, constants={"shape": shape}, device="none")
        assert model.inputs == {"x": "f32[2, 3]"}
        assert model(np.ones((2, 3), np.float32)).shape == (3, 2)


def test_a_state_goes_from_run_to_run(onnx_file):
    nodes = [("Add", ["past", "x"], ["present"]), ("ReduceSum", ["present"], ["y"], {"keepdims": 0})]
    path = onnx_file(nodes, {"past": ("f", ["n"]), "x": ("f", ["n"])}, {"present": ("f", None), "y": ("f", None)})
    model = cleave.load(path, states={"past": "present"}, device="none")
    x = np.float32([1, 2])
    assert {name: value.tolist() for name, value in model.run(x=x, past=[0, 0]).items()} == {"y": 3}
    model.state("past")[:] = 9  # the returned array is a copy of the state
    assert model.run(x=x)["y"] == 6
    assert model(x=x).tolist() == 9
    assert model.state("past").tolist() == [3, 6]
    assert model.run(x=x, past=[5, 5])["y"] == 13
    assert [run.result()["y"] for run in [model.submit(x=x) for _ in range(3)]] == [16, 19, 22]
    with pytest.raises(cleave.Error, match="no state `pats`"):
        model.state("pats")
    model.reset()
    with pytest.raises(cleave.Error, match="past"):
        model.run(x=x)
    with pytest.raises(cleave.UsageError, match="no input `pats`"):
        cleave.load(path, states={"pats": "present"})
    with pytest.raises(cleave.Error, match="no output `presents`"):
        cleave.load(path, states={"past": "presents"}, device="none").run(x=x, past=[0, 0])


def test_a_state_stays_on_its_device(onnx_file):
    nodes = [("MatMul", ["past", "x"], ["present"]), ("ReduceSum", ["present"], ["y"], {"keepdims": 0})]
    path = onnx_file(nodes, {"past": ("f", [256, 256]), "x": ("f", [256, 256])}, {"present": ("f", None), "y": ("f", None)})
    moved = [cleave.load(path, states=states).explain(placement="accelerator").totals["bytes_per_run"] for states in ({}, {"past": "present"})]
    assert moved == [3 * 256 * 256 * 4 + 4, 256 * 256 * 4 + 4]  # past, x, present, y; with states x and y alone


def test_a_state_moves_with_the_options(onnx_file):
    nodes = [("Add", ["past", "x"], ["present"])]
    path = onnx_file(nodes, {"past": ("f", [2]), "x": ("f", [2])}, {"present": ("f", None)})
    model = cleave.load(path, states={"past": "present"}, device="none")
    model.run(x=[1, 2], past=[0, 0])
    model.run(x=[1, 2], device="simulated", placement="accelerator")
    assert model.state("past").tolist() == [2, 4]
    model.run(x=[1, 2])
    assert model.state("past").tolist() == [3, 6]


def test_a_state_may_grow(onnx_file):
    nodes = [("Concat", ["past", "x"], ["present"], {"axis": 0})]
    path = onnx_file(nodes, {"past": ("f", ["n"]), "x": ("f", [1])}, {"present": ("f", None)})
    model = cleave.load(path, states={"past": "present"}, device="none")
    assert model.run(past=[1], x=[2]) == {}
    assert model.state("past").tolist() == [1, 2]
    model.run(x=[3])
    model.run(x=[4])
    assert model.state("past").tolist() == [1, 2, 3, 4]
    with pytest.raises(cleave.UsageError, match=r"run\(\) carries it"):
        model.submit(x=[5])


def test_a_state_that_has_grown_stays(onnx_file):
    nodes = [("Concat", ["past", "x"], ["all"], {"axis": 0}), ("Constant", [], ["from"], {"value_ints": [-3]}),
             ("Constant", [], ["to"], {"value_ints": [1 << 40]}), ("Slice", ["all", "from", "to"], ["present"]),
             ("ReduceSum", ["present"], ["y"], {"keepdims": 0})]
    path = onnx_file(nodes, {"past": ("f", ["n"]), "x": ("f", [1])}, {"present": ("f", None), "y": ("f", None)})
    model = cleave.load(path, states={"past": "present"}, device="none")
    window = [0.0]
    for i in range(1, 9):
        window = [*window, float(i)][-3:]  # grows for two runs, and keeps its type from then on
        assert model.run(x=[i], **({"past": [0]} if i == 1 else {}))["y"] == sum(window)
        assert model.state("past").tolist() == window
    assert model.submit(x=[9]).result()["y"] == 7 + 8 + 9
    assert model.run(x=[1], past=[5])["y"] == 6  # starts again with a small state
    assert [float(model.run(x=[i])["y"]) for i in (2, 3, 4)] == [8, 6, 9]


def test_a_state_is_no_array_of_the_callers(onnx_file):
    nodes = [("Concat", ["past", "x"], ["present"], {"axis": 0})]
    path = onnx_file(nodes, {"past": ("f", ["n"]), "x": ("f", [1])}, {"present": ("f", None)})
    model = cleave.load(path, states={"past": "present"}, device="none")
    out = np.zeros(2, np.float32)
    model.run(past=[1], x=[2], out={"present": out})
    out[:] = 9
    model.run(x=[3])
    assert model.state("past").tolist() == [1, 2, 3]
    path = onnx_file([("Identity", ["x"], ["present"]), ("Add", ["past", "past"], ["y"])], {"past": ("f", ["n"]), "x": ("f", ["m"])},
                     {"present": ("f", None), "y": ("f", None)})
    for first in ([0], [0, 0]):  # with another type than the next value, and with the same type
        model = cleave.load(path, states={"past": "present"}, device="none")
        x = np.float32([1, 2])
        model.run(past=first, x=x)
        x[:] = 9
        assert model.run(x=x)["y"].tolist() == [2, 4]


def test_a_submitted_run_that_fails_moves_no_state(model_file):
    model = cleave.load(model_file("""
        cleave: 1
        inputs: {x: "f32[]"}
        parameters: {total: {type: "f32[]", value: 1}}
        program:
          - i: x
          - while: i < 0
            do: [{i: i * 1}]
          - total: total + x
          - y: total + i
        outputs: [y]
        resident: [total]
    """), device="none")
    assert model.run(x=1)["y"] == 3
    run = model.submit(x=-1, threads=1)  # another program, which does not end
    run.cancel()
    with pytest.raises(cleave.Cancelled):
        run.result(timeout=20)
    assert model.state("total") == 2
    assert model.run(x=1, threads=1)["y"] == 4
    assert model.state("total") == 3


def test_states_of_yaml(model_file):
    model = cleave.load(model_file("""
        cleave: 1
        inputs: {x: "f32[2]"}
        parameters: {total: {type: "f32[2]", value: 1}}
        program: [{total: total + x}, {y: sum(total)}]
        outputs: [y]
        resident: [total]
    """), device="none")
    assert [float(model.run(x=[1, 2])["y"]) for _ in range(3)] == [5, 8, 11]
    assert model.state("total").tolist() == [4, 7]
    model.reset()
    assert model.run(x=[1, 2])["y"] == 5


HEADS, KEYS, WIDTH = 2, 16, 8


@pytest.fixture
def decoder_step(onnx_file):
    """One step of attention with caches of KEYS keys and values: the new ones are written at `position`, those behind it are masked."""
    places = np.arange(KEYS, dtype=np.int64).tolist()
    nodes = [("Constant", [], ["places"], {"value_ints": places}), ("Constant", [], ["low"], {"value_float": -1e9}),
             ("Constant", [], ["none"], {"value_float": 0.0}), ("Constant", [], ["axis"], {"value_ints": [1]}),
             ("Equal", ["places", "position"], ["flat"]), ("Unsqueeze", ["flat", "axis"], ["here"])]
    for name in ("key", "value"):
        nodes.append(("Where", ["here", name, f"past.0.{name}"], [f"present.0.{name}"]))
    nodes += [("Transpose", ["present.0.key"], ["keys"], {"perm": [0, 2, 1]}), ("MatMul", ["query", "keys"], ["scores"]),
              ("Greater", ["places", "position"], ["later"]), ("Where", ["later", "low", "none"], ["mask"]),
              ("Add", ["scores", "mask"], ["masked"]), ("Softmax", ["masked"], ["weights"], {"axis": -1}),
              ("MatMul", ["weights", "present.0.value"], ["y"])]
    cache, new = ("f", [HEADS, KEYS, WIDTH]), ("f", [HEADS, 1, WIDTH])
    inputs = {"query": new, "key": new, "value": new, "position": ("i", []), "past.0.key": cache, "past.0.value": cache}
    return onnx_file(nodes, inputs, {"y": new, "present.0.key": cache, "present.0.value": cache})


STATES = {"past.0.key": "present.0.key", "past.0.value": "present.0.value"}


@pytest.mark.parametrize("options", [{"device": "none"}, {"device": "simulated"}, {"device": "simulated", "placement": "accelerator"}])
def test_a_decoder_step_keeps_its_caches(decoder_step, options):
    model = cleave.load(decoder_step, states=STATES, **options)
    random = np.random.default_rng(7)
    empty = np.zeros((HEADS, KEYS, WIDTH), np.float32)
    begun = {name: empty for name in STATES}
    keys, values = [], []
    for position in range(KEYS):
        query, key, value = random.standard_normal((3, HEADS, 1, WIDTH)).astype(np.float32)
        keys.append(key)
        values.append(value)
        results = model.run({"query": query, "key": key, "value": value, "position": position, **begun})
        begun = {}
        assert list(results) == ["y"]
        scores = query @ np.concatenate(keys, 1).transpose(0, 2, 1)
        weights = np.exp(scores - scores.max(-1, keepdims=True))
        expected = weights / weights.sum(-1, keepdims=True) @ np.concatenate(values, 1)
        np.testing.assert_allclose(results["y"], expected, rtol=1e-4, atol=1e-5)
    np.testing.assert_array_equal(model.state("past.0.key"), np.concatenate(keys, 1))
    np.testing.assert_array_equal(model.state("past.0.value"), np.concatenate(values, 1))


def test_the_caches_of_a_decoder_step_are_not_moved(decoder_step, tmp_path):
    files = []
    for name, shape in {"query": (HEADS, 1, WIDTH), **{name: (HEADS, KEYS, WIDTH) for name in STATES}}.items():
        np.save(tmp_path / f"{name}.npy", np.ones(shape, np.float32))
        files += ["--input", f"{name}={tmp_path / name}.npy"]
    for name in ("key", "value"):
        files += ["--input", f"{name}={tmp_path / 'query'}.npy"]
    moved = []
    for states in ([], [flag for pair in STATES.items() for flag in ("--state", "=".join(pair))]):
        command = [sys.executable, "-m", "cleave", "run", decoder_step, *files, "--input", "position=3", *states, "--runs", "3",
                   "--device", "simulated", "--placement", "accelerator", "--json", "--quiet"]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        moved.append({way: count["bytes"] for way, count in json.loads(done.stdout)["transfers"].items()})
    new, caches = HEADS * WIDTH * 4, 2 * HEADS * KEYS * WIDTH * 4
    assert moved[0] == {"host_to_accelerator": 3 * new + 8 + caches, "accelerator_to_host": new + caches}
    assert moved[1] == {"host_to_accelerator": 3 * new + 8, "accelerator_to_host": new}
    assert [sum(each.values()) for each in moved] == [4360, 264]  # the numbers in docs/guide/onnx.md


def test_operators_are_assumed_to_be_the_hosts(onnx_file):
    path = onnx_file([("Frobnicate", ["x"], ["y"])], {"x": ("f", [2])}, {"y": ("f", [2])})
    model = cleave.load(path, assume_host=["Frobnicate"])
    assert model.outputs == {"y": "f32[2]"}
    assert model.explain(placement="accelerator").nodes[-1]["on"] == ["host"]
    with pytest.raises(cleave.Error):
        model.run(x=[1, 2])


@pytest.mark.parametrize("device", ["none", "simulated"])
def test_operators_are_python_functions(onnx_file, device):
    path = onnx_file([("Frobnicate", ["x", "", "w"], ["a", "b"], {"domain": "acme", "by": 2.5, "title": "odd", "axes": [1, 2]}), ("Neg", ["a"], ["y"])],
                     {"x": ("f", [2]), "w": ("f", [2])}, {"y": ("f", [2]), "b": ("i", [3])}, values={"a": ("f", [2])})
    calls = []

    def frobnicate(x, missing, w, by, title, axes):
        calls.append((missing, title, axes))
        return x * by + w, np.arange(3)

    model = cleave.load(path, host_functions={"acme.Frobnicate": frobnicate}, device=device)
    y, b = model.run(x=[1, 2], w=[10, 20]).values()
    assert (y.tolist(), b.tolist(), calls) == ([-12.5, -25], [0, 1, 2], [(None, "odd", [1, 2])])
    assert model.explain().nodes[-1]["op"] == "negative"


def test_the_decorator_declares_types_and_cost_of_an_operator(onnx_file):
    path = onnx_file([("Twice", ["x"], ["a"]), ("Neg", ["a"], ["y"])], {"x": ("f", ["n", 3])}, {"y": ("f", None)})

    @cleave.host_function(lambda x: cleave.Type(x.dtype, (2 * x.shape[0], 3)), pure=True, seconds=0.004)
    def twice(x):
        return np.concatenate((x, x))

    model = cleave.load(path, host_functions={"Twice": twice}, device="simulated")
    assert model.run(x=[[1, 2, 3]])["y"].tolist() == [[-1, -2, -3]] * 2
    assert model.run(x=np.ones((2, 3), np.float32))["y"].shape == (4, 3)
    called = [node for node in model.explain().nodes if node["op"] == "host_call"]
    assert [node["host_seconds"] for node in called] == [pytest.approx(0.004, rel=0.01)]
    assert cleave.load(path, host_functions={"Twice": cleave.host_function("f32[7]")(twice)}, dims={"n": 1}).outputs == {"y": "f32[7]"}


def test_mistakes_of_python_functions_are_errors_at_their_node(onnx_file):
    path = onnx_file([("Frobnicate", ["x"], ["y"], {"name": "here", "by": 2})], {"x": ("f", [2])}, {"y": ("f", [2])})

    def load(function):
        return cleave.load(path, host_functions={"Frobnicate": function}, device="none")

    with pytest.raises(cleave.UserError, match="(?s)node .*Frobnicate.*unexpected keyword argument 'by'"):
        load(lambda x: x)
    wrong = {"shape": lambda x, by: np.zeros(3, np.float32), "type": lambda x, by: np.zeros(2, np.complex64), "none": lambda x, by: None}
    for function in wrong.values():
        with pytest.raises(cleave.Error, match="Frobnicate"):
            load(function).run(x=[1, 2])

    def fails(x, by):
        raise ValueError("odd")

    with pytest.raises(cleave.Error, match="Frobnicate.*odd") as raised:
        load(fails).run(x=[1, 2])
    assert isinstance(raised.value.__cause__, ValueError)
    with pytest.raises(TypeError, match="host_functions"):
        load(3)
    with pytest.raises(cleave.UserError, match="no node of this operator"):
        cleave.load(path, host_functions={"Frobnicate": lambda x, by: x, "Other": fails})
    with pytest.raises(cleave.UsageError, match="`host_functions` is for ONNX"):
        cleave.load("x.yaml", host_functions={"Frobnicate": fails})


def test_traced_functions_call_networks_with_operators_of_their_own(onnx_file):
    path = onnx_file([("Frobnicate", ["x"], ["y"])], {"x": ("f", ["n"])}, {"y": ("f", ["n"])})
    net = cleave.load(path, host_functions={"Frobnicate": cleave.host_function(lambda x: x, pure=True)(lambda x: x + 1)})
    assert cleave.trace(lambda x: 2 * net(x), "f32[3]", device="none")([1, 2, 3]).tolist() == [4, 6, 8]


def private_bytes():
    """Memory that belongs to this process alone."""
    with open("/proc/self/smaps_rollup", encoding="ascii") as lines:
        return sum(1024 * int(line.split()[1]) for line in lines if line.startswith(("Private_Clean:", "Private_Dirty:")))


@pytest.fixture
def layers(tmp_path):
    """A model with 16 MiB of weights, and their bytes."""
    width, draw = 1024, np.random.default_rng(0)
    weights = [onnx.numpy_helper.from_array(draw.standard_normal((width, width), dtype=np.float32) / 32, f"w{i}") for i in range(4)]
    nodes = [onnx.helper.make_node("Gemm", [f"h{i}", f"w{i}"], [f"h{i + 1}"], transB=1) for i in range(4)]
    info = onnx.helper.make_tensor_value_info
    graph = onnx.helper.make_graph(nodes, "layers", [info("h0", 1, ["batch", width])], [info("h4", 1, ["batch", width])], weights)
    onnx.save(onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 18)], ir_version=10), tmp_path / "layers.onnx")
    return tmp_path / "layers.onnx", 4 * 4 * width * width


@pytest.mark.filterwarnings("ignore:.*different tuples of sizes")
def test_programs_of_all_sizes_have_the_weights_once(layers):
    path, weights = layers
    model = cleave.load(path, device="none")

    def run(batch):
        return model.run(h0=np.ones((batch, 1024), np.float32))["h4"][0]

    first = run(1)
    run(2)
    after_two = private_bytes()
    for batch in range(3, 11):
        np.testing.assert_allclose(run(batch), first, rtol=1e-4, atol=1e-4)
    assert private_bytes() - after_two < weights / 2


def test_a_memory_limit_discards_the_program_that_was_not_used_for_longest(layers):
    path, weights = layers
    compiled = []
    original = cleave._cleave.compile
    unlimited = cleave.load(path, device="none")
    sizes = (64, 128, 96)
    expected = {batch: unlimited.run(h0=np.ones((batch, 1024), np.float32))["h4"] for batch in sizes}
    limit = unlimited._shared.bytes([each for each, _ in unlimited._executables.values()][:2], list(unlimited._programs.values()))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cleave._cleave, "compile", lambda *arguments: compiled.append(1) or original(*arguments))
        model = cleave.load(path, device="none", memory_limit=limit)
        for batch, times in ((64, 1), (128, 2), (64, 2), (96, 3), (64, 3), (128, 4), (96, 5)):
            np.testing.assert_array_equal(model.run(h0=np.ones((batch, 1024), np.float32))["h4"], expected[batch])
            assert len(compiled) == times, batch
            assert len(model._executables) <= 2
        small = cleave.load(path, device="none", memory_limit="1KiB")
        for batch in sizes:
            small.run(h0=np.ones((batch, 1024), np.float32))
            assert len(small._executables) == len(small._programs) == 1
    assert limit > weights
    with pytest.raises(cleave.UsageError):
        cleave.load(path, memory_limit="much")


def test_mistakes_name_the_node(onnx_file):
    path = onnx_file([("Frobnicate", ["x"], ["y"])], {"x": ("f", [2])}, {"y": ("f", [2])})
    with pytest.raises(cleave.UserError, match="Frobnicate"):
        cleave.load(path)


def test_what_is_for_onnx_alone_is_refused_elsewhere(root):
    with pytest.raises(cleave.UsageError, match="`shapes` is for ONNX"):
        cleave.load(root / "docs/examples/while.yaml", shapes={"x": (1,)})
    with pytest.raises(cleave.UsageError, match="accelerator_ops"):
        cleave.load("x.onnx", accelerator_ops="all")


def test_only_what_onnxruntime_has_kernels_for(onnx_file):
    path = onnx_file([("MatMul", ["x", "x"], ["y"]), ("Relu", ["y"], ["z"])], {"x": ("f", [512, 512])}, {"z": ("f", None)})
    for options in ({"accelerator_ops": "ort-cuda-1.23"}, {"placement": "onnxruntime"}):
        plan = cleave.load(path, **options).explain()
        assert {node["op"]: node["on"] for node in plan.nodes}["relu"] == ["accelerator:0"]


# Networks in traced functions.

@pytest.fixture
def perceptron(tmp_path):
    """Writes y = tanh(x w) v * 0.5 and returns its path."""
    rng = np.random.default_rng(3)
    weights = {"fc.w": rng.standard_normal((3, 4)), "v": rng.standard_normal((4, 2)), "half": np.array(0.5)}
    made = [onnx.helper.make_node(*node) for node in (("MatMul", ["x", "fc.w"], ["h"]), ("Tanh", ["h"], ["t"]),
                                                      ("MatMul", ["t", "v"], ["r"]), ("Mul", ["r", "half"], ["y"]))]
    info = onnx.helper.make_tensor_value_info
    graph = onnx.helper.make_graph(made, "main", [info("x", onnx.TensorProto.FLOAT, ["batch", 3])], [info("y", onnx.TensorProto.FLOAT, None)],
                                   [onnx.numpy_helper.from_array(each.astype(np.float32), name) for name, each in weights.items()])
    onnx.save(onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 18)], ir_version=10), tmp_path / "net.onnx")
    return tmp_path / "net.onnx"


def test_a_traced_function_calls_a_network(perceptron):
    net = cleave.load(perceptron, parameters="all", device="none")
    assert isinstance(net, cleave.Network)
    x = np.random.default_rng(1).standard_normal((5, 3)).astype(np.float32)
    twice = cleave.trace(lambda x: net(x) + net(x=x), "f32[5, 3]", device="none")
    np.testing.assert_array_equal(twice(x), 2 * net(x))
    other = cleave.trace(lambda x: net(x, weights={name: w * 0 for name, w in net.weights().items()}), "f32[5, 3]", device="none")
    assert not other(x).any()


def test_gradients_by_the_weights_of_a_network(perceptron):
    net = cleave.load(perceptron, parameters=["fc.*", "v"])

    def slopes(x):
        weights = net.weights()
        return cleave.gradient(cleave.sum(cleave.square(net(x, weights=weights))), weights)

    x = np.random.default_rng(1).standard_normal((5, 3)).astype(np.float32)
    found = cleave.trace(slopes, "f32[5, 3]", device="none")(x)
    held = {each.name: onnx.numpy_helper.to_array(each).astype(np.float64) for each in onnx.load(perceptron).graph.initializer}

    def loss(weights):
        return np.sum(np.square(np.tanh(x @ weights["fc.w"]) @ weights["v"] * 0.5))

    assert list(found) == ["fc.w", "v"]
    for name, slope in found.items():
        for at in np.ndindex(slope.shape):
            ends = []
            for step in (1e-5, -1e-5):
                moved = {key: value.copy() for key, value in held.items()}
                moved[name][at] += step
                ends.append(loss(moved))
            assert slope[at] == pytest.approx((ends[0] - ends[1]) / 2e-5, abs=1e-4)


def test_parameters_of_a_network_are_states(perceptron, tmp_path):
    net = cleave.load(perceptron, parameters="fc.*", device="none")
    x = np.ones((1, 3), np.float32)
    y = net.run(x=x)["y"]
    assert net.state("fc.w").shape == (3, 4)
    net.save_states(tmp_path / "states")
    again = cleave.load(perceptron, parameters="fc.*", device="none")
    again.run(x=x)
    again.load_states(tmp_path / "states")
    np.testing.assert_array_equal(again.run(x=x)["y"], y)


def test_mistakes_in_calls_of_networks_stand_at_their_line(perceptron, tmp_path):
    net = cleave.load(perceptron, parameters="all")
    for call, message in ((lambda x: net(x, x), "takes 1 argument, not 2"), (lambda x: net(cleave.astype(x, "f64")), "`astype` converts it"),
                          (lambda x: net(cleave.sum(x)), r"takes f32\[batch, 3\] as `x`"),
                          (lambda x: net(x, weights={name: cleave.sum(w) for name, w in net.weights().items()}), r"the parameter `fc.w` of `net`")):
        with pytest.raises(cleave.UserError, match=message) as caught:
            cleave.trace(call, "f32[5, 3]")
        assert "test_onnx.py" in str(caught.value)
    for call, message in ((lambda x: net(x, z=x), "unexpected argument 'z'"), (lambda x: net(x, weights={}), "2 weights, but 0")):
        with pytest.raises(TypeError, match=message):
            cleave.trace(call, "f32[5, 3]")
    with pytest.raises(cleave.Error, match="no initializer matches `q"):
        cleave.load(perceptron, parameters="q*")
    with pytest.raises(cleave.UsageError, match="`parameters` is for ONNX models"):
        (tmp_path / "m.yaml").write_text("program:\n  - y: zeros([2])\noutputs: [y]\n")
        cleave.load(tmp_path / "m.yaml", parameters="all")
    with pytest.raises(RuntimeError, match="outside of a traced function"):
        net.weights()
