#include "executor/cuda/compiler.h"

#include <array>
#include <optional>

namespace cleave::runtime::cuda {
namespace {

constexpr const char* kStandard = "--std=c++17";
constexpr const char* kNoContraction = "--fmad=false";  ///< no fused multiply-add: the device rounds after each operation as the host does
constexpr const char* kDeviceCode = "--device-as-default-execution-space";

}  // namespace

Status Compiler::check(const char* call, nvrtcResult result) const {
  if (result == NVRTC_SUCCESS) return {};
  return Error{std::string(call) + " failed: " + api_.nvrtcGetErrorString(result), {}, ErrorKind::machine};
}

Result<Compiler> Compiler::open(const CompilerApi& api, const Architecture& architecture, std::string cache_folder) {
  Compiler compiler;
  compiler.api_ = api;
  compiler.kept_ = FileCache(std::move(cache_folder), ".kernel");
  int major = 0, minor = 0;
  if (Status status = compiler.check("nvrtcVersion", api.nvrtcVersion(&major, &minor)); !status) return status.error();
  compiler.target_ = "--gpu-architecture=sm_" + std::to_string(architecture.major) + std::to_string(architecture.minor);
  compiler.version_ = "NVRTC " + std::to_string(major) + "." + std::to_string(minor) + " " + compiler.target_ + " " + kStandard + " " +
                      kNoContraction + " " + kDeviceCode + "\n";
  return compiler;
}

Result<std::string> Compiler::image(const std::string& text) const {
  const std::string key = version_ + std::to_string(text.size()) + "\n" + text;
  if (std::optional<std::string> kept = kept_.find(key)) return *std::move(kept);
  Result<std::string> image = compile(text);
  if (image) (void)kept_.keep(key, *image);
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

}  // namespace cleave::runtime::cuda
