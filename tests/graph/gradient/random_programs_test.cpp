// Gradients of random programs with loops, branches, slices and reductions, against central differences.
#include <gtest/gtest.h>

#include <random>

#include "graph/vocabulary.h"
#include "tests/support/gradient_check.h"
#include "tests/support/seeds.h"

namespace cleave::testing {
namespace {

const SourceLocation kNowhere;

/// Records random smooth operations. Values stay small, so that differences stay exact.
class RandomLoss {
 public:
  RandomLoss(Tracer& tracer, std::uint64_t seed) : tracer_(tracer), random_(seed) {}

  Operand record(const std::map<std::string, Operand>& inputs) {
    for (const auto& [name, input] : inputs) pool_.push_back(input);
    const std::size_t count = 3 + pick(25);
    block(count, 0);
    Operand loss = sum(pool_.back());
    // Every input counts, so that none is without a gradient.
    for (const auto& [name, input] : inputs) loss = call(op::add, {loss, sum(call(op::sin, {input}))});
    for (std::size_t i = 0; i < 3; ++i) loss = call(op::add, {loss, sum(any())});
    return loss;
  }

 private:
  std::size_t pick(std::size_t count) { return std::uniform_int_distribution<std::size_t>(0, count - 1)(random_); }
  Operand any() { return pool_.at(pick(pool_.size())); }
  Operand call(const OpDef& op, std::vector<Operand> inputs, Attributes attributes = {}) {
    return tracer_.call(op, inputs, std::move(attributes), kNowhere);
  }
  Operand sum(const Operand& x) { return call(op::sum, {x}); }
  static Operand integer(std::int64_t value) { return Literal{Literal::Type::integer, value}; }
  Shape shape(const Operand& x) { return tracer_.type(x)->shape; }

  void block(std::size_t count, int depth) {
    for (std::size_t i = 0; i < count; ++i) {
      const std::size_t kind = pick(12);
      if (kind == 0 && depth < 2) {
        pool_.push_back(loop(depth));
      } else if (kind == 1 && depth < 2) {
        pool_.push_back(branch(depth));
      } else {
        pool_.push_back(step(kind));
      }
    }
  }

  Operand step(std::size_t kind) {
    const OpDef* smooth[] = {&op::sin, &op::tanh, &op::sigmoid, &op::cos, &op::softmax, &op::erf, &op::atan};
    const Operand x = any();
    const Shape extents = shape(x);
    if (kind == 2 && !extents.empty()) {
      const auto axis = static_cast<std::int64_t>(pick(extents.size()));
      return call(op::mean, {x}, {{"axis", std::vector<std::int64_t>{axis}}, {"keepdims", true}});
    }
    if (kind == 3 && extents.size() == 2) return call(op::tanh, {call(op::matmul, {call(op::transpose, {x}), x})});
    if (kind == 4 && !extents.empty() && extents[0] > 1) {
      return call(op::slice, {x}, {{"starts", std::vector<std::int64_t>{1}}, {"stops", std::vector<std::int64_t>{extents[0]}}});
    }
    if (kind == 5 && !extents.empty()) return call(op::concat, {x, call(op::sin, {x})}, {{"axis", std::int64_t{0}}});
    if (kind >= 6 && kind <= 8) {
      const Operand y = any();
      if (broadcast(extents, shape(y))) {
        const OpDef* binary[] = {&op::add, &op::subtract, &op::multiply};
        return call(op::tanh, {call(*binary[pick(3)], {x, y})});
      }
    }
    const OpDef& op = *smooth[pick(std::size(smooth))];
    return &op == &op::softmax && extents.empty() ? call(op::sin, {x}) : call(op, {x});
  }

  Operand loop(int depth) {
    const Operand initial = any();
    const Tracer::State first[] = {{"", initial, kNowhere}};
    const bool ends = pick(3) == 0;
    const Tracer::Loop loop = tracer_.begin_for(integer(static_cast<std::int64_t>(pick(4))), first, kNowhere);
    const std::size_t before = pool_.size();
    pool_.push_back(loop.inside[0]);
    block(1 + pick(4), depth + 1);
    const Operand last = pool_.back();
    const bool fits = shape(last) == shape(initial);
    const Operand mixed = broadcast(shape(last), shape(initial)) == shape(initial) ? call(op::add, {loop.inside[0], last}) : loop.inside[0];
    const Tracer::State next[] = {{"", call(op::tanh, {fits ? last : mixed}), kNowhere}};
    const std::optional<Operand> until = ends ? std::optional(call(op::greater_equal, {loop.counter, integer(1)})) : std::nullopt;
    pool_.resize(before);
    return tracer_.end_for(next, until)[0];
  }

  Operand branch(int depth) {
    const Operand x = any();
    // Far from zero on either side, so that no difference crosses it.
    const Operand side = pick(2) == 0 ? Literal{Literal::Type::floating, 0, 1e3} : Literal{Literal::Type::floating, 0, -1e3};
    tracer_.begin_branch(call(op::greater, {sum(x), side}), kNowhere);
    const std::size_t before = pool_.size();
    const auto arm = [&] {
      block(1 + pick(3), depth + 1);
      const Operand last = pool_.back();
      pool_.resize(before);
      return call(op::sin, {shape(last) == shape(x) ? last : x});
    };
    const Tracer::State then[] = {{"", arm(), kNowhere}};
    tracer_.begin_otherwise();
    const Tracer::State otherwise[] = {{"", arm(), kNowhere}};
    return tracer_.end_branch(then, otherwise)[0];
  }

  Tracer& tracer_;
  std::mt19937_64 random_;
  std::vector<Operand> pool_;
};

TEST(GradientOfRandomPrograms, EqualsCentralDifferences) {
  for (std::uint64_t seed = 0; seed < seeds(draws(300U)); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    NamedArrays inputs;
    std::mt19937_64 random(seed);
    std::normal_distribution<double> normal(0, 0.5);
    for (const auto& [name, shape] : {std::pair<std::string, Shape>{"a", {3}}, {"b", {2, 3}}, {"c", {}}}) {
      Array array({DType::f64, shape});
      for (std::int64_t i = 0; i < array.size(); ++i) array.mutable_data<double>()[i] = normal(random);
      inputs.emplace(name, std::move(array));
    }
    const auto record = [&](Tracer& tracer, const std::map<std::string, Operand>& given) { return RandomLoss(tracer, seed).record(given); };
    for (const GradientDifference& difference : compare_gradients(inputs, record, static_cast<unsigned>(seed), 2)) {
      ASSERT_EQ(difference.error, "");
      ASSERT_LT(difference.relative(), 1e-5) << difference.by_gradient << " by the gradient, " << difference.by_difference;
    }
  }
}

}  // namespace
}  // namespace cleave::testing
