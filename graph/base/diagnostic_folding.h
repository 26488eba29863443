// Diagnostics as people want to read them: what is equal once, the costliest first, and no more than can be read. For tools all are kept.
#pragma once

#include <cstddef>
#include <string>

#include "graph/base/diagnostic.h"

namespace cleave {

/// "1000 times a run: 4.0 GiB out, 1000 B back, about 0.41 s of 0.55 s predicted (machine `h200`, datasheet)".
std::string to_text(const Price& price);

/// Messages with a price that are equal in kind, severity, line, words and cause become one: `(×200)`, with the first one's place and the
/// price of all. Within a kind and severity the costliest stand first. Of more than `most` warnings and remarks (0: no limit) the rest
/// are one line, which says what they cost together; errors are always kept.
Diagnostics fold(const Diagnostics& diagnostics, std::size_t most);

}  // namespace cleave
