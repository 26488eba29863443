#include "models/onnx/graph_reader.h"

#include <algorithm>

#include "models/onnx/call.h"
#include "models/onnx/table.h"
#include "models/onnx/texts.h"

namespace cleave::models::onnx {
namespace {

constexpr std::size_t kMostErrors = 100;
constexpr std::size_t kNodesOfAnyFile = 100'000, kNodesPerByte = 16;
constexpr std::size_t kNamesShown = 3;

bool standard(std::string_view domain) {
  return domain.empty() || domain == "ai.onnx";
}

std::string qualified(const NodeProto& node) {
  return standard(node.domain) ? std::string(node.op_type) : std::string(node.domain) + "." + std::string(node.op_type);
}

std::string function_key(std::string_view domain, std::string_view name, std::string_view overload) {
  return std::string(standard(domain) ? "" : domain) + ":" + std::string(name) + ":" + std::string(overload);
}

}  // namespace

const Value* Environment::find(std::string_view name) const {
  for (const Environment* names = this; names; names = names->outer)
    if (const auto found = names->values.find(name); found != names->values.end()) return &found->second;
  return nullptr;
}

bool Environment::lacks(std::string_view name) const {
  for (const Environment* names = this; names; names = names->outer)
    if (names->absent.contains(name)) return true;
  return false;
}

GraphReader::GraphReader(Tracer& tracer, Locations& locations, Tensors& tensors, const ModelProto& model, const ModelOptions& options,
                         std::size_t file_bytes)
    : tracer_(tracer),
      locations_(locations),
      tensors_(tensors),
      model_(model),
      options_(options),
      known_(tracer),
      arms_(tracer),
      nodes_left_(kNodesOfAnyFile + kNodesPerByte * file_bytes) {
  for (const std::string_view message : model.functions) {
    FunctionProto function = parse_function(message);
    std::string key = function_key(function.domain, function.name, function.overload);
    functions_.emplace(std::move(key), std::move(function));
  }
}

void GraphReader::error(DiagnosticKind kind, const SourceLocation& location, std::string message, std::vector<Note> notes) {
  tracer_.error(kind, location, std::move(message), std::move(notes));
}

bool GraphReader::exhausted() const {
  return nodes_left_ == 0 || tracer_.graph().diagnostics.size() >= kMostErrors;
}

ArmMistakes GraphReader::read_model(bool last) {
  Environment names;
  declare_initializers(model_.graph, names);
  declare_inputs(model_.graph, names);
  if (!tracer_.has_errors() && open_.empty()) {
    read_nodes(model_.graph, kGraphNode, names);
    ArmMistakes excused = last || exhausted() ? ArmMistakes() : arms_.excused();
    if (!excused.empty()) return excused;
    report_missing();
    if (!exhausted()) read_outputs(model_.graph, names);
    if (!exhausted()) add_weight_outputs(names);
  }
  check_options_used();
  return {};
}

void GraphReader::train(const std::vector<TensorProto>& weights) {
  for (const TensorProto& weight : weights) weights_.push_back(weight.name);
}

void GraphReader::add_weight_outputs(const Environment& names) {
  for (const std::string_view weight : weights_) {
    const auto& outputs = tracer_.graph().outputs;
    if (std::any_of(outputs.begin(), outputs.end(), [&](const Output& output) { return output.name == weight; })) continue;
    const Value* value = names.find(weight);
    if (value && !value->poisoned()) tracer_.output(std::string(weight), value->part.operand(), locations_.named("initializer", weight));
  }
}

Values GraphReader::read_call(const std::map<std::string_view, Operand>& given) {
  Environment names;
  for (const auto& [name, operand] : given) names.values.emplace(name, Part(tracer_, operand));
  for_each(model_.graph, kGraphInput, [&](std::string_view bytes) {
    const ValueInfo info = parse_value_info(bytes);
    if (const auto found = names.values.find(info.name); found != names.values.end()) found->second.narrow = narrow_type(info.element_type);
  });
  read_initializers(model_.graph, [&](std::string_view name, const auto& tensor) {
    if (!given.contains(name)) declare_initializer(read(tensor), names, false);
  });
  read_nodes(model_.graph, kGraphNode, names);
  report_missing();
  Values results;
  for_each(model_.graph, kGraphOutput, [&](std::string_view bytes) {
    const Value* value = names.find(parse_value_info(bytes).name);
    results.push_back(value ? *value : Value());
  });
  return results;
}

void GraphReader::read_nodes(std::string_view message, std::uint32_t field, Environment& names) {
  const auto read = [&](std::string_view bytes) {
    if (!exhausted()) read_node(parse_node(bytes), names);
  };
  const NodeOrders::Order* order =
      orders_.find(message, field, [&](std::string_view name) { return names.find(name) != nullptr || names.lacks(name); });
  if (!order) return for_each(message, field, read);
  if (order->cycle.empty()) {
    std::for_each(order->nodes.begin(), order->nodes.end(), read);
    return;
  }
  report_cycle(order->cycle);
  for_each(message, field, [&](std::string_view bytes) {
    for (const std::string_view output : parse_node(bytes).outputs) names.values.emplace(output, Value());
  });
}

void GraphReader::report_cycle(const std::vector<std::string_view>& nodes) {
  std::string names;
  for (std::size_t i = 0; i < std::min(nodes.size(), kNamesShown); ++i)
    names += (i == 0 ? "`" : ", `") + node_title(parse_node(nodes[i])) + "`";
  if (nodes.size() > kNamesShown) names += ", …";
  const std::string what = nodes.size() == 1
                               ? "the node reads its own result"
                               : "nodes read each other's results in a cycle, so that none of them can be the first: " + names;
  error(DiagnosticKind::value, locations_.of(parse_node(nodes.front())), what);
}

void GraphReader::read_node(const NodeProto& node, Environment& names) {
  const SourceLocation location = locations_.of(node);
  if (--nodes_left_ == 0)
    return error(DiagnosticKind::unsupported, location, "the file's functions and inner graphs become too many nodes");
  const std::optional<Values> operands = operands_of(node, location, names);
  arms_.enter(node.op_type.data());
  bind(node, operands ? lower(node, *operands, location, names) : Values(node.outputs.size()), names);
  arms_.leave();
}

std::optional<Values> GraphReader::operands_of(const NodeProto& node, const SourceLocation& location, Environment& names) {
  Values operands;
  bool whole = true;
  for (const std::string_view name : node.inputs) {
    operands.emplace_back();
    if (name.empty()) continue;
    if (const Value* value = names.find(name)) {
      operands.back() = *value;
      continue;
    }
    if (names.lacks(name)) continue;
    error(DiagnosticKind::unknown, location,
          "`" + std::string(name) + "` is used but not computed: no input, initializer or node of the graph has this name");
    whole = false;
  }
  return whole ? std::optional(std::move(operands)) : std::nullopt;
}

int GraphReader::version_of(std::string_view domain, const Environment& names) const {
  const Environment* place = &names;
  while (place && !place->function) place = place->outer;
  int version = 0;
  for (const OpsetImport& import : place ? place->function->opsets : model_.opsets)
    if (import.domain == domain || (standard(import.domain) && standard(domain)))
      version = static_cast<int>(std::clamp<std::int64_t>(import.version, 0, kNewestVersion));
  return version;
}

const FunctionProto* GraphReader::function_of(const NodeProto& node) const {
  const auto found = functions_.find(function_key(node.domain, node.op_type, node.overload));
  return found == functions_.end() ? nullptr : &found->second;
}

Values GraphReader::lower(const NodeProto& node, const Values& operands, const SourceLocation& location, Environment& names) {
  const Values poison(node.outputs.size());
  const std::string op = qualified(node);
  if (const auto given = options_.host_functions.find(op); given != options_.host_functions.end())
    return by_host_function(given->second, node, op, operands, location, names);
  if (const FunctionProto* function = function_of(node)) return inline_function(*function, node, operands, names);
  const int version = version_of(node.domain, names);
  const Lowering* lowering = find_lowering(op, standard(node.domain) ? version : kNewestVersion);
  if (std::optional<Values> lost = lost_results(node, op, lowering, operands)) return *std::move(lost);
  if (!lowering && options_.assume_host.contains(op)) return assumed(node, op, operands, location);
  if (!lowering) {
    Missing& missing = missing_[op];
    if (missing.count++ == 0) missing.location = location;
    arms_.add(
        {DiagnosticKind::unsupported, Severity::error, "the operator `" + op + "` is not supported", tracer_.chained(location), 0, {}});
    if (missing.nodes.size() < kNamesShown && !node.name.empty()) missing.nodes.emplace_back(node.name);
    return poison;
  }
  for (std::size_t i = 0; i < operands.size(); ++i) {
    if (node.inputs[i].empty()) continue;
    if (operands[i].poisoned()) return poison;
    if ((operands[i].sequence || operands[i].absent) && !lowering->takes_sequences) {
      error(DiagnosticKind::unsupported, location,
            "`" + op + "` does not take the " + (operands[i].absent ? "empty optional" : "sequence") + " `" + std::string(node.inputs[i]) +
                "`");
      return poison;
    }
    if (operands[i].narrow && !takes_narrow(op)) {
      error(DiagnosticKind::unsupported, location,
            "`" + op + "` does not take elements of " + std::string(operands[i].narrow->name) + ", as `" + std::string(node.inputs[i]) +
                "` has; `Cast` or `DequantizeLinear` converts them");
      return poison;
    }
    if (lowering->takes_bounded || operands[i].sequence || tracer_.lengths(operands[i].part.operand()).empty()) continue;
    error(DiagnosticKind::unsupported, location,
          "`" + op + "` needs to know how large `" + std::string(node.inputs[i]) + "` is, and that depends on data");
    return poison;
  }
  return lower_placed(*lowering, node, operands, location, version, names);
}

std::optional<Values> GraphReader::lost_results(const NodeProto& node, const std::string& op, const Lowering* row, const Values& operands) {
  Value lost;
  for (std::size_t i = 0; i < operands.size(); ++i) {
    if (operands[i].lost) lost.lost = operands[i].lost;
    if (operands[i].texts && (!row || row->texts == Texts::refuse))
      lost.lost = std::make_shared<const std::string>("`" + op + "` of the texts `" + std::string(node.inputs[i]) + "` is not supported");
  }
  return lost.lost ? std::optional(Values(node.outputs.size(), lost)) : std::nullopt;
}

Values GraphReader::lower_placed(const Lowering& row, const NodeProto& node, const Values& operands, const SourceLocation& location,
                                 int version, Environment& names) {
  Call call(*this, names, node, row, location, version, operands);
  const std::size_t errors = tracer_.graph().diagnostics.size();
  const std::size_t number = lowered_++;
  const bool pinned = number < pins_.size() && pins_[number].any();
  if (records_) records_->emplace_back();  // in the order in which nodes are begun: nodes of subgraphs follow
  if (pinned) tracer_.push_place(pins_[number]);
  Values results = row.lower(call);
  if (pinned) tracer_.pop_place();
  const bool good = tracer_.graph().diagnostics.size() == errors;
  if (const auto unread = call.unread(); good && unread)
    error(DiagnosticKind::unsupported, location,
          "`" + qualified(node) + "` with the attribute `" + std::string(*unread) + "` is not supported");
  if (good && results.size() < node.outputs.size())
    for (std::size_t i = results.size(); i < node.outputs.size(); ++i)
      if (!node.outputs[i].empty())
        error(DiagnosticKind::unsupported, location, "`" + qualified(node) + "` gives no result " + std::to_string(i + 1));
  results.resize(node.outputs.size());
  if (!operands.empty() && !results.empty() && keeps_element_type(row.op)) results[0].narrow = operands[0].narrow;
  if (row.texts == Texts::keep && !operands.empty())
    for (Value& result : results) result.texts = operands.front().texts;
  if (records_) (*records_)[number] = record(node, version, operands, results, names);
  return results;
}

NodeRecord GraphReader::record(const NodeProto& node, int version, const Values& operands, const Values& results,
                               const Environment& names) const {
  NodeRecord record{node_title(node), qualified(node), version, names.graph, {}, {}};
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    const Environment* home = &names;
    while (home->outer && !home->values.contains(node.inputs[i])) home = home->outer;
    ValueRecord value{node.inputs[i].empty() ? "" : std::to_string(home->graph) + ":" + std::string(node.inputs[i]),
                      ValueRecord::Kind::computed, operands[i].part.type()};
    if (!home->outer && !home->function && initializers_.contains(node.inputs[i])) value.kind = ValueRecord::Kind::initializer;
    if (!home->outer && !home->function && inputs_.contains(node.inputs[i])) value.kind = ValueRecord::Kind::input;
    record.inputs.push_back(std::move(value));
  }
  for (std::size_t i = 0; i < node.outputs.size(); ++i)
    record.outputs.push_back({node.outputs[i].empty() ? "" : std::to_string(names.graph) + ":" + std::string(node.outputs[i]),
                              ValueRecord::Kind::computed, results[i].part.type()});
  return record;
}

