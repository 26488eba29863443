// Folds diagnostics for people: equal ones become one, the costliest come first, and their number is limited. Output for tools keeps all of
// them.
#pragma once

#include <cstddef>
#include <string>

#include "graph/base/diagnostic.h"

namespace cleave {

/// "1000 times a run: 4.0 GiB out, 1000 B back, about 0.41 s of 0.55 s predicted (machine `h200`, datasheet)".
std::string to_text(const Price& price);

/// Messages with a price that are equal in kind, severity, line, words and cause become one: `(×200)`, with the location of the first and
/// the summed price. Within a kind and severity the costliest stand first. Warnings and remarks beyond `most` (0: no limit) are summarized
/// in one line with their total cost; errors are always kept.
Diagnostics fold(const Diagnostics& diagnostics, std::size_t most);

}  // namespace cleave
