#include "executor/cuda/compiler.h"

#include <unistd.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>

namespace cleave::cuda {
namespace {

constexpr const char* kStandard = "--std=c++17";
constexpr const char* kNoContraction = "--fmad=false";  ///< the host rounds after each operation, and so does the device
constexpr const char* kDeviceCode = "--device-as-default-execution-space";

std::uint64_t hash(const std::string& text) {
  std::uint64_t sum = 0xcbf29ce484222325U;  // FNV-1a
  for (const char c : text) sum = (sum ^ static_cast<unsigned char>(c)) * 0x100000001b3U;
  return sum;
}

std::string file_of(const std::string& folder, const std::string& key) {
  char name[17];
  std::snprintf(name, sizeof name, "%016llx", static_cast<unsigned long long>(hash(key)));
  return folder + "/" + name + ".kernel";
}

/// A kept image: the file holds the key, so that two keys of one hash are told apart.
std::optional<std::string> read_kept(const std::string& folder, const std::string& key) {
  std::ifstream file(file_of(folder, key), std::ios::binary);
  if (!file) return std::nullopt;
  std::ostringstream all;
  all << file.rdbuf();
  std::string text = std::move(all).str();
  if (text.size() <= key.size() || text.compare(0, key.size(), key) != 0) return std::nullopt;
  return text.substr(key.size());
}

/// Whoever reads sees the whole file or none. A disk that cannot be written costs time only.
void keep(const std::string& folder, const std::string& key, const std::string& image) {
  std::error_code failed;
  std::filesystem::create_directories(folder, failed);
  const std::string path = file_of(folder, key);
  const std::string unfinished = path + "." + std::to_string(getpid());
  {
    std::ofstream file(unfinished, std::ios::binary);
    file << key << image;
    file.close();
    if (!file) failed = std::make_error_code(std::errc::io_error);
  }
  if (!failed) std::filesystem::rename(unfinished, path, failed);
  if (failed) std::filesystem::remove(unfinished, failed);
}

}  // namespace

std::string default_cache_folder() {
  if (const char* cache = std::getenv("XDG_CACHE_HOME"); cache && *cache == '/') return std::string(cache) + "/cleave/cuda";
  const char* home = std::getenv("HOME");
  return home && *home ? std::string(home) + "/.cache/cleave/cuda" : std::string();
}

Status Compiler::check(const char* call, nvrtcResult result) const {
  if (result == NVRTC_SUCCESS) return {};
  return Error{std::string(call) + " failed: " + api_.nvrtcGetErrorString(result), {}, ErrorKind::machine};
}

Result<Compiler> Compiler::open(const CompilerApi& api, const Architecture& architecture, std::string cache_folder) {
  Compiler compiler;
  compiler.api_ = api;
  compiler.folder_ = std::move(cache_folder);
  int major = 0, minor = 0;
  if (Status status = compiler.check("nvrtcVersion", api.nvrtcVersion(&major, &minor)); !status) return status.error();
  compiler.target_ = "--gpu-architecture=sm_" + std::to_string(architecture.major) + std::to_string(architecture.minor);
  compiler.version_ = "NVRTC " + std::to_string(major) + "." + std::to_string(minor) + " " + compiler.target_ + " " + kStandard + " " +
                      kNoContraction + " " + kDeviceCode + "\n";
  return compiler;
}

Result<std::string> Compiler::image(const std::string& text) const {
  const std::string key = version_ + std::to_string(text.size()) + "\n" + text;
  if (!folder_.empty()) {
    if (std::optional<std::string> kept = read_kept(folder_, key)) return *std::move(kept);
  }
  Result<std::string> image = compile(text);
  if (image && !folder_.empty()) keep(folder_, key, *image);
  return image;
}

Result<std::string> Compiler::compile(const std::string& text) const {
  nvrtcProgram program = nullptr;
  Status status = check("nvrtcCreateProgram", api_.nvrtcCreateProgram(&program, text.c_str(), "cleave.cu", 0, nullptr, nullptr));
  if (!status) return status.error();
  const std::array<const char*, 4> options = {target_.c_str(), kStandard, kNoContraction, kDeviceCode};
  status = check("nvrtcCompileProgram", api_.nvrtcCompileProgram(program, static_cast<int>(options.size()), options.data()));
  std::string image;
  std::size_t size = 0;
  if (status) {
    status = check("nvrtcGetCUBINSize", api_.nvrtcGetCUBINSize(program, &size));
    image.resize(size);
    if (status) status = check("nvrtcGetCUBIN", api_.nvrtcGetCUBIN(program, image.data()));
  } else if (api_.nvrtcGetProgramLogSize(program, &size) == NVRTC_SUCCESS && size > 1) {
    std::string log(size - 1, '\0');  // the size counts the closing NUL
    if (api_.nvrtcGetProgramLog(program, log.data()) == NVRTC_SUCCESS)
      status = Error{status.error().message + ":\n" + log, {}, ErrorKind::machine};
  }
  api_.nvrtcDestroyProgram(&program);
  if (!status) return status.error();
  return image;
}

}  // namespace cleave::cuda
