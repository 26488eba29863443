// ForeignCall: the boundary between the engine and foreign code: host functions, callbacks, constructors of loaded libraries. Its door is
// `call_foreign`. It restores the thread state that foreign code may change (floating-point environment, errno, signal mask, locale), and
// names foreign code that does not return (exit, pthread_exit, longjmp, fork). It knows nothing of the called code.
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

/// Scope of one call of foreign code by this thread. It costs two system calls for the signal mask and about 100 ns for the rest.
class ForeignCall {
 public:
  /// `what` ("the host function") and `name` ("relax"; may be empty) are borrowed and must outlive this object. `signals`: whether signal
  /// mask and locale are restored, too.
  explicit ForeignCall(std::string_view what, std::string_view name = {}, bool signals = true);
  ForeignCall(const ForeignCall&) = delete;
  ForeignCall& operator=(const ForeignCall&) = delete;
  ~ForeignCall();

  /// Ends the process with an Error that names the current call, because foreign code ended the thread by pthread_exit, so that the caller
  /// cannot continue. `what` describes the foreign code if no call is recorded.
  [[noreturn]] static void thread_ended(std::string_view what);

  /// An Error that names foreign code which left an engine call on this thread by longjmp since the previous query, or nothing.
  static std::optional<Error> left_by_jump();

 private:
  static constexpr std::size_t kLocaleBytes = 384;  ///< longest name of a locale whose categories differ; a longer one is not restored

  void put_signals_back() const;

  const std::string_view outer_what_, outer_name_;
  const void* const outer_;
  FloatEnvironment floats_;
  const int errno_;
  const BornHere born_;
  const bool keeps_signals_;
  locale_t thread_locale_ = {};
  char locale_[kLocaleBytes];  ///< the process's locale; empty: its name is too long
  sigset_t signals_;
};

/// Scope in which foreign code called by this thread is attributed to this line of the user's program.
class ForeignCallScope {
 public:
  explicit ForeignCallScope(const SourceLocation& line);
  ForeignCallScope(const ForeignCallScope&) = delete;
  ForeignCallScope& operator=(const ForeignCallScope&) = delete;
  ~ForeignCallScope();

 private:
  const SourceLocation* const outer_;
};

/// Restores the process's working directory after foreign code. It costs two system calls of 0.5 to 2 us each, so it is used around a whole
/// run that calls host functions and around the loading of a library, not around single calls.
class KeptFolder {
 public:
  KeptFolder();
  KeptFolder(const KeptFolder&) = delete;
  KeptFolder& operator=(const KeptFolder&) = delete;
  ~KeptFolder();

 private:
  char path_[PATH_MAX];  ///< empty: the process has no working directory
};

/// Runs `work`, which calls foreign code, and returns its result. Exceptions propagate.
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
