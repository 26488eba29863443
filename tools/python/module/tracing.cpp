// Tracing for Python: wraps the Tracer for cleave/_trace.py, which handles the user's functions, nests and locations.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include "graph/array/range.h"
#include "graph/base/exceptions.h"
#include "graph/trace/batch_reader.h"
#include "graph/trace/custom_gradient.h"
#include "graph/trace/distribution.h"
#include "graph/trace/tracer.h"
#include "models/onnx/onnx_function.h"
#include "tools/python/module/arrays.h"
#include "tools/python/module/errors.h"
#include "tools/python/module/host_functions.h"
#include "tools/python/module/module.h"

namespace cleave::python {
namespace {

/// The literal for a Python number; nothing for an integer that fits neither i64 nor u64.
std::optional<Literal> literal_of(PyObject* number) {
  if (PyBool_Check(number)) return Literal{Literal::Type::boolean, number == Py_True ? 1 : 0, 0};
  if (PyFloat_Check(number)) return Literal{Literal::Type::floating, 0, PyFloat_AsDouble(number)};
  int overflow = 0;
  const long long integer = PyLong_AsLongLongAndOverflow(number, &overflow);
  if (overflow == 0) return Literal{Literal::Type::integer, integer, 0};
  if (overflow < 0) return std::nullopt;
  const unsigned long long large = PyLong_AsUnsignedLongLong(number);
  if (PyErr_Occurred()) return PyErr_Clear(), std::nullopt;
  return Literal{Literal::Type::integer, static_cast<std::int64_t>(large), 0, true};
}

std::string text_of(nb::handle object) {
  return nb::cast<std::string>(nb::str(object));
}

/// Converts an integer to i64; `what` names its purpose in messages.
std::int64_t integer_of(nb::handle value, const std::string& what) {
  const nb::object integer = nb::steal(PyNumber_Index(value.ptr()));
  if (!integer.is_valid()) throw nb::python_error();
  int overflow = 0;
  const long long number = PyLong_AsLongLongAndOverflow(integer.ptr(), &overflow);
  if (overflow != 0) throw nb::value_error(("cleave: `" + what + "` is " + text_of(integer) + "; " + range_text(DType::i64)).c_str());
  return number;
}

bool is_integers(nb::handle list) {
  for (nb::handle item : list)
    if (!PyIndex_Check(item.ptr())) return false;
  return true;
}

DType dtype_named(nb::handle name) {
  const auto text = nb::cast<std::string>(name);
  const std::optional<DType> dtype = parse_dtype(text);
  if (!dtype) throw nb::value_error(("no element type: " + text).c_str());
  return *dtype;
}

/// Converts the value of an attribute. Alternative forms (one number instead of a list) are handled by the vocabulary.
AttributeValue attribute_of(nb::handle value, const AttributeDef& definition) {
  using Type = AttributeDef::Type;
  if (definition.type == Type::dtype) return dtype_named(value);
  if (definition.type == Type::array) return to_array(value);
  PyObject* object = value.ptr();
  if (PyBool_Check(object)) return object == Py_True;
  if (PyFloat_Check(object)) return PyFloat_AsDouble(object);
  if (PyUnicode_Check(object)) return nb::cast<std::string>(value);
  if (PyIndex_Check(object) && !PySequence_Check(object)) return integer_of(value, std::string(definition.name));
  if (is_integers(value)) {
    std::vector<std::int64_t> integers;
    for (nb::handle item : value) integers.push_back(integer_of(item, std::string(definition.name)));
    return integers;
  }
  std::vector<double> numbers;
  for (nb::handle item : value) {
    const nb::object number = nb::steal(PyNumber_Float(item.ptr()));
    if (!number.is_valid()) throw nb::python_error();
    numbers.push_back(PyFloat_AsDouble(number.ptr()));
  }
  return numbers;
}

TensorType type_named(const std::string& text) {
  std::optional<TensorType> type = parse_tensor_type(text);
  if (!type) throw nb::value_error(("`" + text + "` is no tensor type; write for example `f32[4, 2]` or `i32[]`").c_str());
  return *std::move(type);
}

Side side_named(const std::string& name) {
  if (name == "host") return Side::host;
  if (name == "accelerator") return Side::accelerator;
  throw nb::value_error(("`place` takes \"host\" or \"accelerator\", not \"" + name + "\"").c_str());
}

/// One trace from start to end. Values are Operands; numbers and arrays are accepted in their place.
class Recorder {
 public:
  explicit Recorder(std::string name) : name_(name), tracer_(std::in_place, std::move(name)) {}

