// The generator's statements: calls, loops, branches, scopes, outputs. The door is generate(). Values and their operands are ValuePool's.
#include "tests/random/generator.h"

#include <algorithm>

#include "graph/states.h"
#include "tests/random/value_pool.h"

namespace cleave::testing {
namespace {

class Generator {
 public:
  Generator(const Vocabulary& vocabulary, const GeneratorOptions& options)
      : vocabulary_(vocabulary),
        options_(options),
        large_(Draw(options.seed ^ 0x1A49E).chance(0.03)),
        tracer_("random_" + std::to_string(options.seed)),
        pool_(tracer_, program_, large_) {}

  GeneratedProgram run() {
    Draw draw(options_.seed);
    for (std::int64_t i = draw.between(2, 6); i > 0; --i) pool_.add_leaf(draw);
    block(draw, "", draw.chance(0.1) ? 25 : draw.between(1, 10));
    outputs(draw);
    Graph graph = tracer_.finish();
    for (const Diagnostic& diagnostic : graph.diagnostics)
      if (diagnostic.severity == Severity::error) program_.refusal = diagnostic.message;
    if (!program_.refusal.empty()) return std::move(program_);
    add_states(draw, graph);
    program_.graph = std::make_shared<const Graph>(std::move(graph));
    return std::move(program_);
  }

 private:
  SourceLocation here() { return pool_.here(); }

  /// Records the statement; false if it is left out.
  bool begins(const std::string& path) {
    if (options_.skipped.contains(path)) return false;
    program_.statements.push_back(path);
    return true;
  }

  void block(Draw& draw, const std::string& parent, std::int64_t count) {
    for (std::int64_t i = 0; i < count; ++i) {
      const std::string path = parent + (parent.empty() ? "" : ".") + std::to_string(i);
      Draw own(draw.bits());
      if (tracer_.has_errors()) return;
      if (begins(path)) statement(own, path);
    }
  }

  void statement(Draw& draw, const std::string& path) {
    const std::int64_t kind = depth_ < 3 ? draw.below(100) : 99;
    const bool pinned = draw.chance(0.06);
    const bool outer = pinned_to_accelerator_;
    if (pinned) pinned_to_accelerator_ = draw.chance(0.5);
    if (pinned) tracer_.push_place(pinned_to_accelerator_ ? Side::accelerator : Side::host);
    if (kind < 4) {
      scope(draw, path);
    } else if (kind < 18) {
      ++depth_;
      if (kind < 9)
        for_loop(draw, path);
      else if (kind < 13)
        while_loop(draw, path);
      else
        branch(draw, path);
      --depth_;
    } else if (kind < 22) {
      host_function(draw);
    } else {
      call(draw);
    }
    if (pinned) tracer_.pop_place();
    pinned_to_accelerator_ = outer;
    program_.has_pins |= pinned;
  }

  void scope(Draw& draw, const std::string& path) {
    tracer_.push_scope("function_" + path, here());
    block(draw, path, draw.between(1, 3));
    tracer_.pop_scope();
  }

  // --- calls ------------------------------------------------------------------------------------------------------------------------
  void call(Draw& draw) {
    const OpDef& op = *draw.pick(vocabulary_.functions());
    const PooledValue* near = pool_.any(draw);
    const auto call = vocabulary_.call(draw, op, near && draw.chance(0.7) ? &near->type : nullptr, large_);
    if (!call || op.name == "host_call" || (pinned_to_accelerator_ && op.purity_for(call->attributes) == Purity::effect)) return;
    Attributes attributes = call->attributes;
    if (op.name == "write_npy") attributes.set("path", options_.folder + "/" + std::to_string(draw.bits()) + ".npy");
    std::vector<Operand> operands;
    std::vector<PooledValue> values;
    for (std::size_t k = 0; k < call->operands.size(); ++k) {
      values.push_back(pool_.operand(draw, *call, k));
      operands.push_back(values.back().operand);
    }
    program_.drawn.insert(&op);
    std::vector<Operand> results = tracer_.apply(op, operands, std::move(attributes), here());
    for (Operand& each : results) {  // not every operation takes sizes that depend on data
      if (tracer_.lengths(each).empty()) continue;
      if (depth_ == 0 && draw.chance(0.5)) tracer_.output("sized_" + std::to_string(sized_++), each, here());
      each = tracer_.masked(each, Neutral::zero, here());
    }
    pool_.keep(draw, op, values, results);
  }