void GraphReader::bind(const NodeProto& node, Values results, Environment& names) {
  for (std::size_t i = 0; i < node.outputs.size(); ++i) {
    const std::string_view name = node.outputs[i];
    if (name.empty()) continue;
    tracer_.name(results[i].part.operand(), name);
    if (!names.values.emplace(name, std::move(results[i])).second)
      error(DiagnosticKind::value, locations_.of(node), "`" + std::string(name) + "` is computed twice");
  }
}

void GraphReader::report_missing() {
  for (const auto& [op, missing] : missing_) {
    std::string message = "the operator `" + op + "` is not supported";
    if (missing.count > 1) message += "; the model has it " + std::to_string(missing.count) + " times";
    std::string names;
    for (const std::string& name : missing.nodes) names += (names.empty() ? "" : ", ") + ("`" + name + "`");
    if (missing.count > 1 && !names.empty()) message += ": " + names + (missing.count > missing.nodes.size() ? ", …" : "");
    std::vector<Note> notes;
    if (op == missing_.begin()->first)
      notes.push_back(
          {"a host function can compute it: --host-function " + op + "=LIBRARY.so:SYMBOL, in Python host_functions={\"" + op + "\": f}",
           {},
           0});
    error(DiagnosticKind::unsupported, missing.location, message, std::move(notes));
  }
}

