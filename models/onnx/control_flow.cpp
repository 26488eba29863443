// Lowerings of If and Loop to branches and loops of the program.
#include <algorithm>

#include "graph/host_function.h"
#include "models/onnx/broken_arms.h"
#include "models/onnx/lengths.h"
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

constexpr const char* kNoResult = "with a sequence or an optional value out of an arm";

/// The results of two arms, of which one was recorded in the region `then` and the other in the current one, as values of equal types:
/// where the arms give different sizes, the largest, and the lengths of each behind the results.
class JoinedArms {
 public:
  JoinedArms(Call& c, RegionId then, Values first, Values second)
      : c_(c), then_(then), first_(std::move(first)), second_(std::move(second)) {
    for (std::size_t i = 0; i < first_.size(); ++i) join(i);
  }
  [[nodiscard]] Values first() const { return with(first_, first_counts_); }
  [[nodiscard]] Values second() const { return with(second_, second_counts_); }
  /// The results, with their lengths.
  [[nodiscard]] Values results(Values merged) const {
    for (std::size_t k = 0; k < axes_.size(); ++k)
      c_.tracer().set_length(merged[axes_[k].first].part.operand(), axes_[k].second, merged[first_.size() + k].part.operand());
    merged.resize(first_.size());
    return merged;
  }

 private:
  static Values with(Values values, const Values& counts) {
    values.insert(values.end(), counts.begin(), counts.end());
    return values;
  }
  void join(std::size_t i) {
    Part &a = first_[i].part, &b = second_[i].part;
    if (a.operand().poisoned() || b.operand().poisoned() || a.rank() != b.rank()) return;
    std::vector<int> axes;
    for (int axis = 0; axis < a.rank(); ++axis) {
      const auto at = static_cast<std::size_t>(axis);
      if (a.shape()[at] != b.shape()[at] || length_of(c_, a, axis) || length_of(c_, b, axis)) axes.push_back(axis);
    }
    if (axes.empty()) return;
    const Shape sizes[] = {a.shape(), b.shape()};
    c_.tracer().insert_at(then_, {});
    widen(a, sizes[1], axes, first_counts_);
    c_.tracer().end_insertion();
    widen(b, sizes[0], axes, second_counts_);
    for (const int axis : axes) axes_.emplace_back(i, axis);
  }
  void widen(Part& x, const Shape& other, const std::vector<int>& axes, Values& counts) {
    std::vector<std::int64_t> widths(2 * other.size(), 0);
    bool wider = false;
    for (const int axis : axes) {
      counts.emplace_back(extent_of(c_, x, axis));
      const auto at = static_cast<std::size_t>(axis);
      widths[2 * at + 1] = std::max<std::int64_t>(other[at] - x.shape()[at], 0);
      wider = wider || widths[2 * at + 1] > 0;
    }
    const WholeValues whole(c_);
    if (wider) x = c_(op::pad, {x}, {{"widths", widths}});
  }

  Call& c_;
  RegionId then_;
  Values first_, second_, first_counts_, second_counts_;
  std::vector<std::pair<std::size_t, int>> axes_;  ///< result and axis of each length
};

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

/// Begins or ends a loop or a branch whose values have lengths that are carried beside them.
template <class Step>
auto without_lengths(Call& c, const Step& step) {
  const WholeValues whole(c);
  return step();
}

/// An `If` of which one arm can be read. That arm is traced as the then arm; for an else arm the condition is negated.
Values with_one_arm(Call& c, std::string_view graph, bool then, const ArmMistake& broken) {
  const Part condition = scalar(c, c[0]);
  Tracer& tracer = c.tracer();
  tracer.begin_branch((then ? condition : c(op::logical_not, {condition})).operand(), c.location(), 1.0);
  const Values given = c.inline_graph(graph, {});
  tracer.begin_otherwise();
  const bool whole = plain(given) && !any_bounded(c, given) &&
                     std::none_of(given.begin(), given.end(), [](const Value& value) { return value.poisoned(); });
  const std::vector<Tracer::State> nothing;
  Values results =
      values_of(c, tracer.end_branch(whole ? states(c, given) : nothing, whole ? states(c, failing(c, broken, given)) : nothing));
  if (whole) return of_both_arms(c, std::move(results), given, given);
  if (plain(given) && any_bounded(c, given))
    return c.unsupported("with a value whose size depends on data out of the only arm that can be read");
  return plain(given) ? c.poison() : c.unsupported(kNoResult);
}

