// Ways to run a program, and their comparison. The door is check(): first the text form and the reference executor, then the host alone
// with every node verified, then some of the other ways, which must agree with that to the bit.
#include "tests/random/checker.h"

#include <filesystem>

#include "executor/api/executable.h"
#include "executor/check/reference.h"
#include "graph/base/file.h"
#include "graph/lengths.h"
#include "graph/states.h"
#include "graph/text/text.h"
#include "tests/random/exactness.h"

namespace cleave::testing {
namespace {

/// The outcome of one run: outputs and states by name, printed lines, and effects. A failed run has an error.
struct Outcome {
  std::vector<std::pair<std::string, Array>> values;
  std::vector<std::string> lines, effects;
  std::optional<Error> error;
};

struct Way {
  std::string name;
  CompileOptions options;
  bool verify = false;
};

std::string text_of(const Error& error) {
  return error.message + " (line " + std::to_string(error.location.line) + ")";
}

class Checker {
 public:
  Checker(const GeneratedProgram& program, std::uint64_t seed, const CheckOptions& options)
      : program_(program), options_(options), draw_(seed ^ 0xC4EC4), states_(states_of(*program.graph)) {
    runs_ = states_.empty() ? 1 : 3;
  }

  std::optional<std::string> check() {
    Way base = host_alone();
    base.options.simplify = draw_.chance(0.8);
    if (auto what = check_text()) return what;
    const auto executable = compile(*program_.graph, base.options);
    if (!executable) return base.name + ": does not compile: " + text_of(executable.error());
    expected_ = runs(*executable, base);
    if (auto what = against_reference(base, *executable)) return what;
    for (int i = 0; i < 2; ++i) {
      Way way = random_way();
      way.options.simplify = base.options.simplify;
      if (auto what = check_way(way)) return what;
    }
    return std::nullopt;
  }

 private:
  // --- ways -------------------------------------------------------------------------------------------------------------------------
  static Way host_alone() {
    Way way{"host alone, every node verified", {}, true};
    way.options.device = "none";
    way.options.placement = Policy::host;
    way.options.executor.threads = 1;
    way.options.executor.fuse = false;
    return way;
  }

  Way random_way() {
    Way way;
    CompileOptions& o = way.options;
    o.device = draw_.chance(0.75) ? "simulated" : "none";
    o.placement = draw_.pick(policies());
    o.executor.threads = draw_.pick(options_.threads);
    o.executor.fuse = draw_.chance(0.8);
    o.executor.workers = static_cast<int>(draw_.below(4));
    way.name = "device " + o.device + ", placement " + std::string(to_string(o.placement)) + ", threads " +
               std::to_string(o.executor.threads) + ", workers " + std::to_string(o.executor.workers) +
               (o.executor.fuse ? "" : ", no fusion");
    if (o.device != "simulated") return way;
    o.executor.channel_capacity = static_cast<int>(draw_.between(0, 3));
    o.executor.check_memory = draw_.chance(0.5);
    using Schedule = ExecutorOptions::Schedule;
    constexpr Schedule schedules[] = {Schedule::eager, Schedule::latest, Schedule::random};
    o.executor.schedule = draw_.pick(schedules);
    o.executor.schedule_seed = draw_.bits();
    way.name += ", schedule " + std::to_string(static_cast<int>(o.executor.schedule));
    if (!options_.device_loops.empty() && draw_.chance(0.4)) {
      o.machine = options_.device_loops;
      way.name += ", device loops";
    }
    return way;
  }

  // --- runs -------------------------------------------------------------------------------------------------------------------------
  template <class Run>
  Outcome one_run(RunOptions options, const Run& run) {
    Outcome outcome;
    program_.effects->lines.clear();
    options.print = [&outcome](std::string_view line) { outcome.lines.emplace_back(line); };
    Result<RunResult> result = run(options);
    outcome.effects = program_.effects->lines;
    if (result)
      outcome.values = std::move(result->outputs);
    else
      outcome.error = result.error();
    return outcome;
  }

  /// The outcomes of all compared runs, in sequence; states persist between them.
  std::vector<Outcome> runs(const Executable& executable, const Way& way) {
    std::vector<Outcome> all;
    for (int i = 0; i < runs_; ++i) {
      RunOptions options;
      options.verify = way.verify;
      options.inputs = program_.inputs;
      if (i > 0)
        for (const GraphState& state : states_) options.inputs.erase(program_.graph->values[state.value].name);
      all.push_back(one_run(options, [&](const RunOptions& o) { return executable.run(o); }));
      if (all.back().error) break;
      for (const GraphState& state : states_) {
        const std::string& name = program_.graph->values[state.value].name;
        Result<Array> value = executable.state(name);
        if (value)
          all.back().values.emplace_back("state " + name, *std::move(value));
        else
          all.back().error = value.error();
      }
    }
    return all;
  }