void GraphReader::read_outputs(std::string_view graph, Environment& names) {
  std::size_t computed = 0;  // outputs other than lost texts
  for_each(graph, kGraphOutput, [&](std::string_view bytes) {
    const Value* value = names.find(parse_value_info(bytes).name);
    if (value && !value->lost) ++computed;
  });
  for_each(graph, kGraphOutput, [&](std::string_view bytes) {
    const ValueInfo info = parse_value_info(bytes);
    const SourceLocation location = locations_.named("output", info.name);
    const Value* value = names.find(info.name);
    if (!value) return error(DiagnosticKind::unknown, location, "no node computes this output");
    if (!value->poisoned()) read_output(info, *value, computed == 0, location);
  });
}

void GraphReader::read_output(const ValueInfo& info, const Value& value, bool single, const SourceLocation& location) {
  if (value.lost) {
    if (single) return error(DiagnosticKind::unsupported, location, *value.lost);
    return remark(location, "left out, since it is text: " + *value.lost);
  }
  if (value.sequence || value.absent)
    return error(DiagnosticKind::unsupported, location, "a sequence or an optional value cannot be a result");
  if (value.texts)
    remark(location, "is given as indices of texts, as i64: " + named_indices(*value.texts));
  else
    compare_declared(info, value, location);
  tracer_.output(std::string(info.name), value.part.operand(), location);
}

