// Facts about the host's kernels on this machine, for reports. No kernel is selected from them.
#pragma once

#include <string>

namespace cleave::runtime::host {

struct Facts {
  std::string instructions;  ///< the largest instruction set that kernels use: "AVX-512"; "portable": only the baseline
  int threads = 1;           ///< threads of a run where the options name no number
  bool highway = false;      ///< whether the vectorised loops (Highway) are built in
};
Facts facts();

}  // namespace cleave::runtime::host
