#include "tools/python/module/arrays.h"

#include <nanobind/stl/map.h>
#include <nanobind/stl/string.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "graph/array/range.h"
#include "graph/base/exceptions.h"
#include "tools/python/module/errors.h"
#include "tools/python/module/gil.h"

namespace cleave::python {
namespace {

/// The element type for a format of the buffer protocol, if it is one native number.
std::optional<DType> dtype_of_format(const char* format, Py_ssize_t item_size) {
  if (!format) return DType::u8;
  if (*format == '@' || *format == '=' || *format == '<') ++format;  // little-endian, as all supported machines
  if (format[0] == '\0' || format[1] != '\0') return std::nullopt;
  const auto integer = [&](bool has_sign) -> std::optional<DType> {
    switch (item_size) {
      case 1: return has_sign ? DType::i8 : DType::u8;
      case 2: return has_sign ? DType::i16 : DType::u16;
      case 4: return has_sign ? DType::i32 : DType::u32;
      case 8: return has_sign ? DType::i64 : DType::u64;
      default: return std::nullopt;
    }
  };
  switch (*format) {
    case 'f': return DType::f32;
    case 'd': return DType::f64;
    case 'e': return DType::f16;
    case '?': return DType::boolean;
    case 'b':
    case 'h':
    case 'i':
    case 'l':
    case 'q': return integer(true);
    case 'B':
    case 'H':
    case 'I':
    case 'L':
    case 'Q': return integer(false);
    default: return std::nullopt;
  }
}

bool aligned(const void* data, Py_ssize_t item_size) {
  return reinterpret_cast<std::uintptr_t>(data) % static_cast<std::uintptr_t>(std::max<Py_ssize_t>(item_size, 1)) == 0;
}

/// Whether all bools are 0 or 1: any other byte is undefined behavior as a bool.
bool good_values(const Py_buffer& view, DType dtype) {
  if (dtype != DType::boolean) return true;
  const auto* bytes = static_cast<const unsigned char*>(view.buf);
  return std::all_of(bytes, bytes + view.len, [](unsigned char byte) { return byte <= 1; });
}

/// Releases a buffer view when its memory is no longer used, on any thread.
void release_view(Py_buffer* view) {
  const Gil gil;
  if (!gil.held()) return;  // the interpreter has ended, and its memory with it
  PyBuffer_Release(view);
  delete view;
}

/// An Array on the buffer of `value`; nothing if it has no buffer that can be used without conversion.
std::optional<Array> from_buffer(nb::handle value, bool writable) {
  if (!PyObject_CheckBuffer(value.ptr())) return std::nullopt;
  auto view = std::make_unique<Py_buffer>();
  const int flags = PyBUF_FORMAT | PyBUF_C_CONTIGUOUS | (writable ? PyBUF_WRITABLE : 0);
  if (PyObject_GetBuffer(value.ptr(), view.get(), flags) != 0) {
    PyErr_Clear();
    return std::nullopt;
  }
  const std::optional<DType> dtype = dtype_of_format(view->format, view->itemsize);
  if (!dtype || size_of(*dtype) != view->itemsize || !aligned(view->buf, view->itemsize) || !good_values(*view, *dtype)) {
    PyBuffer_Release(view.get());
    return std::nullopt;
  }
  TensorType type{*dtype, Shape(view->shape, view->shape + view->ndim)};
  void* data = view->buf;
  Py_buffer* held = view.release();
  if (writable) return Array::own(std::move(type), data, [held] { release_view(held); });
  return Array::borrow(std::move(type), data, [held] { release_view(held); });
}

/// The same memory as elements of another type of the same size.
Array reinterpreted(const Array& array, DType dtype) {
  return Array::borrow({dtype, array.shape()}, array.bytes(), [array] {});
}

Array from_capsule(nb::handle capsule) {
  void* managed = PyCapsule_GetPointer(capsule.ptr(), "dltensor");
  if (!managed) throw nb::python_error();
  Result<Array> array = Array::from_dlpack(managed);
  if (!array) throw nb::buffer_error(array.error().message.c_str());
  PyCapsule_SetName(capsule.ptr(), "used_dltensor");
  // The tensor's deleter may run Python code, so it is called with the interpreter's lock held.
  auto* owner = new Array(*std::move(array));
  return Array::borrow(owner->type(), owner->bytes(), [owner] {
    const Gil gil;
    if (gil.held()) delete owner;
  });
}

/// The memory of an Array, exposed by Python's buffer protocol: a NumPy array is made on it and keeps it alive.
struct Memory {
  Array array;
  bool writable;
};

int get_buffer(PyObject* self, Py_buffer* view, int flags) {
  auto* memory = nb::inst_ptr<Memory>(self);
  auto* data = const_cast<std::byte*>(memory->array.bytes());
  static std::byte nothing[1];  // an empty array has no memory, but a buffer must have an address
  return PyBuffer_FillInfo(view, self, data ? data : nothing, memory->array.type().bytes(), memory->writable ? 0 : 1, flags);
}

PyType_Slot memory_slots[] = {{Py_bf_getbuffer, reinterpret_cast<void*>(get_buffer)}, {0, nullptr}};

/// NumPy's element type, looked up once. That of bf16 comes from the package ml_dtypes.
nb::object numpy_dtype(DType dtype) {
  static std::array<PyObject*, kDTypeCount> known{};
  PyObject*& kept = known[static_cast<std::size_t>(dtype)];
  if (kept) return nb::borrow(kept);
  nb::object found = nb::module_::import_("cleave._types").attr("numpy_dtype")(std::string(to_string(dtype)));
  if (dtype != DType::bf16) kept = nb::object(found).release().ptr();
  return found;
}

nb::object numpy_array_type() {
  static PyObject* const type = nb::object(nb::module_::import_("numpy").attr("ndarray")).release().ptr();
  return nb::borrow(type);
}

nb::tuple shape_tuple(const Shape& shape) {
  nb::tuple result = nb::steal<nb::tuple>(PyTuple_New(static_cast<Py_ssize_t>(shape.size())));
  for (std::size_t i = 0; i < shape.size(); ++i) PyTuple_SetItem(result.ptr(), static_cast<Py_ssize_t>(i), PyLong_FromLongLong(shape[i]));
  return result;
}

}  // namespace

Array to_array(nb::handle value, const TensorType* wanted, const std::string& what) {
  std::optional<Array> array = from_buffer(value, false);
  if (!array) {
    const nb::object none = nb::none();
    const nb::object text = wanted ? nb::cast(std::string(to_string(wanted->dtype))) : none;
    const nb::object ready = nb::module_::import_("cleave._arrays").attr("prepare")(value, text, what);
    if (PyCapsule_CheckExact(ready.ptr())) return from_capsule(ready);
    const nb::object data = nb::isinstance<nb::tuple>(ready) ? nb::object(ready[1]) : ready;
    array = from_buffer(data, false);
    if (!array) throw nb::type_error("cleave: the array cannot be used");
    if (nb::isinstance<nb::tuple>(ready)) return reinterpreted(*array, DType::bf16);
  }
  if (wanted && wanted->dtype == DType::bf16 && array->dtype() == DType::u16) return reinterpreted(*array, DType::bf16);
  return *std::move(array);
}

Array to_writable_array(nb::handle value) {
  std::optional<Array> array = from_buffer(value, true);
  if (!array) throw nb::value_error("`out` takes NumPy arrays that are writable, aligned and contiguous in row-major order");
  return *std::move(array);
}

std::map<std::string, Array> to_arrays(nb::handle dict, const std::map<std::string, TensorType>& types) {
  std::map<std::string, Array> arrays;
  if (!PyDict_Check(dict.ptr())) throw nb::type_error("inputs go in by name: run({\"x\": x}) or run(x=x); in their order: model(x)");
  for (auto [key, value] : nb::cast<nb::dict>(dict)) {
    if (!PyUnicode_Check(key.ptr())) throw nb::type_error("the names of inputs are texts");
    auto name = nb::cast<std::string>(key);
    const auto known = types.find(name);
    Array array = to_array(value, known == types.end() ? nullptr : &known->second, "input `" + name + "`");
    arrays.emplace(std::move(name), std::move(array));
  }
  return arrays;
}

nb::object to_numpy(Array array, bool writable) {
  if (writable) (void)array.mutable_bytes();
  const TensorType type = array.type();
  const nb::object memory = nb::cast(Memory{std::move(array), writable});
  return numpy_array_type()(shape_tuple(type.shape), numpy_dtype(type.dtype), memory);
}

nb::object to_numpy_copy(const Array& array) {
  Array copy(array.type());
  if (array.type().bytes() > 0) std::memcpy(copy.mutable_bytes(), array.bytes(), static_cast<std::size_t>(array.type().bytes()));
  return to_numpy(std::move(copy), true);
}

void bind_arrays(nb::module_& module) {
  [[maybe_unused]] const nb::class_<Memory> memory(module, "Memory", nb::type_slots(memory_slots),
                                                   "Memory of cleave's that a NumPy array lies on.");
  // For tests, which check that memory is shared.
  module.def(
      "address_of", [](nb::handle value) { return reinterpret_cast<std::uintptr_t>(to_array(value).bytes()); }, nb::arg("value"),
      "Where the data lie that cleave would read for this array.");
  module.def(
      "type_of", [](nb::handle value) { return to_string(to_array(value).type()); }, nb::arg("value"),
      "The type of the array as models write it: \"f32[4, 2]\".");
  module.def(
      "range_text",
      [](const std::string& name) {
        const std::optional<DType> dtype = parse_dtype(name);
        if (!dtype) throw nb::value_error(("no element type: " + name).c_str());
        return range_text(*dtype);
      },
      nb::arg("dtype"), "Which numbers an element type holds, for messages: \"u8 holds 0 to 255\".");
  module.def("dtypes", [] {
    nb::typed<nb::list, nb::str> names;
    for (int i = 0; i < kDTypeCount; ++i) names.append(std::string(to_string(static_cast<DType>(i))));
    return names;
  });
}

}  // namespace cleave::python
