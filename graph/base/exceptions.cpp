#include "graph/base/exceptions.h"

#include <exception>
#include <new>
#include <string>

#include "graph/base/boundary.h"
#include "graph/base/stop.h"
#include "graph/base/units.h"

namespace cleave::detail {

Error out_of_memory(const std::bad_alloc& thrown) {
  const auto* sized = dynamic_cast<const OutOfMemory*>(&thrown);
  if (!sized) return out_of_memory();
  const auto with_size = [&] {
    return Error{"out of memory: " + format_bytes(static_cast<double>(sized->bytes)) + " could not be had", {}, ErrorKind::machine};
  };
  return guard_memory_or(with_size, [] { return out_of_memory(); });
}

Error thrown_by(std::string_view who) {
  try {
    throw;
  } catch (const Stopped&) {
    return {"the run was ended", {}, ErrorKind::machine};
#if defined(__GLIBCXX__)
  } catch (abi::__forced_unwind&) {  // thrown by pthread_exit: no handler may swallow it
    ForeignCall::thread_ended(who);
#endif
  } catch (const std::bad_alloc& thrown) {
    return out_of_memory(thrown);
  } catch (const std::exception& thrown) {
    return {std::string(who) + " threw: " + thrown.what(), {}, ErrorKind::user};
  } catch (...) {
    return {std::string(who) + " threw an exception", {}, ErrorKind::user};
  }
}

}  // namespace cleave::detail
