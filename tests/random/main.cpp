// random_programs: makes random programs and checks each in many ways, for seconds or for hours. It shrinks programs that fail and prints
// the command that repeats each failure.
//
//   random_programs [--seconds N] [--count N] [--seed S] [--only SEED [--skip PATH,…]] [--threads 1,2,4] [--failures N] [--keep FOLDER]
//
// This process only watches: forked children run the programs, so that a crash or a hang is an ordinary failure.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <sstream>

#include "tests/random/supervisor.h"

namespace cleave::testing {
namespace {

std::vector<std::string> split(const std::string& text) {
  std::vector<std::string> parts;
  std::istringstream stream(text);
  for (std::string part; std::getline(stream, part, ',');) parts.push_back(part);
  return parts;
}

int usage(const std::string& what) {
  std::fprintf(stderr,
               "random_programs: %s\nusage: random_programs [--seconds N] [--count N] [--seed S] [--only SEED [--skip PATH,...]]\n"
               "                       [--threads 1,2,4] [--failures N] [--hang SECONDS] [--keep FOLDER]\n",
               what.c_str());
  return 2;
}

int main_of(int count, char** arguments) {
  SupervisorOptions options;
  for (int i = 1; i < count; i += 2) {
    const std::string flag = arguments[i];
    if (i + 1 >= count) return usage("`" + flag + "` needs a value");
    const std::string value = arguments[i + 1];
    if (flag == "--seconds") {
      options.seconds = std::strtod(value.c_str(), nullptr);
    } else if (flag == "--count") {
      options.count = std::strtoull(value.c_str(), nullptr, 10);
    } else if (flag == "--seed") {
      options.seed = std::strtoull(value.c_str(), nullptr, 10);
    } else if (flag == "--only") {
      options.seed = std::strtoull(value.c_str(), nullptr, 10);
      options.only = true;
    } else if (flag == "--skip") {
      for (const std::string& path : split(value)) options.skipped.insert(path);
    } else if (flag == "--threads") {
      options.check.threads.clear();
      for (const std::string& threads : split(value)) options.check.threads.push_back(std::atoi(threads.c_str()));
    } else if (flag == "--failures") {
      options.failures = std::strtoull(value.c_str(), nullptr, 10);
    } else if (flag == "--hang") {
      options.hang_seconds = std::strtod(value.c_str(), nullptr);
    } else if (flag == "--keep") {
      options.keep = value;
    } else {
      return usage("there is no flag `" + flag + "`");
    }
  }
  if (options.check.threads.empty()) return usage("`--threads` takes numbers, as in 1,2,4");
  options.program = arguments[0];
  return supervise(options);
}

}  // namespace
}  // namespace cleave::testing

int main(int count, char** arguments) {
  return cleave::testing::main_of(count, arguments);
}
