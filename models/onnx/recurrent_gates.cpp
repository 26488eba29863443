// Recurrent networks gate by gate: peepholes, clipping, sequences of different lengths, and any of ONNX's activation functions.
#include "models/onnx/recurrent.h"

namespace cleave::models::onnx {
namespace {

using Integers = std::vector<std::int64_t>;

class OneDirection {
 public:
  OneDirection(Call& call, const Recurrent& network, std::int64_t number)
      : c_(call), of_(network), number_(number), length_(network.x.shape()[0]), batch_(network.x.shape()[1]), n_(network.n()) {}

  /// Results [length, batch, n], and the last states [batch, n].
  Parts run() {
    const std::int64_t rows = of_.gates() * n_;
    const DType dtype = of_.x.dtype();
    Part gates = of_.product ? of_.product(of_.x, false, number_) : c_(op::matmul, {of_.x, c_(op::transpose, {own(of_.w)})});
    if (!of_.product) recurrent_ = c_(op::transpose, {own(of_.r)});
    if (of_.bias) {
      const Part bias = own(*of_.bias), of_recurrent = part(bias, rows, 2 * rows);
      gates = c_.add(gates, part(bias, 0, rows));
      if (of_.linear_before_reset) {
        bias_ = of_recurrent;
      } else {
        gates = c_.add(gates, of_recurrent);
      }
    }
    const auto initial = [&](const std::optional<Part>& given) {
      return given ? own(*given) : c_(op::zeros, {}, {{"shape", Shape{batch_, n_}}, {"dtype", dtype}});
    };
    Parts state{c_(op::zeros, {}, {{"shape", Shape{length_, batch_, n_}}, {"dtype", dtype}}), initial(of_.hidden)};
    if (of_.kind == RecurrentKind::lstm) state.push_back(initial(of_.cell));
    if (length_ == 0) return state;
    if (of_.peepholes) peepholes_ = own(*of_.peepholes);
    const bool backwards = number_ == 1 || of_.direction == "reverse";
    return c_.for_loop(Part(length_), state, [&](const Part& counter, const Parts& carried) {
      const Part at = backwards ? c_.subtract(Part(length_ - 1), counter) : counter;
      const Part here = c_(op::dynamic_slice, {gates, at, Part(0), Part(0)}, {{"sizes", Integers{1, batch_, rows}}});
      return advanced(carried, at, step(c_.reshape(here, {batch_, rows}), carried));
    });
  }

 private:
  /// The carried values after step `at`: for a sequence that has ended, the state is unchanged and the result is 0.
  Parts advanced(const Parts& carried, const Part& at, Parts states) {
    Part result = states[0];
    if (of_.lengths) {
      const Part goes_on = c_.reshape(c_(op::less, {c_.as(of_.lengths->dtype(), at), *of_.lengths}), {batch_, 1});
      result = c_(op::where, {goes_on, states[0], c_.number_as(states[0].dtype(), 0)});
      for (std::size_t i = 0; i < states.size(); ++i) states[i] = c_(op::where, {goes_on, states[i], carried[i + 1]});
    }
    states.insert(states.begin(), c_(op::dynamic_update_slice, {carried[0], result, at, Part(0), Part(0)}));
    return states;
  }

  Parts step(const Part& gates, const Parts& carried) {
    const Part& hidden = carried[1];
    if (of_.kind == RecurrentKind::gru) return {gru_step(gates, hidden)};
    const Part all = c_.add(gates, of_.product ? of_.product(hidden, true, number_) : c_(op::matmul, {hidden, recurrent_}));
    if (of_.kind == RecurrentKind::lstm) return lstm_step(all, carried[2]);
    return {apply(0, all)};
  }

