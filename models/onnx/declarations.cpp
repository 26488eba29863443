// GraphReader: the declarations of a graph. Initializers become constants, which stay in the file until they are needed and on a device
// from run to run; initializers that are also inputs (defaults) or weights to train become parameters. Other inputs stay inputs, whose open
// sizes the user sets, or are frozen to constants.
#include <algorithm>
#include <utility>

#include "graph/array/npy.h"
#include "graph/array/read_value.h"
#include "graph/base/json_reader.h"
#include "graph/base/spelling.h"
#include "models/onnx/dim_expression.h"
#include "models/onnx/graph_reader.h"
#include "models/onnx/onnx_file.h"
#include "models/onnx/texts.h"

namespace cleave::models::onnx {
namespace {

/// Before this version of the format, every initializer also had to be an input.
constexpr std::int64_t kDefaultsAreMeant = 4;

std::string kind_name(ValueInfo::Kind kind) {
  switch (kind) {
    case ValueInfo::Kind::sequence: return "a sequence";
    case ValueInfo::Kind::map: return "a map";
    case ValueInfo::Kind::optional: return "an optional value";
    case ValueInfo::Kind::sparse_tensor: return "a sparse tensor";
    case ValueInfo::Kind::opaque: return "an opaque value";
    case ValueInfo::Kind::none:
    case ValueInfo::Kind::tensor: break;
  }
  return "a value without a type";
}

/// The flag that sets the shape of an input: `--shape x=1,3,N,?`, with N for an open size without a name and ? for one with a name.
std::string shape_flag(const ValueInfo& info) {
  std::string extents;
  for (const Dimension& dim : info.dims.value_or(std::vector<Dimension>()))
    extents += (extents.empty() ? "" : ",") + (dim.size ? std::to_string(*dim.size) : dim.name.empty() ? "N" : "?");
  return "--shape " + std::string(info.name) + "=" + extents;
}

/// The shape of a value in the command line's notation, if it has `rank` axes.
std::optional<Shape> shape_of(const std::string& text, std::size_t rank) {
  if (text.ends_with(".npy")) {
    const Result<Array> array = read_npy(text);
    return array && array->shape().size() == rank ? std::optional(array->shape()) : std::nullopt;
  }
  const std::optional<JsonTree> tree = JsonTree::parse(text);
  if (!tree) return std::nullopt;
  Shape shape;
  for (std::size_t item = 0; tree->items[item].kind == JsonTree::Kind::list; ++item) {
    shape.push_back(static_cast<std::int64_t>(tree->items[item].count));
    if (tree->items[item].count == 0) break;
  }
  return shape.size() == rank ? std::optional(std::move(shape)) : std::nullopt;
}

}  // namespace

void GraphReader::declare_initializers(std::string_view graph, Environment& names) {
  state_types(graph);
  if (model_.ir_version >= kDefaultsAreMeant)
    for_each(graph, kGraphInput, [&](std::string_view bytes) { defaults_.insert(parse_value_info(bytes).name); });
  read_initializers(graph, [&](std::string_view, const auto& tensor) { declare_initializer(read(tensor), names, false); });
}

GraphReader::Initializer GraphReader::read(const TensorProto& tensor) {
  if (tensor.data_type != kTextType) return {tensor.name, tensors_.read(tensor), narrow_type(tensor.data_type)};
  const Result<TextTensor> texts = read_texts(tensor);
  if (!texts) return {tensor.name, texts.error()};
  return {tensor.name, indices_of(*texts), nullptr, texts->texts};
}
GraphReader::Initializer GraphReader::read(const SparseTensorProto& tensor) {
  return {tensor.values.name, tensors_.read(tensor), narrow_type(tensor.values.data_type)};
}

void GraphReader::declare_initializer(Initializer initializer, Environment& names, bool nested) {
  const std::string name(initializer.name);
  if (!nested) initializers_.insert(name);
  const SourceLocation location = locations_.named("initializer", name);
  const Result<Array>& array = initializer.array;
  Value value;
  if (!array) {
    error(array.error().kind == ErrorKind::machine ? DiagnosticKind::machine : DiagnosticKind::value, location, array.error().message);
  } else if (initializer.texts) {
    value = Part(tracer_, tracer_.constant(*array, location));
  } else if (!nested && std::find(weights_.begin(), weights_.end(), initializer.name) != weights_.end()) {
    Attributes attributes;
    attributes.set("value", *array);
    value = Part(tracer_, tracer_.parameter(name, array->type(), std::move(attributes), location));
  } else if (!defaults_.contains(initializer.name)) {
    value = Part(tracer_, tracer_.constant(*array, location));
    tracer_.name(value.part.operand(), name);
  } else {
    Attributes attributes;
    attributes.set("value", *array);
    value = Part(tracer_, tracer_.parameter(name, array->type(), std::move(attributes), location));
    if (value.part.operand().value.valid()) known_.set(value.part.operand().value, *array);
  }
  value.narrow = initializer.narrow;
  value.texts = std::move(initializer.texts);
  if (!names.values.emplace(initializer.name, std::move(value)).second)
    error(DiagnosticKind::value, location, "two initializers have this name");
}

std::optional<std::int64_t> GraphReader::size_of(const Dimension& dim) const {
  if (dim.size || dim.name.empty()) return dim.size;
  const SizeOf named = [&](std::string_view name) -> std::optional<std::int64_t> {
    const auto found = sizes_.find(name);
    return found == sizes_.end() ? std::nullopt : std::optional(found->second);
  };
  const std::optional<std::int64_t> whole = named(dim.name);
  return whole ? whole : evaluate_dimension(dim.name, named);
}

/// A text such as `batch-size` is a name, unless `batch` or `size` is one.
std::vector<std::string> GraphReader::parts_of(std::string_view name) const {
  std::vector<std::string> parts = names_in_dimension(name);
  const bool expression = name.find_first_of(" +*%(") != std::string_view::npos || name.find("//") != std::string_view::npos ||
                          std::any_of(parts.begin(), parts.end(), [&](const std::string& part) { return plain_sizes_.contains(part); });
  return expression && !parts.empty() ? parts : std::vector{std::string(name)};
}

std::vector<std::string> GraphReader::dim_flags(std::string_view name) const {
  std::vector<std::string> flags;
  for (const std::string& part : parts_of(name))
    if (!sizes_.contains(part)) flags.push_back("--dim " + part + "=N");
  return flags;
}

/// Collects named sizes from the user's options and from the shapes of the arrays to be passed as inputs.
void GraphReader::collect_sizes(std::string_view graph) {
  sizes_.insert(options_.dims.begin(), options_.dims.end());
  for_each(graph, kGraphInput, [&](std::string_view bytes) {
    const ValueInfo info = parse_value_info(bytes);
    for (const Dimension& dim : info.dims.value_or(std::vector<Dimension>()))
      if (!dim.name.empty()) plain_sizes_.emplace(dim.name);
    const auto given = options_.input_shapes.find(std::string(info.name));
    if (given == options_.input_shapes.end() || !info.dims || info.dims->size() != given->second.size()) return;
    for (std::size_t i = 0; i < given->second.size(); ++i)
      if (!(*info.dims)[i].size && !(*info.dims)[i].name.empty()) sizes_.emplace((*info.dims)[i].name, given->second[i]);
  });
}

void GraphReader::declare_inputs(std::string_view graph, Environment& names) {
  collect_sizes(graph);
  std::set<std::string_view> seen;
  for_each(graph, kGraphInput, [&](std::string_view bytes) {
    const ValueInfo info = parse_value_info(bytes);
    if (!seen.insert(info.name).second) {
      error(DiagnosticKind::value, locations_.named("input", info.name), "two inputs have this name");
    } else if (!names.values.contains(info.name)) {  // an input with an initializer is a default, declared as a parameter
      names.values.emplace(info.name, declare_input(info));
    }
  });
  if (!foreign_.empty()) {
    std::string which;
    for (const std::string& each : foreign_) which += (which.empty() ? "" : ", ") + each;
    error(DiagnosticKind::unsupported, locations_.whole_file(), "inputs that cleave cannot take: " + which);
  }
  if (open_sizes_.empty() || !foreign_.empty()) return;
  std::string what, flags;
  for (const auto& [open, wanted] : open_sizes_) {
    what += (what.empty() ? "" : ", ") + open;
    for (const std::string& flag : wanted)
      if ((" " + flags + " ").find(" " + flag + " ") == std::string::npos) flags += (flags.empty() ? "" : " ") + flag;
  }
  open_ = "sizes are open: " + what + "; give them with " + flags;
}

Value GraphReader::declare_input(const ValueInfo& info) {
  const std::string name(info.name);
  inputs_.insert(name);
  const SourceLocation location = locations_.named("input", name);
  const bool tensor = info.kind == ValueInfo::Kind::tensor;
  const std::optional<DType> dtype = tensor ? carried_type(info.element_type) : std::nullopt;
  if (!dtype) {
    foreign_.push_back("`" + name + "` is " +
                       (tensor && info.element_type == kTextType
                            ? "of string; export the model without the nodes that read it, with numbers as its input"
                        : tensor ? "of " + element_type_name(info.element_type)
                                 : kind_name(info.kind)));
    return {};
  }
  const std::optional<TensorType> type = input_type(info, *dtype);
  if (!type) return {};
  Value value = options_.constants.contains(name) ? frozen(info, *type) : Part(tracer_, tracer_.input(name, *type, {}, location));
  value.narrow = narrow_type(info.element_type);
  return value;
}

/// -1 stands for an open size; only a frozen input may have one.
std::optional<TensorType> GraphReader::input_type(const ValueInfo& info, DType dtype) {
  const std::string name(info.name);
  const auto given = options_.shapes.find(name);
  const bool constant = options_.constants.contains(name);
  const auto held = options_.input_shapes.find(name);
  if (!info.dims && given == options_.shapes.end() && held != options_.input_shapes.end()) return TensorType{dtype, held->second};
  if (!info.dims && given == options_.shapes.end() && !constant) {
    open_sizes_.emplace_back("the shape of `" + name + "`", std::vector{"--shape " + name + "=N,…"});
    return std::nullopt;
  }
  const std::size_t rank = info.dims ? info.dims->size() : given != options_.shapes.end() ? given->second.size() : 0;
  if (given != options_.shapes.end() && given->second.size() != rank) {
    error(DiagnosticKind::shape, locations_.named("input", name),
          "has " + std::to_string(rank) + " axes, and --shape gives " + std::to_string(given->second.size()));
    return std::nullopt;
  }
  TensorType type{dtype, {}};
  bool whole = true;
  for (std::size_t i = 0; i < rank; ++i) {
    const Dimension dim = info.dims ? (*info.dims)[i] : Dimension{};
    std::optional<std::int64_t> size = size_of(dim);
    if (size && *size < 0 && !sizes_.contains(dim.name)) {
      error(DiagnosticKind::shape, locations_.named("input", name),
            "axis " + std::to_string(i) + " is `" + std::string(dim.name) + "`, which is " + std::to_string(*size));
      return std::nullopt;
    }
    if (!size && held != options_.input_shapes.end() && held->second.size() == rank) size = held->second[i];
    if (given != options_.shapes.end() && given->second[i]) {
      if (dim.size && *dim.size != *given->second[i])
        error(DiagnosticKind::shape, locations_.named("input", name),
              "has extent " + std::to_string(*dim.size) + " along axis " + std::to_string(i) + ", and --shape gives " +
                  std::to_string(*given->second[i]));
      size = given->second[i];
    }
    if (!size && !constant) {
      const std::string open = "`" + name + "` axis " + std::to_string(i);
      open_sizes_.emplace_back(dim.name.empty() ? open : open + " (" + std::string(dim.name) + ")",
                               dim.name.empty() ? std::vector{shape_flag(info)} : dim_flags(dim.name));
      whole = false;
    }
    type.shape.push_back(size.value_or(-1));
  }
  if (constant && !info.dims && given == options_.shapes.end()) type.shape = {-1};
  return whole ? std::optional(std::move(type)) : std::nullopt;
}

void GraphReader::state_types(std::string_view graph) {
  for (const std::uint32_t field : {kGraphValueInfo, kGraphOutput})
    for_each(graph, field, [&](std::string_view bytes) {
      const ValueInfo info = parse_value_info(bytes);
      stated_.emplace(info.name, info);
    });
}

const ValueInfo* GraphReader::stated(std::string_view name) {
  const auto found = stated_.find(name);
  return found == stated_.end() ? nullptr : &found->second;
}

std::optional<DType> GraphReader::stated_dtype(std::string_view name) {
  const ValueInfo* info = stated(name);
  return info ? element_type(info->element_type) : std::nullopt;
}

std::optional<TensorType> GraphReader::stated_type(std::string_view name) {
  const ValueInfo* info = stated(name);
  if (!info || !info->dims) return std::nullopt;
  const std::optional<DType> dtype = element_type(info->element_type);
  if (!dtype) return std::nullopt;
  TensorType type{*dtype, {}};
  for (const Dimension& dim : *info->dims) {
    const std::optional<std::int64_t> size = size_of(dim);
    if (!size || *size < 0) return std::nullopt;
    type.shape.push_back(*size);
  }
  return checked_bytes(type) ? std::optional(std::move(type)) : std::nullopt;
}

void GraphReader::compare_declared(const ValueInfo& info, const Value& value, const SourceLocation& location) {
  if (info.kind != ValueInfo::Kind::tensor) return;
  const TensorType& type = value.part.type();
  const std::optional<DType> dtype = element_type(info.element_type);
  bool fits = !dtype || *dtype == type.dtype;
  if (info.dims && fits) {
    const Lengths lengths = tracer_.lengths(value.part.operand());
    const auto depends = [&](std::size_t axis) {
      return std::any_of(lengths.begin(), lengths.end(), [&](const Length& length) { return length.axis == static_cast<int>(axis); });
    };
    fits = info.dims->size() == type.shape.size();
    for (std::size_t axis = 0; fits && axis < type.shape.size(); ++axis) {
      const std::optional<std::int64_t> size = size_of((*info.dims)[axis]);
      fits = !size || *size == type.shape[axis] || depends(axis);
    }
  }
  if (fits) return;
  const std::string declared = info.dims ? declared_type(dtype.value_or(type.dtype), *info.dims) : std::string(to_string(*dtype));
  warnings_.add({DiagnosticKind::shape,
                 Severity::warning,
                 "the file declares `" + std::string(info.name) + "` as " + declared + ", but its nodes compute " + to_string(type),
                 location,
                 0,
                 {}});
}

Value GraphReader::frozen(const ValueInfo& info, const TensorType& declared) {
  const std::string name(info.name);
  const SourceLocation location = locations_.named("input", name);
  const auto& given = options_.constants.at(name);
  const auto refuse = [&](const std::string& why) {
    error(DiagnosticKind::value, location, "--constant " + name + ": " + why);
    return Value();
  };
  const bool open = std::any_of(declared.shape.begin(), declared.shape.end(), [](std::int64_t extent) { return extent < 0; });
  TensorType type = declared;
  if (const auto* text = std::get_if<std::string>(&given)) {
    if (open) {
      const std::optional<Shape> shape = shape_of(*text, info.dims ? info.dims->size() : 1);
      if (!shape) return refuse("`" + *text + "` has not as many axes as the model says");
      for (std::size_t i = 0; i < shape->size(); ++i)
        if (type.shape[i] < 0) type.shape[i] = (*shape)[i];
    }
    Result<Array> array = read_value(*text, type, info.name);
    return array ? Value(Part(tracer_, tracer_.constant(*std::move(array), location))) : refuse(array.error().message);
  }
  const Array& array = std::get<Array>(given);
  bool fits = array.dtype() == type.dtype && array.shape().size() == type.shape.size();
  for (std::size_t i = 0; fits && i < type.shape.size(); ++i) fits = type.shape[i] < 0 || type.shape[i] == array.shape()[i];
  if (!fits) return refuse("the array is " + to_string(array.type()) + ", which the model does not take");
  return Part(tracer_, tracer_.constant(array, location));
}

/// A misspelled flag leaves a size open; both are reported as one mistake.
void GraphReader::check_options_used() {
  std::vector<std::string> inputs;
  std::set<std::string> sizes;
  for_each(model_.graph, kGraphInput, [&](std::string_view bytes) {
    const ValueInfo info = parse_value_info(bytes);
    inputs.emplace_back(info.name);
    for (const Dimension& dim : info.dims.value_or(std::vector<Dimension>()))
      if (!dim.name.empty()) {
        sizes.emplace(dim.name);
        for (std::string& part : parts_of(dim.name)) sizes.insert(std::move(part));
      }
  });
  const std::vector<std::string> dims(sizes.begin(), sizes.end());
  const auto check = [&](const char* flag, const char* what, const std::string& name, const std::vector<std::string>& known) {
    if (std::find(known.begin(), known.end(), name) != known.end()) return;
    std::vector<Note> notes;
    if (!open_.empty()) notes.push_back({std::exchange(open_, ""), {}, 0});
    error(DiagnosticKind::unknown, locations_.whole_file(),
          std::string(flag) + " " + name + ": the model has no " + what + " of this name" + did_you_mean_or_has(name, known),
          std::move(notes));
  };
  for (const auto& [name, size] : options_.dims) {
    check("--dim", "open size", name, dims);
    if (size < 0) error(DiagnosticKind::value, locations_.whole_file(), "--dim " + name + " must not be negative");
  }
  for (const auto& [name, shape] : options_.shapes) check("--shape", "input", name, inputs);
  for (const auto& [name, value] : options_.constants) check("--constant", "input", name, inputs);
  if (!open_.empty()) error(DiagnosticKind::shape, locations_.whole_file(), open_);
  for (const auto& [name, function] : options_.host_functions)
    if (!host_functions_used_.contains(name) && !tracer_.has_errors())
      error(DiagnosticKind::unknown, locations_.whole_file(), "--host-function " + name + ": the model has no node of this operator");
  for (const auto& [name, value] : options_.bounds)
    if (!bounds_used_.contains(name) && !tracer_.has_errors())
      error(DiagnosticKind::unknown, locations_.whole_file(),
            "--bound " + name + ": no node of this name has a result whose size depends on data");
}

}  // namespace cleave::models::onnx
