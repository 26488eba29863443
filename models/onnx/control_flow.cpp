// If, Loop and Scan: branches and loops of the program.
#include <algorithm>
#include <limits>

#include "models/onnx/call.h"

namespace cleave::models::onnx {
namespace {

using States = std::vector<Tracer::State>;

constexpr std::int64_t kMostUnrolled = 1024;
constexpr std::int64_t kMostTrips = std::numeric_limits<std::int32_t>::max();  ///< what a counter holds

States states(Call& c, const Values& values) {
  States states;
  for (std::size_t i = 0; i < values.size(); ++i) {
    std::string name(c.wants(i) ? c.node().outputs[i] : std::string_view());
    states.push_back({std::move(name), values[i].part.operand(), c.location()});
  }
  return states;
}

Values values_of(Call& c, const std::vector<Operand>& operands) {
  Values values;
  for (const Operand& operand : operands) values.emplace_back(Part(c.tracer(), operand));
  return values;
}

bool plain(const Values& values) {
  return std::all_of(values.begin(), values.end(), [](const Value& value) { return !value.sequence && !value.count; });
}

/// Conditions and counts may come as vectors of one element.
Part scalar(Call& c, const Part& part) {
  return part.rank() == 0 ? part : c.reshape(part, {});
}

Values if_(Call& c) {
  const auto then_graph = c.graph("then_branch");
  const auto else_graph = c.graph("else_branch");
  if (!then_graph || !else_graph) return c.mistake(DiagnosticKind::type, "`If` needs two graphs");
  if (c[0].dtype() != DType::boolean || c[0].type().elements() != 1)
    return c.mistake(DiagnosticKind::predicate, "the condition of `If` is one bool, not " + to_string(c[0].type()));
  if (const std::optional<Array> known = c.known(0)) return c.inline_graph(known->at(0) != 0 ? *then_graph : *else_graph, {});
  const Part condition = scalar(c, c[0]);
  Tracer& tracer = c.tracer();
  tracer.begin_branch(condition.operand(), c.location());
  const Values first = c.inline_graph(*then_graph, {});
  tracer.begin_otherwise();
  const Values second = c.inline_graph(*else_graph, {});
  const bool equal = first.size() == second.size() && plain(first) && plain(second);
  Values results = values_of(c, tracer.end_branch(equal ? states(c, first) : States(), equal ? states(c, second) : States()));
  if (equal) return results;
  return first.size() != second.size() ? c.mistake(DiagnosticKind::type, "the arms of `If` give different numbers of values")
                                       : c.unsupported("with a sequence, or with a value whose size depends on data, out of an arm");
}

// --- loops -----------------------------------------------------------------------------------------------------------------------------

/// What the trips of a loop put side by side along a new first axis.
class Collected {
 public:
  /// `sample`: what one trip gives; `most`: so many trips.
  Collected(Call& c, const Values& sample, std::int64_t most) : c_(c) {
    for (const Value& each : sample) {
      Shape shape = each.part.shape();
      shape.insert(shape.begin(), most);
      initial_.emplace_back(c("zeros", std::initializer_list<Part>{}, {{"shape", shape}, {"dtype", each.part.dtype()}}));
    }
  }
  [[nodiscard]] const Values& initial() const { return initial_; }

  /// The collection with the values of one more trip.
  Value put(const Value& collection, const Value& value, const Part& trip) {
    std::vector<Part> operands{collection.part, value.part, trip};
    operands.insert(operands.end(), value.part.shape().size(), Part(0));
    return c_("dynamic_update_slice", operands);
  }

