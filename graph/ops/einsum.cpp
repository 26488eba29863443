// einsum: a composite function. Repeated labels are reduced to diagonals and axes of one operand only are summed. Then operands are joined
// in pairs, the cheapest first: by a matrix product if a shared axis is summed over, else by a broadcast product.
#include "graph/ops/einsum.h"

#include <algorithm>

#include "graph/ops/calls.h"
#include "graph/ops/einsum_equation.h"
#include "graph/ops/op_table.h"
#include "graph/trace/composer.h"

namespace cleave {
namespace ops {
namespace {

TypeResult einsum_type(Types inputs, const Attributes& attributes) {
  if (std::any_of(inputs.begin(), inputs.end(), [](const TensorType& type) { return type.dtype == DType::boolean; }))
    return refuse(DiagnosticKind::type, "einsum", inputs, "needs numbers, not bool; convert with astype");
  auto equation = read_equation(attributes.get<std::string>("equation"), inputs);
  if (auto* error = std::get_if<TypeError>(&equation)) return std::move(*error);
  const EinsumEquation& fitted = std::get<EinsumEquation>(equation);
  TensorType result{inputs[0].dtype, {}};
  for (const Label label : fitted.result) result.shape.push_back(fitted.extents.at(label));
  return give("einsum", inputs, std::move(result));
}

bool contains(const Labels& labels, Label label) {
  return std::find(labels.begin(), labels.end(), label) != labels.end();
}

/// A value with one label for each axis. After `simple`, its labels are distinct.
struct Term {
  Part part;
  Labels labels;
};

class Lowering {
 public:
  Lowering(Composer& composer, const EinsumEquation& equation) : c_(composer), equation_(equation) {}

  Part lower(const std::vector<Part>& inputs) {
    std::vector<Term> terms;
    for (std::size_t i = 0; i < inputs.size(); ++i) terms.push_back(simple({inputs[i], equation_.operands[i]}));
    while (terms.size() > 1) {
      const auto [first, second] = cheapest(terms);
      Term a = std::move(terms[first]), b = std::move(terms[second]);
      terms.erase(terms.begin() + static_cast<std::ptrdiff_t>(second));
      terms.erase(terms.begin() + static_cast<std::ptrdiff_t>(first));
      Labels kept = equation_.result;
      for (const Term& term : terms) kept.insert(kept.end(), term.labels.begin(), term.labels.end());
      terms.push_back(join(std::move(a), std::move(b), kept));
    }
    return ordered(summed(std::move(terms[0]), equation_.result), equation_.result).part;
  }

 private:
  [[nodiscard]] std::int64_t extent(Label label) const { return equation_.extents.at(label); }
  [[nodiscard]] std::int64_t product(const Labels& labels) const {
    std::int64_t count = 1;
    for (const Label label : labels) count *= extent(label);
    return count;
  }
  [[nodiscard]] Shape shape(const Labels& labels) const {
    Shape extents;
    for (const Label label : labels) extents.push_back(extent(label));
    return extents;
  }

  Part reshaped(const Part& part, Shape shape) { return part.shape() == shape ? part : c_.reshape(part, std::move(shape)); }

  /// The term with its axes permuted to `order`.
  Term ordered(Term term, const Labels& order) {
    if (term.labels == order) return term;
    Integers axes;
    for (const Label label : order) axes.push_back(std::find(term.labels.begin(), term.labels.end(), label) - term.labels.begin());
    return {c_(op::permute_dims, {term.part}, {{"axes", std::move(axes)}}), order};
  }

  /// The term without repeated labels (by their diagonals), and without axes of extent 1 that are longer in another operand.
  Term simple(Term term) {
    for (std::size_t i = 0; i < term.labels.size();) {
      const Label label = term.labels[i];
      const auto again = std::find(term.labels.begin() + static_cast<std::ptrdiff_t>(i) + 1, term.labels.end(), label);
      if (again == term.labels.end()) {
        ++i;
        continue;
      }
      const auto second = static_cast<std::size_t>(again - term.labels.begin());
      term = diagonal(term, i, second);
      i = 0;
    }
    Shape kept;
    Labels labels;
    const Shape shape = term.part.shape();
    for (std::size_t i = 0; i < term.labels.size(); ++i) {
      if (shape[i] == 1 && extent(term.labels[i]) != 1) continue;
      kept.push_back(shape[i]);
      labels.push_back(term.labels[i]);
    }
    return {reshaped(term.part, std::move(kept)), std::move(labels)};
  }

  /// Replaces the axes `first` and `second` by their diagonal, as the last axis: every (n + 1)th of their n x n elements.
  Term diagonal(const Term& term, std::size_t first, std::size_t second) {
    const Shape before = term.part.shape();
    const std::int64_t n = before[first];
    Integers axes;
    Labels labels;
    Shape flat;
    for (std::size_t i = 0; i < term.labels.size(); ++i) {
      if (i == first || i == second) continue;
      axes.push_back(static_cast<std::int64_t>(i));
      labels.push_back(term.labels[i]);
      flat.push_back(before[i]);
    }
    labels.push_back(term.labels[first]);
    axes.insert(axes.end(), {static_cast<std::int64_t>(first), static_cast<std::int64_t>(second)});
    const Part last = c_(op::permute_dims, {term.part}, {{"axes", std::move(axes)}});
    Integers starts(flat.size() + 1, 0), steps(flat.size() + 1, 1);
    flat.push_back(n * n);
    steps.back() = n + 1;
    Attributes every{{"starts", starts}, {"stops", Integers(flat)}, {"steps", steps}};
    return {c_(op::slice, {c_.reshape(last, std::move(flat))}, std::move(every)), std::move(labels)};
  }

