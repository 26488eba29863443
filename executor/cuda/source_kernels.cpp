#include "executor/cuda/source_kernels.h"

namespace cleave::runtime::cuda {

Result<PreparedKernel> SourceKernels::prepare(const KernelRequest& request, const KernelSource& source) {
  PreparedKernel kernel;
  std::vector<std::uint64_t> operands;
  for (const Range& range : request.inputs) operands.push_back(memory_.at(range.offset));
  for (const Range& range : request.results) operands.push_back(memory_.at(range.offset));
  const int scratch = source.scratch_bytes > 0 ? static_cast<int>(operands.size()) : -1;
  if (scratch >= 0) operands.push_back(0);
  kernel.scratch_bytes = source.scratch_bytes;
  int ticket = -1;
  if (!source.fault.empty() && !source.launches.empty()) {
    const Result<KernelFaults::Added> fault = faults_.add(source, request.node);
    if (!fault) return fault.error();
    kernel.fault = fault->number;
    operands.push_back(fault->words);
    ticket = static_cast<int>(operands.size());
    operands.push_back(0);
  }
  for (const KernelLaunch& shape : source.launches) {
    Result<CUfunction> entry = modules_.function(source.text, shape);
    if (!entry) return entry.error();
    PreparedLaunch launch{*entry, shape, operands, scratch, ticket};
    if (Status status = modules_.fit_grid(launch); !status) return status.error();
    for (const std::int64_t constant : shape.constants) launch.values.push_back(static_cast<std::uint64_t>(constant));
    kernel.launches.push_back(std::move(launch));
  }
  return kernel;
}

}  // namespace cleave::runtime::cuda