  [[nodiscard]] const std::string& function() const { return name_; }
  [[nodiscard]] bool finished() const { return !tracer_; }

  Operand input(std::string name, const std::string& type, const SourceLocation& location) {
    return tracer().input(std::move(name), type_named(type), {}, location);
  }
  Operand parameter(std::string name, const std::string& type, const AnyDict& initial, const SourceLocation& location) {
    const TensorType wanted = type_named(type);
    Attributes attributes;
    for (auto [key, value] : initial) {
      const auto attribute = nb::cast<std::string>(key);
      if (attribute == "value" && PyLong_Check(value.ptr())) {
        constexpr long long kExact = 1LL << 53;  // a double cannot represent all integers beyond this
        int overflow = 0;
        const long long integer = PyLong_AsLongLongAndOverflow(value.ptr(), &overflow);
        const bool rounded = overflow != 0 || (integer > -kExact && integer < kExact);
        const double number = PyLong_AsDouble(value.ptr());
        if (PyErr_Occurred()) throw nb::python_error();
        rounded ? attributes.set("value", number) : attributes.set("value", std::int64_t{integer});
      } else if (attribute == "value" && !PyFloat_Check(value.ptr())) {
        Array array = to_array(value, &wanted, "parameter `" + name + "`");
        if (array.type() != wanted) {
          tracer().error(DiagnosticKind::shape, location,
                         "`" + name + "` is " + to_string(wanted) + " but begins as " + to_string(array.type()));
          return {};
        }
        attributes.set("value", copied(array));
      } else if (attribute == "value") {
        attributes.set("value", nb::cast<double>(value));
      } else if (attribute == "seed") {
        continue;  // part of the distribution
      } else if (attribute == "file") {
        attributes.set("file", nb::cast<std::string>(value));
      } else {
        Result<Attributes> random =
            begin_with(attribute, nb::cast<std::vector<double>>(value), integer_of(initial["seed"], "seed"), name, wanted);
        if (!random) {
          tracer().error(DiagnosticKind::value, location, random.error().message);
          return {};
        }
        attributes = *std::move(random);
      }
    }
    return tracer().parameter(std::move(name), wanted, std::move(attributes), location);
  }
  Operand constant(nb::handle value, const SourceLocation& location) { return tracer().constant(copied(to_array(value)), location); }

