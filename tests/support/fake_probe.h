// The probe's kernels (tools/gpu/probe) on the fake driver: they do nothing, except for the kernel that answers the host.
#pragma once

#include <atomic>
#include <chrono>
#include <string>
#include <vector>

#include "tests/support/fake_driver.h"
#include "tests/support/namespaces.h"
#include "tools/gpu/probe/probe.h"

namespace cleave::testing {

/// Registers `answer` as the probe's kernel of this name; it gets the kernel's parameters. It must not wait, since the host asks while the
/// kernel runs.
inline void teach_probe(FakeDriver& driver, FakeDriver::Act answer) {
  const auto nothing = [](const std::vector<std::uint64_t>&) {};
  driver.teach(probe::kernels_text(), "nothing", 0, nothing);
  driver.teach(probe::kernels_text(), "fill", 5, nothing);
  for (const char* access : {"read", "write", "copy"})
    for (const char* width : {"4", "8", "16"}) driver.teach(probe::kernels_text(), std::string(access) + "_" + width, 3, nothing);
  driver.teach(probe::kernels_text(), "answer", 4, std::move(answer));
}

/// Answers as the kernel does, on a separate thread.
inline void answer_probe(const std::vector<std::uint64_t>& values) {
  auto* const asked = reinterpret_cast<std::atomic<std::uint32_t>*>(values[0]);
  auto* const answered = reinterpret_cast<std::atomic<std::uint32_t>*>(values[1]);
  const auto end = std::chrono::steady_clock::now() + std::chrono::nanoseconds(values[3]);
  for (std::uint32_t round = 1; round <= values[2]; ++round) {
    while (asked->load() != round) {
      if (std::chrono::steady_clock::now() > end) return;
    }
    answered->store(round);
  }
}

}  // namespace cleave::testing
