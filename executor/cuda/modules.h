// CudaModules: the kernel texts of one device, compiled and loaded once each.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "executor/cuda/compiler.h"
#include "executor/cuda/prepared_launch.h"
#include "executor/cuda/resources.h"

namespace cleave::runtime::cuda {

class CudaModules {
 public:
  CudaModules(Context& context, Compiler compiler) : context_(context), compiler_(std::move(compiler)) {}

  /// Compiles texts on several threads, before `function` is called for them.
  void compile(std::vector<std::string> texts, int threads);
  /// The kernel that `launch` names in `text`.
  Result<CUfunction> function(const std::string& text, const KernelLaunch& launch);
  /// Limits a kernel whose blocks loop until all work is done to the blocks that run at once. Further blocks would start when the first
  /// ones end, and find little left to do.
  Status fit_grid(PreparedLaunch& launch) const;

 private:
  Context& context_;
  Compiler compiler_;
  std::map<std::string, ModuleHandle> modules_;          ///< key: the kernel text
  std::map<std::string, Result<std::string>> compiled_;  ///< images that are not loaded yet; key: the kernel text
};

}  // namespace cleave::runtime::cuda
