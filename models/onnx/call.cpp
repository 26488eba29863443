#include "models/onnx/call.h"

#include <algorithm>

#include "models/onnx/graph_reader.h"

namespace cleave::models::onnx {
namespace {

std::string quoted(std::string_view name) {
  return "`" + std::string(name) + "`";
}

}  // namespace

Call::Call(GraphReader& reader, Environment& names, const NodeProto& node, const Lowering& row, SourceLocation location, int version,
           Values operands)
    : Composer(reader.tracer(), location),
      reader_(reader),
      names_(names),
      node_(node),
      row_(row),
      where_(std::move(location)),
      version_(version),
      operands_(std::move(operands)),
      first_value_(reader.tracer().graph().values.size()) {}

Tracer& Call::tracer() {
  return reader_.tracer();
}

BrokenArms& Call::arms() {
  return reader_.arms();
}

// --- operands ------------------------------------------------------------------------------------------------------------------------

bool Call::has(std::size_t i) const {
  return i < operands_.size() && (operands_[i].sequence || !operands_[i].poisoned());
}

const Part& Call::operator[](std::size_t i) {
  return value(i).part;
}

const Value& Call::value(std::size_t i) {
  if (has(i)) return operands_[i];
  if (!incomplete_) mistake(DiagnosticKind::type, quoted(op()) + " needs its operand " + std::to_string(i + 1));
  incomplete_ = true;
  return none_;
}

Parts Call::parts(std::size_t from) const {
  Parts parts;
  for (std::size_t i = from; i < operands_.size(); ++i) parts.push_back(operands_[i].part);
  return parts;
}

std::optional<DType> Call::stated_dtype(std::size_t result) const {
  return wants(result) ? reader_.stated_dtype(node_.outputs[result]) : std::nullopt;
}

// --- attributes ------------------------------------------------------------------------------------------------------------------------

/// In a function's body, an attribute may refer to one of the caller's, or to its default.
const AttributeProto* Call::attribute(std::string_view name) {
  asked_.emplace(name);
  const auto named = [](const std::vector<AttributeProto>& list, std::string_view wanted) {
    const auto found = std::find_if(list.begin(), list.end(), [&](const AttributeProto& each) { return each.name == wanted; });
    return found == list.end() ? nullptr : &*found;
  };
  const AttributeProto* found = named(node_.attributes, name);
  const Environment* place = &names_;
  while (found && !found->reference.empty()) {
    while (place && !place->function) place = place->outer;
    if (!place) return nullptr;
    const std::string_view wanted = found->reference;
    const AttributeProto* fallback = named(place->function->defaults, wanted);
    found = named(*place->given, wanted);
    if (!found) return fallback;
    place = place->caller;
  }
  return found;
}

template <class T>
static std::optional<T> checked(Call& call, std::string_view name, const AttributeProto* attribute, std::optional<T> value) {
  if (attribute && !value)
    call.mistake(DiagnosticKind::type, "the attribute " + quoted(name) + " of " + quoted(call.op()) + " is of another kind");
  return value;
}

std::optional<std::int64_t> Call::integer(std::string_view name) {
  const AttributeProto* found = attribute(name);
  return checked(*this, name, found, found ? found->integer() : std::nullopt);
}

std::optional<double> Call::number(std::string_view name) {
  const AttributeProto* found = attribute(name);
  const auto value = found ? found->number() : std::nullopt;
  return checked(*this, name, found, value ? std::optional(static_cast<double>(*value)) : std::nullopt);
}

std::optional<std::string> Call::text(std::string_view name) {
  const AttributeProto* found = attribute(name);
  const auto value = found ? found->text() : std::nullopt;
  return checked(*this, name, found, value ? std::optional(std::string(*value)) : std::nullopt);
}

std::optional<std::vector<std::int64_t>> Call::integers(std::string_view name) {
  const AttributeProto* found = attribute(name);
  return found ? std::optional(found->integers()) : std::nullopt;
}

std::optional<std::vector<double>> Call::numbers(std::string_view name) {
  const AttributeProto* found = attribute(name);
  if (!found) return std::nullopt;
  const std::vector<float> values = found->numbers();
  return std::vector<double>(values.begin(), values.end());
}

std::optional<std::vector<std::string>> Call::texts(std::string_view name) {
  const AttributeProto* found = attribute(name);
  if (!found) return std::nullopt;
  const std::vector<std::string_view> values = found->texts();
  return std::vector<std::string>(values.begin(), values.end());
}

std::optional<Array> Call::tensor(std::string_view name) {
  const AttributeProto* found = attribute(name);
  const auto value = found ? found->tensor() : std::nullopt;
  if (!checked(*this, name, found, value)) return std::nullopt;
  return array_in(name, reader_.tensors().read(*value));
}

std::optional<Array> Call::sparse_tensor(std::string_view name) {
  const AttributeProto* found = attribute(name);
  const auto value = found ? found->sparse_tensor() : std::nullopt;
  if (!checked(*this, name, found, value)) return std::nullopt;
  return array_in(name, reader_.tensors().read(*value));
}

std::optional<Array> Call::array_in(std::string_view name, Result<Array> array) {
  if (array) return *std::move(array);
  mistake(array.error().kind == ErrorKind::machine ? DiagnosticKind::machine : DiagnosticKind::value,
          "the attribute " + quoted(name) + ": " + array.error().message);
  return std::nullopt;
}

const NarrowType* Call::narrow_tensor(std::string_view name) {
  const AttributeProto* found = attribute(name);
  const auto value = found ? found->tensor() : std::nullopt;
  return value ? narrow_type(value->data_type) : nullptr;
}

std::optional<TextTensor> Call::text_tensor(std::string_view name) {
  const AttributeProto* found = attribute(name);
  const auto value = found ? found->tensor() : std::nullopt;
  if (!value || value->data_type != kTextType) return std::nullopt;
  Result<TextTensor> texts = read_texts(*value);
  if (texts) return *std::move(texts);
  mistake(DiagnosticKind::value, "the attribute " + quoted(name) + ": " + texts.error().message);
  return std::nullopt;
}

std::optional<std::string_view> Call::graph(std::string_view name) {
  const AttributeProto* found = attribute(name);
  return checked(*this, name, found, found ? found->graph() : std::nullopt);
}

std::optional<OperatorNode::Attribute> Call::any(std::string_view name) {
  const AttributeProto* found = attribute(name);
  const auto optional = [](auto value) { return value ? std::optional(OperatorNode::Attribute(*std::move(value))) : std::nullopt; };
  switch (found ? found->kind() : AttributeProto::Kind::other) {
    case AttributeProto::Kind::number: return optional(number(name));
    case AttributeProto::Kind::integer: return optional(integer(name));
    case AttributeProto::Kind::text: return optional(text(name));
    case AttributeProto::Kind::tensor: return optional(tensor(name));
    case AttributeProto::Kind::sparse_tensor: return optional(sparse_tensor(name));
    case AttributeProto::Kind::numbers: return optional(numbers(name));
    case AttributeProto::Kind::integers: return optional(integers(name));
    case AttributeProto::Kind::texts: return optional(texts(name));
    case AttributeProto::Kind::other: break;
  }
  return std::nullopt;
}

std::optional<DType> Call::dtype(std::string_view name) {
  const std::optional<std::int64_t> number = integer(name);
  if (!number) return std::nullopt;
  const std::optional<DType> found = element_type(*number);
  if (!found)
    mistake(DiagnosticKind::unsupported, quoted(op()) + " to elements of " + element_type_name(*number) + ", which cleave does not have");
  return found;
}

std::optional<ElementType> Call::element(std::string_view name) {
  const NarrowType* const narrow = narrow_type(integer(name, 0));
  if (narrow) return ElementType{narrow->carrier, narrow};
  const std::optional<DType> found = dtype(name);
  return found ? std::optional(ElementType{*found}) : std::nullopt;
}

void Call::ignore(std::initializer_list<std::string_view> names) {
  asked_.insert(names.begin(), names.end());
}

std::optional<std::string_view> Call::unread() const {
  for (const AttributeProto& each : node_.attributes)
    if (!asked_.contains(each.name)) return each.name;
  return std::nullopt;
}

// --- known values --------------------------------------------------------------------------------------------------------------------

std::optional<Array> Call::known(std::size_t i) const {
  return i < operands_.size() ? known(operands_[i]) : std::nullopt;
}

std::optional<Array> Call::known(const Value& value) const {
  return value.sequence ? std::nullopt : reader_.known().of(value.part.operand());
}

std::optional<Array> Call::constant_operand(std::size_t i) const {
  if (!has(i) || operands_[i].sequence || !operands_[i].part.operand().value.valid()) return std::nullopt;
  const Node& producer = reader_.tracer().graph().producer(operands_[i].part.operand().value);
  return producer.kind == NodeKind::constant ? std::optional(producer.attributes.get<Array>("value")) : std::nullopt;
}

std::string Call::advice(std::size_t i) const {
  return reader_.advice(operands_[i].part.operand());
}

std::optional<std::vector<double>> Call::known_numbers(std::size_t i, std::string_view what) {
  if (!has(i)) return std::nullopt;
  const std::optional<Array> array = known(i);
  if (!array) {
    const std::string name(i < node_.inputs.size() ? node_.inputs[i] : std::string_view());
    const std::string known_by = advice(i);
    mistake(DiagnosticKind::unsupported, quoted(op()) + " needs " + quoted(name) + " to be known when the model is read, as " +
                                             std::string(what) + " depends on it" + known_by);
    reader_.miss(known_by, node_);
    return std::nullopt;
  }
  std::vector<double> numbers;
  for (std::int64_t at = 0; at < array->size(); ++at) numbers.push_back(array->at(at));
  return numbers;
}

std::optional<std::vector<std::int64_t>> Call::known_integers(std::size_t i, std::string_view what) {
  if (!known_numbers(i, what)) return std::nullopt;
  const Array array = *known(i);
  std::vector<std::int64_t> numbers;
  for (std::int64_t at = 0; at < array.size(); ++at)
    numbers.push_back(array.dtype() == DType::i64 ? array.data<std::int64_t>()[at] : static_cast<std::int64_t>(array.at(at)));
  return numbers;
}

std::optional<std::vector<std::int64_t>> Call::integers_at(std::size_t i, std::string_view attribute, std::string_view what) {
  return has(i) ? known_integers(i, what) : integers(attribute);
}

std::optional<std::int64_t> Call::bound() const {
  const auto& bounds = reader_.options().bounds;
  for (const std::string_view name : {node_.name, node_.outputs.empty() ? std::string_view() : node_.outputs.front()}) {
    const auto found = bounds.find(std::string(name));
    if (found == bounds.end()) continue;
    reader_.use_bound(found->first);
    return found->second;
  }
  return std::nullopt;
}

// --- construction of values ----------------------------------------------------------------------------------------------------------

Part Call::integers_constant(const std::vector<std::int64_t>& values, DType dtype) {
  Array array(TensorType{dtype, {static_cast<std::int64_t>(values.size())}});
  dispatch(dtype, [&](auto zero) {
    using T = decltype(zero);
    if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>)
      std::transform(values.begin(), values.end(), array.template mutable_data<T>(), [](std::int64_t v) { return static_cast<T>(v); });
  });
  return constant(std::move(array));
}

