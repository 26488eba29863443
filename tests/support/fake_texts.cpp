// The fake driver's text mode: a launch runs the generated text itself, through the kernel emulator, on the memory that it was given. Also
// the kernels of coalesced transfers, in either mode.
#include <algorithm>
#include <cstring>

#include "tests/support/fake_driver.h"
#include "tests/support/kernel_emulator/kernel_emulator.h"
#include "tests/support/namespaces.h"

namespace cleave::testing {

void FakeDriver::run_texts(KernelEmulator& emulator) {
  emulator_ = &emulator;
}

/// The parameters are the address of the packed values (before those of the pieces when unpacking, behind them when packing), then the
/// offset and length of each piece.
void FakeDriver::launch_coalesced_copy(bool unpacks, const std::vector<std::uint64_t>& values) {
  const std::size_t room = values.size() / 2, packed_at = unpacks ? 0 : room;
  MemoryChecker memory;
  std::vector<unsigned long long> addresses(values.begin(), values.end());
  std::vector<Piece> pieces;  // the pieces for which the text was generated: no empty ones
  std::int64_t end = 0;
  for (std::size_t i = 0; i < room; ++i) {
    const std::size_t piece = unpacks ? 1 + i : i;
    const auto bytes = static_cast<std::int64_t>(values[1 + room + i] & 0xFFFFFFFF),
               offset = static_cast<std::int64_t>(values[1 + room + i] >> 32);
    if (bytes == 0) continue;
    pieces.push_back({{0, bytes}, offset});
    std::byte* host = resolve(values[piece], static_cast<std::size_t>(bytes));
    std::byte* packed = resolve(values[packed_at] + static_cast<std::uint64_t>(offset), static_cast<std::size_t>(bytes));
    if (!host || !packed) return;
    if (!emulator_) std::memcpy(unpacks ? host : packed, unpacks ? packed : host, static_cast<std::size_t>(bytes));
    addresses[piece] = reinterpret_cast<std::uint64_t>(host);
    memory.add({addresses[piece], bytes, 1, "piece " + std::to_string(i), !unpacks, unpacks, false});
    end = std::max(end, offset + bytes);
  }
  if (!emulator_) return;
  memory.add({values[packed_at], end, 1, "packed", unpacks, !unpacks, false});
  const Status status = emulator_->launch(cuda::coalesced_copy_source(pieces, unpacks), 0, addresses, memory);
  if (!status) misuse("a coalesced transfer: " + status.error().message);
}

void FakeDriver::launch_text(const KernelRecord& record, const std::vector<std::uint64_t>& parameters) {
  const cuda::KernelSource& source = *record.source;
  const bool first = record.number == 0 && !record.around;  // later launches may read data that earlier ones wrote
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
  for (const TensorType& type : record.request.inputs)
    all &= give({0, type.bytes(), size_of(type.dtype), "operand " + std::to_string(next), true, false, false});
  for (const TensorType& type : record.request.results)
    all &= give({0, type.bytes(), size_of(type.dtype), "operand " + std::to_string(next), !first, true, false});
  if (record.scratch) all &= give({0, source.scratch_bytes, 4, "scratch", !first, true, false});
  if (record.fault) all &= give({0, 2 * sizeof(std::uint64_t), sizeof(std::uint64_t), "fault", true, true, true});
  if (!all) return;
  if (cuda::LaunchWords* loops = record.fault ? launch_of(parameters[next]) : nullptr) {
    const auto address = reinterpret_cast<std::uint64_t>(loops);
    memory.add({address, sizeof *loops, sizeof(std::uint64_t), "the launch's words", true, true, true});
    addresses[next] = cuda::kTicketInMemory | address;
  }
  const Status status = emulator_->launch(source, record.number, addresses, memory);
  if (!status) misuse(record.request.name() + ": " + status.error().message);
}

}  // namespace cleave::testing
