#include "executor/host/row_domain.h"

#include <algorithm>

#include "executor/host/reductions.h"

namespace cleave::runtime::host {
namespace {

class DomainFinder {
 public:
  explicit DomainFinder(const KernelRequest& request) : request_(request), inputs_(request.input_types.size()) {}

  std::optional<RowDomain> run() {
    if (!find_shape() || !find_rows()) return std::nullopt;
    for (std::size_t s = 0; s < request_.steps.size(); ++s) {
      const std::optional<RowStep> step = kind(request_.steps[s]);
      if (!step) return std::nullopt;
      domain_.steps.push_back(*step);
    }
    return std::move(domain_);
  }

 private:
  [[nodiscard]] const TensorType& type(std::size_t operand) const {
    return operand < inputs_ ? request_.input_types[operand] : request_.steps[operand - inputs_].type;
  }
  [[nodiscard]] const TensorType& reduced(const FusedStep& step) const { return type(step.operands[0]); }

  void widest_of(const TensorType& type) {
    const auto is_more = [&] {
      const std::int64_t elements = type.elements(), before = elements_;
      return elements > before || (elements == before && type.shape.size() > domain_.shape.size());
    };
    if (!is_more()) return;
    domain_.shape = type.shape;
    elements_ = type.elements();
  }

  /// The greatest shape: that of the rows. A step that is neither element-wise nor a reduction ends it.
  bool find_shape() {
    bool reduces = false, several = false;
    for (const FusedStep& step : request_.steps) {
      const bool reduction = !step.op->elementwise();
      if (reduction && (step.operands.size() != 1 || !row_reduction(*step.op, reduced(step).dtype, step.type.dtype))) return false;
      reduces = reduces || reduction;
      several = several || step.type.shape != request_.steps[0].type.shape;
      if (step.type.elements() == 0 || (reduction && reduced(step).elements() == 0)) return false;
      widest_of(step.type);
      if (reduction) widest_of(reduced(step));
    }
    return reduces || several;
  }

  /// From the first reduction, or else from the first step of another shape.
  bool find_rows() {
    for (const FusedStep& step : request_.steps) {
      if (!step.op->elementwise()) {
        const std::optional<ReducedExtents> extents = reduced_extents(reduced(step).shape, *step.attributes);
        if (!extents || extents->inner != 1 || reduced(step).shape != domain_.shape) return false;
        domain_.rows = extents->outer;
        break;
      }
      if (domain_.rows == 0 && step.type.shape != domain_.shape) domain_.rows = step.type.elements();
    }
    std::int64_t rows = 1;
    while (rows != domain_.rows && domain_.outer_axes < domain_.shape.size()) rows *= domain_.shape[domain_.outer_axes++];
    domain_.columns = elements_ / rows;
    return rows == domain_.rows;
  }

  /// With ones in place of the axes of a row.
  [[nodiscard]] bool kept(const Shape& shape) const {
    if (shape.size() != domain_.shape.size()) return false;
    for (std::size_t axis = 0; axis < shape.size(); ++axis)
      if (shape[axis] != (axis < domain_.outer_axes ? domain_.shape[axis] : 1)) return false;
    return true;
  }
  /// Without these axes, but perhaps for some of extent one.
  [[nodiscard]] bool dropped(const TensorType& type) const {
    return type.elements() == domain_.rows && type.shape.size() < domain_.shape.size() &&
           std::equal(type.shape.begin(), type.shape.end(), domain_.shape.begin());
  }

  std::optional<RowStep> kind(const FusedStep& step) {
    if (!step.op->elementwise()) {
      const std::optional<ReducedExtents> extents = reduced_extents(reduced(step).shape, *step.attributes);
      const bool of_rows = extents && extents->inner == 1 && extents->outer == domain_.rows && reduced(step).shape == domain_.shape;
      if (!of_rows) return std::nullopt;
      domain_.widest = std::max(domain_.widest, size_of(reduced(step).dtype));
      domain_.finds = domain_.finds || row_reduction(*step.op, reduced(step).dtype, step.type.dtype)->finder != nullptr;
      return RowStep::reduction;
    }
    if (step.type.shape == domain_.shape) return reads_rows(step) ? std::optional(RowStep::full) : std::nullopt;
    return kept(step.type.shape) || dropped(step.type) ? std::optional(RowStep::row) : std::nullopt;
  }

  /// Whether what steps before have made is read where it belongs: each value a row by its own row. (A value a row is read by a step on
  /// such values in its order: broadcasting that makes no more elements moves none.)
  bool reads_rows(const FusedStep& step) {
    domain_.widest = std::max(domain_.widest, size_of(step.type.dtype));
    for (const std::size_t operand : step.operands) {
      domain_.widest = std::max(domain_.widest, size_of(type(operand).dtype));
      if (operand < inputs_ || type(operand).shape == domain_.shape) continue;
      domain_.spreads = true;
      if (!kept(type(operand).shape) && domain_.rows != 1) return false;
    }
    return true;
  }

  const KernelRequest& request_;
  const std::size_t inputs_;
  std::int64_t elements_ = 0;
  RowDomain domain_;
};

}  // namespace

std::optional<RowDomain> row_domain(const KernelRequest& request) {
  if (request.steps.empty()) return std::nullopt;
  return DomainFinder(request).run();
}

}  // namespace cleave::runtime::host
