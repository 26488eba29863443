// lstm, gru and rnn: composite functions. One product computes the contribution of the inputs for all steps; then a loop over the sequence
// computes, in each step, a product with the hidden state and one cell.
#include "graph/ops/recurrent.h"

#include <array>

#include "graph/ops/calls.h"
#include "graph/ops/op_table.h"
#include "graph/ops/rules.h"
#include "graph/trace/composer.h"

namespace cleave {
namespace ops {
namespace {

enum class Kind : std::uint8_t { rnn, gru, lstm };

std::string_view name_of(Kind kind) {
  return kind == Kind::lstm ? "lstm" : kind == Kind::gru ? "gru" : "rnn";
}
std::int64_t gates_of(Kind kind) {
  return kind == Kind::lstm ? 4 : kind == Kind::gru ? 3 : 1;
}

constexpr std::array<std::string_view, 3> kDirections = {"forward", "reverse", "bidirectional"};
constexpr std::array<std::string_view, 2> kActivations = {"tanh", "relu"};

/// The extents of a call and the positions of its optional operands; -1: absent. A bias has two axes, states have three.
struct Layout {
  std::int64_t length = 0, batch = 0, width = 0, directions = 0, n = 0;
  int bias = -1, hidden = -1, cell = -1;
};

template <std::size_t count>
std::string one_of(const std::array<std::string_view, count>& names) {
  std::string text;
  for (std::size_t i = 0; i < count; ++i) text += (i == 0 ? "`" : i + 1 == count ? " or `" : ", `") + std::string(names[i]) + "`";
  return text;
}

std::variant<Layout, TypeError> layout_of(Kind kind, Types inputs, const Attributes& attributes) {
  const std::string_view name = name_of(kind);
  const auto error = [&](DiagnosticKind of, const std::string& reason) { return refuse(of, name, inputs, reason); };
  const TensorType &x = inputs[0], &w = inputs[1], &r = inputs[2];
  const std::string& direction = attributes.get<std::string>("direction");
  if (std::find(kDirections.begin(), kDirections.end(), direction) == kDirections.end())
    return error(DiagnosticKind::value, "`direction` is " + one_of(kDirections) + ", not `" + direction + "`");
  if (const auto* activation = attributes.get_if<std::string>("activation");
      activation != nullptr && std::find(kActivations.begin(), kActivations.end(), *activation) == kActivations.end())
    return error(DiagnosticKind::value, "`activation` is " + one_of(kActivations) + ", not `" + *activation + "`");
  if (x.rank() != 3) return error(DiagnosticKind::shape, "x is [length, batch, width]");
  if (r.rank() != 3) return error(DiagnosticKind::shape, "r is [directions, gates * n, n]");
  Layout layout{x.shape[0], x.shape[1], x.shape[2], direction == "bidirectional" ? 2 : 1, r.shape[2], -1, -1, -1};
  const std::int64_t rows = r.shape[1];
  if (r.shape[0] != layout.directions || rows % gates_of(kind) != 0 || rows / gates_of(kind) != layout.n)
    return error(DiagnosticKind::shape, "r is [directions, gates * n, n] of " + std::to_string(layout.directions) +
                                            (layout.directions == 1 ? " direction" : " directions") + " and " +
                                            std::to_string(gates_of(kind)) + (kind == Kind::rnn ? " gate" : " gates") + ", not " +
                                            to_string(r.shape));
  const auto expect = [&](const TensorType& type, const char* what, const Shape& shape) -> std::optional<TypeError> {
    if (type.shape == shape) return std::nullopt;
    return error(DiagnosticKind::shape, std::string(what) + " is " + to_string(shape) + " here, not " + to_string(type.shape));
  };
  if (auto wrong = expect(w, "w", {layout.directions, rows, layout.width})) return *std::move(wrong);
  int at = 3;
  const int count = static_cast<int>(inputs.size());
  const auto rank_of = [&](int index) { return inputs[static_cast<std::size_t>(index)].rank(); };
  if (at < count && rank_of(at) == 2) {
    if (auto wrong = expect(inputs[3], "the bias", {layout.directions, 2 * rows})) return *std::move(wrong);
    layout.bias = at++;
  }
  const int states = count - at;
  if (kind == Kind::lstm && states != 0 && states != 2)
    return error(DiagnosticKind::type, "takes the initial hidden state and the initial cell together");
  if (kind != Kind::lstm && states > 1) return error(DiagnosticKind::type, "takes a bias, which has two axes, and one initial state");
  if (states > 0) layout.hidden = at;
  if (states > 1) layout.cell = at + 1;
  for (; at < count; ++at) {
    const char* what = at == layout.hidden ? "the initial hidden state" : "the initial cell";
    if (auto wrong = expect(inputs[static_cast<std::size_t>(at)], what, {layout.directions, layout.batch, layout.n}))
      return *std::move(wrong);
  }
  return layout;
}

template <Kind kind>
TypeResult recurrent_type(Types inputs, const Attributes& attributes) {
  if (!is_floating(inputs[0].dtype)) return refuse(DiagnosticKind::type, name_of(kind), inputs, "needs floating-point elements");
  for (const TensorType& each : inputs)
    if (each.dtype != inputs[0].dtype) return refuse(DiagnosticKind::type, name_of(kind), inputs, "the element types differ");
  auto layout = layout_of(kind, inputs, attributes);
  if (auto* error = std::get_if<TypeError>(&layout)) return std::move(*error);
  const auto& of = std::get<Layout>(layout);
  const DType dtype = inputs[0].dtype;
  std::vector<TensorType> results{{dtype, {of.length, of.directions, of.batch, of.n}}, {dtype, {of.directions, of.batch, of.n}}};
  if (kind == Kind::lstm) results.push_back(results.back());
  return give(name_of(kind), inputs, std::move(results));
}

/// Traces one direction: its weights, and the loop over the sequence.
class OneDirection {
 public:
  OneDirection(Composer& composer, Kind kind, const Layout& layout, const Parts& inputs, const Attributes& attributes, std::int64_t number)
      : c_(composer), kind_(kind), of_(layout), inputs_(inputs), attributes_(attributes), number_(number) {
    backwards_ = number == 1 || attributes.get<std::string>("direction") == "reverse";
    resets_product_ = kind == Kind::gru && attributes.get<bool>("linear_before_reset");
  }

