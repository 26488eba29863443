// The boundary between the engine and code that is not its own: host functions, callbacks, libraries while they are loaded. Its door is
// `call_foreign`. Whatever such code changes in its thread is put back: the floating-point environment, errno, the signal mask, the locale.
// Code that does not come back at all is named: exit, pthread_exit, longjmp, fork. Knows nothing of what is called.
#pragma once

#include <limits.h>
#include <locale.h>
#include <signal.h>

#include <cstddef>
#include <optional>
#include <string_view>
#include <type_traits>
#include <utility>

#if defined(__GLIBCXX__)
#include <cxxabi.h>
#endif

#include "graph/base/float_environment.h"
#include "graph/base/forks.h"
#include "graph/base/result.h"

namespace cleave {

/// One call of foreign code by this thread, under way while this lives. It costs two system calls for the signal mask, and some 100 ns for
/// the rest.
class ForeignCall {
 public:
  /// `what` and `name` are texts that live on: "the host function", "relax". No name: `what` says all.
  /// `signals`: whether the signal mask and the locale are kept too.
  explicit ForeignCall(std::string_view what, std::string_view name = {}, bool signals = true);
  ForeignCall(const ForeignCall&) = delete;
  ForeignCall& operator=(const ForeignCall&) = delete;
  ~ForeignCall();

  /// Ends the process with an Error that names the call under way, since foreign code has ended the thread by pthread_exit, and nobody can
  /// go on here. `what`: who else it was.
  [[noreturn]] static void thread_ended(std::string_view what);

  /// An Error that names the foreign code which this thread has left by longjmp since it was last asked, so that a call of the engine never
  /// came to its end. Nothing: there is none.
  static std::optional<Error> left_by_jump();

 private:
  static constexpr std::size_t kLocaleBytes = 384;  ///< of the name of a locale that differs by category; a longer one is not kept

  void put_signals_back() const;

  const std::string_view outer_what_, outer_name_;
  const void* const outer_;
  FloatEnvironment floats_;
  const int errno_;
  const BornHere born_;
  const bool keeps_signals_;
  locale_t thread_locale_ = {};
  char locale_[kLocaleBytes];  ///< the process's; empty: its name is too long
  sigset_t signals_;
};

/// While it lives, foreign code called by this thread belongs to this line of the user's program.
class ForeignPlace {
 public:
  explicit ForeignPlace(const SourceLocation& line);
  ForeignPlace(const ForeignPlace&) = delete;
  ForeignPlace& operator=(const ForeignPlace&) = delete;
  ~ForeignPlace();

 private:
  const SourceLocation* const outer_;
};

/// Keeps the process's working directory while foreign code runs. It costs two system calls, 0.5 to 2 us each: stands around a whole run
/// that calls host functions, and around the loading of a library, but not around single calls.
class KeptFolder {
 public:
  KeptFolder();
  KeptFolder(const KeptFolder&) = delete;
  KeptFolder& operator=(const KeptFolder&) = delete;
  ~KeptFolder();

 private:
  char path_[PATH_MAX];  ///< empty: it has none
};

/// What `work` gives, which calls code that is not the engine's. What that throws goes on.
template <class F>
std::invoke_result_t<F&> call_foreign(std::string_view what, std::string_view name, F&& work) {
  const ForeignCall call(what, name);
#if defined(__GLIBCXX__)
  try {
    return work();
  } catch (abi::__forced_unwind&) {
    ForeignCall::thread_ended(what);
  }
#else
  return work();
#endif
}

}  // namespace cleave
