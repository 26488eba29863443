// Failure as a value. Result<T> is a T or an Error; Status is nothing or an Error. cleave throws nothing.
//
//   Result<Array> x = read_npy("x.npy");
//   if (!x) return std::fputs(to_text(x.error()).c_str(), stderr), 1;
//   use(*x);
//
// Accessing the value of a failed Result is a bug in the caller and aborts, as a failed assert does.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <variant>

#include "graph/base/check.h"
#include "graph/base/source_location.h"

namespace cleave {

enum class ErrorKind {
  user,     ///< the user's program or data (exit code 1)
  file,     ///< the same: a file that is missing, truncated or malformed
  unknown,  ///< the same: a name that nothing bears
  usage,    ///< a wrong option or argument (exit code 2)
  machine,  ///< out of memory, device lost, a deadline (exit code 3)
};

struct Error {
  std::string message;      ///< lower case, no full stop
  SourceLocation location;  ///< may be unknown
  ErrorKind kind = ErrorKind::user;
};

template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}

  [[nodiscard]] bool ok() const { return state_.index() == 0; }
  explicit operator bool() const { return ok(); }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T&& operator*() && { return std::move(value()); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }
  [[nodiscard]] T& value() {
    CLEAVE_CHECK(ok(), "value of a failed Result");
    return *std::get_if<0>(&state_);
  }
  [[nodiscard]] const T& value() const {
    CLEAVE_CHECK(ok(), "value of a failed Result");
    return *std::get_if<0>(&state_);
  }
  [[nodiscard]] const Error& error() const {
    CLEAVE_CHECK(!ok(), "error of a good Result");
    return *std::get_if<1>(&state_);
  }

 private:
  std::variant<T, Error> state_;
};

class [[nodiscard]] Status {
 public:
  Status() = default;  ///< success
  Status(Error error) : error_(std::move(error)) {}
  [[nodiscard]] bool ok() const { return !error_; }
  explicit operator bool() const { return ok(); }
  [[nodiscard]] const Error& error() const {
    CLEAVE_CHECK(error_.has_value(), "error of a good Status");
    return *error_;
  }

 private:
  std::optional<Error> error_;
};

}  // namespace cleave
