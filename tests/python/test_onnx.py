"""ONNX models: sizes that are open, constants, and messages that name nodes."""
import numpy as np
import pytest

import cleave

onnx = pytest.importorskip("onnx")


@pytest.fixture
def onnx_file(tmp_path):
    """Writes an ONNX model of some nodes and gives its path."""

    def write(nodes, inputs, outputs, name="model.onnx"):
        kinds = {"f": onnx.TensorProto.FLOAT, "i": onnx.TensorProto.INT64}

        def values(described):
            return [onnx.helper.make_tensor_value_info(key, kinds[kind], shape) for key, (kind, shape) in described.items()]

        made = [onnx.helper.make_node(*node[:3], **(node[3] if len(node) > 3 else {})) for node in nodes]
        graph = onnx.helper.make_graph(made, "main", values(inputs), values(outputs))
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
    model.state("past")[:] = 9  # what is given away is not what is kept
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


def test_operators_are_assumed_to_be_the_hosts(onnx_file):
    path = onnx_file([("Frobnicate", ["x"], ["y"])], {"x": ("f", [2])}, {"y": ("f", [2])})
    model = cleave.load(path, assume_host=["Frobnicate"])
    assert model.outputs == {"y": "f32[2]"}
    assert model.explain(placement="accelerator").nodes[-1]["on"] == ["host"]
    with pytest.raises(cleave.Error):
        model.run(x=[1, 2])


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