  void host_function(Draw& draw) {
    const PooledValue* x = pool_.any(draw);
    if (!x) return;
    auto function = std::make_shared<HostFunction>();
    function->pure = pinned_to_accelerator_ || draw.chance(0.5);
    function->name = (function->pure ? "pure" : "effect") + std::to_string(draw.below(1000000));
    function->returns.assign(static_cast<std::size_t>(draw.between(1, 2)), x->type);
    function->fills_in_place = draw.chance(0.3);
    if (draw.chance(0.3)) function->seconds = 1e-5;
    function->call = [effects = function->pure ? nullptr : program_.effects, name = function->name](
                         std::span<const Array> inputs, std::span<Array> results, const CallLimits&) -> Status {
      if (effects) {
        const std::scoped_lock lock(effects->mutex);
        effects->lines.push_back(name + " " + to_string(inputs[0]));
      }
      for (Array& result : results) std::copy_n(inputs[0].bytes(), result.type().bytes(), result.mutable_bytes());
      return {};
    };
    program_.has_host_functions = true;
    const OpDef& op = *find_op("host_call");
    program_.drawn.insert(&op);
    const std::vector<PooledValue> values = {*x};
    const Operand inputs[] = {x->operand};
    pool_.keep(draw, op, values,
               tracer_.apply(op, inputs, {{"function", std::shared_ptr<const HostFunction>(std::move(function))}}, here()));
  }

  // --- control flow -----------------------------------------------------------------------------------------------------------------
  std::vector<PooledValue> initial_values(Draw& draw) {
    std::vector<PooledValue> values;
    for (std::int64_t i = draw.below(4); i > 0; --i)
      if (const PooledValue* value = pool_.any(draw)) values.push_back(*value);
    return values;
  }

  std::vector<Tracer::State> states(const std::vector<PooledValue>& values) {
    std::vector<Tracer::State> all;
    for (const PooledValue& value : values) all.push_back({"", value.operand, here()});
    return all;
  }

  /// The loop-carried values, as seen by the body and behind the loop. The data of later iterations is not known yet, so nothing is assumed
  /// about it.
  std::vector<PooledValue> carried(Draw& draw, const std::vector<PooledValue>& initial, const std::vector<Operand>& operands) {
    std::vector<PooledValue> values;
    for (std::size_t i = 0; i < initial.size(); ++i) {
      values.push_back(pool_.value(draw, operands[i], is_floating(initial[i].type.dtype) ? Data::wild : Data::clean));
      pool_.add(values.back());
    }
    return values;
  }

  std::vector<Tracer::State> yielded(Draw& draw, const std::vector<PooledValue>& initial) {
    std::vector<PooledValue> values;
    for (const PooledValue& each : initial) values.push_back(pool_.of_type(draw, each.type, Data::wild));
    return states(values);
  }

  std::optional<double> expectation(Draw& draw) {
    return draw.chance(0.3) ? std::optional(static_cast<double>(draw.below(5))) : std::nullopt;
  }

  static std::optional<std::int64_t> prefetch(Draw& draw) {
    return draw.chance(0.7) ? std::optional<std::int64_t>(draw.below(4)) : std::nullopt;
  }

  void for_loop(Draw& draw, const std::string& path) {
    const std::vector<PooledValue> initial = initial_values(draw);
    const Operand count = draw.chance(0.5) ? Operand(Literal{Literal::Type::integer, draw.below(4), 0}) : pool_.small_integer(draw, 4);
    pool_.begin_region();
    const Tracer::Loop loop =
        tracer_.begin_for(count, states(initial), here(), expectation(draw), "i" + path, std::nullopt, prefetch(draw));
    pool_.add(pool_.value(draw, loop.counter, Data::clean));
    carried(draw, initial, loop.inside);
    block(draw, path, draw.between(1, 4));
    const std::vector<Tracer::State> next = yielded(draw, initial);
    std::optional<Operand> until;
    if (draw.chance(0.3)) until = pool_.predicate(draw);
    const std::vector<Operand> after = tracer_.end_for(next, until);
    pool_.end_region();
    carried(draw, initial, after);
  }

