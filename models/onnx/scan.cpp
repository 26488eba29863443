// Lowering of Scan: a loop along an axis of its operands.
#include <algorithm>

#include "models/onnx/loops.h"

namespace cleave::models::onnx {
namespace {

struct ScanParts {
  std::string_view body;
  Values carried;
  Parts inputs;                              ///< the arrays that the loop iterates over
  std::vector<std::int64_t> axes, backward;  ///< of the inputs
  std::vector<std::int64_t> result_axes, result_backward;
  std::int64_t length = 0;
};

/// The numbers of an attribute, one for each item, or zeros.
std::vector<std::int64_t> each(Call& c, const char* name, std::size_t count) {
  auto given = c.integers(name).value_or(std::vector<std::int64_t>(count, 0));
  given.resize(count, 0);
  return given;
}

std::optional<ScanParts> scan_parts(Call& c, const Values& operands) {
  const auto refuse = [&](DiagnosticKind kind, const std::string& message) {
    c.mistake(kind, message);
    return std::nullopt;
  };
  ScanParts scan;
  const auto body = c.graph("body");
  const auto inputs = static_cast<std::size_t>(std::max<std::int64_t>(c.integer("num_scan_inputs", 0), 0));
  if (!body || inputs == 0 || inputs > operands.size())
    return refuse(DiagnosticKind::type, "`Scan` needs a graph, and values to walk along");
  scan.body = *body;
  const std::size_t carries = operands.size() - inputs;
  const std::size_t takes = Call::graph_inputs(*body).size(), gives = Call::graph_outputs(*body).size();
  if (takes != operands.size() || gives < carries)
    return refuse(DiagnosticKind::type, "the graph inside of `Scan` takes " + std::to_string(takes) + " values and gives " +
                                            std::to_string(gives) + ", and it is given " + std::to_string(operands.size()));
  scan.carried.assign(operands.begin(), operands.begin() + static_cast<std::ptrdiff_t>(carries));
  for (std::size_t i = carries; i < operands.size(); ++i) scan.inputs.push_back(operands[i].part);
  scan.axes = each(c, "scan_input_axes", inputs);
  scan.backward = each(c, c.version() < 9 ? "directions" : "scan_input_directions", inputs);
  scan.result_axes = each(c, "scan_output_axes", gives - carries);
  scan.result_backward = each(c, "scan_output_directions", gives - carries);
  for (std::size_t i = 0; i < inputs; ++i) {
    const std::optional<int> axis = c.axis(scan.axes[i], scan.inputs[i].rank());
    if (!axis) return std::nullopt;
    scan.axes[i] = *axis;
    const std::int64_t length = scan.inputs[i].shape()[static_cast<std::size_t>(*axis)];
    if (i > 0 && length != scan.length)
      return refuse(DiagnosticKind::shape,
                    "`Scan` walks along values of different lengths, " + std::to_string(scan.length) + " and " + std::to_string(length));
    scan.length = length;
  }
  return scan;
}

Values scan_trip(Call& c, const ScanParts& scan, const Part& counter, const Values& carried) {
  Values inputs = carried;
  for (std::size_t i = 0; i < scan.inputs.size(); ++i) {
    if (scan.length == 0) {  // without an iteration, only the types of its results matter
      Shape shape = scan.inputs[i].shape();
      shape.erase(shape.begin() + static_cast<std::ptrdiff_t>(scan.axes[i]));
      inputs.emplace_back(c(op::zeros, std::initializer_list<Part>{}, {{"shape", shape}, {"dtype", scan.inputs[i].dtype()}}));
      continue;
    }
    const Part place = scan.backward[i] != 0 ? c.subtract(scan.length - 1, counter) : counter;
    inputs.emplace_back(c(op::take, {scan.inputs[i], place}, {{"axis", scan.axes[i]}}));
  }
  return c.inline_graph(scan.body, std::move(inputs));
}

/// The loop, from the `initial` carried values and collections to the final ones.
Values walked(Call& c, const ScanParts& scan, Collected& collected, const Values& initial) {
  const std::size_t carries = scan.carried.size();
  Tracer& tracer = c.tracer();
  const Tracer::Loop inside = tracer.begin_for(Operand(Literal{Literal::Type::integer, scan.length}), states(c, initial), c.location());
  const Part counter(tracer, inside.counter);
  const Values carried = values_of(c, inside.inside);
  Values yielded = scan_trip(c, scan, counter, Values(carried.begin(), carried.begin() + static_cast<std::ptrdiff_t>(carries)));
  for (std::size_t s = 0; s < scan.result_axes.size(); ++s) {
    const Part place = scan.result_backward[s] != 0 ? c.subtract(scan.length - 1, counter) : counter;
    yielded[carries + s] = collected.put(carried[carries + s], yielded[carries + s], place);
  }
  return values_of(c, tracer.end_for(states(c, yielded)));
}

Values scan_over(Call& c, const Values& operands) {
  const std::optional<ScanParts> scan = scan_parts(c, operands);
  if (!scan) return c.poison();
  const std::size_t carries = scan->carried.size();
  const std::size_t scans = scan->result_axes.size();
  if (!plain(scan->carried) || any_bounded(c, scan->carried))
    return c.unsupported("that carries a sequence, or a value whose size depends on data,");
  const Values sample = scan_trip(c, *scan, c.scalar(std::int32_t{0}), scan->carried);
  if (std::any_of(sample.begin(), sample.end(), [](const Value& value) { return value.poisoned(); })) return c.poison();
  Collected collected(c, Values(sample.begin() + static_cast<std::ptrdiff_t>(carries), sample.end()), scan->length);
  Values initial = scan->carried;
  initial.insert(initial.end(), collected.initial().begin(), collected.initial().end());

  Values after = scan->length == 0 ? initial : walked(c, *scan, collected, initial);
  for (std::size_t s = 0; s < scans; ++s) {
    const Part& result = after[carries + s].part;
    const std::optional<int> axis = c.axis(scan->result_axes[s], result.rank());
    if (!axis) return c.poison();
    const Attributes moved{{"source", std::vector<std::int64_t>{0}}, {"destination", std::vector<std::int64_t>{*axis}}};
    if (*axis != 0) after[carries + s] = c(op::moveaxis, {result}, moved);
  }
  return after;
}

Values operands_from(Call& c, std::size_t first) {
  Values operands;
  for (std::size_t i = first; i < c.operands(); ++i) operands.push_back(c.value(i));
  return operands;
}

Values scan(Call& c) {
  return scan_over(c, operands_from(c, 0));
}

/// Version 8 has the sequence lengths as first operand, and a batch axis in front of all others.
Values batched_scan(Call& c) {
  if (c.has(0)) return c.unsupported("with sequences of different lengths");
  const Values operands = operands_from(c, 1);
  std::vector<Parts> results(c.results());
  const std::int64_t batches = operands.empty() || operands[0].part.rank() == 0 ? 0 : operands[0].part.shape()[0];
  if (batches == 0 || batches > kMostUnrolled) return c.unsupported("of so many batches");
  for (std::int64_t i = 0; i < batches; ++i) {
    Values one;
    for (const Value& operand : operands) one.emplace_back(c(op::take, {operand.part, i}, {{"axis", std::int64_t{0}}}));
    const Values given = scan_over(c, one);
    for (std::size_t r = 0; r < results.size() && r < given.size(); ++r) results[r].push_back(given[r].part);
  }
  Values stacked;
  for (const Parts& parts : results) stacked.emplace_back(c(op::stack, parts, {{"axis", std::int64_t{0}}}));
  return stacked;
}

}  // namespace

std::span<const Lowering> scan_lowerings() {
  static constexpr Lowering kRows[] = {
      {"Scan", 8, batched_scan},
      {"Scan", 9, scan},
  };
  return kRows;
}

}  // namespace cleave::models::onnx
