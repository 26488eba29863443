// The host's kernels, by op. What has no row runs its meaning.
#include "executor/host/kernels.h"

namespace cleave::runtime {

std::span<const host::KernelFamily> host::kernel_families() {
  static constexpr KernelFamily families[] = {
      {"elementwise", elementwise_kernels}, {"joining", joining_kernels}, {"matmul", matmul_kernels},    {"reduction", reduction_kernels},
      {"selection", selection_kernels},     {"shape", shape_kernels},     {"transfer", transfer_kernels}};
  return families;
}

Kernel host_kernel(const OpDef& op) {
  for (const host::KernelFamily& family : host::kernel_families()) {
    for (const host::KernelRow& row : family.rows()) {
      if (row.op == op.name) return row.kernel;
    }
  }
  return run_meaning;
}

namespace {

/// A kernel of which nothing is made in advance.
class PlainKernel final : public HostKernel {
 public:
  explicit PlainKernel(Kernel kernel) : kernel_(kernel) {}
  Status run(const KernelCall& call) override { return kernel_(call); }

 private:
  Kernel kernel_;
};

}  // namespace

std::unique_ptr<HostKernel> prepare_host_kernel(const KernelRequest& request) {
  return std::make_unique<PlainKernel>(host_kernel(*request.op));
}

bool host_fuses(const KernelRequest&) {
  return false;
}

}  // namespace cleave::runtime