  std::vector<Operand> apply(const std::string& name, const AnyList& inputs, const AnyDict& attributes, const SourceLocation& location) {
    const OpDef* op = find_function(name);
    if (!op) throw nb::value_error(("no function `" + name + "`").c_str());
    Attributes given;
    for (auto [key, value] : attributes) {
      const auto attribute = nb::cast<std::string>(key);
      const auto definition =
          std::find_if(op->attributes.begin(), op->attributes.end(), [&](const auto& def) { return def.name == attribute; });
      if (definition == op->attributes.end()) throw nb::value_error(("`" + name + "` takes no `" + attribute + "`").c_str());
      given.set(attribute, attribute_of(value, *definition));
    }
    return tracer().apply(*op, operands(inputs, location), std::move(given), location);
  }
  /// Traces an operator, which messages call by its symbol.
  std::vector<Operand> operate(const std::string& symbol, const std::string& name, const AnyList& inputs, const SourceLocation& location) {
    const OpDef* op = find_function(name);
    if (!op) throw nb::value_error(("no function `" + name + "`").c_str());
    return {tracer().operate(symbol, *op, operands(inputs, location), location)};
  }
  std::vector<Operand> host_call(const PythonFunction& function, nb::object callable, const AnyList& inputs,
                                 const SourceLocation& location) {
    const OpDef* op = find_op("host_call");
    CLEAVE_CHECK(op != nullptr);
    std::vector<Operand> given = operands(inputs, location);
    for (Operand& operand : given)
      if (operand.literal) operand = tracer().materialize(operand, location);
    Attributes attributes;
    attributes.set("function", make_host_function(function, std::move(callable)));
    return tracer().apply(*op, given, std::move(attributes), location);
  }
  /// Begins the gradient of a piece of program: its results, their cotangents, and the types of the cotangents that the rule must give.
  std::tuple<std::vector<Operand>, std::vector<Operand>, std::vector<std::string>> begin_gradient(const std::string& name,
                                                                                                  const AnyList& inputs,
                                                                                                  const AnyList& results,
                                                                                                  const SourceLocation& location) {
    const CustomGradient& rule = rules_.emplace_back(tracer(), name, operands(inputs, location), operands(results, location), location);
    std::vector<std::string> types;
    for (const TensorType& type : rule.wanted()) types.push_back(to_string(type));
    std::vector<Operand> cotangents = rule.given({.inputs = false, .results = false});
    return {rule.results(), std::move(cotangents), std::move(types)};
  }
  /// Ends the gradient that was begun last.
  void end_gradient(const AnyList& cotangents, const SourceLocation& location) {
    CustomGradient rule = std::move(rules_.back());
    rules_.pop_back();
    rule.end(operands(cotangents, location));
  }
  /// Declares the weights of an ONNX file as parameters.
  std::vector<Operand> declare_weights(models::OnnxFunction& function, const std::string& prefix, const SourceLocation& location) {
    return value_or_raise(function.declare(tracer(), prefix, location));
  }
  /// Records a call of an ONNX file, with a value for each of its weights.
  std::vector<Operand> call_onnx(models::OnnxFunction& function, const std::string& name, const AnyList& inputs, const AnyList& weights,
                                 const SourceLocation& location) {
    models::OnnxFunction::Called called = function.call(tracer(), name, operands(inputs, location), operands(weights, location), location);
    if (called.mistake) tracer().error(called.mistake->kind, location, called.mistake->message, called.mistake->notes);
    return std::move(called.results);
  }
  void name(nb::handle value, const std::string& name, const SourceLocation& location) { tracer().name(operand(value, location), name); }
  Operand rename(nb::handle value, const std::string& name, const SourceLocation& location) {
    return tracer().rename(operand(value, location), name, location);
  }
  /// The operand for a tensor, a number or an array.
  Operand value(nb::handle value, const SourceLocation& location) { return operand(value, location); }
  std::vector<std::string> output_names(const std::vector<std::string>& members, const std::vector<Operand>& values) {
    std::vector<Tracer::Returned> returned;
    for (std::size_t i = 0; i < values.size(); ++i) returned.push_back({members.at(i), values[i]});
    return tracer().output_names(returned);
  }
  std::optional<std::pair<std::string, std::vector<std::int64_t>>> type(const Operand& operand) {
    if (operand.literal) return std::pair(std::string(to_string(default_dtype(*operand.literal))), std::vector<std::int64_t>());
    const TensorType* type = tracer().type(operand);
    if (!type) return std::nullopt;
    tracer().note_type_asked(operand);
    return std::pair(std::string(to_string(type->dtype)), type->shape);
  }

