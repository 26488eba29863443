// Compiler: CUDA C++ text to machine code for one architecture, by NVRTC. What was compiled once is kept on disk by its content.
#pragma once

#include <string>

#include "executor/cuda/compiler_api.h"
#include "executor/cuda/file_cache.h"
#include "executor/cuda/kernel_source.h"

namespace cleave::runtime::cuda {

class Compiler {
 public:
  /// `cache_folder`: empty: nothing is kept.
  static Result<Compiler> open(const CompilerApi& api, const Architecture& architecture, std::string cache_folder);

  /// The image that cuModuleLoadData takes. An Error says what NVRTC says: the text is ours, so it is our bug.
  [[nodiscard]] Result<std::string> image(const std::string& text) const;

 private:
  [[nodiscard]] Result<std::string> compile(const std::string& text) const;
  [[nodiscard]] Status check(const char* call, nvrtcResult result) const;

  CompilerApi api_;
  std::string target_;   ///< the option that names the architecture
  std::string version_;  ///< all that the image depends on but the text
  FileCache kept_;
};

}  // namespace cleave::runtime::cuda