  std::vector<Outcome> reference_runs(const Graph& graph) {
    std::vector<Outcome> all;
    RunOptions options;
    options.inputs = program_.inputs;
    for (int i = 0; i < runs_; ++i) {
      all.push_back(one_run(options, [&](const RunOptions& o) { return run_reference(graph, o); }));
      if (all.back().error) break;
      std::vector<std::pair<std::string, Array>> next;
      const std::vector<bool> hidden = state_outputs(*program_.graph), counts = count_outputs(*program_.graph);
      std::vector<std::size_t> place;  // of each output among the values of a run, which leave counts out
      for (std::size_t k = 0, shown = 0; k < counts.size(); ++k) place.push_back(counts[k] ? shown : shown++);
      for (const GraphState& state : states_) {
        const std::string& name = program_.graph->values[state.value].name;
        next.emplace_back("state " + name, all.back().values.at(place[state.output]).second);
        options.inputs[name] = next.back().second;
      }
      std::vector<std::pair<std::string, Array>> given;
      for (std::size_t k = 0; k < hidden.size(); ++k)
        if (!hidden[k] && !counts[k]) given.push_back(std::move(all.back().values.at(place[k])));
      given.insert(given.end(), next.begin(), next.end());
      all.back().values = std::move(given);
    }
    return all;
  }

  // --- comparisons ------------------------------------------------------------------------------------------------------------------
  std::optional<std::string> check_text() {
    const std::string text = print(*program_.graph);
    const Result<Graph> again = parse_graph(text, "random.graph");
    if (!again) return "text: does not parse: " + text_of(again.error());
    if (print(*again) != text) return "text: differs when it is printed again";
    return std::nullopt;
  }

  std::optional<std::string> against_reference(const Way& base, const Executable& executable) {
    std::vector<Outcome> reference = reference_runs(*program_.graph);
    // Unused values need not be computed, and then cannot fail.
    if (reference.back().error && !expected_.back().error) reference = reference_runs(*executable.plan().graph);
    const std::string way = base.name + ", against the reference";
    if (reference.size() != expected_.size() || reference.back().error.has_value() != expected_.back().error.has_value()) {
      const auto& error = reference.back().error ? reference.back().error : expected_.back().error;
      return way + ": only " + (reference.back().error ? "the reference" : "the executor") + " fails: " + text_of(*error);
    }
    find_exact();
    for (std::size_t run = 0; run < reference.size(); ++run) {
      if (run > 0 && !all_exact_) break;  // states carry inexact values into the next run
      const Outcome &is = expected_[run], &should = reference[run];
      if (is.lines.size() != should.lines.size() || is.effects.size() != should.effects.size()) return way + ": other effects";
      for (std::size_t k = 0; k < is.values.size(); ++k) {
        if (exact_[k] && !same(is.values[k].second, should.values[k].second))
          return way + ": `" + is.values[k].first + "`: " + first_difference(is.values[k].second, should.values[k].second);
      }
    }
    return std::nullopt;
  }

  /// Finds the values that are equal to the bit however they are computed.
  void find_exact() {
    const auto exact = exact_values(*program_.graph);
    const std::vector<bool> states = state_outputs(*program_.graph), counts = count_outputs(*program_.graph);
    for (std::size_t k = 0; k < states.size(); ++k)
      if (!states[k] && !counts[k]) exact_.push_back(exact[program_.graph->outputs[k].value]);
    for (const GraphState& state : states_) exact_.push_back(exact[state.next]);
    for (std::size_t i = 0; i < exact.size(); ++i) all_exact_ = all_exact_ && exact[ValueId(i)];
  }

  std::optional<std::string> check_way(const Way& way) {
    const auto executable = compile(*program_.graph, way.options);
    if (!executable) {  // a pin may ask for a kernel that a device does not have
      const bool pin = program_.has_pins && executable.error().message.find("pinned to the accelerator") != std::string::npos;
      return pin ? std::nullopt : std::optional(way.name + ": does not compile: " + text_of(executable.error()));
    }
    const std::vector<Outcome> first = runs(*executable, way);
    if (auto what = differs(first, expected_, !all_exact_)) return way.name + *what;
    if (states_.empty()) {
      if (auto what = differs(runs(*executable, way), first, false)) return way.name + ", a second run" + *what;
    }
    return std::nullopt;
  }

  /// The first difference. `approximate`: other devices and fused groups round differently, so that only exact values are compared, and
  /// anything that depends on inexact ones (decisions, effects, errors) is not.
  std::optional<std::string> differs(const std::vector<Outcome>& outcomes, const std::vector<Outcome>& expected, bool approximate) const {
    for (std::size_t run = 0; run < std::min(outcomes.size(), expected.size()); ++run) {
      const Outcome &is = outcomes[run], &should = expected[run];
      if (approximate && (run > 0 || is.error || should.error)) return std::nullopt;
      if (is.error.has_value() != should.error.has_value())
        return std::string(": ") + (is.error ? "fails: " + text_of(*is.error) : "does not fail: " + text_of(*should.error));
      if (is.error) return std::nullopt;
      if (!approximate && is.lines != should.lines) return ": other lines";
      if (!approximate && is.effects != should.effects) return ": other effects";
      if (is.values.size() != should.values.size()) return ": another number of outputs";
      for (std::size_t k = 0; k < is.values.size(); ++k) {
        if ((!approximate || exact_[k]) && !same(is.values[k].second, should.values[k].second))
          return ": `" + is.values[k].first + "`: " + first_difference(is.values[k].second, should.values[k].second);
      }
    }
    return std::nullopt;
  }

  const GeneratedProgram& program_;
  const CheckOptions& options_;
  Draw draw_;
  std::vector<GraphState> states_;
  std::vector<Outcome> expected_;
  std::vector<char> exact_;  ///< in the order of Outcome::values
  bool all_exact_ = true;
  int runs_ = 1;
};

}  // namespace

std::optional<std::string> check(const GeneratedProgram& program, std::uint64_t seed, const CheckOptions& options) {
  return Checker(program, seed, options).check();
}

}  // namespace cleave::testing
