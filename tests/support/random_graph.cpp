#include "tests/support/random_graph.h"

#include <functional>
#include <random>

#include "graph/trace/tracer.h"
#include "tests/support/namespaces.h"

namespace cleave::testing {
namespace {

/// Numbers that depend on the seed alone, on every standard library.
class Random {
 public:
  explicit Random(std::uint64_t seed) : engine_(seed * 0x9e3779b97f4a7c15U + 1) {}
  int below(int n) { return static_cast<int>(engine_() % static_cast<std::uint64_t>(n)); }
  bool chance(double p) { return static_cast<double>(engine_() >> 11) * 0x1p-53 < p; }
  double real(double low, double high) { return low + (high - low) * static_cast<double>(engine_() >> 11) * 0x1p-53; }
  template <class T>
  const T& pick(const std::vector<T>& items) {
    return items[static_cast<std::size_t>(below(static_cast<int>(items.size())))];
  }

 private:
  std::mt19937_64 engine_;
};

Literal integer(std::int64_t value) {
  return {Literal::Type::integer, value, 0};
}
Literal floating(double value) {
  return {Literal::Type::floating, 0, value};
}

class Generator {
 public:
  Generator(std::uint64_t seed, const RandomGraphOptions& options)
      : random_(seed), options_(options), tracer_("random_" + std::to_string(seed)), file_(std::make_shared<std::string>("random.cpp")) {}

  Graph run() {
    leaves();
    ops_left_ = 1 + random_.below(options_.max_ops);
    while (ops_left_ > 0) statement();
    outputs();
    Graph graph = tracer_.finish();
    for (const Diagnostic& diagnostic : graph.diagnostics)
      CLEAVE_CHECK(diagnostic.severity != Severity::error, "the generator made a malformed program");
    return graph;
  }

 private:
  // --- small parts ----------------------------------------------------------------------------------------------------------------
  SourceLocation here() {
    ++line_;
    return {file_, line_, 1 + random_.below(80), nullptr};
  }
  std::string fresh(const char* stem) { return stem + std::to_string(++names_); }
  const TensorType& type(const Operand& operand) { return *tracer_.type(operand); }
  bool is_float(const Operand& operand) { return is_floating(type(operand).dtype); }
  bool is_int(const Operand& operand) { return is_integer(type(operand).dtype); }

  Operand op(std::string_view name, std::vector<Operand> inputs, Attributes attributes = {}) {
    const OpDef* def = find_op(name);
    CLEAVE_CHECK(def != nullptr);
    --ops_left_;
    Operand result = tracer_.call(*def, inputs, std::move(attributes), here());
    CLEAVE_CHECK(!tracer_.has_errors(), "the generator made a malformed call");
    return result;
  }

  /// A value of the pool for which `wanted` holds; poison if there is none. Recent values are more likely.
  Operand find(const std::function<bool(const Operand&)>& wanted) {
    std::vector<Operand> fitting;
    for (const Operand& operand : pool_)
      if (wanted(operand)) fitting.push_back(operand);
    if (fitting.empty()) return {};
    const int n = static_cast<int>(fitting.size());
    const int late = std::max(random_.below(n), random_.below(n));
    return fitting[static_cast<std::size_t>(late)];
  }
  Operand any() {
    return find([](const Operand&) { return true; });
  }

  /// Keeps values small if the program must be benign.
  Operand tame(const Operand& operand) { return options_.benign && is_float(operand) ? op("tanh", {operand}) : operand; }

  void keep(const Operand& operand) {
    if (operand.value.valid() && type(operand).elements() <= 64) pool_.push_back(operand);
  }

  /// An i32 scalar that depends on values of the program, in [0, n).
  Operand small_integer(int n) {
    Operand source = find([&](const Operand& o) { return is_int(o) && type(o).elements() > 0; });
    if (source.poisoned()) return integer(random_.below(n));
    if (!type(source).scalar()) source = op("sum", {source});
    if (type(source).dtype != DType::i32) source = op("astype", {source}, {{"dtype", DType::i32}});
    return op("remainder", {source, integer(n)});
  }