/// The first result whose types in the two arms differ by more than sizes.
std::optional<std::size_t> other_type(const Values& first, const Values& second) {
  for (std::size_t i = 0; i < first.size(); ++i) {
    const Part &a = first[i].part, &b = second[i].part;
    if (first[i].poisoned() || second[i].poisoned() || a.operand().literal || b.operand().literal) continue;
    if (a.dtype() != b.dtype() || a.rank() != b.rank()) return i;
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
  const RegionId then = tracer.region();
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
  if (equal) {
    const JoinedArms joined_arms(c, then, first, second);
    const Values from_then = joined_arms.first(), from_else = joined_arms.second();
    Values results = joined_arms.results(
        values_of(c, without_lengths(c, [&] { return tracer.end_branch(states(c, from_then), states(c, from_else)); })));
    return of_both_arms(c, std::move(results), first, second);
  }
  tracer.end_branch({}, {});
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

/// A loop whose trip count is known or an operand: `for`, with `until` if the body computes a condition. `sample`: the results of an
/// iteration, which nothing reads; empty if the body neither collects values nor changes sizes.
Values counted_loop(Call& c, const LoopParts& loop, std::optional<std::int64_t> most, const Values& sample, const CarriedSizes& sizes) {
  const std::size_t carries = loop.carried.size();
  const std::size_t scans = Call::graph_outputs(loop.body).size() - 1 - carries;
  const bool counts_trips = scans > 0 || sizes.grow();
  Values initial = loop.carried;
  std::optional<Collected> collected;
  bool ends_early = loop.conditional || loop.bound;
  const bool never = !loop.goes || loop.trips == 0;
  if (counts_trips) {
    const std::optional<Array> goes = c.known(sample.front());
    ends_early = ends_early || !loop.trips || !goes || goes->at(0) == 0;
  }
  if (scans > 0) {
    const Values given(sample.begin() + 1 + static_cast<std::ptrdiff_t>(carries), sample.end());
    if (any_bounded(c, given) || !plain(given)) return c.unsupported("that collects sequences, or values whose size depends on data,");
    collected.emplace(c, given, never ? 0 : *most);
    initial.insert(initial.end(), collected->initial().begin(), collected->initial().end());
  }
  if (counts_trips && never) return initial;
  if (counts_trips && loop.bound) initial.emplace_back(c.has(1) ? scalar(c, c[1]) : c.scalar(true));  // whether the loop would go on
  if (counts_trips && ends_early) initial.emplace_back(c.scalar(std::int32_t{0}));                    // the number of iterations
  initial = sizes.with_counts(initial);
  Tracer& tracer = c.tracer();
  Part count = loop.trips ? c.scalar(loop.goes ? *loop.trips : 0) : loop.counted ? scalar(c, c[0]) : c.scalar(*most);
  const Part wanted = count;
  if (loop.bound) count = c(op::minimum, {count, c.scalar(*most)});
  if (loop.conditional) count = c(op::where, {scalar(c, c[1]), count, c.scalar(std::int64_t{0})});
  const std::optional<Array> known_count = c.known(Value(count));
  const Operand trips =
      known_count ? Operand(Literal{Literal::Type::integer, static_cast<std::int64_t>(known_count->at(0))}) : count.operand();
  const Tracer::Loop inside = without_lengths(c, [&] { return tracer.begin_for(trips, states(c, initial), c.location()); });
  const Part counter(tracer, inside.counter);
  const Values carried = values_of(c, inside.inside);
  const Values results = trip(c, loop, c.as(DType::i64, counter), sizes.with_lengths(carried, carries, CarriedSizes::Where::inside));
  Values yielded(results.begin() + 1, results.begin() + 1 + static_cast<std::ptrdiff_t>(carries));
  for (std::size_t s = 0; s < scans; ++s) yielded.push_back(collected->put(carried[carries + s], results[1 + carries + s], counter));
  if (counts_trips && loop.bound) yielded.emplace_back(scalar(c, results.front().part));
  if (counts_trips && ends_early) yielded.emplace_back(c.add(counter, 1));
  yielded = sizes.with_counts(yielded);
  const std::optional<Array> goes = c.known(results.front());
  std::optional<Operand> until;
  if (!goes || goes->at(0) == 0) until = c(op::logical_not, {scalar(c, results.front().part)}).operand();
  Values after = values_of(c, without_lengths(c, [&] { return tracer.end_for(states(c, yielded), until); }));
  Values counts(after.end() - static_cast<std::ptrdiff_t>(sizes.counts()), after.end());
  after.resize(after.size() - sizes.counts());
  if (counts_trips && ends_early) {
    const Part executed = after.back().part;
    Part done = executed;
    after.pop_back();
    if (loop.bound) {
      const Part at_bound = c(op::equal, {done, c.scalar(static_cast<std::int32_t>(*most))});
      const Part goes_on = c(op::logical_and, {after.back().part, at_bound});
      after.pop_back();
      done = all_trips(c, loop, done, goes_on, wanted);
      // The lengths depend on the check that the bound did not end the loop.
      for (Value& each : counts) each = c.add(each.part, c.as(DType::i64, c.subtract(done, executed)));
    }
    for (std::size_t s = 0; s < scans; ++s) after[carries + s] = with_length(c, after[carries + s].part, done, 0);
  }
  const std::size_t results_of_loop = after.size();
  after.insert(after.end(), counts.begin(), counts.end());
  const bool complete = loop.trips && !ends_early && !until;
  return sizes.with_lengths(after, results_of_loop, complete ? CarriedSizes::Where::complete : CarriedSizes::Where::after);
}

/// A loop without a trip count: `while`.
Values conditional_loop(Call& c, const LoopParts& loop, const CarriedSizes& sizes) {
  Tracer& tracer = c.tracer();
  Values initial = loop.carried;
  initial.emplace_back(c.has(1) ? scalar(c, c[1]) : c.scalar(true));
  initial.emplace_back(c.scalar(std::int64_t{0}));
  initial = sizes.with_counts(initial);
  const std::size_t carries = loop.carried.size();
  const Tracer::Loop inside = without_lengths(c, [&] { return tracer.begin_while(states(c, initial), c.location()); });
  const Values carried = values_of(c, inside.inside);
  tracer.while_condition(carried[carries].part.operand(), c.location());
  const Values results = trip(c, loop, carried[carries + 1].part, sizes.with_lengths(carried, carries, CarriedSizes::Where::inside));
  Values yielded(results.begin() + 1, results.begin() + 1 + static_cast<std::ptrdiff_t>(carries));
  yielded.emplace_back(results.front().poisoned() ? results.front() : Value(scalar(c, results.front().part)));
  yielded.emplace_back(c.add(carried[carries + 1].part, 1));
  yielded = sizes.with_counts(yielded);
  const std::vector<Operand> after = without_lengths(c, [&] { return tracer.end_while(states(c, yielded)); });
  return sizes.with_lengths(values_of(c, after), carries, CarriedSizes::Where::after);
}

/// Whether the body of a loop may change the sizes of carried values.
bool may_change_sizes(Call& c, const LoopParts& loop) {
  bool joins = c.tracer().any_lengths();
  for_each(loop.body, kGraphNode, [&](std::string_view bytes) { joins = joins || parse_node(bytes).op_type == "Concat"; });
  return joins;
}

Values loop(Call& c) {
  std::optional<LoopParts> loop = take_apart(c);
  if (!loop) return c.poison();
  const std::size_t carries = loop->carried.size(), scans = Call::graph_outputs(loop->body).size() - 1 - carries;
  const bool unrolls = loop->trips && *loop->trips <= kMostUnrolled && !loop->conditional;
  if (!plain(loop->carried)) {
    if (unrolls) return unrolled(c, *loop);
    if (c.has(0) && !loop->trips && !c.known_integers(0, "how often a sequence grows")) return c.poison();
    return c.unsupported("that carries a sequence, and whose trips are not known,");
  }
  Values sample;
  if (scans > 0 || may_change_sizes(c, *loop)) {
    // The types of the collected values and the growth of the others are known only after an iteration is traced. Nothing reads this sample
    // iteration, so it is dropped.
    sample = trip(c, *loop, c.scalar(std::int64_t{0}), loop->carried);
    if (std::any_of(sample.begin(), sample.end(), [](const Value& value) { return value.poisoned(); })) return c.poison();
  }
  const Values next = sample.empty() ? Values() : Values(sample.begin() + 1, sample.begin() + 1 + static_cast<std::ptrdiff_t>(carries));
  const bool changes = CarriedSizes(c, loop->carried, next, std::nullopt).change() || !plain(next);
  if (changes && unrolls) return unrolled(c, *loop);
  const bool grows = !changes && CarriedSizes(c, loop->carried, next, std::nullopt).grow();
  std::optional<std::int64_t> most = loop->trips ? loop->trips : c.bound();
  if (!most && loop->counted) most = largest(c, c[0], 0);
  if ((scans > 0 || grows) && !loop->trips && most) loop->bound = most = std::clamp<std::int64_t>(*most, 1, kMostTrips);
  if ((scans > 0 || grows) && !most) {
    const std::string name(c.node().name.empty() ? c.node().outputs.front() : c.node().name);
    return c.mistake(DiagnosticKind::unsupported, std::string(scans > 0 ? "`Loop` collects a value" : "`Loop` carries a value that grows") +
                                                      " in every trip, and how many trips there are is not known when the model is read" +
                                                      (c.has(0) ? c.advice(0) + ";" : std::string(";")) +
                                                      " say how many there are at most with --bound " + name + "=N");
  }
  const CarriedSizes sizes(c, loop->carried, next, most);
  if (loop->counted || scans > 0 || grows) return counted_loop(c, *loop, most, sample, sizes);
  return conditional_loop(c, *loop, sizes);
}

}  // namespace

std::span<const Lowering> control_flow_lowerings() {
  static constexpr Lowering kRows[] = {
      {"If", 1, if_},
      {"Loop", 1, loop, {}, true, true},
  };
  return kRows;
}

}  // namespace cleave::models::onnx
