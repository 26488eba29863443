// Compiler: compiles CUDA C++ text to machine code for one architecture, with NVRTC. Compiled images are cached on disk by the content of
// their text.
#pragma once

#include <string>

#include "executor/cuda/compiler_api.h"
#include "executor/cuda/file_cache.h"
#include "executor/cuda/kernel_source.h"

namespace cleave::runtime::cuda {

class Compiler {
 public:
  /// If `cache_folder` is empty, nothing is cached.
  static Result<Compiler> open(const CompilerApi& api, const Architecture& architecture, std::string cache_folder);

  /// The image that cuModuleLoadData takes. An Error quotes NVRTC's message. It means a bug in cleave, which generated the text.
  [[nodiscard]] Result<std::string> image(const std::string& text) const;

 private:
  [[nodiscard]] Result<std::string> compile(const std::string& text) const;
  [[nodiscard]] Status check(const char* call, nvrtcResult result) const;

  CompilerApi api_;
  std::string target_;   ///< the option that names the architecture
  std::string version_;  ///< everything but the text that the image depends on
  FileCache kept_;
};

}  // namespace cleave::runtime::cuda