  /// The term summed over all labels that are not in `kept`.
  Term summed(Term term, const Labels& kept) {
    Integers axes;
    Labels labels;
    for (std::size_t i = 0; i < term.labels.size(); ++i) {
      if (contains(kept, term.labels[i])) {
        labels.push_back(term.labels[i]);
      } else {
        axes.push_back(static_cast<std::int64_t>(i));
      }
    }
    if (axes.empty()) return term;
    const DType dtype = term.part.dtype();
    Part sum = c_.as(dtype, c_(op::sum, {term.part}, {{"axis", std::move(axes)}}));  // `sum` widens small integers
    return {std::move(sum), std::move(labels)};
  }

  /// The pair of terms whose product takes the fewest multiplications. Ties go to the first pair, so that equal programs are traced
  /// equally.
  [[nodiscard]] std::pair<std::size_t, std::size_t> cheapest(const std::vector<Term>& terms) const {
    std::pair<std::size_t, std::size_t> best{0, 1};
    double least = -1;
    for (std::size_t i = 0; i < terms.size(); ++i) {
      for (std::size_t j = i + 1; j < terms.size(); ++j) {
        double work = 1;
        for (const Label label : terms[i].labels) work *= static_cast<double>(extent(label));
        for (const Label label : terms[j].labels) work *= contains(terms[i].labels, label) ? 1 : static_cast<double>(extent(label));
        if (least >= 0 && work >= least) continue;
        least = work;
        best = {i, j};
      }
    }
    return best;
  }

  Term join(Term a, Term b, const Labels& kept) {
    const auto with = [&](const Labels& other) {
      Labels all = kept;
      all.insert(all.end(), other.begin(), other.end());
      return all;
    };
    const Labels needed_by_a = with(b.labels), needed_by_b = with(a.labels);
    a = summed(std::move(a), needed_by_a);
    b = summed(std::move(b), needed_by_b);
    Labels batch, inner, left, right;
    for (const Label label : a.labels) (!contains(b.labels, label) ? left : contains(kept, label) ? batch : inner).push_back(label);
    for (const Label label : b.labels) {
      if (!contains(a.labels, label)) right.push_back(label);
    }
    const auto joined = [](Labels one, const Labels& two, const Labels& three = {}) {
      one.insert(one.end(), two.begin(), two.end());
      one.insert(one.end(), three.begin(), three.end());
      return one;
    };
    Labels result = joined(batch, left, right);
    if (inner.empty()) return {broadcast_product(std::move(a), std::move(b), batch, left, right), std::move(result)};
    const auto matrices = [&](const Labels& rows, const Labels& columns) {
      Shape all = shape(batch);
      all.push_back(product(rows));
      all.push_back(product(columns));
      return all;
    };
    const Part rows = reshaped(ordered(std::move(a), joined(batch, left, inner)).part, matrices(left, inner));
    const Part columns = reshaped(ordered(std::move(b), joined(batch, inner, right)).part, matrices(inner, right));
    const Part products = c_.as(promote(rows.dtype(), columns.dtype()), c_(op::matmul, {rows, columns}));
    return {reshaped(products, shape(result)), std::move(result)};
  }

  Part broadcast_product(Term a, Term b, const Labels& batch, const Labels& left, const Labels& right) {
    const auto apart = [&](Term term, const Labels& own, std::size_t before, std::size_t behind) {
      Labels order = batch;
      order.insert(order.end(), own.begin(), own.end());
      Shape spread = shape(batch);
      spread.insert(spread.end(), before, 1);
      for (const Label label : own) spread.push_back(extent(label));
      spread.insert(spread.end(), behind, 1);
      return reshaped(ordered(std::move(term), order).part, std::move(spread));
    };
    return c_.multiply(apart(std::move(a), left, 0, right.size()), apart(std::move(b), right, left.size(), 0));
  }

  Composer& c_;
  const EinsumEquation& equation_;
};

std::vector<Part> expand_einsum(Composer& c, const std::vector<Part>& inputs, const Attributes& attributes) {
  std::vector<TensorType> types;
  for (const Part& input : inputs) types.push_back(input.type());
  const auto equation = read_equation(attributes.get<std::string>("equation"), types);
  return {Lowering(c, std::get<EinsumEquation>(equation)).lower(inputs)};
}

}  // namespace

constexpr OpDef op::einsum =
    Record("einsum(equation, [operands])", 1, {required("equation", AttributeDef::Type::text)},
           "sum of products by letters of axes, as NumPy's: `einsum(\"bij,bjk->bik\", [a, b])`; in the operands' type, where "
           "integers wrap",
           einsum_type, expand_einsum)
        .operands(1, -1)
        .promoting(Promotion::common);

}  // namespace ops

Tensor einsum(std::string equation, const std::vector<Tensor>& operands, Here here) {
  return ops::call(op::einsum, operands, {{"equation", std::move(equation)}}, here);
}

}  // namespace cleave