  Operand predicate() {
    Operand flag = find([&](const Operand& o) { return type(o) == TensorType{DType::boolean, {}}; });
    if (!flag.poisoned() && random_.chance(0.3)) return flag;
    if (!options_.benign && random_.chance(0.3)) {
      Operand x = find([&](const Operand& o) { return is_float(o) && type(o).scalar(); });
      if (!x.poisoned()) return op("less", {x, floating(random_.real(-1, 1))});
    }
    static const std::vector<std::string_view> kComparisons = {"equal", "not_equal", "less", "greater_equal"};
    return op(random_.pick(kComparisons), {small_integer(3), integer(random_.below(3))});
  }

  // --- leaves and outputs -----------------------------------------------------------------------------------------------------------
  void leaves() {
    static const std::vector<DType> kTypes = {DType::f32, DType::f32,     DType::f32, DType::f64, DType::i32, DType::i64,
                                              DType::u8,  DType::boolean, DType::i8,  DType::u32, DType::u16};
    static const std::vector<Shape> kShapes = {{}, {2}, {3}, {2, 3}, {3, 2}, {2, 2}, {1, 3}, {2, 1}};
    keep(tracer_.input("n", {DType::i32, {}}, {}, here()));
    for (int i = 1 + random_.below(4); i > 0; --i)
      keep(tracer_.input(fresh("x"), {random_.pick(kTypes), random_.pick(kShapes)}, {}, here()));
    for (int i = random_.below(3); i > 0; --i) {
      Attributes attributes;
      if (random_.chance(0.5)) {
        attributes.set("uniform", std::vector<double>{-1, 1});
        attributes.set("seed", static_cast<std::int64_t>(random_.below(1000)));
      } else {
        attributes.set("value", random_.real(-1, 1));
      }
      keep(tracer_.parameter(fresh("w"), {DType::f32, random_.pick(kShapes)}, std::move(attributes), here()));
    }
    if (random_.chance(0.5)) keep(tracer_.constant(Array::of<float>({3}, {0.25F, -1.0F, 0.0F}), here()));
  }

  void outputs() {
    if (options_.effects && random_.chance(0.1)) return;
    for (int i = 1 + random_.below(3); i > 0; --i) tracer_.output(fresh("out"), any(), here());
  }

  // --- statements -------------------------------------------------------------------------------------------------------------------
  void statement() {
    const int scopes = random_.chance(0.1) ? 1 : 0;
    if (scopes) tracer_.push_scope(fresh("scope"), here());
    const bool allow = random_.chance(0.05);
    if (allow) tracer_.push_allow({DiagnosticKind::round_trip, "tested \"so\""});
    const bool control = options_.control_flow && depth_ < options_.max_depth && random_.chance(0.25);
    if (control) {
      const std::size_t outer = pool_.size();
      ++depth_;
      switch (random_.below(3)) {
        case 0: for_statement(outer); break;
        case 1: while_statement(outer); break;
        default: branch_statement(outer);
      }
      --depth_;
    } else {
      expression();
    }
    if (allow) tracer_.pop_allow();
    if (scopes) tracer_.pop_scope();
  }

  void expression() {
    switch (random_.below(16)) {
      case 0:
      case 1:
      case 2:
      case 3: return binary();
      case 4:
      case 5: return unary();
      case 6: return product();
      case 7: return reduction();
      case 8: return shape();
      case 9: return selection();
      case 10: return conversion();
      case 11: return positions();
      case 12: return effect();
      case 13: return host_function();
      case 14: return marker();
      default: return numbers();
    }
  }

  /// Runs `record` under a pin now and then; accelerator pins only where every accelerator has a kernel.
  template <class F>
  void maybe_pinned(const F& record, bool accelerator_too) {
    if (!options_.pins || !random_.chance(0.15)) return record();
    tracer_.push_place(accelerator_too && random_.chance(0.5) ? Side::accelerator : Side::host);
    record();
    tracer_.pop_place();
  }

  void binary() {
    static const std::vector<std::string_view> kOps = {"add", "subtract", "multiply", "maximum", "minimum"};
    Operand a = find([&](const Operand& o) { return type(o).dtype != DType::boolean; });
    if (a.poisoned()) return;
    Operand b =
        find([&](const Operand& o) { return type(o).dtype != DType::boolean && broadcast(type(a).shape, type(o).shape).has_value(); });
    if (random_.chance(0.25)) b = random_.chance(0.5) ? integer(random_.below(5)) : floating(random_.real(-2, 2));
    const std::string_view name = random_.pick(kOps);
    if (options_.movement) b = moved(b, type(a).shape);
    if (random_.chance(0.5)) std::swap(a, b);
    maybe_pinned([&] { keep(tame(op(name, {a, b}))); }, true);
  }

