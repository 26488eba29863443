"""Inputs and outputs as arrays: without a copy where possible, and otherwise converted as NumPy does."""
import gc
import threading
import weakref

import ml_dtypes
import numpy as np
import pytest

import cleave
from cleave import _cleave

DTYPES = {"f32": np.float32, "f64": np.float64, "f16": np.float16, "bf16": ml_dtypes.bfloat16, "i8": np.int8, "i16": np.int16, "i32": np.int32,
          "i64": np.int64, "u8": np.uint8, "u16": np.uint16, "u32": np.uint32, "u64": np.uint64, "bool": np.bool_}


def identity(type_):
    return cleave.trace(lambda x: cleave.to_host(x), type_, device="none")


def address(array):
    return array.__array_interface__["data"][0]


class Dlpack:
    """An array of another library, which has only the DLPack interface."""

    def __init__(self, array):
        self.array = array

    def __dlpack__(self, **named):
        return self.array.__dlpack__()

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()


def test_numpy_is_read_where_it_lies():
    x = np.arange(12, dtype=np.float32).reshape(3, 4)
    assert _cleave.address_of(x) == address(x)


def test_a_part_that_is_contiguous_is_read_where_it_lies():
    x = np.arange(12, dtype=np.float32).reshape(3, 4)
    assert _cleave.address_of(x[1:]) == address(x) + 16


def test_read_only_arrays_are_read_where_they_lie():
    x = np.arange(4, dtype=np.int64)
    x.flags.writeable = False
    assert _cleave.address_of(x) == address(x)


def test_dlpack_is_read_where_it_lies():
    x = np.arange(4, dtype=np.float32)
    assert _cleave.address_of(Dlpack(x)) == address(x)


def test_bfloat16_is_read_where_it_lies():
    x = np.arange(4, dtype=ml_dtypes.bfloat16)
    assert _cleave.address_of(x) == address(x.view(np.uint16))
    assert _cleave.type_of(x) == "bf16[4]"


@pytest.mark.parametrize("make", [lambda x: x[:, ::2], lambda x: x.T, lambda x: x[::-1], lambda x: x.astype(">f4"),
                                  lambda x: np.frombuffer(b"\0" + x.tobytes(), dtype=np.uint8)[1:].view(np.float32).reshape(x.shape)],
                         ids=["strided", "transposed", "reversed", "big-endian", "misaligned"])
def test_what_cannot_be_shared_is_copied(make):
    x = make(np.arange(12, dtype=np.float32).reshape(3, 4))
    y = identity(f"f32[{x.shape[0]}, {x.shape[1]}]").run(x=x)["output0"]
    np.testing.assert_array_equal(y, x)


@pytest.mark.parametrize("name", sorted(DTYPES))
def test_every_element_type_goes_in_and_comes_out(name):
    x = np.array([0, 1, 1, 0]).astype(DTYPES[name])
    y = identity(f"{name}[4]").run(x=x)["output0"]
    assert y.dtype == x.dtype
    np.testing.assert_array_equal(y, x)


def test_bits_stand_for_bfloat16_without_ml_dtypes(monkeypatch):
    monkeypatch.setattr("cleave._arrays.BFLOAT16", None)
    y = identity("bf16[2]").run(x=np.array([0x3F80, 0x4000], dtype=np.uint16))["output0"]
    assert y.dtype == np.uint16
    assert y.tolist() == [0x3F80, 0x4000]


@pytest.mark.parametrize("shape", [(), (0,), (3, 0, 2), (1, 1, 1, 1, 1)])
def test_every_shape_goes_in_and_comes_out(shape):
    x = np.full(shape, 2.5, dtype=np.float32)
    y = identity(f"f32[{', '.join(map(str, shape))}]").run(x=x)["output0"]
    assert y.shape == shape
    np.testing.assert_array_equal(y, x)


def test_lists_and_numbers_take_the_type_that_is_wanted():
    model = cleave.trace(lambda x, n: x * n, "f32[2]", "f32[]", device="none")
    np.testing.assert_array_equal(model([1, 2], 3), [3, 6])
    assert model([1, 2], 3).dtype == np.float32


def test_a_fraction_is_no_integer():
    with pytest.raises(TypeError, match="fraction"):
        identity("i32[2]").run(x=[0.5, 1])


