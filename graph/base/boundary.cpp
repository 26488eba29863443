#include "graph/base/boundary.h"

#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <string>

#include "graph/base/diagnostic_text.h"

namespace cleave {
namespace {

/// The innermost foreign call of a thread. Its texts outlive the call's frame, which a longjmp may have left.
struct Innermost {
  const void* call = nullptr;  ///< address of the ForeignCall; null: no call is running
  std::string_view what, name;
  const SourceLocation* line = nullptr;
};

Innermost& innermost() {
  static thread_local Innermost here;
  return here;
}

std::string named(std::string_view what, std::string_view name) {
  return name.empty() ? std::string(what) : std::string(what) + " `" + std::string(name) + "`";
}

/// Prints an Error and ends the process, since no caller can handle it.
[[noreturn]] void end_process(const std::string& message, int code) {
  const SourceLocation* const line = innermost().line;
  const std::string text = to_text(Error{message, line ? *line : SourceLocation(), ErrorKind::user});
  std::fflush(nullptr);
  for (std::size_t written = 0; written < text.size();) {
    const ssize_t more = ::write(STDERR_FILENO, text.data() + written, text.size() - written);
    if (more <= 0) break;
    written += static_cast<std::size_t>(more);
  }
  ::_exit(code);
}

/// Runs when the process exits, in the thread that called exit.
void name_exit(int status, void*) {
  const Innermost& here = innermost();
  if (!here.call) return;
  end_process(named(here.what, here.name) + " called exit(" + std::to_string(status) +
                  "), which ends the whole program; it has to return, with an error if it failed",
              status == 0 ? 1 : status);
}

void watch_exit() {
  static std::once_flag once;
  std::call_once(once, [] { on_exit(name_exit, nullptr); });
}

/// The kernel knows no signals beyond NSIG; the remaining bits of a sigset_t are undefined.
bool equal(const sigset_t& a, const sigset_t& b) {
  return std::memcmp(&a, &b, (NSIG - 1) / 8) == 0;
}

}  // namespace

// --- ForeignCall -----------------------------------------------------------------------------------------------------------------------

ForeignCall::ForeignCall(std::string_view what, std::string_view name, bool signals)
    : outer_what_(innermost().what),
      outer_name_(innermost().name),
      outer_(innermost().call),
      floats_(FloatEnvironment::current()),
      errno_(errno),
      keeps_signals_(signals) {
  watch_exit();
  if (keeps_signals_) {
    thread_locale_ = uselocale(static_cast<locale_t>(nullptr));
    locale_[0] = '\0';
    if (const char* global = setlocale(LC_ALL, nullptr); global && std::strlen(global) < kLocaleBytes) std::strcpy(locale_, global);
    pthread_sigmask(SIG_SETMASK, nullptr, &signals_);
  }
  Innermost& here = innermost();
  here.call = this;
  here.what = what;
  here.name = name;
}

ForeignCall::~ForeignCall() {
  Innermost& here = innermost();
  if (!born_.here())
    end_process(
        named(here.what, here.name) +
            " forked, and the child came back from it into a run that it has no threads for; the child has to end by itself (_exit)",
        1);
  here.call = outer_;
  here.what = outer_what_;
  here.name = outer_name_;
  if (!FloatEnvironment::current().computes_as(floats_)) floats_.set();
  if (keeps_signals_) put_signals_back();
  errno = errno_;
}

void ForeignCall::put_signals_back() const {
  sigset_t now;
  if (pthread_sigmask(SIG_SETMASK, nullptr, &now) == 0 && !equal(now, signals_)) pthread_sigmask(SIG_SETMASK, &signals_, nullptr);
  if (uselocale(static_cast<locale_t>(nullptr)) != thread_locale_) uselocale(thread_locale_);
  if (locale_[0] == '\0') return;
  const char* global = setlocale(LC_ALL, nullptr);
  if (global && std::strcmp(global, locale_) != 0) setlocale(LC_ALL, locale_);
}

void ForeignCall::thread_ended(std::string_view what) {
  const Innermost& here = innermost();
  end_process((here.call ? named(here.what, here.name) : std::string(what)) +
                  " ended its thread (pthread_exit), and the run on it cannot go on; it has to return, with an error if it failed",
              1);
}

std::optional<Error> ForeignCall::left_by_jump() {
  constexpr std::uintptr_t kOneStack = 1 << 20;  // addresses further away belong to another fiber's stack
  Innermost& here = innermost();
  const auto call = reinterpret_cast<std::uintptr_t>(here.call), now = reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0));
  // Stacks grow downwards: the frame of a running call has a higher address than this one.
  if (!here.call || call >= now || now - call > kOneStack) return std::nullopt;
  Error error{named(here.what, here.name) + " was left by longjmp in an earlier run, which has never come to its end; it has to return",
              {},
              ErrorKind::user};
  if (here.line) error.location = *here.line;
  here = {};
  return error;
}

// --- ForeignCallScope ------------------------------------------------------------------------------------------------------------------

ForeignCallScope::ForeignCallScope(const SourceLocation& line) : outer_(std::exchange(innermost().line, &line)) {}

ForeignCallScope::~ForeignCallScope() {
  innermost().line = outer_;
}

// --- KeptFolder ------------------------------------------------------------------------------------------------------------------------

KeptFolder::KeptFolder() {
  if (!::getcwd(path_, sizeof path_)) path_[0] = '\0';
}

KeptFolder::~KeptFolder() {
  char now[PATH_MAX];
  if (path_[0] == '\0' || (::getcwd(now, sizeof now) && std::strcmp(now, path_) == 0)) return;
  (void)!::chdir(path_);
}

}  // namespace cleave