Diagnostics GraphReader::warnings() const {
  Diagnostics all = arms_.warnings();
  all.append(warnings_);
  return all;
}

void GraphReader::remark(const SourceLocation& location, std::string message) {
  warnings_.add({DiagnosticKind::unsupported, Severity::remark, std::move(message), tracer_.chained(location), 0, {}});
}

void GraphReader::miss(const std::string& advice, const NodeProto& node) {
  if (!advice.starts_with("; ")) return;
  Misses& missed = misses_[advice];
  if (!missed.diagnostics.empty()) missed.nodes.push_back("`" + std::string(node.name.empty() ? node.op_type : node.name) + "`");
  missed.diagnostics.push_back(tracer_.graph().diagnostics.size() - 1);
}

Diagnostics GraphReader::mistakes() const {
  std::map<std::size_t, std::string> told;  // notes for the first diagnostic of each group
  std::set<std::size_t> left_out;
  for (const auto& [advice, missed] : misses_) {
    if (missed.nodes.empty()) continue;
    std::string names;
    for (std::size_t i = 0; i < std::min(missed.nodes.size(), kNamesShown); ++i) names += (i == 0 ? ": " : ", ") + missed.nodes[i];
    if (missed.nodes.size() > kNamesShown) names += ", …";
    told[missed.diagnostics.front()] =
        (missed.nodes.size() == 1 ? "1 more node needs" : std::to_string(missed.nodes.size()) + " more nodes need") + (" it" + names);
    left_out.insert(missed.diagnostics.begin() + 1, missed.diagnostics.end());
  }
  Diagnostics kept;
  std::size_t number = 0;
  for (Diagnostic mistake : arms_.with_advice()) {
    if (const auto found = told.find(number); found != told.end()) mistake.notes.push_back({found->second, {}, 0});
    if (!left_out.contains(number++)) kept.add(std::move(mistake));
  }
  return kept;
}

std::string GraphReader::advice(const Operand& operand) const {
  const std::optional<std::vector<ValueId>> inputs = known_.unknown_inputs(operand.value);
  const Graph& graph = tracer_.graph();
  if (!inputs || inputs->empty()) return ", and it depends on data";
  std::string flags;
  for (const ValueId input : *inputs) {
    const std::string& name = graph.values[input].name;
    const bool itself = input.index == operand.value.index;  // the operand itself is an input: scales, regions
    if (is_floating(graph.values[input].type.dtype) && graph.values[input].type.elements() > 1 && !itself)
      return ", and it depends on the data of `" + name + "`";
    flags += (flags.empty() ? "" : " ") + ("--constant " + name + "=VALUE");
  }
  return "; if it is the same in every run, give it with " + flags;
}

}  // namespace cleave::models::onnx