  /// The hidden states [length, 1, batch, n] and the last states [1, batch, n]. The axis of directions is kept, so that weights are used
  /// without a copy.
  Parts run() {
    const DType dtype = inputs_[0].dtype();
    const std::int64_t rows = gates_of(kind_) * of_.n;
    Part gates = c_(op::matmul, {inputs_[0], c_(op::transpose, {own(inputs_[1])})});
    recurrent_ = c_(op::transpose, {own(inputs_[2])});
    if (of_.bias >= 0) {
      const Part bias = own(inputs_[static_cast<std::size_t>(of_.bias)]);
      const Part of_inputs = part(bias, 0, rows), of_recurrent = part(bias, rows, 2 * rows);
      gates = c_.add(gates, resets_product_ ? of_inputs : c_.add(of_inputs, of_recurrent));
      if (resets_product_) bias_ = of_recurrent;
    }
    const Part zeros = c_(op::zeros, {}, {{"shape", Integers{1, of_.batch, of_.n}}, {"dtype", dtype}});
    Parts state{c_(op::zeros, {}, {{"shape", Integers{of_.length, 1, of_.batch, of_.n}}, {"dtype", dtype}})};
    state.push_back(of_.hidden < 0 ? zeros : own(inputs_[static_cast<std::size_t>(of_.hidden)]));
    if (kind_ == Kind::lstm) state.push_back(of_.cell < 0 ? zeros : own(inputs_[static_cast<std::size_t>(of_.cell)]));
    if (of_.length == 0) return state;
    return c_.for_loop(Part(of_.length), state, [&](const Part& counter, const Parts& carried) {
      const Part at = backwards_ ? c_.subtract(Part(of_.length - 1), counter) : counter;
      const Part here = c_(op::dynamic_slice, {gates, at, Part(0), Part(0)}, {{"sizes", Integers{1, of_.batch, rows}}});
      Parts next = step(here, Parts(carried.begin() + 1, carried.end()));
      next.insert(next.begin(), c_(op::dynamic_update_slice, {carried[0], next[0], at, Part(0), Part(0), Part(0)}));
      return next;
    });
  }

 private:
  /// The slice of an operand for this direction.
  Part own(const Part& x) {
    return of_.directions == 1 ? x : c_(op::slice, {x}, {{"starts", Integers{number_}}, {"stops", Integers{number_ + 1}}});
  }
  /// Elements `from` to `to` along the last axis.
  Part part(const Part& x, std::int64_t from, std::int64_t to) {
    Integers starts(static_cast<std::size_t>(x.rank()), 0), stops = x.shape();
    starts.back() = from;
    stops.back() = to;
    return c_(op::slice, {x}, {{"starts", std::move(starts)}, {"stops", std::move(stops)}});
  }

  Parts step(const Part& gates, const Parts& state) {
    const Part& hidden = state[0];
    if (kind_ == Kind::lstm) {
      const Parts operands{gates, c_(op::matmul, {hidden, recurrent_}), state[1]};
      return c_.all(op::lstm_cell, operands);
    }
    if (kind_ == Kind::rnn)
      return {c_(*find_op(attributes_.get<std::string>("activation")), {c_.add(gates, c_(op::matmul, {hidden, recurrent_}))})};
    if (resets_product_) {
      Part product = c_(op::matmul, {hidden, recurrent_});
      if (of_.bias >= 0) product = c_.add(product, bias_);
      return {c_(op::gru_cell, {gates, product, hidden})};
    }
    const std::int64_t n = of_.n;
    const Part both = c_(op::sigmoid, {c_.add(part(gates, 0, 2 * n), c_(op::matmul, {hidden, part(recurrent_, 0, 2 * n)}))});
    const Part update = part(both, 0, n), reset = part(both, n, 2 * n);
    const Part product = c_(op::matmul, {c_.multiply(reset, hidden), part(recurrent_, 2 * n, 3 * n)});
    const Part fresh = c_(op::tanh, {c_.add(part(gates, 2 * n, 3 * n), product)});
    return {c_.add(fresh, c_.multiply(update, c_.subtract(hidden, fresh)))};
  }

