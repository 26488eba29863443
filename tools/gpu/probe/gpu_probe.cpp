// gpu_probe: writes the raw limits of a GPU and its link as JSON. Arguments: [--device cuda[:N]] [--seconds S] [--out FILE] [--small]. With
// --out the document is written to disk after each measurement; --small uses tiny sizes, to test the program itself.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>

#include "tools/gpu/probe/probe.h"

namespace cleave::probe {
namespace {

struct Arguments {
  std::string out;
  ProbeOptions options;
};

/// Sets sizes that are quick on a fake GPU.
void make_small(ProbeOptions& options) {
  options.largest_copy = 1 << 20;
  options.memory_bytes = 1;  // is rounded up to one pass of the widest kernel
  options.round_trips = 20;
  options.products = {{8, 4, 2}};
}

bool parse(int argc, char** argv, Arguments& arguments) {
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (word == "--small") {
      make_small(arguments.options);
      continue;
    }
    if (i + 1 >= argc) return false;
    const std::string value = argv[++i];
    if (word == "--out") {
      arguments.out = value;
    } else if (word == "--seconds") {
      arguments.options.seconds = std::strtod(value.c_str(), nullptr);
    } else if (word == "--device" && value.starts_with("cuda")) {
      arguments.options.ordinal = value.size() > 5 ? std::atoi(value.c_str() + 5) : 0;
    } else {
      return false;
    }
  }
  return arguments.options.seconds > 0;
}

/// Writes a temporary file and renames it, so that readers see a whole document at any time.
bool write(const nlohmann::ordered_json& document, const std::string& file) {
  if (file.empty()) return true;
  const std::string beside = file + ".new";
  std::ofstream out(beside);
  out << document.dump(1) << "\n";
  out.close();
  return out.good() && std::rename(beside.c_str(), file.c_str()) == 0;
}

Result<runtime::cuda::Api> load() {
  Result<runtime::cuda::DriverApi> driver = runtime::cuda::DriverApi::load();
  if (!driver) return driver.error();
  Result<runtime::cuda::CompilerApi> compiler = runtime::cuda::CompilerApi::load();
  if (!compiler) return compiler.error();
  Result<runtime::cuda::BlasApi> blas = runtime::cuda::BlasApi::load();
  if (!blas) return blas.error();
  return runtime::cuda::Api{*driver, *compiler, *blas, nullptr, nullptr};
}

int run(Arguments& arguments) {
  nlohmann::ordered_json document;
  arguments.options.keep = [&](const nlohmann::ordered_json& so_far) { (void)write(so_far, arguments.out); };
  const Result<runtime::cuda::Api> api = load();
  Status status;
  if (api) {
    status = probe(*api, arguments.options, document);
  } else {
    status = api.error();
    document["errors"] = {status.error().message};
  }
  if (!status) std::fprintf(stderr, "gpu_probe: %s\n", status.error().message.c_str());
  if (arguments.out.empty()) std::puts(document.dump(1).c_str());
  if (!write(document, arguments.out)) {
    std::fprintf(stderr, "gpu_probe: cannot write %s\n", arguments.out.c_str());
    return 1;
  }
  return status ? 0 : 1;
}

}  // namespace
}  // namespace cleave::probe

int main(int argc, char** argv) {
  cleave::probe::Arguments arguments;
  if (!cleave::probe::parse(argc, argv, arguments)) {
    std::fprintf(stderr, "usage: gpu_probe [--device cuda[:N]] [--seconds S] [--out FILE] [--small]\n");
    return 2;
  }
  const int code = cleave::probe::run(arguments);
  std::fflush(nullptr);
  std::_Exit(code);  // without destructors, which would wait for a GPU that hangs
}