@pytest.mark.parametrize(("type_", "given", "named"), [
    ("i32[2]", [2**40, 1], "1099511627776 at [0] does not fit in i32; i32 holds -2147483648 to 2147483647"),
    ("i32[]", 2**31, "2147483648 does not fit in i32"),
    ("u8[2]", [300, -1], "300 at [0] does not fit in u8; u8 holds 0 to 255"),
    ("u8[2]", [255, -1], "-1 at [1] does not fit in u8"),
    ("u8[2, 2]", [[1, 2], [3, 256]], "256 at [1, 1] does not fit in u8"),
    ("i8[]", -129, "-129 does not fit in i8"),
    ("i64[]", 2**63, "9223372036854775808 does not fit in i64"),
    ("i64[2]", [2**63, -1], "9223372036854775808 at [0] does not fit in i64"),
    ("i64[]", 2**80, "1208925819614629174706176 does not fit in i64"),
    ("u64[]", -1, "-1 does not fit in u64"),
    ("u64[]", 2**64, "18446744073709551616 does not fit in u64"),
    ("i32[2]", [1.0, 2.0**31], "2147483648.0 at [1] does not fit in i32"),
    ("bool[2]", [1, 2], "2 at [1] does not fit in bool"),
    ("f32[]", 1e39, "1e+39 does not fit in f32"),
    ("f16[2]", [1.0, -65520.0], "-65520.0 at [1] does not fit in f16"),
    ("bf16[]", 3.4e38, "3.4e+38 does not fit in bf16"),
    ("f32[]", 10**60, "does not fit in f32"),
    ("f64[]", 10**400, "does not fit in f64"),
])
def test_numbers_that_a_type_does_not_hold_are_named(type_, given, named):
    with pytest.raises(cleave.UserError) as raised:
        identity(type_).run(x=given)
    assert f"input `x`: {named}" in str(raised.value) or named in str(raised.value)
    assert "input `x`: " in str(raised.value)


@pytest.mark.parametrize(("type_", "given"), [
    ("i32[2]", [2**31 - 1, -2**31]), ("u8[2]", [0, 255]), ("i64[2]", [-2**63, 2**63 - 1]), ("u64[2]", [2**64 - 1, 0]), ("i8[]", -128),
    ("i64[2]", [2**53 + 1, 1.0]), ("bool[3]", [True, 0, 1.0]), ("f32[3]", [1e38, float("inf"), -float("inf")]), ("f64[]", 2**80),
    ("f16[]", 65504), ("i32[2]", [True, 3])])
def test_numbers_that_a_type_holds_arrive(type_, given):
    y = identity(type_).run(x=given)["output0"]
    assert y.tolist() == np.array(given, dtype=object).tolist() or y.tolist() == np.array(given, dtype=y.dtype).tolist()


@pytest.mark.parametrize("number", [float("nan"), float("inf"), -float("inf")])
def test_what_is_no_number_is_no_integer(number):
    for type_ in ("i32[2]", "u8[2]", "bool[2]"):
        with pytest.raises(TypeError, match=r"input `x`: -?(nan|inf) at \[1\] is no integer"):
            identity(type_).run(x=[1.0, number])


def test_python_integers_without_a_type_are_i32():
    model = cleave.trace(lambda x: x, device="none")
    with pytest.raises(cleave.UserError, match=r"1099511627776 at \[0\] does not fit in i32"):
        model([2**40, 1])
    for large in (2**31, [3_000_000_000], 2**63, 2**70):
        with pytest.raises(cleave.UserError, match="does not fit in i32"):
            cleave.trace(lambda x: x, device="none")(large)
    np.testing.assert_array_equal(cleave.trace(lambda x: x, device="none")(np.array([2**40, 1])), [2**40, 1])


@pytest.mark.parametrize(("type_", "given"), [
    ("i32[1]", np.array([2**40])), ("f32[1]", np.array([1e300])), ("i32[1]", np.array([1.5])), ("i32[1]", np.array([np.nan])),
    ("u8[1]", np.array([300])), ("bool[1]", np.array([2])), ("f32[1]", np.array([True])), ("i32[]", np.int64(5)), ("f32[]", np.float64(5))])
def test_arrays_of_another_type_are_refused_whatever_they_hold(type_, given):
    with pytest.raises(cleave.UsageError, match="convert it: .astype"):
        identity(type_).run(x=given)