  Composer& c_;
  const Kind kind_;
  const Layout& of_;
  const Parts& inputs_;
  const Attributes& attributes_;
  const std::int64_t number_;
  bool backwards_ = false, resets_product_ = false;
  Part recurrent_, bias_;
};

template <Kind kind>
std::vector<Part> expand_recurrent(Composer& c, const std::vector<Part>& inputs, const Attributes& attributes) {
  std::vector<TensorType> types;
  for (const Part& input : inputs) types.push_back(input.type());
  const auto layout = layout_of(kind, types, attributes);
  const auto& of = std::get<Layout>(layout);
  std::vector<Parts> directions;
  for (std::int64_t i = 0; i < of.directions; ++i) directions.push_back(OneDirection(c, kind, of, inputs, attributes, i).run());
  if (of.directions == 1) return directions[0];
  Parts results;
  for (std::size_t k = 0; k < directions[0].size(); ++k)
    results.push_back(c(op::concat, {directions[0][k], directions[1][k]}, {{"axis", std::int64_t{k == 0 ? 1 : 0}}}));
  return results;
}

template <Kind kind>
constexpr OpDef recurrent(std::string_view signature, AttributeDefs attributes, std::string_view summary) {
  attributes.push_back(with_default("direction", AttributeDef::Type::text, "forward"));
  return Record(signature, 3, attributes, summary, recurrent_type<kind>, expand_recurrent<kind>)
      .operands(3, kind == Kind::lstm ? 6 : 5)
      .promoting(Promotion::floating);
}

}  // namespace

constexpr OpDef op::lstm =
    recurrent<Kind::lstm>("lstm(x, w, r, b?, initial_h?, initial_c?, direction?)", {},
                          "ONNX's LSTM: hidden states of all steps [length, directions, batch, n], the last one, the last cell; gates in "
                          "the order input, output, forget, cell");

constexpr OpDef op::gru =
    recurrent<Kind::gru>("gru(x, w, r, b?, initial_h?, linear_before_reset?, direction?)",
                         {with_default("linear_before_reset", AttributeDef::Type::boolean, false)},
                         "ONNX's GRU: hidden states of all steps, and the last one; gates in the order update, reset, hidden");

constexpr OpDef op::rnn = recurrent<Kind::rnn>("rnn(x, w, r, b?, initial_h?, activation?, direction?)",
                                               {with_default("activation", AttributeDef::Type::text, "tanh")},
                                               "ONNX's RNN: hidden states of all steps, and the last one");

namespace {

/// The operands in order; sets the attributes that all three functions share.
std::vector<Tensor> operands_of(const Tensor& x, const Tensor& w, const Tensor& r, const RecurrentOptions& options,
                                Attributes& attributes) {
  std::vector<Tensor> operands{x, w, r};
  for (const auto* each : {&options.bias, &options.initial_hidden, &options.initial_cell})
    if (*each) operands.push_back(**each);
  attributes.set("direction", std::string(kDirections[static_cast<std::size_t>(options.direction)]));
  return operands;
}

Recurrent call_recurrent(const OpDef& function, Attributes attributes, const Tensor& x, const Tensor& w, const Tensor& r,
                         const RecurrentOptions& options, const Here& here) {
  const std::vector<Tensor> operands = operands_of(x, w, r, options, attributes);
  return call_two<Recurrent>(function, operands, std::move(attributes), here);
}

}  // namespace
}  // namespace ops

Lstm lstm(const Tensor& x, const Tensor& w, const Tensor& r, const RecurrentOptions& options, Here here) {
  Attributes attributes;
  const std::vector<Tensor> operands = ops::operands_of(x, w, r, options, attributes);
  std::vector<Tensor> results = detail::apply(op::lstm, operands, std::move(attributes), here.of("lstm"));
  results.resize(3, results.empty() ? Tensor() : results.front());
  return {results[0], results[1], results[2]};
}
Recurrent gru(const Tensor& x, const Tensor& w, const Tensor& r, const RecurrentOptions& options, Here here) {
  return ops::call_recurrent(op::gru, {{"linear_before_reset", options.linear_before_reset}}, x, w, r, options, here);
}
Recurrent rnn(const Tensor& x, const Tensor& w, const Tensor& r, const RecurrentOptions& options, Here here) {
  return ops::call_recurrent(op::rnn, {{"activation", std::string(options.relu ? "relu" : "tanh")}}, x, w, r, options, here);
}

}  // namespace cleave
