// What the host's kernels run on here, for those who tell people. Decides nothing.
#pragma once

#include <string>

namespace cleave::runtime::host {

struct Facts {
  std::string instructions;  ///< the largest set that kernels use: "AVX-512"; "portable" where they use what every machine has
  int threads = 1;           ///< that a run gets where nobody says how many
  bool highway = false;      ///< vectorised loops are built in
};
Facts facts();

}  // namespace cleave::runtime::host