Part Call::numbers_constant(const std::vector<double>& values, DType dtype, Shape shape) {
  Array array(TensorType{dtype, std::move(shape)});
  CLEAVE_CHECK(array.size() == static_cast<std::int64_t>(values.size()), "wrong number of values");
  dispatch(dtype, [&](auto zero) {
    using T = decltype(zero);
    std::transform(values.begin(), values.end(), array.template mutable_data<T>(), [](double value) {
      if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>)
        return T(static_cast<float>(value));
      else
        return static_cast<T>(value);
    });
  });
  return constant(std::move(array));
}

Part Call::number_as(DType dtype, double value) {
  return numbers_constant({value}, dtype, {});
}

std::optional<int> Call::axis(std::int64_t axis, int rank) {
  if (axis >= -rank && axis < rank) return static_cast<int>(axis < 0 ? axis + rank : axis);
  mistake(DiagnosticKind::value, quoted(op()) + ": there is no axis " + std::to_string(axis) + " of " + std::to_string(rank));
  return std::nullopt;
}

std::optional<std::vector<std::int64_t>> Call::axes(const std::vector<std::int64_t>& axes, int rank) {
  std::vector<std::int64_t> found;
  for (const std::int64_t each : axes) {
    const std::optional<int> one = axis(each, rank);
    if (!one) return std::nullopt;
    found.push_back(*one);
  }
  return found;
}

