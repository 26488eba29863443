// What the compiler makes of kernels: registers, and what it puts into memory for want of them, as ptxas says it.
#pragma once

#include <regex>
#include <string>
#include <vector>

#include "executor/cuda/compiler.h"
#include "tests/support/namespaces.h"

namespace cleave::testing {

struct KernelUsage {
  std::string entry;
  int registers = 0, spilled = 0;  ///< of a thread; in bytes
  int stack = 0;                   ///< bytes of arrays that are no registers, and what is spilled
};

/// A Compiler with the project's options that takes note of what ptxas says.
class UsageCompiler {
 public:
  static Result<UsageCompiler> open(const cuda::CompilerApi& api, const cuda::Architecture& architecture) {
    nvrtc() = api;
    cuda::CompilerApi verbose = api;
    verbose.nvrtcCompileProgram = [](nvrtcProgram program, int count, const char* const* options) {
      std::vector<const char*> all(options, options + count);
      all.push_back("--ptxas-options=-v");
      const nvrtcResult result = nvrtc().nvrtcCompileProgram(program, count + 1, all.data());
      std::size_t size = 0;
      if (result == NVRTC_SUCCESS && nvrtc().nvrtcGetProgramLogSize(program, &size) == NVRTC_SUCCESS) {
        log().resize(size);
        if (nvrtc().nvrtcGetProgramLog(program, log().data()) != NVRTC_SUCCESS) log().clear();
      }
      return result;
    };
    Result<cuda::Compiler> compiler = cuda::Compiler::open(verbose, architecture, {});
    if (!compiler) return compiler.error();
    return UsageCompiler(*std::move(compiler));
  }

  /// Of each kernel of `text`.
  [[nodiscard]] Result<std::vector<KernelUsage>> usage(const std::string& text) const {
    log().clear();
    const Result<std::string> image = compiler_.image(text);
    if (!image) return image.error();
    static const std::regex what(
        R"(entry function '(\w+)'[\s\S]*?(\d+) bytes stack frame, (\d+) bytes spill stores[\s\S]*?Used (\d+) registers)");
    std::vector<KernelUsage> all;
    for (std::sregex_iterator i(log().begin(), log().end(), what), end; i != end; ++i)
      all.push_back({(*i)[1], std::stoi((*i)[4]), std::stoi((*i)[3]), std::stoi((*i)[2])});
    return all;
  }

 private:
  explicit UsageCompiler(cuda::Compiler compiler) : compiler_(std::move(compiler)) {}
  // Calls of NVRTC carry no state of the caller's.
  static cuda::CompilerApi& nvrtc() {
    static cuda::CompilerApi api;
    return api;
  }
  static std::string& log() {
    static std::string text;
    return text;
  }

  cuda::Compiler compiler_;
};

}  // namespace cleave::testing
