#include "tools/c/guard.h"

#include "graph/base/diagnostic_text.h"
#include "graph/base/version.h"

namespace cleave::c {
namespace {

std::string& message() {
  thread_local std::string text;
  return text;
}

/// Without the line feed at the end.
template <class Text>
void set_message(const Text& text) {
  message() = detail::guard_memory_or(text, [] { return std::string("out of memory"); });  // short enough to need no allocation
  while (message().ends_with('\n')) message().pop_back();
}

cleave_status status_of(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::user:
    case ErrorKind::file:
    case ErrorKind::unknown: return CLEAVE_USER_ERROR;
    case ErrorKind::usage: return CLEAVE_USAGE_ERROR;
    case ErrorKind::machine: break;
  }
  return CLEAVE_MACHINE_ERROR;
}

}  // namespace

cleave_status failed(const Error& error) {
  set_message([&] { return to_text(error); });
  return status_of(error.kind);
}

void tell(const Diagnostics& errors) {
  set_message([&] { return to_text(errors); });
}

Status need(const void* argument, const char* name) {
  if (argument) return {};
  return Error{"`" + std::string(name) + "` is null", {}, ErrorKind::usage};
}

}  // namespace cleave::c

int cleave_c_version(void) {
  return CLEAVE_C_VERSION;
}
const char* cleave_version(void) {
  return cleave::kVersion;
}
const char* cleave_error_message(void) {
  return cleave::c::message().c_str();
}