  // Control flow. A state is a list of values and their names in the user's nest.
  using Values = std::vector<Operand>;
  std::pair<Operand, Values> begin_for(nb::handle count, const AnyList& values, const std::vector<std::string>& names,
                                       std::optional<double> expect, std::optional<std::int64_t> at_most,
                                       std::optional<std::int64_t> prefetch, const SourceLocation& location) {
    Tracer::Loop loop =
        tracer().begin_for(operand(count, location), states(values, names, location, true), location, expect, {}, at_most, prefetch);
    return {std::move(loop.counter), std::move(loop.inside)};
  }
  Values end_for(const AnyList& values, const std::vector<std::string>& names, nb::handle until, const SourceLocation& location) {
    std::optional<Operand> stop;
    if (!until.is_none()) stop = operand(until, location);
    const std::vector<Tracer::State> yielded = states(values, names, location, false);
    return inheriting(tracer().end_for(yielded, stop), names, yielded);
  }
  Values begin_while(const AnyList& values, const std::vector<std::string>& names, std::optional<double> expect,
                     std::optional<std::int64_t> at_most, const SourceLocation& location) {
    return tracer().begin_while(states(values, names, location, true), location, expect, at_most).inside;
  }
  void condition(nb::handle predicate, const SourceLocation& location) { tracer().while_condition(operand(predicate, location), location); }
  Values end_while(const AnyList& values, const std::vector<std::string>& names, const SourceLocation& location) {
    const std::vector<Tracer::State> yielded = states(values, names, location, false);
    return inheriting(tracer().end_while(yielded), names, yielded);
  }
  void begin_branch(nb::handle predicate, std::optional<double> probability, const SourceLocation& location) {
    tracer().begin_branch(operand(predicate, location), location, probability);
  }
  void otherwise() { tracer().begin_otherwise(); }
  Values end_branch(const AnyList& first, const AnyList& second, const std::vector<std::string>& names, const SourceLocation& location) {
    const std::vector<Tracer::State> a = states(first, names, location, false), b = states(second, names, location, false);
    return inheriting(inheriting(tracer().end_branch(a, b), names, a), names, b);
  }

  /// Records the arrays that a loop over batches reads; nothing may be read where the reader is not good.
  detail::BatchReader batches(const AnyList& arrays, nb::handle size, nb::handle shuffle, const std::string& remainder,
                              const SourceLocation& location) {
    BatchOptions options;
    options.size = integer_of(size, "size");
    if (!shuffle.is_none()) options.shuffle = integer_of(shuffle, "shuffle");
    constexpr std::pair<std::string_view, Remainder> kRemainders[] = {
        {"drop", Remainder::drop}, {"pad", Remainder::pad}, {"smaller", Remainder::smaller}};
    const auto* const found =
        std::find_if(std::begin(kRemainders), std::end(kRemainders), [&](const auto& each) { return each.first == remainder; });
    if (found == std::end(kRemainders))
      throw nb::value_error(("cleave: `remainder` is \"drop\", \"pad\" or \"smaller\", not \"" + remainder + "\"").c_str());
    options.remainder = found->second;
    std::vector<detail::BatchReader::Source> sources;
    for (Operand& array : operands(arrays, location)) sources.push_back({std::move(array), location});
    return {tracer(), std::move(sources), options, location, location};
  }

  void push_scope(std::string label, const SourceLocation& location) { tracer().push_scope(std::move(label), location); }
  void pop_scope() { tracer().pop_scope(); }
  void push_place(const std::string& device) { tracer().push_place(side_named(device)); }
  void pop_place() { tracer().pop_place(); }
  void push_recompute(bool again) { tracer().push_recompute(again ? Recompute::always : Recompute::never); }
  void pop_recompute() { tracer().pop_recompute(); }
  void push_allow(const std::string& kind, std::string reason) {
    const std::optional<DiagnosticKind> known = parse_diagnostic_kind(kind);
    if (!known) throw nb::value_error(("no kind of diagnostics: " + kind).c_str());
    if (info(*known).always_error) throw nb::value_error(("errors cannot be silenced: " + kind).c_str());
    tracer().push_allow({*known, std::move(reason)});
  }
  void pop_allow() { tracer().pop_allow(); }