 private:
  Call& c_;
  Values initial_;
};

/// A Loop of the file, taken apart.
struct LoopParts {
  std::string_view body;
  std::optional<std::int64_t> trips;  ///< known, and within what a counter holds
  bool counted = false;               ///< has a count, known or not
  bool goes = true;                   ///< the condition holds at the begin, as far as it is known
  bool conditional = false;           ///< whether it begins is found out at run time
  Values carried;
};

std::optional<LoopParts> take_apart(Call& c) {
  LoopParts loop;
  const auto body = c.graph("body");
  if (!body) {
    c.mistake(DiagnosticKind::type, "`Loop` needs a graph");
    return std::nullopt;
  }
  loop.body = *body;
  if (c.has(0)) {
    const std::optional<Array> count = c.known(0);
    const double known = count && count->size() == 1 ? count->at(0) : 0;
    loop.counted = !count || known <= static_cast<double>(kMostTrips);  // exporters write the largest integer for "no limit"
    if (count && loop.counted) loop.trips = std::max<std::int64_t>(static_cast<std::int64_t>(known), 0);
  }
  if (c.has(1)) {
    const std::optional<Array> goes = c.known(1);
    loop.goes = !goes || goes->at(0) != 0;
    loop.conditional = !goes;
  }
  for (std::size_t i = 2; i < c.operands(); ++i) loop.carried.push_back(c.value(i));
  const std::size_t takes = Call::graph_inputs(*body).size(), gives = Call::graph_outputs(*body).size();
  if (takes == loop.carried.size() + 2 && gives >= loop.carried.size() + 1) return loop;
  c.mistake(DiagnosticKind::type, "the graph inside of `Loop` takes " + std::to_string(takes) + " values and gives " +
                                      std::to_string(gives) + ", and the loop carries " + std::to_string(loop.carried.size()));
  return std::nullopt;
}

/// One trip: the condition, the carried values and what is collected. Inside of the loop its condition holds.
Values trip(Call& c, const LoopParts& loop, const Part& number, const Values& carried) {
  Values inputs{number, c.scalar(true)};
  inputs.insert(inputs.end(), carried.begin(), carried.end());
  return c.inline_graph(loop.body, std::move(inputs));
}

/// What is carried is a list that becomes longer, or changes its shape: trip by trip, where their number is known.
Values unrolled(Call& c, const LoopParts& loop) {
  Values carried = loop.carried;
  const std::size_t scans = Call::graph_outputs(loop.body).size() - 1 - carried.size();
  std::vector<Parts> collected(scans);
  for (std::int64_t i = 0; i < *loop.trips && loop.goes; ++i) {
    const Values results = trip(c, loop, c.scalar(i), carried);
    if (results.front().poisoned()) return c.poison();
    const std::optional<Array> goes = c.known(results.front());
    if (!goes) return c.unsupported("that carries a sequence and ends where data say so");
    carried.assign(results.begin() + 1, results.begin() + 1 + static_cast<std::ptrdiff_t>(carried.size()));
    for (std::size_t s = 0; s < scans; ++s) collected[s].push_back(results[1 + carried.size() + s].part);
    if (goes->at(0) == 0) break;
  }
  for (const Parts& parts : collected) {
    if (parts.empty()) return c.unsupported("without a trip, whose results are collected,");
    carried.emplace_back(c("stack", parts, {{"axis", std::int64_t{0}}}));
  }
  return carried;
}

/// A loop whose count is known or given: `for`, with `until` where the body has a condition.
Values counted_loop(Call& c, const LoopParts& loop, std::optional<std::int64_t> most) {
  const std::size_t carries = loop.carried.size();
  const std::size_t scans = Call::graph_outputs(loop.body).size() - 1 - carries;
  Values initial = loop.carried;
  std::optional<Collected> collected;
  bool ends_early = loop.conditional;
  if (scans > 0) {
    // What one trip gives is known once it is traced. This one is computed by nobody, and dropped.
    const Values sample = trip(c, loop, c.scalar(std::int64_t{0}), loop.carried);
    const Values given(sample.begin() + 1 + static_cast<std::ptrdiff_t>(carries), sample.end());
    if (std::any_of(given.begin(), given.end(), [](const Value& value) { return value.poisoned(); })) return c.poison();
    if (!plain(given)) return c.unsupported("that collects sequences, or values whose size depends on data,");
    const std::optional<Array> goes = c.known(sample.front());
    ends_early = ends_early || !loop.trips || !goes || goes->at(0) == 0;
    collected.emplace(c, given, *most);
    initial.insert(initial.end(), collected->initial().begin(), collected->initial().end());
    if (ends_early) initial.emplace_back(c.scalar(std::int32_t{0}));  // how many trips there were
  }
  Tracer& tracer = c.tracer();
  Part count = loop.trips ? c.constant(Array::scalar(loop.goes ? *loop.trips : 0)) : scalar(c, c[0]);
  if (loop.conditional) count = c("where", {scalar(c, c[1]), count, c.scalar(std::int64_t{0})});
  const std::optional<Array> known_count = c.known(Value(count));
  const Operand trips =
      known_count ? Operand(Literal{Literal::Type::integer, static_cast<std::int64_t>(known_count->at(0))}) : count.operand();
  const Tracer::Loop inside = tracer.begin_for(trips, states(c, initial), c.location());
  const Part counter(tracer, inside.counter);
  const Values carried = values_of(c, inside.inside);
  const Values results =
      trip(c, loop, c.as(DType::i64, counter), Values(carried.begin(), carried.begin() + static_cast<std::ptrdiff_t>(carries)));
  Values yielded(results.begin() + 1, results.begin() + 1 + static_cast<std::ptrdiff_t>(carries));
  for (std::size_t s = 0; s < scans; ++s) yielded.push_back(collected->put(carried[carries + s], results[1 + carries + s], counter));
  if (scans > 0 && ends_early) yielded.emplace_back(c.add(counter, 1));
  const std::optional<Array> goes = c.known(results.front());
  std::optional<Operand> until;
  if (!goes || goes->at(0) == 0) until = c("logical_not", {scalar(c, results.front().part)}).operand();
  Values after = values_of(c, tracer.end_for(states(c, yielded), until));
  if (scans > 0 && ends_early) {
    const Part done = after.back().part;
    after.pop_back();
    for (std::size_t s = 0; s < scans; ++s) after[carries + s].count = done;
  }
  return after;
}

/// A loop without a count: `while`.
Values conditional_loop(Call& c, const LoopParts& loop) {
  Tracer& tracer = c.tracer();
  Values initial = loop.carried;
  initial.emplace_back(c.has(1) ? scalar(c, c[1]) : c.scalar(true));
  initial.emplace_back(c.scalar(std::int64_t{0}));
  const std::size_t carries = loop.carried.size();
  const Tracer::Loop inside = tracer.begin_while(states(c, initial), c.location());
  const Values carried = values_of(c, inside.inside);
  tracer.while_condition(carried[carries].part.operand(), c.location());
  const Values results =
      trip(c, loop, carried[carries + 1].part, Values(carried.begin(), carried.begin() + static_cast<std::ptrdiff_t>(carries)));
  Values yielded(results.begin() + 1, results.begin() + 1 + static_cast<std::ptrdiff_t>(carries));
  yielded.emplace_back(results.front().poisoned() ? results.front() : Value(scalar(c, results.front().part)));
  yielded.emplace_back(c.add(carried[carries + 1].part, 1));
  Values after = values_of(c, tracer.end_while(states(c, yielded)));
  after.resize(carries);
  return after;
}

Values loop(Call& c) {
  const std::optional<LoopParts> loop = take_apart(c);
  if (!loop) return c.poison();
  const std::size_t scans = Call::graph_outputs(loop->body).size() - 1 - loop->carried.size();
  if (!plain(loop->carried)) {
    const bool sequences = std::none_of(loop->carried.begin(), loop->carried.end(), [](const Value& v) { return v.count.has_value(); });
    if (sequences && loop->trips && *loop->trips <= kMostUnrolled && !loop->conditional) return unrolled(c, *loop);
    if (c.has(0) && !loop->trips && !c.known_integers(0, "how often a sequence grows")) return c.poison();
    return c.unsupported("that carries a sequence, and whose trips are not known,");
  }
  const std::optional<std::int64_t> most = loop->trips ? loop->trips : c.bound();
  if (scans > 0 && !most) {
    const std::string name(c.node().name.empty() ? c.node().outputs.front() : c.node().name);
    return c.mistake(DiagnosticKind::unsupported,
                     "`Loop` collects a value in every trip, and how many trips there are is not known when the model is read" +
                         (c.has(0) ? c.advice(0) + ";" : std::string(";")) + " say how many there are at most with --bound " + name + "=N");
  }
  if (loop->counted) return counted_loop(c, *loop, most);
  if (scans == 0) return conditional_loop(c, *loop);
  LoopParts bounded = *loop;
  bounded.trips = most;
  return counted_loop(c, bounded, most);
}

// --- Scan ------------------------------------------------------------------------------------------------------------------------------

struct ScanParts {
  std::string_view body;
  Values carried;
  Parts inputs;                              ///< what is walked along
  std::vector<std::int64_t> axes, backward;  ///< of the inputs
  std::vector<std::int64_t> result_axes, result_backward;
  std::int64_t length = 0;
};

/// The numbers of an attribute, one an item, or as many zeros.
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
    const Part place = scan.backward[i] != 0 ? c.subtract(scan.length - 1, counter) : counter;
    inputs.emplace_back(c("take", {scan.inputs[i], place}, {{"axis", scan.axes[i]}}));
  }
  return c.inline_graph(scan.body, std::move(inputs));
}

