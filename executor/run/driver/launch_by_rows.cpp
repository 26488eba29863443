#include "executor/run/driver/launch_by_rows.h"

#include <algorithm>

namespace cleave::runtime {

bool launch_by_rows(CommandQueue& queue, const DeviceCommands::Turn& commands, const RowOperation& operation, const Origin& here) {
  const WorkView whole = commands.work[here.node];
  const RowLaunches& rows = commands.rows.at(here.node);
  double done = queue.clock().ready(Stream::compute);
  if (!queue.wait_for(Stream::compute, rows.beside, done, here)) return false;
  for (std::size_t k = 0; k < rows.kernels.size(); ++k) {
    for (const ChunksToDevice* each : operation.coming) {
      const Point& arrival = each->arrival(k);
      done = std::max(done, arrival.time);
      if (!queue.wait_for(Stream::compute, arrival.event, here)) return false;
    }
    const bool unfinished = k + 1 < rows.kernels.size();
    Status status = queue.measured().expect(Stream::compute, {TimelineEvent::What::compute, here.node, {}, {}, unfinished});
    if (status) status = queue.device().launch(rows.kernels[k], here);
    if (!status) return queue.fail(here, status.error());
    done += whole.seconds * operation.shares[k];
  }
  queue.finish(Stream::compute, whole, done);
  queue.show(here.node, done - whole.seconds, done);  // as if the operation ran in one go
  return true;
}

}  // namespace cleave::runtime
