// SharedLibrary: a library that is opened at run time, from which tables of functions are filled. It is never closed, because drivers do
// not survive dlclose().
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "graph/base/result.h"

namespace cleave::runtime::cuda {

class SharedLibrary {
 public:
  /// Opens the first of `files` (paths, or bare names for the loader) that can be opened. An Error names `purpose` as what is missing. Its
  /// reason is that of the first path, because paths name files that exist, else that of the first name.
  static Result<SharedLibrary> open(const std::vector<std::string>& files, std::string_view purpose);

  /// Sets `function` to the library's `symbol`. The first missing symbol is remembered for `complete`.
  template <class F>
  void find(const char* symbol, F& function) {
    function = reinterpret_cast<F>(address(symbol));
  }
  /// Sets `function` to the library's `symbol`, or to null if it is missing.
  template <class F>
  void find_if_there(const char* symbol, F& function) {
    function = reinterpret_cast<F>(address_if_there(symbol));
  }
  /// Opens a library of the same folder for good, so that a later dlopen() of its bare name finds it although the loader does not know the
  /// folder. A missing file is no error, because the loader may find the library elsewhere.
  void open_beside(const std::string& file) const;
  /// An Error if a symbol that `find` looked for is missing.
  [[nodiscard]] Status complete() const;

 private:
  void* address(const char* symbol);
  [[nodiscard]] void* address_if_there(const char* symbol) const;

  void* handle_ = nullptr;
  std::string name_, missing_;
};

}  // namespace cleave::runtime::cuda
