#include "executor/host/row_domain.h"

#include <algorithm>

#include "executor/host/reductions.h"

namespace cleave::runtime::host {
namespace {

class RowDomainFinder {
 public:
  explicit RowDomainFinder(const KernelRequest& request) : request_(request), inputs_(request.input_types.size()) {}

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

  /// Finds the shape of the whole domain, the largest of all. False if a step is neither element-wise nor a row reduction.
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

  /// Finds the number of rows, from the first reduction or, without one, from the first step of another shape.
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

  /// Whether `shape` is the domain's with extent 1 in place of the axes inside a row.
  [[nodiscard]] bool kept(const Shape& shape) const {
    if (shape.size() != domain_.shape.size()) return false;
    for (std::size_t axis = 0; axis < shape.size(); ++axis)
      if (shape[axis] != (axis < domain_.outer_axes ? domain_.shape[axis] : 1)) return false;
    return true;
  }
  /// Whether the type's shape is the domain's without the axes inside a row; some axes of extent 1 may also be missing.
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

  /// Whether the operands made by earlier steps are read at matching positions: a per-row value by elements of its own row. (Steps on
  /// per-row values read each other in order: broadcasting that adds no elements moves none.)
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
  return RowDomainFinder(request).run();
}

}  // namespace cleave::runtime::host
