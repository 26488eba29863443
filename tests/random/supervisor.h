// The supervisor of random programs: forks children that run them, notices crashes and hangs, shrinks failures, and reports.
#pragma once

#include <set>
#include <string>

#include "tests/random/checker.h"

namespace cleave::testing {

struct SupervisorOptions {
  double seconds = 10;      ///< no program is started after this time
  std::uint64_t count = 0;  ///< maximum number of programs; 0: limited by time alone
  std::uint64_t seed = 1;   ///< seed of the first program; later seeds count up
  bool only = false;        ///< only the program of that seed
  std::set<std::string> skipped;
  std::uint64_t failures = 1;  ///< gives up after this many
  double hang_seconds = 60;    ///< limit for one program
  std::string keep;            ///< a folder for programs and inputs that fail; empty: none
  std::string program;         ///< the command that repeats a failure
  CheckOptions check;
};

/// The exit code: 0 if nothing failed.
int supervise(SupervisorOptions options);

}  // namespace cleave::testing
