#include "executor/host/library.h"

#include <dlfcn.h>

#include <array>
#include <filesystem>
#include <memory>

#include <cleave/host_function.h>
#include "graph/array/array.h"
#include "graph/base/boundary.h"
#include "graph/base/named_file.h"

namespace cleave::runtime {
namespace {

std::string last_dl_error() {
  const char* text = dlerror();
  return text ? text : "unknown reason";
}

/// Constructors of the library are foreign code: code linked with -ffast-math changes how the thread rounds and flushes subnormal numbers.
void* open_library(const std::string& path) {
  const KeptFolder folder;
  return call_foreign("the library", path, [&] { return dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL); });
}

Result<std::shared_ptr<void>> open(const HostFunction& declared, const std::vector<std::string>& library_paths) {
  namespace fs = std::filesystem;
  std::vector<fs::path> candidates = {declared.library};
  for (const std::string& folder : library_paths) candidates.push_back(fs::path(folder) / fs::path(declared.library).filename());
  for (const fs::path& candidate : candidates) {
    std::error_code ignored;
    if (!fs::exists(candidate, ignored)) continue;
    if (const Result<RegularFile> file = RegularFile::open(candidate.string()); !file)
      return Error{"cannot load the library `" + candidate.string() + "`: " + file.error().message};
    // dlopen searches the system's folders for a name without a slash; a model's library is a file, never a system library.
    std::string path = fs::absolute(candidate, ignored).string();
    dlerror();
    void* handle = open_library(path);
    if (!handle) return Error{"cannot load the library `" + path + "`: " + last_dl_error()};
    return std::shared_ptr<void>(handle, [](void* opened) { call_foreign("the end of a host library", {}, [&] { dlclose(opened); }); });
  }
  std::string message = "there is no library `" + declared.library + "`";
  for (const std::string& folder : library_paths)
    message += (&folder == &library_paths.front() ? ", nor its file name in `" : " or `") + folder + "`";
  return Error{message};
}

/// Whether an element type has the same number in the C interface as in cleave.
constexpr bool named(DType type, int in_c) {
  return static_cast<int>(type) == in_c;
}
static_assert(named(DType::f32, CLEAVE_F32) && named(DType::f64, CLEAVE_F64) && named(DType::f16, CLEAVE_F16) &&
              named(DType::bf16, CLEAVE_BF16) && named(DType::i32, CLEAVE_I32) && named(DType::i64, CLEAVE_I64) &&
              named(DType::u8, CLEAVE_U8) && named(DType::boolean, CLEAVE_BOOL));
static_assert(named(DType::i8, CLEAVE_I8) && named(DType::i16, CLEAVE_I16) && named(DType::u16, CLEAVE_U16) &&
              named(DType::u32, CLEAVE_U32) && named(DType::u64, CLEAVE_U64));
static_assert(kDTypeCount == 13, "a new element type needs a name in <cleave/host_function.h>");

cleave_array describe(const Array& array, void* data) {
  return {static_cast<int>(array.dtype()), array.type().rank(), array.shape().data(), data};
}

Status call(cleave_host_function function, std::span<const Array> inputs, std::span<Array> results) {
  std::vector<cleave_array> takes, gives;
  takes.reserve(inputs.size());
  gives.reserve(results.size());
  for (const Array& input : inputs) takes.push_back(describe(input, const_cast<std::byte*>(input.bytes())));
  for (Array& result : results) gives.push_back(describe(result, result.mutable_bytes()));
  std::array<char, 512> error{};
  int code = function(CLEAVE_HOST_FUNCTION_VERSION, takes.data(), static_cast<int>(takes.size()), gives.data(),
                      static_cast<int>(gives.size()), error.data(), error.size());
  if (code == 0) return {};
  error.back() = '\0';
  std::string text = error.data();
  return Error{text.empty() ? "the host function failed with code " + std::to_string(code) : text};
}

}  // namespace

Result<HostFunction> load_host_function(const HostFunction& declared, const std::vector<std::string>& library_paths) {
  Result<std::shared_ptr<void>> library = open(declared, library_paths);
  if (!library) return library.error();
  dlerror();
  void* symbol = dlsym(library->get(), declared.symbol.c_str());
  if (!symbol) return Error{"the library `" + declared.library + "` has no function `" + declared.symbol + "`"};
  auto function = reinterpret_cast<cleave_host_function>(symbol);
  HostFunction bound = declared;
  bound.fills_in_place = true;
  bound.call = [library = *library, function](std::span<const Array> inputs, std::span<Array> results, const CallLimits&) {
    return call(function, inputs, results);
  };
  return bound;
}

}  // namespace cleave::runtime
