// Arrays between Python and cleave, without copies: whatever has a buffer or `__dlpack__` becomes an Array on the same memory, and an Array
// becomes a NumPy array on its own. What cannot be shared (strided, misaligned, of another byte order, lists) Python makes ready first.
#pragma once

#include <nanobind/nanobind.h>

#include <map>
#include <string>

#include "graph/array/array.h"

namespace cleave::python {

namespace nb = nanobind;

/// An Array on what `value` holds; it keeps the Python object alive, and lets go of it from any thread. `wanted`: the type that it is for,
/// which lists and numbers take and bits of bf16 are known by; null: nothing is. Throws Python's exceptions, which call the value `what`
/// ("input `x`").
Array to_array(nb::handle value, const TensorType* wanted = nullptr, const std::string& what = {});
/// An Array that writes to the memory of a NumPy array.
Array to_writable_array(nb::handle value);
/// Items of a dict as Arrays by name; `types` are those that are known.
std::map<std::string, Array> to_arrays(nb::handle dict, const std::map<std::string, TensorType>& types);

/// A NumPy array on the memory of `array`. A writable one shares it with nobody: where somebody else holds it, it is copied.
nb::object to_numpy(Array array, bool writable);
/// A NumPy array of its own memory.
nb::object to_numpy_copy(const Array& array);

/// Binds what Python needs to make arrays ready.
void bind_arrays(nb::module_& module);

}  // namespace cleave::python
