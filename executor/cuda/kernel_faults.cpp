#include "executor/cuda/kernel_faults.h"

#include <cstring>
#include <tuple>

namespace cleave::runtime::cuda {
namespace {

std::string with_number(const std::string& text, std::int64_t number) {
  const std::size_t place = text.find("{}");
  return place == std::string::npos ? text : text.substr(0, place) + std::to_string(number) + text.substr(place + 2);
}

}  // namespace

Result<KernelFaults::Added> KernelFaults::add(const KernelSource& source, NodeId node) {
  Result<std::byte*> words = memory_.stage(2 * sizeof(std::uint64_t));
  if (!words) return words.error();
  std::memset(*words, 0, 2 * sizeof(std::uint64_t));
  CUdeviceptr address = 0;
  Status status = context_.check("cuMemHostGetDevicePointer", context_.api().cuMemHostGetDevicePointer(&address, *words, 0));
  if (!status) return status.error();
  faults_.push_back({reinterpret_cast<std::uint64_t*>(*words), source.fault, source.describe_fault, node, {}});
  return Added{faults_.size() - 1, address};
}

void KernelFaults::clear() const {
  for (const FaultWords& fault : faults_) std::atomic_ref(fault.words[0]).store(0, std::memory_order_relaxed);
}

std::optional<CudaStreams::DataFault> KernelFaults::find() const {
  std::optional<CudaStreams::DataFault> first;
  for (const FaultWords& fault : faults_) {
    const std::uint64_t ticket = fault.ticket();
    if (ticket == 0 || (first && std::tie(first->sequence, first->order) <= std::tie(ticket, fault.order))) continue;
    const auto number = static_cast<std::int64_t>(fault.words[1]);
    first = {
        ticket, {fault.describe ? fault.describe(number) : with_number(fault.text, number), {}, ErrorKind::user}, fault.node, fault.order};
  }
  return first;
}

}  // namespace cleave::runtime::cuda