def test_bytes_other_than_0_and_1_are_true():
    x = np.array([0, 2, 255, 1], dtype=np.uint8).view(np.bool_)
    assert identity("bool[4]").run(x=x)["output0"].view(np.uint8).tolist() == [0, 1, 1, 1]


@pytest.mark.parametrize("value", ["text", object(), np.array(["a"]), np.array([1j]), np.array([object()])])
def test_what_is_no_array_of_numbers_is_a_type_error(value):
    with pytest.raises(TypeError, match="cleave"):
        identity("f32[1]").run(x=value)


def test_an_array_on_another_device_is_a_type_error():
    class Elsewhere(Dlpack):
        def __dlpack_device__(self):
            return (2, 0)

    with pytest.raises(TypeError, match="copy it to the host"):
        identity("f32[4]").run(x=Elsewhere(np.zeros(4, np.float32)))


def test_an_array_is_let_go_after_the_run():
    class Watched(np.ndarray):
        pass

    x = np.arange(4, dtype=np.float32).view(Watched)
    gone = weakref.ref(x)
    model = identity("f32[4]")
    model.run(x=x)
    del x
    gc.collect()
    assert gone() is None


def test_an_array_is_let_go_from_another_thread():
    class Watched(np.ndarray):
        pass

    x = np.arange(1024, dtype=np.float32).view(Watched)
    gone = weakref.ref(x)
    run = identity("f32[1024]").submit(x=x)
    del x
    run.result()
    del run
    for _ in range(100):
        gc.collect()
        if gone() is None:
            break
        threading.Event().wait(0.02)
    assert gone() is None


def test_results_lie_where_the_program_put_them():
    y = cleave.trace(lambda x: x + 1, "f32[256]", device="none").run(x=np.zeros(256, np.float32))["output0"]
    assert not y.flags.owndata  # NumPy has not copied them
    assert y.flags.writeable
    assert _cleave.address_of(y) == address(y)
    assert np.from_dlpack(y).__array_interface__["data"] == y.__array_interface__["data"]


def test_memory_of_results_is_used_again_once_it_is_let_go():
    model = cleave.trace(lambda x: x + 1, "f32[4096]", device="none")
    x = np.zeros(4096, np.float32)
    seen = {address(model.run(x=x)["output0"]) for _ in range(20)}
    assert len(seen) <= 2
    kept = [model.run(x=x)["output0"] for _ in range(5)]
    assert len({address(y) for y in kept}) == 5


def test_a_result_that_is_an_input_is_an_array_of_its_own():
    model = cleave.trace(lambda x: {"same": x, "more": x + 1}, "f32[4]", device="none")
    x = np.zeros(4, np.float32)
    y = model.run(x=x)["same"]
    y[0] = 7
    assert x[0] == 0
    x[1] = 5
    assert y[1] == 0


def test_a_result_that_is_a_parameter_can_be_written_without_harm():
    model = cleave.trace(lambda: cleave.parameter("w", "f32[2]", [1, 2]), outputs=["w"], device="none")
    model.run()["w"][0] = 9
    assert model.run()["w"].tolist() == [1, 2]


def test_out_is_written_in_place():
    model = cleave.trace(lambda x: {"y": x * 2, "z": x * 3}, "f32[4]", device="none")
    y = np.zeros(4, np.float32)
    results = model.run(x=np.ones(4, np.float32), out={"y": y})
    assert results["y"] is y
    assert y.tolist() == [2, 2, 2, 2]
    assert results["z"].tolist() == [3, 3, 3, 3]


def test_out_must_fit():
    model = cleave.trace(lambda x: {"y": x * 2}, "f32[4]", device="none")
    x = np.ones(4, np.float32)
    with pytest.raises(cleave.Error):
        model.run(x=x, out={"y": np.zeros(3, np.float32)})
    with pytest.raises(ValueError, match="writable"):
        model.run(x=x, out={"y": np.zeros(8, np.float32)[::2]})


def test_torch_tensors_are_read_where_they_lie():
    torch = pytest.importorskip("torch")
    x = torch.arange(4, dtype=torch.float32)
    assert _cleave.address_of(x) == x.data_ptr()
    assert _cleave.type_of(x.to(torch.bfloat16)) == "bf16[4]"
    assert identity("f32[4]").run(x=x.requires_grad_())["output0"].tolist() == [0, 1, 2, 3]