  /// Elements of `x` for a reader of `shape`, through an operation that has no other reader.
  Operand moved(const Operand& x, const Shape& shape) {
    if (!x.value.valid() || type(x).rank() == 0 || random_.chance(0.2)) return x;
    const Shape both = *broadcast(type(x).shape, shape);
    const std::int64_t elements = type(x).elements();
    if (both != type(x).shape) return op("broadcast_to", {x}, {{"shape", both}});
    if (elements == TensorType{DType::f32, shape}.elements()) return op("reshape", {x}, {{"shape", shape}});
    return op("expand_dims", {x}, {{"axis", std::int64_t{0}}});
  }

  void unary() {
    static const std::vector<std::string_view> kBenign = {"tanh", "sin", "cos", "sigmoid", "exp"};
    static const std::vector<std::string_view> kWild = {"exp", "log", "sqrt", "reciprocal", "square"};
    static const std::vector<std::string_view> kNumeric = {"negative", "abs", "relu", "square"};
    Operand x = find([&](const Operand& o) { return type(o).dtype != DType::boolean; });
    if (x.poisoned()) return;
    if (!is_float(x) || random_.chance(0.4)) {
      const std::string_view name = random_.pick(kNumeric);
      return maybe_pinned([&] { keep(op(name, {x})); }, true);
    }
    const std::string_view name = random_.pick(options_.benign || random_.chance(0.5) ? kBenign : kWild);
    maybe_pinned([&] { keep(tame(op(name, {options_.benign ? tame(x) : x}))); }, true);
  }

  void product() {
    Operand a = find([&](const Operand& o) { return is_float(o) && type(o).rank() == 2; });
    if (a.poisoned()) return;
    Operand b = find(
        [&](const Operand& o) { return type(o).dtype == type(a).dtype && type(o).rank() == 2 && type(o).shape[0] == type(a).shape[1]; });
    if (b.poisoned()) b = op("transpose", {a});
    maybe_pinned([&] { keep(tame(op("matmul", {a, b}))); }, true);
  }

  void reduction() {
    Operand x = find([&](const Operand& o) { return type(o).dtype != DType::boolean; });
    if (x.poisoned()) return;
    Attributes attributes;
    if (type(x).rank() > 0 && random_.chance(0.6)) {
      attributes.set("axis", std::vector<std::int64_t>{random_.below(type(x).rank())});
      attributes.set("keepdims", random_.chance(0.3));
    }
    static const std::vector<std::string_view> kOps = {"sum", "mean", "max", "min"};
    keep(tame(op(random_.pick(kOps), {x}, std::move(attributes))));
  }

  void shape() {
    Operand x = any();
    const TensorType known = type(x);
    if (known.rank() == 2 && random_.chance(0.6)) return keep(op("transpose", {x}));
    if (random_.chance(0.5)) return keep(op("reshape", {x}, {{"shape", std::vector<std::int64_t>{1, known.elements()}}}));
    Operand y = find([&](const Operand& o) { return type(o) == known; });
    keep(op("stack", {x, y}, {{"axis", std::int64_t{0}}}));
  }

  void selection() {
    Operand condition = find([&](const Operand& o) { return type(o).dtype == DType::boolean; });
    if (condition.poisoned()) condition = predicate();
    Operand a = find([&](const Operand& o) { return broadcast(type(o).shape, type(condition).shape).has_value(); });
    if (a.poisoned()) return;
    Operand b = find([&](const Operand& o) { return type(o) == type(a); });
    keep(op("where", {condition, a, b}));
  }

  void conversion() {
    static const std::vector<DType> kTypes = {DType::f32,     DType::f64, DType::i32, DType::i64, DType::u8,
                                              DType::boolean, DType::i16, DType::u16, DType::u32};
    Operand x = any();
    const DType target = random_.pick(kTypes);
    // Rounding to an integer would reveal the last bit of a floating value.
    if (options_.benign && is_float(x) && !is_floating(target)) return;
    keep(op("astype", {x}, {{"dtype", target}}));
  }

