// A library opened at run time for good: drivers do not bear to be closed. Fills a table of functions from it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "graph/base/result.h"

namespace cleave::runtime::cuda {

class SharedLibrary {
 public:
  /// The first of `files` that can be opened: paths, or names that the loader looks for. `purpose` says in the Error what is missing. Its
  /// reason is that of the first path, as paths name files that are there, else that of the first name.
  static Result<SharedLibrary> open(const std::vector<std::string>& files, std::string_view purpose);

  /// Sets `function` to the library's `symbol`; remembers the first that is missing.
  template <class F>
  void find(const char* symbol, F& function) {
    function = reinterpret_cast<F>(address(symbol));
  }
  /// The same; null where it is missing.
  template <class F>
  void find_if_there(const char* symbol, F& function) {
    function = reinterpret_cast<F>(address_if_there(symbol));
  }
  /// Opens a library of the same folder for good, so that whoever opens it by its name alone is given it, though the loader does not know
  /// the folder. One that is not there is no mistake: the loader may know another place.
  void open_beside(const std::string& file) const;
  /// An Error if anything looked for was missing.
  [[nodiscard]] Status complete() const;

 private:
  void* address(const char* symbol);
  [[nodiscard]] void* address_if_there(const char* symbol) const;

  void* handle_ = nullptr;
  std::string name_, missing_;
};

}  // namespace cleave::runtime::cuda
