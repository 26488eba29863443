#include "graph/base/thread.h"

#include <new>
#include <system_error>

#include "graph/base/float_environment.h"

namespace cleave {

Result<Thread> Thread::start(std::function<void()> work) {
  std::string why;
  try {
    Thread started;
    started.thread_ = std::thread([work = std::move(work)] {
      const StandardFloats standard;  // replaces the environment inherited from the starting thread
      work();
    });
    return started;
  } catch (const std::system_error& refused) {
    why = refused.code().message();
  } catch (const std::bad_alloc&) {
    why = "out of memory";
  }
  return Error{
      "the system gives no further thread (" + why + "); run less at once, or raise the limit (`ulimit -u`)", {}, ErrorKind::machine};
}

}  // namespace cleave
