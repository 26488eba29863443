// The fake driver's text mode: a launch runs the generated text itself, through the kernel emulator, on the memory that it was given.
#include "tests/support/fake_driver.h"
#include "tests/support/kernel_emulator/kernel_emulator.h"
#include "tests/support/namespaces.h"

namespace cleave::testing {

void FakeDriver::run_texts(KernelEmulator& emulator) {
  emulator_ = &emulator;
}

void FakeDriver::launch_text(const Meaning& meaning, const std::vector<std::uint64_t>& parameters) {
  const cuda::KernelSource& source = *meaning.source;
  const bool first = meaning.number == 0 && !meaning.around;  // what its later launches read, others may have written
  MemoryChecker memory;
  std::vector<unsigned long long> addresses(parameters.begin(), parameters.end());
  std::size_t next = 0;
  const auto give = [&](KernelMemory given) {
    const std::uint64_t address = parameters[next++];
    if (given.bytes == 0) return true;
    const std::byte* host = resolve(address, static_cast<std::size_t>(given.bytes));
    addresses[next - 1] = given.address = reinterpret_cast<std::uint64_t>(host);
    if (host) memory.add(std::move(given));
    return host != nullptr;
  };
  bool all = true;
  for (const TensorType& type : meaning.request.inputs)
    all &= give({0, type.bytes(), size_of(type.dtype), "operand " + std::to_string(next), true, false, false});
  for (const TensorType& type : meaning.request.results)
    all &= give({0, type.bytes(), size_of(type.dtype), "operand " + std::to_string(next), !first, true, false});
  if (meaning.scratch) all &= give({0, source.scratch_bytes, 4, "scratch", !first, true, false});
  if (meaning.fault) all &= give({0, 2 * sizeof(std::uint64_t), sizeof(std::uint64_t), "fault", true, true, true});
  if (!all) return;
  const Status status = emulator_->launch(source, meaning.number, addresses, memory);
  if (!status) misuse(meaning.request.name() + ": " + status.error().message);
}

}  // namespace cleave::testing
