// The report of rendezvous_bench: all its measurements, as JSON and as a table for readers.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "tools/bench/rendezvous.h"

namespace cleave::bench {

/// Measures all rows whose name contains `only`.
nlohmann::ordered_json rendezvous_report(StubSetting setting, const std::string& only = {});
std::string rendezvous_table(const nlohmann::ordered_json& report);

}  // namespace cleave::bench
