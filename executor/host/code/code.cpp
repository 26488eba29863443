#include "executor/host/code/code.h"

#include <algorithm>
#include <array>
#include <cstring>

#ifdef CLEAVE_HAS_XBYAK
#include "executor/host/code/emit.h"
#include "executor/host/code/lower.h"
#endif

namespace cleave::runtime::host {

std::unique_ptr<Code> Code::make(const kernels::KernelRequest& request, const std::vector<bool>& repeats, std::size_t first,
                                 std::size_t fewest) {
  return make(request, repeats, first, fewest, instructions());
}

#ifdef CLEAVE_HAS_XBYAK
namespace {

constexpr std::size_t kRegisterBytes = 64;  ///< the size of the largest register
constexpr std::size_t kMostAddresses = 96;

/// The steps of a run whose results are read outside the run.
std::vector<std::size_t> results_of(const kernels::KernelRequest& request, std::size_t first, std::size_t end) {
  std::vector<bool> read(end);
  for (const std::size_t step : request.written)
    if (step < end) read[step] = true;
  for (std::size_t later = end; later < request.steps.size(); ++later) {
    for (const std::size_t operand : request.steps[later].operands) {
      const std::size_t inputs = request.input_types.size();
      if (operand >= inputs && operand - inputs < end) read[operand - inputs] = true;
    }
  }
  std::vector<std::size_t> results;
  for (std::size_t step = first; step < end; ++step)
    if (read[step]) results.push_back(step);
  return results;
}

}  // namespace

std::unique_ptr<Code> Code::make(const kernels::KernelRequest& request, const std::vector<bool>& repeats, std::size_t first,
                                 std::size_t fewest, Instructions set) {
  if (set == Instructions::portable) return nullptr;
  std::unique_ptr<Code> code(new Code);
  Body body;
  for (std::size_t most = request.steps.size();;) {
    Lowering lowering(request, repeats, set);
    std::size_t end = first;
    while (end < most && lowering.take(end)) ++end;
    if (end < first + fewest) return nullptr;
    body = lowering.body();
    code->writes_ = results_of(request, first, end);
    for (std::size_t& result : code->writes_) {
      body.stored.push_back(lowering.made_by(result));
      result += request.input_types.size();
    }
    code->steps_ = end - first;
    const auto streams = std::count_if(body.values.begin(), body.values.end(),
                                       [](const BodyValue& value) { return value.source == BodyValue::Source::stream; });
    code->streams_ = static_cast<std::size_t>(streams);
    if (code->streams_ + body.stored.size() <= kMostStreams) break;
    most = end - 1;
  }
  const auto size = [&](const BodyValue& value) { return value.kind == Kind::mask ? 1 : body.lane; };
  for (const auto source : {BodyValue::Source::stream, BodyValue::Source::scalar}) {
    for (const BodyValue& value : body.values) {
      if (value.source != source) continue;
      code->reads_.push_back(value.origin);
      if (source == BodyValue::Source::stream) code->sizes_.push_back(size(value));
    }
  }
  for (const ValueIndex result : body.stored) code->sizes_.push_back(size(body.values[result]));
  if (code->reads_.size() + code->writes_.size() > kMostAddresses) return nullptr;
  code->lanes_ = lanes_of(body, set);
  code->memory_ = ExecutableMemory(emit_loop(body, set));
  return code->memory_.begin() == nullptr ? nullptr : std::move(code);
}

// Clang's function sanitizer reads a signature before a function's first instruction, which generated code lacks.
#ifdef __clang__
__attribute__((no_sanitize("function")))
#endif
void Code::run(const std::byte* const* reads, std::byte* const* writes, std::int64_t count, bool past_cache) const {
  const auto loop = reinterpret_cast<CompiledLoop>(memory_.begin());
  std::array<const void*, kMostAddresses> addresses;
  std::copy_n(reads, reads_.size(), addresses.begin());
  const void** const results = addresses.data() + reads_.size();
  std::copy_n(writes, writes_.size(), results);
  for (std::size_t k = 0; k < writes_.size(); ++k)
    past_cache = past_cache && reinterpret_cast<std::uintptr_t>(writes[k]) % kRegisterBytes == 0;
  const std::int64_t whole = count - count % lanes_;
  if (whole > 0) loop(addresses.data(), whole, past_cache);
  if (whole == count) return;

  // The remainder: recomputes a full vector that ends at the last element, unless that would read results written over operands.
  const auto is_read = [&](const std::byte* result) { return std::find(reads, reads + streams_, result) != reads + streams_; };
  if (whole > 0 && std::none_of(writes, writes + writes_.size(), is_read)) {
    for (std::size_t k = 0; k < streams_; ++k) addresses[k] = reads[k] + (count - lanes_) * sizes_[k];
    for (std::size_t k = 0; k < writes_.size(); ++k) results[k] = writes[k] + (count - lanes_) * sizes_[streams_ + k];
    loop(addresses.data(), lanes_, 0);
    return;
  }
  // Otherwise copies the remainder through buffers with room for a full iteration.
  alignas(kRegisterBytes) std::byte parts[kMostStreams][kRegisterBytes] = {};
  const auto bytes = [&](std::size_t k) { return static_cast<std::size_t>((count - whole) * sizes_[k]); };
  for (std::size_t k = 0; k < streams_; ++k) {
    std::memcpy(parts[k], reads[k] + whole * sizes_[k], bytes(k));
    addresses[k] = parts[k];
  }
  for (std::size_t k = 0; k < writes_.size(); ++k) results[k] = parts[streams_ + k];
  loop(addresses.data(), lanes_, 0);
  for (std::size_t k = 0; k < writes_.size(); ++k) {
    const std::size_t part = streams_ + k;
    std::memcpy(writes[k] + whole * sizes_[part], parts[part], bytes(part));
  }
}
#else
std::unique_ptr<Code> Code::make(const kernels::KernelRequest&, const std::vector<bool>&, std::size_t, std::size_t, Instructions) {
  return nullptr;
}
void Code::run(const std::byte* const*, std::byte* const*, std::int64_t, bool) const {}
#endif

}  // namespace cleave::runtime::host
