#include "executor/api/save_on_the_way.h"

#include "executor/arguments/saved_states.h"

namespace cleave::runtime {

void save_on_the_way(const SavePoints& points, Executor& executor, const std::string& model, const std::string& path) {
  points.hook->save = [names = points.values, &executor, model, path](std::int64_t trips, std::span<const Array> values) {
    SavedPosition position = executor.mark_log();
    position.trip = trips;
    std::vector<std::pair<std::string, Array>> named;
    for (std::size_t i = 0; i < names.size(); ++i) named.emplace_back(names[i], values[i]);
    return write_states(path, model, std::move(named), position);
  };
}

}  // namespace cleave::runtime
