// Lowerings of If and Loop to branches and loops of the program.
#include <algorithm>

#include "graph/host_function.h"
#include "models/onnx/broken_arms.h"
#include "models/onnx/loops.h"
#include "models/onnx/pieces.h"

namespace cleave::models::onnx {
namespace {

/// Conditions and counts may also be vectors of one element.
Part scalar(Call& c, const Part& part) {
  return part.rank() == 0 ? part : c.reshape(part, {});
}

/// How to make the condition known while the model is read; empty if that is impossible.
std::string choosing(Call& c) {
  const std::string advice = c.advice(0);
  return advice.starts_with("; ") ? advice.substr(2) : "";
}
std::string node_name(Call& c) {
  return std::string(!c.node().name.empty() ? c.node().name : c.node().outputs.empty() ? c.op() : c.node().outputs.front());
}

constexpr const char* kNoResult = "with a sequence, an optional value or one whose size depends on data, out of an arm";

/// A host function that replaces an arm that cannot be read: it has the result types of `whole`, the other arm's results, but fails when it
/// runs.
Values failing(Call& c, const ArmMistake& arm, const Values& whole) {
  HostFunction function;
  function.name = arm.arm;
  std::erase(function.name, '`');
  function.pure = true;
  function.seconds = 0;
  for (const Value& value : whole) function.returns.push_back(value.part.type());
  // Inside a scope, the traced node's location has the chain of scopes already, so the error's location drops its own chain.
  SourceLocation location = arm.mistake.location;
  if (c.tracer().chained(SourceLocation()).via) location.via = nullptr;
  function.call = [error = Error{"cannot run: " + arm.mistake.message, location}](std::span<const Array>, std::span<Array>,
                                                                                  const CallLimits&) -> Status { return error; };
  Attributes attributes;
  attributes.set("function", std::make_shared<const HostFunction>(std::move(function)));
  return values_of(c, c.tracer().apply(*find_op("host_call"), {}, std::move(attributes), location));
}

/// The results of a branch, with the narrow types that both arms give.
Values of_both_arms(Call& c, Values results, const Values& first, const Values& second) {
  for (std::size_t i = 0; i < std::min(results.size(), first.size()); ++i) {
    if (first[i].narrow != second[i].narrow && !first[i].poisoned() && !second[i].poisoned())
      return c.mistake(DiagnosticKind::type, "the arms of `If` give different element types");
    results[i].narrow = first[i].narrow;
  }
  return results;
}

/// An `If` of which one arm can be read. That arm is traced as the then arm; for an else arm the condition is negated.
Values with_one_arm(Call& c, std::string_view graph, bool then, const ArmMistake& broken) {
  const Part condition = scalar(c, c[0]);
  Tracer& tracer = c.tracer();
  tracer.begin_branch((then ? condition : c(op::logical_not, {condition})).operand(), c.location(), 1.0);
  const Values given = c.inline_graph(graph, {});
  tracer.begin_otherwise();
  const bool whole = plain(given) && std::none_of(given.begin(), given.end(), [](const Value& value) { return value.poisoned(); });
  const std::vector<Tracer::State> nothing;
  Values results =
      values_of(c, tracer.end_branch(whole ? states(c, given) : nothing, whole ? states(c, failing(c, broken, given)) : nothing));
  if (whole) return of_both_arms(c, std::move(results), given, given);
  return plain(given) ? c.poison() : c.unsupported(kNoResult);
}

/// The first result whose types in the two arms have no type in common.
std::optional<std::size_t> other_type(const Values& first, const Values& second) {
  for (std::size_t i = 0; i < first.size(); ++i) {
    const Part &a = first[i].part, &b = second[i].part;
    if (!first[i].poisoned() && !second[i].poisoned() && !a.operand().literal && !b.operand().literal && a.type() != b.type()) return i;
  }
  return std::nullopt;
}

Values if_(Call& c) {
  const auto then_graph = c.graph("then_branch");
  const auto else_graph = c.graph("else_branch");
  if (!then_graph || !else_graph) return c.mistake(DiagnosticKind::type, "`If` needs two graphs");
  if (c[0].dtype() != DType::boolean || c[0].type().elements() != 1)
    return c.mistake(DiagnosticKind::predicate, "the condition of `If` is one bool, not " + to_string(c[0].type()));
  if (const std::optional<Array> known = c.known(0)) return c.inline_graph(known->at(0) != 0 ? *then_graph : *else_graph, {});
  BrokenArms& arms = c.arms();
  const ArmMistake *broken_then = arms.replaced(true), *broken_else = arms.replaced(false);
  if (broken_then && !broken_else) return with_one_arm(c, *else_graph, false, *broken_then);
  if (broken_else && !broken_then) return with_one_arm(c, *then_graph, true, *broken_else);
  const Part condition = scalar(c, c[0]);
  Tracer& tracer = c.tracer();
  const BrokenArms::Mark begin = arms.mark();
  tracer.begin_branch(condition.operand(), c.location());
  const Values first = c.inline_graph(*then_graph, {});
  const BrokenArms::Mark middle = arms.mark();
  tracer.begin_otherwise();
  const Values second = c.inline_graph(*else_graph, {});
  if (arms.broken(begin)) arms.judge("`" + node_name(c) + "`", begin, middle, choosing(c));
  const bool equal = first.size() == second.size() && plain(first) && plain(second);
  if (const auto different = equal ? other_type(first, second) : std::nullopt) {
    tracer.end_branch({}, {});
    const std::string name(*different < c.results() ? c.node().outputs[*different] : "");
    return c.mistake(DiagnosticKind::shape, "`" + name + "` is " + to_string(first[*different].part.type()) +
                                                " in the then arm of `If` and " + to_string(second[*different].part.type()) +
                                                " in its else arm, and the condition is not known when the model is read" + c.advice(0));
  }
  Values results = values_of(c, tracer.end_branch(equal ? states(c, first) : std::vector<Tracer::State>(),
                                                  equal ? states(c, second) : std::vector<Tracer::State>()));
  if (equal) return of_both_arms(c, std::move(results), first, second);
  return first.size() != second.size() ? c.mistake(DiagnosticKind::type, "the arms of `If` give different numbers of values")
                                       : c.unsupported(kNoResult);
}

/// The attributes and operands of a Loop.
struct LoopParts {
  std::string_view body;
  std::optional<std::int64_t> trips;  ///< known trip count, within the range of a counter
  bool counted = false;               ///< has a trip count, known or not
  bool goes = true;                   ///< the initial condition; true if it is unknown
  bool conditional = false;           ///< the initial condition is known only at run time
  std::optional<std::int64_t> bound;  ///< the value of `--bound`, used if nothing else limits the trip count
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

/// Results of one iteration: the condition, the carried values and the collected values. Inside the loop, the condition of the iteration is
/// true.
Values trip(Call& c, const LoopParts& loop, const Part& number, const Values& carried) {
  Values inputs{number, c.scalar(true)};
  inputs.insert(inputs.end(), carried.begin(), carried.end());
  return c.inline_graph(loop.body, std::move(inputs));
}

/// Unrolls a loop of known trip count which carries a list that grows, or a value that changes its shape.
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
    carried.emplace_back(c(op::stack, parts, {{"axis", std::int64_t{0}}}));
  }
  return carried;
}

/// The number of iterations; `done` is the number executed. The run fails with an Error if the bound ended a loop that would have gone on.
Part all_trips(Call& c, const LoopParts& loop, const Part& done, const Part& goes_on, const Part& wanted) {
  const std::int64_t most = *loop.bound;
  if (!loop.counted) return within_bound(c, c(op::where, {goes_on, c.add(done, 1), done}), most, true);
  const Part all = c.as(DType::i32, c(op::minimum, {wanted, c.scalar(kMostTrips)}));
  return within_bound(c, c(op::where, {goes_on, c(op::maximum, {all, done}), done}), most);
}

/// A loop whose trip count is known or an operand: `for`, with `until` if the body computes a condition.
Values counted_loop(Call& c, const LoopParts& loop, std::optional<std::int64_t> most) {
  const std::size_t carries = loop.carried.size();
  const std::size_t scans = Call::graph_outputs(loop.body).size() - 1 - carries;
  Values initial = loop.carried;
  std::optional<Collected> collected;
  bool ends_early = loop.conditional || loop.bound;
  const bool never = !loop.goes || loop.trips == 0;
  if (scans > 0) {
    // The types of the collected values are known only after an iteration is traced. Nothing reads this sample iteration, so it is dropped.
    const Values sample = trip(c, loop, c.scalar(std::int64_t{0}), loop.carried);
    const Values given(sample.begin() + 1 + static_cast<std::ptrdiff_t>(carries), sample.end());
    if (std::any_of(given.begin(), given.end(), [](const Value& value) { return value.poisoned(); })) return c.poison();
    if (!plain(given)) return c.unsupported("that collects sequences, or values whose size depends on data,");
    const std::optional<Array> goes = c.known(sample.front());
    ends_early = ends_early || !loop.trips || !goes || goes->at(0) == 0;
    collected.emplace(c, given, never ? 0 : *most);
    initial.insert(initial.end(), collected->initial().begin(), collected->initial().end());
    if (never) return initial;
    if (loop.bound) initial.emplace_back(c.has(1) ? scalar(c, c[1]) : c.scalar(true));  // whether the loop would go on
    if (ends_early) initial.emplace_back(c.scalar(std::int32_t{0}));                    // the number of iterations
  }
  Tracer& tracer = c.tracer();
  Part count = loop.trips ? c.scalar(loop.goes ? *loop.trips : 0) : loop.counted ? scalar(c, c[0]) : c.scalar(*most);
  const Part wanted = count;
  if (loop.bound) count = c(op::minimum, {count, c.scalar(*most)});
  if (loop.conditional) count = c(op::where, {scalar(c, c[1]), count, c.scalar(std::int64_t{0})});
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
  if (scans > 0 && loop.bound) yielded.emplace_back(scalar(c, results.front().part));
  if (scans > 0 && ends_early) yielded.emplace_back(c.add(counter, 1));
  const std::optional<Array> goes = c.known(results.front());
  std::optional<Operand> until;
  if (!goes || goes->at(0) == 0) until = c(op::logical_not, {scalar(c, results.front().part)}).operand();
  Values after = values_of(c, tracer.end_for(states(c, yielded), until));
  if (scans > 0 && ends_early) {
    Part done = after.back().part;
    after.pop_back();
    if (loop.bound) {
      const Part goes_on = c(op::logical_and, {after.back().part, c(op::equal, {done, c.scalar(static_cast<std::int32_t>(*most))})});
      after.pop_back();
      done = all_trips(c, loop, done, goes_on, wanted);
    }
    for (std::size_t s = 0; s < scans; ++s) after[carries + s].count = done;
  }
  return after;
}

/// A loop without a trip count: `while`.
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
  std::optional<LoopParts> loop = take_apart(c);
  if (!loop) return c.poison();
  const std::size_t scans = Call::graph_outputs(loop->body).size() - 1 - loop->carried.size();
  if (!plain(loop->carried)) {
    const bool sequences = std::none_of(loop->carried.begin(), loop->carried.end(), [](const Value& v) { return v.count.has_value(); });
    if (sequences && loop->trips && *loop->trips <= kMostUnrolled && !loop->conditional) return unrolled(c, *loop);
    if (c.has(0) && !loop->trips && !c.known_integers(0, "how often a sequence grows")) return c.poison();
    return c.unsupported("that carries a sequence, and whose trips are not known,");
  }
  std::optional<std::int64_t> most = loop->trips ? loop->trips : c.bound();
  if (scans > 0 && !loop->trips && most) loop->bound = most = std::clamp<std::int64_t>(*most, 1, kMostTrips);
  if (scans > 0 && !most) {
    const std::string name(c.node().name.empty() ? c.node().outputs.front() : c.node().name);
    return c.mistake(DiagnosticKind::unsupported,
                     "`Loop` collects a value in every trip, and how many trips there are is not known when the model is read" +
                         (c.has(0) ? c.advice(0) + ";" : std::string(";")) + " say how many there are at most with --bound " + name + "=N");
  }
  if (loop->counted) return counted_loop(c, *loop, most);
  if (scans == 0) return conditional_loop(c, *loop);
  return counted_loop(c, *loop, most);
}

}  // namespace

std::span<const Lowering> control_flow_lowerings() {
  static constexpr Lowering kRows[] = {
      {"If", 1, if_},
      {"Loop", 1, loop, {}, false, true},
  };
  return kRows;
}

}  // namespace cleave::models::onnx
