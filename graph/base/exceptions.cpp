#include "graph/base/exceptions.h"

#include <exception>
#include <new>
#include <string>

namespace cleave {

Error thrown_by(std::string_view who) {
  const std::string name(who);
  try {
    throw;
  } catch (const std::bad_alloc&) {
    return {name + " threw: out of memory", {}, ErrorKind::machine};
  } catch (const std::exception& thrown) {
    return {name + " threw: " + thrown.what(), {}, ErrorKind::user};
  } catch (...) {
    return {name + " threw an exception", {}, ErrorKind::user};
  }
}

}  // namespace cleave