  void while_loop(Draw& draw, const std::string& path) {
    const std::vector<PooledValue> initial = initial_values(draw);
    const Operand limit = pool_.small_integer(draw, 4);
    std::vector<Tracer::State> begin = states(initial);
    begin.push_back({"k" + path, Literal{Literal::Type::integer, draw.below(2), 0}, here()});
    pool_.begin_region();
    const Tracer::Loop loop = tracer_.begin_while(begin, here(), expectation(draw));
    carried(draw, initial, loop.inside);
    const Operand counter = loop.inside.back();
    if (draw.chance(0.3)) call(draw);
    Operand go_on = pool_.apply("less", {counter, limit});
    if (draw.chance(0.3)) go_on = pool_.apply("logical_and", {go_on, pool_.predicate(draw)});
    tracer_.while_condition(go_on, here());
    block(draw, path, draw.between(1, 4));
    std::vector<Tracer::State> next = yielded(draw, initial);
    next.push_back({"", pool_.apply("add", {counter, Literal{Literal::Type::integer, 1, 0}}), here()});
    const std::vector<Operand> after = tracer_.end_while(next);
    pool_.end_region();
    carried(draw, initial, after);
  }

  void branch(Draw& draw, const std::string& path) {
    const std::vector<PooledValue> like = initial_values(draw);  // the branches yield values of these types
    const Operand predicate = pool_.predicate(draw);
    pool_.begin_region();
    tracer_.begin_branch(predicate, here(), draw.chance(0.2) ? std::optional(draw.real(0, 1)) : std::nullopt);
    block(draw, path + ".then", draw.between(0, 3));
    const std::vector<Tracer::State> then_values = yielded(draw, like);
    pool_.end_region();
    tracer_.begin_otherwise();
    pool_.begin_region();
    block(draw, path + ".else", draw.between(0, 3));
    const std::vector<Tracer::State> else_values = yielded(draw, like);
    const std::vector<Operand> merged = tracer_.end_branch(then_values, else_values);
    pool_.end_region();
    carried(draw, like, merged);
  }

  // --- outputs and states -----------------------------------------------------------------------------------------------------------
  void outputs(Draw& draw) {
    const std::int64_t count = draw.between(1, 5);
    for (std::int64_t i = 0; i < count; ++i) {
      Draw own(draw.bits());
      const std::string path = "out" + std::to_string(i);
      if (!begins(path)) continue;
      if (const PooledValue* value = pool_.late(own)) tracer_.output(path, value->operand, here());
    }
  }

  /// Makes some inputs states: from the second run on, such an input has the previous run's value of an output of its type.
  void add_states(Draw& draw, Graph& graph) {
    if (!draw.chance(0.25)) return;
    for (const Output& output : std::vector<Output>(graph.outputs)) {
      for (const auto& [name, array] : program_.inputs) {
        if (array.type() != graph.values[output.value].type || !draw.chance(0.5)) continue;
        if (keep_state(graph, name, output.name).ok()) break;
      }
    }
  }

  const Vocabulary& vocabulary_;
  const GeneratorOptions& options_;
  GeneratedProgram program_;
  bool large_;  ///< so large that kernels split their work among threads
  Tracer tracer_;
  ValuePool pool_;
  int depth_ = 0;
  int sized_ = 0;                       ///< outputs whose sizes depend on data
  bool pinned_to_accelerator_ = false;  ///< then effects are not allowed
};

}  // namespace

GeneratedProgram generate(const Vocabulary& vocabulary, const GeneratorOptions& options) {
  return Generator(vocabulary, options).run();
}

}  // namespace cleave::testing
