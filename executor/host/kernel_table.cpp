// The host's kernels, by op. What has no row runs its meaning; several steps at once run as their fused kernel.
#include "executor/host/fused.h"
#include "executor/host/kernels.h"
#include "executor/host/matmul/matmul.h"
#include "executor/host/past_cache.h"
#include "executor/host/row_group.h"
#include "executor/host/rows.h"

namespace cleave::runtime {
namespace host {
namespace {

/// A kernel of which nothing is made in advance.
class PlainKernel final : public HostKernel {
 public:
  explicit PlainKernel(Kernel kernel) : kernel_(kernel) {}
  Status run(const KernelCall& call) override { return kernel_(call); }

 private:
  Kernel kernel_;
};

/// The same with the loop looked up once.
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
}  // namespace host

std::span<const host::KernelFamily> host::kernel_families() {
  static constexpr KernelFamily families[] = {{"creation", creation_kernels},   {"elementwise", elementwise_kernels},
                                              {"indexing", indexing_kernels},   {"joining", joining_kernels},
                                              {"matmul", matmul_kernels},       {"random", random_kernels},
                                              {"reduction", reduction_kernels}, {"scan", scan_kernels},
                                              {"selection", selection_kernels}, {"shape", shape_kernels},
                                              {"softmax", softmax_kernels},     {"sorting", sorting_kernels},
                                              {"transfer", transfer_kernels}};
  return families;
}

namespace {

host::KernelRow row_of(const OpDef& op) {
  for (const host::KernelFamily& family : host::kernel_families()) {
    for (const host::KernelRow& row : family.rows()) {
      if (row.op == op.name) return row;
    }
  }
  return {op.name, run_meaning};
}

}  // namespace

Kernel host_kernel(const OpDef& op) {
  return row_of(op).kernel;
}

std::unique_ptr<HostKernel> prepare_host_kernel(const KernelRequest& request) {
  if (std::unique_ptr<HostKernel> product = host::prepare_matmul(request)) return product;
  if (!request.steps.empty()) return host::fuses_elementwise(request) ? host::prepare_fused(request) : host::prepare_row_group(request);
  if (request.op->elementwise() && host::past_cache(request.result_types[0].bytes())) return host::prepare_past_cache(request);
  if (request.op->elementwise())
    return std::make_unique<host::ElementwiseKernel>(host::loop_for(*request.op, request.input_types, request.result_types[0]));
  const host::KernelRow row = row_of(*request.op);
  if (row.prepare) return row.prepare(request);
  return std::make_unique<host::PlainKernel>(row.kernel);
}

bool host_fuses(const KernelRequest& request) {
  return host::fuses_elementwise(request) || host::fuses_rows(request) || host::has_matmul(request);
}

}  // namespace cleave::runtime