  void error(const std::string& kind, const std::string& message, const SourceLocation& location) {
    tracer().error(parse_diagnostic_kind(kind).value_or(DiagnosticKind::value), location, message);
  }
  [[nodiscard]] bool has_errors() const { return tracer_ && tracer_->has_errors(); }
  void output(std::string name, nb::handle value, const SourceLocation& location) {
    tracer().output(std::move(name), operand(value, location), location);
  }
  [[nodiscard]] std::string name_of(const Operand& operand) { return tracer().name_of(operand); }
  Program finish(std::optional<std::int64_t> round_trips, std::optional<std::int64_t> transfers, std::optional<std::int64_t> bytes_per_run,
                 std::optional<double> prediction_error, const SourceLocation& location) {
    Limits limits;
    limits.round_trips = round_trips;
    limits.transfers = transfers;
    limits.bytes_per_run = bytes_per_run;
    limits.prediction_error = prediction_error;
    limits.location = location;
    tracer().set_limits(std::move(limits));
    Graph graph = tracer().finish_written();
    tracer_.reset();
    return Program(std::move(graph));
  }

 private:
  Tracer& tracer() {
    if (!tracer_) throw nb::value_error("a tensor is used outside of the trace that made it; pass it in as an input, or return it");
    return *tracer_;
  }
  /// Copies an array, since a program must not change when the caller's array does.
  static Array copied(const Array& array) {
    Array copy(array.type());
    if (array.type().bytes() > 0) std::memcpy(copy.mutable_bytes(), array.bytes(), static_cast<std::size_t>(array.type().bytes()));
    return copy;
  }
  Operand operand(nb::handle value, const SourceLocation& location) {
    if (nb::isinstance<Operand>(value)) return nb::cast<Operand>(value);
    PyObject* object = value.ptr();
    if (!PyBool_Check(object) && !PyLong_Check(object) && !PyFloat_Check(object)) return constant(value, location);
    if (const std::optional<Literal> literal = literal_of(object)) return {*literal, location};
    tracer().error(DiagnosticKind::value, location, "`" + text_of(value) + "` fits in no integer type; " + range_text(DType::i64));
    return {};
  }
  std::vector<Operand> operands(const AnyList& values, const SourceLocation& location) {
    std::vector<Operand> result;
    result.reserve(values.size());
    for (nb::handle value : values) result.push_back(operand(value, location));
    return result;
  }
  /// Results without a name in their nest get the name that the body or arm gave them.
  Values inheriting(Values results, const std::vector<std::string>& names, const std::vector<Tracer::State>& yielded) {
    for (std::size_t i = 0; i < results.size(); ++i)
      if (i >= names.size() || names[i].empty()) tracer().inherit_name(results[i], yielded[i].operand);
    return results;
  }
  /// Loop-carried states. The location of a yielded value is that of its producer, so that errors about it point there.
  std::vector<Tracer::State> states(const AnyList& values, const std::vector<std::string>& names, const SourceLocation& location,
                                    bool initial) {
    std::vector<Tracer::State> result;
    for (std::size_t i = 0; i < values.size(); ++i) {
      Operand value = operand(values[i], location);
      std::string name = i < names.size() ? names[i] : std::string();
      if (name.empty()) name = name_of(value);
      const bool computed = !initial && value.value.valid();
      SourceLocation place = computed ? tracer().graph().producer(value.value).location : location;
      result.push_back({std::move(name), std::move(value), std::move(place)});
    }
    return result;
  }

