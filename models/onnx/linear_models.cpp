// Lowerings of the linear models and support vector machines of ai.onnx.ml.
#include <algorithm>

#include "models/onnx/class_scores.h"
#include "models/onnx/loops.h"
#include "models/onnx/pieces.h"

namespace cleave::models::onnx {
namespace {

using Integers = std::vector<std::int64_t>;
using Numbers = std::vector<double>;

std::string quoted_op(Call& c) {
  return "`" + std::string(c.op()) + "`";
}

/// Whether there are rows * columns numbers.
bool fill_matrix(const Numbers& numbers, std::int64_t rows, std::int64_t columns) {
  const auto count = static_cast<std::int64_t>(numbers.size());
  return rows == 0 || columns == 0 ? count == 0 : count % rows == 0 && count / rows == columns;
}

Part transposed(Call& c, const Part& matrix) {
  return permuted(c, matrix, {1, 0});
}

/// x times the transpose of the coefficients [outputs, features], plus a number for each output. Reported if the coefficients do not fit.
Part linear(Call& c, const Part& x, const Numbers& coefficients, const Numbers& added) {
  const auto outputs = static_cast<std::int64_t>(added.size());
  const std::int64_t features = x.shape()[1];
  if (!fill_matrix(coefficients, outputs, features)) {
    c.mistake(DiagnosticKind::shape, quoted_op(c) + " has " + std::to_string(coefficients.size()) + " coefficients for " +
                                         std::to_string(outputs) + " outputs and " + std::to_string(features) + " features");
    return {};
  }
  const Part weights = transposed(c, c.numbers_constant(coefficients, x.dtype(), {outputs, features}));
  const Part product = c(op::matmul, {x, weights});
  const bool zero = std::all_of(added.begin(), added.end(), [](double number) { return number == 0; });
  return zero ? product : c.add(product, c.numbers_constant(added, x.dtype(), {outputs}));
}

// --- linear models -----------------------------------------------------------------------------------------------------------------------

Values linear_regressor(Call& c) {
  const auto coefficients = c.numbers("coefficients");
  const auto targets = static_cast<std::size_t>(std::clamp<std::int64_t>(c.integer("targets", 1), 1, 1 << 20));
  Numbers intercepts = c.numbers("intercepts").value_or(Numbers(targets, 0));
  const auto transform = post_transform(c);
  const Part x = feature_rows(c, DType::f32);
  if (!transform || x.operand().poisoned()) return c.poison();
  if (!coefficients || intercepts.size() != targets)
    return c.mistake(DiagnosticKind::value, quoted_op(c) + " needs coefficients, and an intercept for each target or none");
  const Part scores = linear(c, x, *coefficients, intercepts);
  return scores.operand().poisoned() ? c.poison() : Values{transformed_scores(c, scores, *transform)};
}

Values linear_classifier(Call& c) {
  c.ignore({"multi_class"});  // how the coefficients were found
  const auto coefficients = c.numbers("coefficients");
  const Numbers intercepts = c.numbers("intercepts").value_or(Numbers{});
  const auto transform = post_transform(c);
  const auto labels = class_labels(c, "classlabels_ints");
  const Part x = feature_rows(c, DType::f32);
  if (!transform || !labels || x.operand().poisoned()) return c.poison();
  if (!coefficients || intercepts.empty() || (intercepts.size() > 1 && labels->size() < intercepts.size()))
    return c.mistake(DiagnosticKind::value, quoted_op(c) + " needs coefficients, and an intercept and a label for each class");
  const Part scores = linear(c, x, *coefficients, intercepts);
  if (scores.operand().poisoned()) return c.poison();
  if (intercepts.size() > 1) return {labels->at(c, best_class(c, scores)), transformed_scores(c, scores, *transform)};
  const Part positive = c.reshape(c(op::greater, {scores, 0}), {x.shape()[0]});
  const SecondScore second = labels->size() == 2 ? SecondScore::complement : SecondScore::none;
  return {labels->second_where(c, positive), transformed_scores(c, scores, *transform, second)};
}

// --- support vectors ---------------------------------------------------------------------------------------------------------------------

struct SvmKernel {
  std::string type = "LINEAR";
  double gamma = 0, offset = 0, degree = 0;
};

std::optional<SvmKernel> kernel_of(Call& c) {
  SvmKernel kernel{c.text("kernel_type", "LINEAR")};
  const Numbers parameters = c.numbers("kernel_params").value_or(Numbers{0, 0, 0});
  const bool known = kernel.type == "LINEAR" || kernel.type == "POLY" || kernel.type == "RBF" || kernel.type == "SIGMOID";
  if (!known || parameters.size() != 3) {
    c.mistake(DiagnosticKind::value, quoted_op(c) + ": a kernel is LINEAR, POLY, RBF or SIGMOID with 3 parameters, not `" + kernel.type +
                                         "` with " + std::to_string(parameters.size()));
    return std::nullopt;
  }
  kernel.gamma = parameters[0], kernel.offset = parameters[1], kernel.degree = parameters[2];
  return kernel;
}

/// The squared distances of rows of x from `vectors` [vectors, features], by products of values from whose features the mean of the
/// vectors is subtracted: then the squares that cancel are not larger than the distances.
Part squared_distances(Call& c, const Part& x, const Numbers& vectors, std::int64_t count) {
  const std::int64_t features = x.shape()[1];
  Numbers means(static_cast<std::size_t>(features), 0), squares(static_cast<std::size_t>(count), 0), centered = vectors;
  for (std::size_t i = 0; i < vectors.size(); ++i) means[i % means.size()] += vectors[i] / static_cast<double>(count);
  for (std::size_t i = 0; i < centered.size(); ++i) {
    centered[i] -= means[i % means.size()];
    squares[i / means.size()] += centered[i] * centered[i];
  }
  const Part rows = c.subtract(x, c.numbers_constant(means, x.dtype(), {features}));
  const Part own = c(op::sum, {c(op::square, {rows})}, {{"axis", Integers{1}}, {"keepdims", true}});
  const Part others = transposed(c, c.numbers_constant(centered, x.dtype(), {count, features}));
  const Part products = c(op::matmul, {rows, others});
  const Part sums = c.add(own, c.numbers_constant(squares, x.dtype(), {count}));
  return c(op::maximum, {c.subtract(sums, c.multiply(products, 2)), 0});
}

/// The kernel of each row of x with each of the support vectors: [rows, vectors].
Part kernels(Call& c, const Part& x, const SvmKernel& kernel, const Numbers& vectors, std::int64_t count) {
  if (kernel.type == "RBF" && !vectors.empty() && fill_matrix(vectors, count, x.shape()[1]))
    return c(op::exp, {c.multiply(squared_distances(c, x, vectors, count), -kernel.gamma)});
  const Part products = linear(c, x, vectors, Numbers(static_cast<std::size_t>(count), 0));
  if (products.operand().poisoned() || kernel.type == "LINEAR") return products;
  const Part scaled = c.add(c.multiply(products, kernel.gamma), kernel.offset);
  return kernel.type == "SIGMOID" ? c(op::tanh, {scaled}) : c(op::pow, {scaled, kernel.degree});
}

Values svm_regressor(Call& c) {
  const auto kernel = kernel_of(c);
  c.ignore({"post_transform"});  // ONNX Runtime does not look at it
  const std::int64_t count = c.integer("n_supports", 0);
  const bool one_class = c.flag("one_class");
  const auto coefficients = c.numbers("coefficients"), rho = c.numbers("rho");
  const Numbers vectors = c.numbers("support_vectors").value_or(Numbers{});
  const Part x = feature_rows(c, DType::f32);
  if (!kernel || x.operand().poisoned()) return c.poison();
  if (!coefficients || !rho || rho->empty() || count < 0 || (count > 0 && static_cast<std::int64_t>(coefficients->size()) != count))
    return c.mistake(DiagnosticKind::value, quoted_op(c) + " needs `rho`, and a coefficient for each support vector");
  const Part inputs = count > 0 ? kernels(c, x, *kernel, vectors, count) : x;
  if (inputs.operand().poisoned()) return c.poison();
  const Part score = linear(c, inputs, *coefficients, {rho->front()});
  if (!one_class || score.operand().poisoned()) return {score};
  return {c(op::where, {c(op::greater, {score, 0}), c.number_as(DType::f32, 1), c.number_as(DType::f32, -1)})};
}

/// Each pair of classes i < j has a classifier, whose positive score is a vote for i.
struct Pairs {
  std::int64_t classes = 0;
  std::vector<std::pair<std::int64_t, std::int64_t>> all;
  explicit Pairs(std::int64_t count) : classes(count) {
    for (std::int64_t i = 0; i < count; ++i)
      for (std::int64_t j = i + 1; j < count; ++j) all.emplace_back(i, j);
  }
  [[nodiscard]] std::int64_t count() const { return static_cast<std::int64_t>(all.size()); }
};

/// The scores of the pairs from the kernels [rows, vectors]: one product with the coefficients, sorted by pair. Those of class i against
/// class j are row j - 1 of the file's coefficients for the vectors of i if i < j, and row i for those of j.
Part pair_scores(Call& c, const Part& kernels, const Pairs& pairs, const Numbers& coefficients, const Integers& vectors_per_class,
                 const Numbers& rho) {
  const std::int64_t vectors = kernels.shape()[1];
  Integers starts{0};
  for (const std::int64_t count : vectors_per_class) starts.push_back(starts.back() + count);
  Numbers weights(static_cast<std::size_t>(pairs.count() * vectors), 0);
  for (std::size_t p = 0; p < pairs.all.size(); ++p) {
    const auto [i, j] = pairs.all[p];
    const auto copy = [&](std::int64_t of, std::int64_t row) {
      for (std::int64_t v = starts[static_cast<std::size_t>(of)]; v < starts[static_cast<std::size_t>(of) + 1]; ++v)
        weights[p * static_cast<std::size_t>(vectors) + static_cast<std::size_t>(v)] =
            coefficients[static_cast<std::size_t>(row * vectors + v)];
    };
    copy(i, j - 1);
    copy(j, i);
  }
  return linear(c, kernels, weights, Numbers(rho.begin(), rho.begin() + pairs.count()));
}

/// The class with most votes; of those with equally many, the first.
Part most_voted(Call& c, const Part& scores, const Pairs& pairs) {
  Numbers gains(static_cast<std::size_t>(pairs.count() * pairs.classes), 0), against(static_cast<std::size_t>(pairs.classes), 0);
  for (std::size_t p = 0; p < pairs.all.size(); ++p) {
    const auto [i, j] = pairs.all[p];
    gains[static_cast<std::size_t>(i * pairs.count()) + p] = 1;
    gains[static_cast<std::size_t>(j * pairs.count()) + p] = -1;
    against[static_cast<std::size_t>(j)] += 1;
  }
  const Part positive = c.as(scores.dtype(), c(op::greater, {scores, 0}));
  return best_class(c, linear(c, positive, gains, against));
}

/// The probabilities of classes from those of pairs, as LIBSVM couples them (Wu, Lin, Weng 2004, algorithm 2): rows iterate until their
/// error is small, at most 100 times.
Part coupled_probabilities(Call& c, const Part& pairwise, const Pairs& pairs) {
  const std::int64_t rows = pairwise.shape()[0], k = pairs.classes;
  const DType dtype = pairwise.dtype();
  // r[j][i]: the probability of j against i, as a column.
  std::vector<Parts> r(static_cast<std::size_t>(k), Parts(static_cast<std::size_t>(k)));
  for (std::size_t p = 0; p < pairs.all.size(); ++p) {
    const auto [i, j] = pairs.all[p];
    const auto at = static_cast<std::int64_t>(p);
    const Part first = piece(c, pairwise, 1, at, at + 1);
    r[static_cast<std::size_t>(i)][static_cast<std::size_t>(j)] = first;
    r[static_cast<std::size_t>(j)][static_cast<std::size_t>(i)] = c.subtract(1, first);
  }
  Parts lines, diagonal;  // of Q, each [rows, k]; its diagonal elements, [rows, 1]
  for (std::size_t i = 0; i < static_cast<std::size_t>(k); ++i) {
    Part own;
    Parts line(static_cast<std::size_t>(k));
    for (std::size_t j = 0; j < static_cast<std::size_t>(k); ++j) {
      if (j == i) continue;
      const Part square = c(op::square, {r[j][i]});
      own = own.operand().poisoned() ? square : c.add(own, square);
      const Part product = c.multiply(r[j][i], r[i][j]);
      line[j] = c(op::negative, {product});
    }
    line[i] = own;
    diagonal.push_back(own);
    lines.push_back(c(op::concat, line, {{"axis", std::int64_t{1}}}));
  }
  const Part q = c(op::stack, lines, {{"axis", std::int64_t{1}}});  // [rows, k, k]
  const Attributes last{{"axis", Integers{1}}, {"keepdims", true}};
  const auto products = [&](const Part& p) {
    const Part column = c.reshape(p, {rows, k, 1});
    return c.reshape(c(op::matmul, {q, column}), {rows, k});
  };
  const auto weighted = [&](const Part& p, const Part& qp) { return c(op::sum, {c.multiply(p, qp)}, last); };
  const double enough = 0.005F / static_cast<double>(k);
  const auto open = [&](const Part& qp, const Part& pqp) {  // rows [rows, 1] that go on
    const Part errors = c(op::abs, {c.subtract(qp, pqp)});
    return c(op::greater_equal, {c(op::max, {errors}, last), enough});
  };
  const Part even =
      c(op::full, std::initializer_list<Part>{}, {{"shape", Shape{rows, k}}, {"value", 1 / static_cast<double>(k)}, {"dtype", dtype}});
  constexpr std::int64_t kMostRounds = 100;
  const auto step = [&](const Part& before) {
    Part p = before;
    Part qp = products(p);
    Part pqp = weighted(p, qp);
    const Part going = open(qp, pqp);
    for (std::int64_t i = 0; i < k; ++i) {
      const auto at = static_cast<std::size_t>(i);
      const Part own = piece(c, qp, 1, i, i + 1);
      const Part difference = c.divide(c.subtract(pqp, own), diagonal[at]);
      const Part scale = c.add(difference, 1);
      const Part linear_term = c.add(c.multiply(difference, diagonal[at]), c.multiply(own, 2));
      const Part numerator = c.add(pqp, c.multiply(difference, linear_term));
      pqp = c.divide(c.divide(numerator, scale), scale);
      qp = c.divide(c.add(qp, c.multiply(lines[at], difference)), scale);
      const Part unit = c.numbers_constant(
          [&] {
            Numbers one(static_cast<std::size_t>(k), 0);
            one[at] = 1;
            return one;
          }(),
          dtype, {k});
      p = c.divide(c.add(p, c.multiply(unit, difference)), scale);
    }
    return std::pair(c(op::where, {going, p, before}), going);
  };
  // A while loop: most rows need few steps.
  Tracer& tracer = c.tracer();
  const Values initial{even, Value(c.scalar(std::int32_t{0})), Value(c.scalar(true))};
  const Tracer::Loop inside = tracer.begin_while(states(c, initial), c.location());
  const Values carried = values_of(c, inside.inside);
  const Part more = c(op::less, {carried[1].part, static_cast<std::int32_t>(kMostRounds)});
  const Part wanted = c(op::logical_and, {carried[2].part, more});
  tracer.while_condition(wanted.operand(), c.location());
  const auto [next, going] = step(carried[0].part);
  const Values yielded{next, Value(c.add(carried[1].part, 1)), Value(c(op::any, {going}))};
  return values_of(c, tracer.end_while(states(c, yielded))).front().part;
}

Values svm_classifier(Call& c) {
  const auto kernel = kernel_of(c);
  const auto transform = post_transform(c);
  const auto labels = class_labels(c, "classlabels_ints");
  const auto coefficients = c.numbers("coefficients"), rho = c.numbers("rho");
  const Numbers vectors = c.numbers("support_vectors").value_or(Numbers{}), a = c.numbers("prob_a").value_or(Numbers{}),
                b = c.numbers("prob_b").value_or(Numbers{});
  const Integers per_class = c.integers("vectors_per_class").value_or(Integers{});
  const Part x = feature_rows(c, DType::f32);
  if (!kernel || !transform || !labels || x.operand().poisoned()) return c.poison();
  if (!coefficients || !rho || rho->empty()) return c.mistake(DiagnosticKind::value, quoted_op(c) + " needs `coefficients` and `rho`");
  const auto classes = static_cast<std::int64_t>(labels->size());
  std::int64_t count = 0;
  for (const std::int64_t each : per_class) {
    if (each < 0 || each > static_cast<std::int64_t>(vectors.size()))
      return c.mistake(DiagnosticKind::value, quoted_op(c) + ": there are no " + std::to_string(each) + " support vectors of a class");
    count += each;
  }
  if (count == 0) {
    const Part scores = linear(c, x, *coefficients, Numbers(labels->size(), rho->front()));
    if (scores.operand().poisoned()) return c.poison();
    const Part best = best_class(c, scores);
    const Part transformed = transformed_scores(c, scores, *transform);
    if (classes != 2) return {labels->at(c, best), transformed};
    const bool positive = std::all_of(coefficients->begin(), coefficients->end(), [](double each) { return each >= 0; });
    const Part most = c(op::max, {scores}, {{"axis", Integers{1}}});
    const Part second = positive ? c(op::greater_equal, {most, 0.5}) : c(op::greater, {most, 0});
    return {labels->at(c, c(op::maximum, {c.as(DType::i64, second), best})), transformed};
  }
  // Each list has an element for each pair of classes, which also bounds the number of classes.
  const auto fits = [&](const Numbers& list) {
    return classes < (1 << 16) && static_cast<std::int64_t>(list.size()) >= classes * (classes - 1) / 2;
  };
  if (static_cast<std::int64_t>(per_class.size()) != classes || classes < 2 || !fits(*rho) || (!a.empty() && (!fits(a) || !fits(b))) ||
      static_cast<std::int64_t>(coefficients->size()) < (classes - 1) * count)
    return c.mistake(DiagnosticKind::value,
                     quoted_op(c) + ": labels, support vectors, coefficients, `rho`, `prob_a` and `prob_b` do not fit");
  const Pairs pairs(classes);
  const Part all = kernels(c, x, *kernel, vectors, count);
  if (all.operand().poisoned()) return c.poison();
  const Part scores = pair_scores(c, all, pairs, *coefficients, per_class, *rho);
  const Value label = labels->at(c, most_voted(c, scores, pairs));
  if (a.empty()) {
    const SecondScore second = classes > 2 ? SecondScore::none : *transform == "NONE" ? SecondScore::opposite : SecondScore::complement;
    return {label, transformed_scores(c, scores, *transform, second)};
  }
  const auto of_pairs = [&](const Numbers& list) {
    return c.numbers_constant(Numbers(list.begin(), list.begin() + pairs.count()), DType::f32, {pairs.count()});
  };
  const Part exponents = c.add(c.multiply(scores, of_pairs(a)), of_pairs(b));
  const Part probabilities = c(op::sigmoid, {c(op::negative, {exponents})});
  const Part inside = c(op::minimum, {c(op::maximum, {probabilities, 1e-7F}), 1 - 1e-7F});
  return {label, transformed_scores(c, coupled_probabilities(c, inside, pairs), *transform)};
}

}  // namespace

std::span<const Lowering> linear_model_lowerings() {
  static constexpr Lowering kRows[] = {
      {"ai.onnx.ml.LinearClassifier", 1, linear_classifier},
      {"ai.onnx.ml.LinearRegressor", 1, linear_regressor},
      {"ai.onnx.ml.SVMClassifier", 1, svm_classifier},
      {"ai.onnx.ml.SVMRegressor", 1, svm_regressor},
  };
  return kRows;
}

}  // namespace cleave::models::onnx
