// Arrays between Python and cleave, without copies: an object with a buffer or `__dlpack__` becomes an Array on the same memory, and an
// Array becomes a NumPy array on its memory. Objects that cannot be shared (strided, misaligned, of another byte order, lists) are
// converted in Python first.
#pragma once

#include <nanobind/nanobind.h>

#include <map>
#include <string>

#include "graph/array/array.h"

namespace cleave::python {

namespace nb = nanobind;

/// An Array on the memory of `value`; it keeps the Python object alive, and may be released by any thread. `wanted`: the expected type,
/// which lists and numbers are converted to and by which bits of bf16 are recognized; null: none. Throws Python exceptions, which call the
/// value `what` ("input `x`").
Array to_array(nb::handle value, const TensorType* wanted = nullptr, const std::string& what = {});
/// An Array that writes to the memory of a NumPy array.
Array to_writable_array(nb::handle value);
/// The items of a dict as Arrays by name; `types` has the expected types, as far as known.
std::map<std::string, Array> to_arrays(nb::handle dict, const std::map<std::string, TensorType>& types);

/// A NumPy array on the memory of `array`. A writable one must be exclusive: if the memory has another owner, it is copied.
nb::object to_numpy(Array array, bool writable);
/// A NumPy array with a copy of the data.
nb::object to_numpy_copy(const Array& array);

/// Binds the Python functions that convert arrays.
void bind_arrays(nb::module_& module);

}  // namespace cleave::python