  Parts lstm_step(const Part& gates, const Part& cell) {
    const auto peeking = [&](std::int64_t gate, std::int64_t peephole, const Part& at) {
      const Part own_gate = nth(gates, gate);
      return of_.peepholes ? c_.add(own_gate, c_.multiply(nth(peepholes_, peephole), at)) : own_gate;
    };
    const Part input = apply(0, peeking(0, 0, cell));
    const Part forget = of_.input_forget ? c_.subtract(c_.number_as(input.dtype(), 1), input) : apply(0, peeking(2, 2, cell));
    const Part next = c_.add(c_.multiply(forget, cell), c_.multiply(input, apply(1, nth(gates, 3))));
    return {c_.multiply(apply(0, peeking(1, 1, next)), activated(c_, activation(2), next)), next};
  }

  Part gru_step(const Part& gates, const Part& hidden) {
    const std::int64_t n = n_;
    const auto weights = [&](std::int64_t from, std::int64_t to) { return part(recurrent_, from, to); };
    const auto biased = [&](const Part& product, std::int64_t from, std::int64_t to) {
      return of_.linear_before_reset && of_.bias ? c_.add(product, part(bias_, from, to)) : product;
    };
    const Part both = apply(0, c_.add(part(gates, 0, 2 * n), biased(c_(op::matmul, {hidden, weights(0, 2 * n)}), 0, 2 * n)));
    const Part update = part(both, 0, n), reset = part(both, n, 2 * n), last = weights(2 * n, 3 * n);
    const Part product = of_.linear_before_reset ? c_.multiply(reset, biased(c_(op::matmul, {hidden, last}), 2 * n, 3 * n))
                                                 : c_(op::matmul, {c_.multiply(reset, hidden), last});
    const Part fresh = apply(1, c_.add(part(gates, 2 * n, 3 * n), product));
    return c_.add(fresh, c_.multiply(update, c_.subtract(hidden, fresh)));
  }

  /// Applies activation `which` of this direction, clipping its argument first. The cell state is not clipped, as in ONNX Runtime.
  Part apply(std::size_t which, Part x) {
    if (of_.clip) x = c_(op::clip, {x, c_.number_as(x.dtype(), -*of_.clip), c_.number_as(x.dtype(), *of_.clip)});
    return activated(c_, activation(which), x);
  }
  [[nodiscard]] const Activation& activation(std::size_t which) const {
    const std::size_t each = of_.activations.size() / static_cast<std::size_t>(of_.directions());
    return of_.activations[static_cast<std::size_t>(number_) * each + which];
  }
  /// This direction's slice of an operand, without the axis of directions.
  Part own(const Part& x) {
    Shape shape = x.shape();
    shape.erase(shape.begin());
    return c_.reshape(of_.directions() == 1 ? x : c_(op::slice, {x}, {{"starts", Integers{number_}}, {"stops", Integers{number_ + 1}}}),
                      shape);
  }
  /// The elements [from, to) of the last axis.
  Part part(const Part& x, std::int64_t from, std::int64_t to) {
    Integers starts(static_cast<std::size_t>(x.rank()), 0), stops = x.shape();
    starts.back() = from;
    stops.back() = to;
    return c_(op::slice, {x}, {{"starts", std::move(starts)}, {"stops", std::move(stops)}});
  }
  Part nth(const Part& x, std::int64_t which) { return part(x, which * n_, (which + 1) * n_); }

  Call& c_;
  const Recurrent& of_;
  const std::int64_t number_, length_, batch_, n_;
  Part recurrent_, bias_, peepholes_;
};

}  // namespace

Parts unrolled_by_gates(Call& c, const Recurrent& network) {
  std::vector<Parts> directions;
  for (std::int64_t i = 0; i < network.directions(); ++i) directions.push_back(OneDirection(c, network, i).run());
  Parts results;
  for (std::size_t k = 0; k < directions[0].size(); ++k) {
    Parts all;
    for (const Parts& each : directions) all.push_back(each[k]);
    results.push_back(c(op::stack, all, {{"axis", std::int64_t{k == 0 ? 1 : 0}}}));
  }
  return results;
}

}  // namespace cleave::models::onnx