Values scan_over(Call& c, const Values& operands) {
  const std::optional<ScanParts> scan = scan_parts(c, operands);
  if (!scan) return c.poison();
  const std::size_t carries = scan->carried.size();
  const std::size_t scans = scan->result_axes.size();
  if (!plain(scan->carried)) return c.unsupported("that carries a sequence, or a value whose size depends on data,");
  const Values sample = scan_trip(c, *scan, c.scalar(std::int32_t{0}), scan->carried);
  if (std::any_of(sample.begin(), sample.end(), [](const Value& value) { return value.poisoned(); })) return c.poison();
  Collected collected(c, Values(sample.begin() + static_cast<std::ptrdiff_t>(carries), sample.end()), scan->length);
  Values initial = scan->carried;
  initial.insert(initial.end(), collected.initial().begin(), collected.initial().end());

  Tracer& tracer = c.tracer();
  const Tracer::Loop inside = tracer.begin_for(Operand(Literal{Literal::Type::integer, scan->length}), states(c, initial), c.location());
  const Part counter(tracer, inside.counter);
  const Values carried = values_of(c, inside.inside);
  Values yielded = scan_trip(c, *scan, counter, Values(carried.begin(), carried.begin() + static_cast<std::ptrdiff_t>(carries)));
  for (std::size_t s = 0; s < scans; ++s) {
    const Part place = scan->result_backward[s] != 0 ? c.subtract(scan->length - 1, counter) : counter;
    yielded[carries + s] = collected.put(carried[carries + s], yielded[carries + s], place);
  }
  Values after = values_of(c, tracer.end_for(states(c, yielded)));
  for (std::size_t s = 0; s < scans; ++s) {
    const Part& result = after[carries + s].part;
    const std::optional<int> axis = c.axis(scan->result_axes[s], result.rank());
    if (!axis) return c.poison();
    const Attributes moved{{"source", std::vector<std::int64_t>{0}}, {"destination", std::vector<std::int64_t>{*axis}}};
    if (*axis != 0) after[carries + s] = c("moveaxis", {result}, moved);
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

/// Version 8 has a first operand of lengths, and an axis of batches in front of everything.
Values batched_scan(Call& c) {
  if (c.has(0)) return c.unsupported("with sequences of different lengths");
  const Values operands = operands_from(c, 1);
  std::vector<Parts> results(c.results());
  const std::int64_t batches = operands.empty() || operands[0].part.rank() == 0 ? 0 : operands[0].part.shape()[0];
  if (batches == 0 || batches > kMostUnrolled) return c.unsupported("of so many batches");
  for (std::int64_t i = 0; i < batches; ++i) {
    Values one;
    for (const Value& operand : operands) one.emplace_back(c("take", {operand.part, i}, {{"axis", std::int64_t{0}}}));
    const Values given = scan_over(c, one);
    for (std::size_t r = 0; r < results.size() && r < given.size(); ++r) results[r].push_back(given[r].part);
  }
  Values stacked;
  for (const Parts& parts : results) stacked.emplace_back(c("stack", parts, {{"axis", std::int64_t{0}}}));
  return stacked;
}

}  // namespace

std::span<const Lowering> control_flow_lowerings() {
  static constexpr Lowering kRows[] = {
      {"If", 1, if_},
      {"Loop", 1, loop, {}, false, true},
      {"Scan", 8, batched_scan},
      {"Scan", 9, scan},
  };
  return kRows;
}

}  // namespace cleave::models::onnx