  /// Ops whose result depends on comparing elements: on integers, where devices agree exactly.
  void positions() {
    Operand x = find([&](const Operand& o) { return (is_int(o) || (!options_.benign && is_float(o))) && type(o).rank() > 0; });
    if (x.poisoned()) return;
    switch (random_.below(3)) {
      case 0: return keep(op("argmax", {x}));
      case 1: return keep(op("sort", {x}));
      default: return keep(op("less", {x, integer(random_.below(4))}));
    }
  }

  void effect() {
    if (!options_.effects) return;
    op("print", {any()}, {{"label", fresh("label ")}});
  }

  void host_function() {
    if (!options_.host_functions) return;
    Operand x = any();
    const TensorType of = type(x);
    const bool pure = !options_.effects || random_.chance(0.6);
    auto function = std::make_shared<HostFunction>();
    function->name = fresh(pure ? "pure" : "effect");
    function->returns = {of};
    function->pure = pure;
    if (random_.chance(0.3)) function->seconds = 1e-5;
    if (function->seconds) function->deadline = 1e4;
    function->call = [log = pure ? nullptr : options_.log, name = function->name](std::span<const Array> inputs, std::span<Array> results,
                                                                                  const CallLimits&) -> Status {
      if (log) {
        const std::scoped_lock lock(log->mutex);
        log->lines.push_back(name + " " + to_string(inputs[0].type()));
      }
      results[0] = inputs[0];
      return {};
    };
    keep(op("host_call", {x}, {{"function", std::shared_ptr<const HostFunction>(std::move(function))}}));
  }

  void marker() { keep(op(random_.chance(0.5) ? "to_host" : "to_accelerator", {any()})); }

  void numbers() {
    if (options_.random_numbers && random_.chance(0.5)) {
      const Attributes attributes{{"shape", std::vector<std::int64_t>{2, 3}}, {"seed", static_cast<std::int64_t>(random_.below(9))}};
      return keep(op("random_uniform", {}, attributes));
    }
    keep(op(random_.chance(0.5) ? "zeros" : "ones", {}, {{"shape", std::vector<std::int64_t>{random_.below(3) + 1, 2}}}));
  }

  // --- control flow -----------------------------------------------------------------------------------------------------------------
  std::vector<Tracer::State> initial_states() {
    std::vector<Tracer::State> states;
    for (int i = random_.below(4); i > 0; --i) {
      Operand value = any();
      if (random_.chance(0.2)) value = random_.chance(0.5) ? Operand(integer(random_.below(5))) : Operand(floating(0.5));
      states.push_back({random_.chance(0.8) ? fresh("s") : "", value, here()});
    }
    return states;
  }

  /// The yielded value for the loop-carried `inside`: often a result of the loop body, sometimes unchanged, sometimes swapped with another
  /// of its type.
  Operand next_value(const Operand& inside) {
    const TensorType wanted = type(inside);
    if (wanted.dtype != DType::boolean && random_.chance(0.5)) {
      Operand other = find([&](const Operand& o) {
        const auto shape = broadcast(type(o).shape, wanted.shape);
        return shape && *shape == wanted.shape && promote(type(o).dtype, wanted.dtype) == wanted.dtype;
      });
      Operand changed = tame(op(random_.chance(0.5) ? "add" : "subtract", {inside, other}));
      if (type(changed) == wanted) return changed;
    }
    return find([&](const Operand& o) { return type(o) == wanted; });
  }

  std::vector<Tracer::State> yielded_states(const std::vector<Operand>& inside) {
    std::vector<Tracer::State> states;
    for (const Operand& operand : inside) states.push_back({"", next_value(operand), here()});
    return states;
  }

  void block() {
    for (int i = 1 + random_.below(4); i > 0 && ops_left_ > 0; --i) statement();
  }

  void for_statement(std::size_t outer) {
    const auto states = initial_states();
    Operand count = integer(random_.below(options_.max_trips + 1));
    if (random_.chance(0.4)) count = small_integer(options_.max_trips + 1);
    std::optional<double> expect;
    if (random_.chance(0.2)) expect = random_.below(4);
    outer = pool_.size();
    const Tracer::Loop loop = tracer_.begin_for(count, states, here(), expect, fresh("i"));
    keep(loop.counter);
    for (const Operand& inside : loop.inside) keep(inside);
    block();
    const auto yielded = yielded_states(loop.inside);
    std::optional<Operand> until;
    if (random_.chance(0.3)) until = predicate();
    end_loop(tracer_.end_for(yielded, until), outer);
  }

