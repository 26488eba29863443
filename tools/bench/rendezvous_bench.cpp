// Measures the executor's overhead around a GPU that computes nothing (rendezvous.h). Arguments: [--trips N] [--runs N] [--launch S]
// [--latency S] [--bandwidth BYTES_A_SECOND] [--cores N] [--only ROW] [--json]. Seconds: 5e-6. By default, every operation of the GPU takes
// no time.
#include <cstdio>
#include <cstdlib>
#include <string>

#include "tools/bench/rendezvous_report.h"

namespace cleave::bench {
namespace {

int main(int count, char** arguments) {
  StubSetting setting;
  std::string only;
  bool json = false;
  for (int i = 1; i < count; ++i) {
    const std::string name = arguments[i];
    const auto is = [&](const char* option) { return name == option && i + 1 < count; };
    if (name == "--json") {
      json = true;
    } else if (is("--trips")) {
      setting.trips = std::atoi(arguments[++i]);
    } else if (is("--runs")) {
      setting.runs = std::atoi(arguments[++i]);
    } else if (is("--only")) {
      only = arguments[++i];
    } else if (is("--cores")) {
      setting.cores = std::atoi(arguments[++i]);
    } else if (is("--launch")) {
      setting.traits.launch_seconds = std::atof(arguments[++i]);
    } else if (is("--latency")) {
      setting.traits.link_latency_seconds = std::atof(arguments[++i]);
    } else if (is("--bandwidth")) {
      setting.traits.link_bytes_per_second = std::atof(arguments[++i]);
    } else {
      std::fprintf(stderr, "rendezvous_bench: not understood: %s\n", name.c_str());
      return 2;
    }
  }
  if (setting.trips < 1 || setting.runs < 1) {
    std::fprintf(stderr, "rendezvous_bench: --trips and --runs take numbers from 1\n");
    return 2;
  }
  const nlohmann::ordered_json report = rendezvous_report(setting, only);
  std::fputs((json ? report.dump(1) + "\n" : rendezvous_table(report)).c_str(), stdout);
  return 0;
}

}  // namespace
}  // namespace cleave::bench

int main(int count, char** arguments) {
  return cleave::bench::main(count, arguments);
}