Values Call::inline_graph(std::string_view graph, Values inputs) {
  Values results = reader_.inline_graph(graph, std::move(inputs), names_, where_);
  const auto narrow = std::find_if(results.begin(), results.end(), [](const Value& value) { return value.narrow; });
  if (narrow == results.end() || takes_narrow(op())) return results;
  unsupported("with a graph that gives values of " + std::string(narrow->narrow->name));
  return Values(results.size());
}

std::vector<std::string_view> Call::graph_inputs(std::string_view graph) {
  std::vector<std::string_view> names;
  for_each(graph, kGraphInput, [&](std::string_view bytes) { names.push_back(parse_value_info(bytes).name); });
  return names;
}

std::vector<std::string_view> Call::graph_outputs(std::string_view graph) {
  std::vector<std::string_view> names;
  for_each(graph, kGraphOutput, [&](std::string_view bytes) { names.push_back(parse_value_info(bytes).name); });
  return names;
}

Values Call::mistake(DiagnosticKind kind, std::string message) {
  if (!incomplete_) tracer().error(kind, where_, std::move(message));
  return poison();
}

void Call::remark(std::string message) {
  reader_.remark(where_, std::move(message));
}

Values Call::unsupported(std::string_view what) {
  return mistake(DiagnosticKind::unsupported, quoted(op()) + " " + std::string(what) + " is not supported");
}

Values Call::poison() const {
  return Values(std::max<std::size_t>(node_.outputs.size(), 1));
}

}  // namespace cleave::models::onnx
