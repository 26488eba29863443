// The supervisor of random programs: forks children that run them, notices crashes and hangs, shrinks failures, and reports.
#pragma once

#include <set>
#include <string>

#include "tests/random/checker.h"

namespace cleave::testing {

struct SupervisorOptions {
  double seconds = 10;      ///< after which no further program is begun
  std::uint64_t count = 0;  ///< programs at most; 0: as many as there is time for
  std::uint64_t seed = 1;   ///< of the first program; the following count up
  bool only = false;        ///< that one program
  std::set<std::string> skipped;
  std::uint64_t failures = 1;  ///< after which it gives up
  double hang_seconds = 60;    ///< that one program may take
  std::string keep;            ///< a folder for programs and inputs that fail; empty: none
  std::string program;         ///< as it is to be called again
  CheckOptions check;
};

/// The exit code: 0 if nothing failed.
int supervise(SupervisorOptions options);

}  // namespace cleave::testing
