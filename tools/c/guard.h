// The edge between C and the C++ API: errors become a status and the thread's message, exceptions never leave.
#pragma once

#include <cleave/c.h>

#include <new>
#include <string>
#include <utility>

#include "graph/base/diagnostic.h"
#include "graph/base/exceptions.h"
#include "graph/base/result.h"

namespace cleave::c {

/// Keeps the error's text for cleave_error_message(), and gives its status.
cleave_status failed(const Error& error);

/// Makes these errors the text of cleave_error_message().
void tell(const Diagnostics& errors);

/// The status of `work`, which gives a Status.
template <class Work>
cleave_status guarded(Work&& work) {
  const Status status = detail::guard_memory([&]() -> Status { return work(); });
  return status ? CLEAVE_OK : failed(status.error());
}

/// An Error for a null argument.
Status need(const void* argument, const char* name);

}  // namespace cleave::c
