// Resources of compiled kernels, as ptxas reports them: registers, and register spills to memory.
#pragma once

#include <dlfcn.h>

#include <filesystem>
#include <optional>
#include <regex>
#include <string>
#include <utility>
#include <vector>

#include "executor/cuda/compiler.h"
#include "executor/cuda/file_cache.h"
#include "tests/support/kernel_emulator/unit_cache.h"
#include "tests/support/namespaces.h"

namespace cleave::testing {

struct KernelUsage {
  std::string entry;
  int registers = 0, spilled = 0;  ///< registers per thread; spilled bytes
  int stack = 0;                   ///< bytes of stack, for arrays that are not in registers and for spills
};

/// A Compiler with the project's options that records ptxas's report. The report on a text is cached beside the kernel emulator's units,
/// which limits the folder's size: it depends on NVRTC, options and text alone.
class UsageCompiler {
 public:
  static Result<UsageCompiler> open(const cuda::CompilerApi& api, const cuda::Architecture& architecture,
                                    const std::string& folder = UnitCache::shared_folder()) {
    nvrtc() = api;
    cuda::CompilerApi verbose = api;
    verbose.nvrtcCreateProgram = [](nvrtcProgram* program, const char* text, const char* name, int count, const char* const* headers,
                                    const char* const* names) {
      current().text = text;
      return nvrtc().nvrtcCreateProgram(program, text, name, count, headers, names);
    };
    verbose.nvrtcCompileProgram = compile;
    // A program with a cached report was not compiled, so it has no image.
    verbose.nvrtcGetCUBINSize = [](nvrtcProgram program, std::size_t* size) {
      if (!current().kept) return nvrtc().nvrtcGetCUBINSize(program, size);
      *size = 0;
      return NVRTC_SUCCESS;
    };
    verbose.nvrtcGetCUBIN = [](nvrtcProgram program, char* image) {
      return current().kept ? NVRTC_SUCCESS : nvrtc().nvrtcGetCUBIN(program, image);
    };
    Result<cuda::Compiler> compiler = cuda::Compiler::open(verbose, architecture, {});
    if (!compiler) return compiler.error();
    return UsageCompiler(*std::move(compiler), folder);
  }

  /// The usage of each kernel of `text`.
  [[nodiscard]] Result<std::vector<KernelUsage>> usage(const std::string& text) const {
    current() = {.words = cuda::FileCache(folder_, ".usage")};
    const std::string& log = current().log;
    const Result<std::string> image = compiler_.image(text);
    if (!image) return image.error();
    static const std::regex what(
        R"(entry function '(\w+)'[\s\S]*?(\d+) bytes stack frame, (\d+) bytes spill stores[\s\S]*?Used (\d+) registers)");
    std::vector<KernelUsage> all;
    for (std::sregex_iterator i(log.begin(), log.end(), what), end; i != end; ++i)
      all.push_back({(*i)[1], std::stoi((*i)[4]), std::stoi((*i)[3]), std::stoi((*i)[2])});
    return all;
  }

  /// The number of texts that NVRTC itself has compiled.
  static int& compiled() {
    static int count = 0;
    return count;
  }

 private:
  /// The current compilation, in static storage since NVRTC's functions have no parameter for the caller's state.
  struct Current {
    cuda::FileCache words;
    std::string text, log;
    bool kept = false;
  };

  UsageCompiler(cuda::Compiler compiler, std::string folder) : compiler_(std::move(compiler)), folder_(std::move(folder)) {}
  static cuda::CompilerApi& nvrtc() {
    static cuda::CompilerApi api;
    return api;
  }
  static Current& current() {
    static Current program;
    return program;
  }
  /// The path of NVRTC: another version may report other numbers.
  static std::string library() {
    Dl_info info{};
    std::error_code ignored;
    if (dladdr(reinterpret_cast<const void*>(nvrtc().nvrtcCompileProgram), &info) == 0) return {};
    const std::filesystem::path path = std::filesystem::canonical(info.dli_fname, ignored);
    return path.string() + " " + std::to_string(std::filesystem::file_size(path, ignored)) + " " +
           std::to_string(std::filesystem::last_write_time(path, ignored).time_since_epoch().count());
  }
  static nvrtcResult compile(nvrtcProgram program, int count, const char* const* options) {
    Current& now = current();
    std::vector<const char*> all(options, options + count);
    all.push_back("--ptxas-options=-v");
    ContentKey key;
    key.add(library());
    for (const char* option : all) key.add(option);
    key.add(now.text);
    if (std::optional<std::string> words = now.words.find(key.text())) {
      now.log = *std::move(words);
      now.kept = true;
      return NVRTC_SUCCESS;
    }
    ++compiled();
    const nvrtcResult result = nvrtc().nvrtcCompileProgram(program, count + 1, all.data());
    std::size_t size = 0;
    if (result == NVRTC_SUCCESS && nvrtc().nvrtcGetProgramLogSize(program, &size) == NVRTC_SUCCESS) {
      now.log.resize(size);
      if (nvrtc().nvrtcGetProgramLog(program, now.log.data()) != NVRTC_SUCCESS) now.log.clear();
      if (!now.log.empty()) (void)now.words.keep(key.text(), now.log);
    }
    return result;
  }

  cuda::Compiler compiler_;
  std::string folder_;
};

}  // namespace cleave::testing
