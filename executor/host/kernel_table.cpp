// The host's kernels, by op. A group of several steps runs as a fused kernel.
#include <optional>
#include <unordered_map>
#include <vector>

#include "executor/host/convolution/convolution.h"
#include "executor/host/fused.h"
#include "executor/host/kernels.h"
#include "executor/host/matmul/matmul.h"
#include "executor/host/past_cache.h"
#include "executor/host/row_group.h"
#include "executor/host/rows.h"
#include "graph/vocabulary.h"

namespace cleave::runtime {
namespace host {
namespace {

class PlainKernel final : public HostKernel {
 public:
  explicit PlainKernel(Kernel kernel) : kernel_(kernel) {}
  Status run(const KernelCall& call) override { return kernel_(call); }

 private:
  Kernel kernel_;
};

/// Like PlainKernel for an element-wise op, with its loop looked up once.
class ElementwiseKernel final : public HostKernel {
 public:
  explicit ElementwiseKernel(RowLoop loop) : loop_(loop) {}
  Status run(const KernelCall& call) override {
    run_rows(call, loop_);
    return {};
  }

 private:
  RowLoop loop_;
};

}  // namespace

std::unique_ptr<HostKernel> plain_kernel(Kernel kernel) {
  return std::make_unique<PlainKernel>(kernel);
}

}  // namespace host

const host::KernelRow& host::kernel_row(const OpDef& op) {
  static const std::unordered_map<const OpDef*, const KernelRow*> table = {
// NOLINTBEGIN(cppcoreguidelines-macro-usage)
#define CLEAVE_OP(name) {&op::name, &rows::name},
#include "graph/vocabulary.list"
      // NOLINTEND(cppcoreguidelines-macro-usage)
  };
  const auto found = table.find(&op);
  return found == table.end() ? kReferenceOnly : *found->second;
}

namespace {

/// Runs a group's kernel on operands at the offsets of the group's readings.
class ReadingKernel final : public HostKernel {
 public:
  ReadingKernel(std::unique_ptr<HostKernel> kernel, host::MovedGroup group) : kernel_(std::move(kernel)), group_(std::move(group)) {
    for (const TensorType& type : group_.input_types) inputs_.push_back({&type, nullptr});
  }
  Status run(const KernelCall& call) override { return run_pieces(call, 0, pieces()); }
  [[nodiscard]] std::int64_t pieces() const override { return kernel_->pieces(); }
  [[nodiscard]] std::int64_t read(std::size_t input, std::int64_t pieces) const override {
    std::int64_t most = 0;
    for (std::size_t i = 0; i < inputs_.size(); ++i) {
      if (group_.readings[i].input != input) continue;
      const std::int64_t read = kernel_->read(i, pieces);
      most = std::max(most, read == kAll ? kAll : bytes_before(i) + read);
    }
    return most;
  }
  [[nodiscard]] std::int64_t written(std::size_t result, std::int64_t done) const override { return kernel_->written(result, done); }
  Status run_pieces(const KernelCall& call, std::int64_t begin, std::int64_t end) override {
    for (std::size_t i = 0; i < inputs_.size(); ++i) inputs_[i].data = call.inputs[group_.readings[i].input].data + bytes_before(i);
    return kernel_->run_pieces({call.op, call.attributes, inputs_, call.results, call.context, call.workers}, begin, end);
  }

 private:
  [[nodiscard]] std::int64_t bytes_before(std::size_t i) const { return group_.readings[i].offset * size_of(group_.input_types[i].dtype); }

  std::unique_ptr<HostKernel> kernel_;
  host::MovedGroup group_;
  std::vector<TensorView> inputs_;
};

/// `inputs`: the number of the request's inputs, of which the group may read fewer.
std::unique_ptr<HostKernel> prepare_group(host::MovedGroup group, std::size_t inputs) {
  std::unique_ptr<HostKernel> kernel = host::fuses_elementwise(group) ? host::prepare_fused(group) : host::prepare_row_group(group);
  bool as_they_are = group.readings.size() == inputs;
  for (std::size_t i = 0; i < group.readings.size(); ++i)
    as_they_are = as_they_are && group.readings[i].input == i && group.readings[i].offset == 0;
  return as_they_are ? std::move(kernel) : std::make_unique<ReadingKernel>(std::move(kernel), std::move(group));
}

}  // namespace

Kernel host_kernel(const OpDef& op) {
  return host::kernel_row(op).kernel;
}

std::unique_ptr<HostKernel> prepare_host_kernel(const KernelRequest& request) {
  if (std::unique_ptr<HostKernel> product = host::prepare_matmul(request)) return product;
  if (std::unique_ptr<HostKernel> convolution = host::prepare_fused_convolution(request)) return convolution;
  if (!request.steps.empty()) return prepare_group(*host::without_movement(request), request.input_types.size());
  if (request.op->elementwise() && host::past_cache(request.result_types[0].bytes())) return host::prepare_past_cache(request);
  if (request.op->elementwise())
    return std::make_unique<host::ElementwiseKernel>(host::loop_for(*request.op, request.input_types, request.result_types[0]));
  const host::KernelRow& row = host::kernel_row(*request.op);
  if (row.prepare) return row.prepare(request);
  return host::plain_kernel(row.kernel);
}

std::unique_ptr<HostKernel> prepare_in_pieces(const KernelRequest& request) {
  const bool reduces = request.op->cost_class == CostClass::reduction;
  if (!request.steps.empty() || request.result_types.size() != 1 || (!request.op->elementwise() && !reduces)) return nullptr;
  std::optional<host::MovedGroup> group = host::without_movement(host::as_steps(request));
  if (!group || !(host::fuses_elementwise(*group) || host::fuses_rows(*group))) return nullptr;
  std::unique_ptr<HostKernel> kernel = prepare_group(*std::move(group), request.input_types.size());
  return kernel->pieces() > 1 ? std::move(kernel) : nullptr;
}

bool host_fuses(const KernelRequest& request) {
  if (host::has_matmul(request) || host::fuses_convolution(request)) return true;
  if (host::fuses_elementwise(request)) return true;  // nothing moves
  if (!host::could_do_without_movement(request)) return false;
  const std::optional<host::MovedGroup> group = host::without_movement(request);
  return group && (host::fuses_elementwise(*group) || host::fuses_rows(*group));
}

}  // namespace cleave::runtime