  void while_statement(std::size_t outer) {
    std::vector<Tracer::State> states = initial_states();
    const Operand limit = small_integer(options_.max_trips + 1);
    states.push_back({fresh("k"), integer(random_.below(2)), here()});
    outer = pool_.size();
    const Tracer::Loop loop = tracer_.begin_while(states, here(), random_.chance(0.3) ? std::optional<double>(2) : std::nullopt);
    const Operand counter = loop.inside.back();
    for (const Operand& inside : loop.inside) keep(inside);
    if (random_.chance(0.4)) expression();
    Operand go_on = op("less", {counter, limit});
    if (random_.chance(0.3)) go_on = op("logical_and", {go_on, predicate()});
    tracer_.while_condition(go_on, here());
    block();
    std::vector<Operand> inside = loop.inside;
    inside.pop_back();
    auto yielded = yielded_states(inside);
    yielded.push_back({"", op("add", {counter, integer(1)}), here()});
    end_loop(tracer_.end_while(yielded), outer);
  }

  void end_loop(const std::vector<Operand>& after, std::size_t outer) {
    pool_.resize(outer);
    for (const Operand& operand : after) keep(operand);
  }

  void branch_statement(std::size_t outer) {
    Operand condition = predicate();
    Operand counter = find([&](const Operand& o) { return tracer_.graph().producer(o.value).kind == NodeKind::counter; });
    if (!counter.poisoned() && random_.chance(0.5)) condition = op("equal", {op("remainder", {counter, integer(2)}), integer(0)});
    std::optional<double> probability;
    if (random_.chance(0.2)) probability = random_.real(0, 1);
    outer = pool_.size();
    tracer_.begin_branch(condition, here(), probability);
    block();
    std::vector<Tracer::State> then_values, else_values;
    std::vector<TensorType> types;
    for (int i = random_.below(3); i > 0; --i) {
      then_values.push_back({fresh("m"), any(), here()});
      types.push_back(type(then_values.back().operand));
    }
    pool_.resize(outer);
    tracer_.begin_otherwise();
    if (random_.chance(0.7)) block();
    for (std::size_t i = 0; i < types.size(); ++i) {
      Operand other = find([&](const Operand& o) { return type(o) == types[i]; });
      if (types[i].scalar() && is_floating(types[i].dtype) && (other.poisoned() || random_.chance(0.2))) other = floating(0.125);
      if (types[i].scalar() && is_integer(types[i].dtype) && other.poisoned()) other = integer(1);
      if (other.poisoned()) other = op("zeros", {}, {{"shape", types[i].shape}, {"dtype", types[i].dtype}});
      else_values.push_back({"", other, here()});
    }
    const std::vector<Operand> merged = tracer_.end_branch(then_values, else_values);
    pool_.resize(outer);
    for (const Operand& operand : merged) keep(operand);
  }

  Random random_;
  const RandomGraphOptions& options_;
  Tracer tracer_;
  std::shared_ptr<const std::string> file_;
  std::vector<Operand> pool_;  ///< the values that can be read here, oldest first
  int line_ = 0, names_ = 0, depth_ = 0, ops_left_ = 0;
};

}  // namespace

Graph random_graph(std::uint64_t seed, const RandomGraphOptions& options) {
  return Generator(seed, options).run();
}

std::map<std::string, Array> random_inputs(const Graph& graph, std::uint64_t seed) {
  Random random(seed);
  std::map<std::string, Array> inputs;
  for (const Node& node : graph.nodes) {
    if (node.kind != NodeKind::input) continue;
    const Value& value = graph.values[node.results[0]];
    Array array(value.type);
    dispatch(value.type.dtype, [&](auto zero) {
      using T = decltype(zero);
      T* elements = array.mutable_data<T>();
      for (std::int64_t i = 0; i < array.size(); ++i) {
        if constexpr (std::is_same_v<T, bool>)
          elements[i] = random.chance(0.5);
        else if constexpr (std::is_integral_v<T>)
          elements[i] = static_cast<T>(random.below(4));
        else
          elements[i] = static_cast<T>(static_cast<float>(random.real(-1, 1)));
      }
    });
    inputs.emplace(value.name, std::move(array));
  }
  return inputs;
}

}  // namespace cleave::testing