  std::string name_;  ///< of the traced function
  std::optional<Tracer> tracer_;
  std::vector<CustomGradient> rules_;  ///< those that are traced now, from the outside in
};

}  // namespace

void bind_tracing(nb::module_& module) {
  nb::class_<Operand>(module, "Operand", "A value of the program that is being traced.")
      .def(nb::init<>(), "What stands for a value after a mistake.")
      .def_prop_ro("poisoned", &Operand::poisoned)
      .def_prop_ro("literal", [](const Operand& operand) -> nb::object {
        if (!operand.literal) return nb::none();
        switch (operand.literal->type) {
          case Literal::Type::boolean: return nb::cast(operand.literal->integer != 0);
          case Literal::Type::integer:
            if (operand.literal->above_i64) return nb::cast(static_cast<std::uint64_t>(operand.literal->integer));
            return nb::cast(operand.literal->integer);
          case Literal::Type::floating: break;
        }
        return nb::cast(operand.literal->floating);
      });
  nb::class_<PythonFunction>(module, "HostFunction", "How a Python function is called by a program.")
      .def(
          "__init__",
          [](PythonFunction* self, std::string name, const std::vector<std::string>& returns, bool pure, std::optional<double> seconds,
             std::optional<double> deadline, bool copies) {
            std::vector<TensorType> types;
            for (const std::string& text : returns) types.push_back(type_named(text));
            if (deadline && !(*deadline > 0)) throw nb::value_error("`deadline` is a positive number of seconds");
            new (self) PythonFunction{std::move(name), std::move(types), pure, seconds, deadline, copies};
          },
          nb::arg("name"), nb::arg("returns"), nb::arg("pure"), nb::arg("seconds").none(), nb::arg("deadline").none(), nb::arg("copies"));
  nb::class_<detail::BatchReader>(module, "BatchReader", "What a loop over batches reads.")
      .def_prop_ro("good", &detail::BatchReader::good)
      .def_prop_ro("trips", &detail::BatchReader::trips)
      .def_prop_ro("rest", &detail::BatchReader::rest)
      .def("read", &detail::BatchReader::read)
      .def("read_rest", &detail::BatchReader::read_rest)
      .def("real_rows", &detail::BatchReader::real_rows);
  nb::class_<Recorder>(module, "Recorder", "A trace from begin to end.")
      .def(nb::init<std::string>(), nb::arg("name"))
      .def_prop_ro("function", &Recorder::function)
      .def_prop_ro("finished", &Recorder::finished)
      .def("input", &Recorder::input)
      .def("parameter", &Recorder::parameter)
      .def("constant", &Recorder::constant)
      .def("apply", &Recorder::apply)
      .def("operate", &Recorder::operate)
      .def("host_call", &Recorder::host_call)
      .def("begin_gradient", &Recorder::begin_gradient)
      .def("end_gradient", &Recorder::end_gradient)
      .def("declare_weights", &Recorder::declare_weights)
      .def("call_onnx", &Recorder::call_onnx)
      .def("name", &Recorder::name)
      .def("rename", &Recorder::rename)
      .def("name_of", &Recorder::name_of)
      .def("value", &Recorder::value)
      .def("output_names", &Recorder::output_names)
      .def("type", &Recorder::type)
      .def("begin_for", &Recorder::begin_for, nb::arg(), nb::arg(), nb::arg(), nb::arg().none(), nb::arg().none(), nb::arg().none(),
           nb::arg())
      .def("end_for", &Recorder::end_for, nb::arg(), nb::arg(), nb::arg().none(), nb::arg())
      .def("begin_while", &Recorder::begin_while, nb::arg(), nb::arg(), nb::arg().none(), nb::arg().none(), nb::arg())
      .def("condition", &Recorder::condition)
      .def("end_while", &Recorder::end_while)
      .def("begin_branch", &Recorder::begin_branch, nb::arg(), nb::arg().none(), nb::arg())
      .def("otherwise", &Recorder::otherwise)
      .def("end_branch", &Recorder::end_branch)
      .def("batches", &Recorder::batches, nb::arg(), nb::arg(), nb::arg().none(), nb::arg(), nb::arg(), nb::keep_alive<0, 1>())
      .def("push_scope", &Recorder::push_scope)
      .def("pop_scope", &Recorder::pop_scope)
      .def("push_place", &Recorder::push_place)
      .def("pop_place", &Recorder::pop_place)
      .def("push_recompute", &Recorder::push_recompute)
      .def("pop_recompute", &Recorder::pop_recompute)
      .def("push_allow", &Recorder::push_allow)
      .def("pop_allow", &Recorder::pop_allow)
      .def("error", &Recorder::error)
      .def_prop_ro("has_errors", &Recorder::has_errors)
      .def("output", &Recorder::output)
      .def("finish", &Recorder::finish, nb::arg().none(), nb::arg().none(), nb::arg().none(), nb::arg().none(), nb::arg());
}

}  // namespace cleave::python
