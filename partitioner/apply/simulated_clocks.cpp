#include "partitioner/apply/simulated_clocks.h"

namespace cleave::planner {

void SimulatedClocks::repeat_since(const ClockState& begin, double factor, bool settled) {
  for (std::size_t i = 0; i < state_.now.size(); ++i) {
    Moment& now = state_.now[i];
    const double period = now.seconds - begin.now[i].seconds;
    now = path_ ? path_->repeated(now, factor, period, settled ? period : 0) : Moment{now.seconds + factor * period};
  }
  state_.waited += factor * (state_.waited - begin.waited);
  for (std::size_t i = 0; i < state_.idle.size(); ++i) state_.idle[i] += factor * (state_.idle[i] - begin.idle[i]);
  state_.workers += factor * (state_.workers - begin.workers);
  for (std::size_t i = 0; i < state_.busy.size(); ++i) state_.busy[i] += factor * (state_.busy[i] - begin.busy[i]);
}

void SimulatedClocks::add_frame(NodeId control, std::size_t frame, const ClockState& start) {
  for (std::size_t r = 0; r < state_.busy.size(); ++r) {
    const double busy = state_.busy[r] - start.busy[r];
    if (busy > 0)
      recorder_->add({ScheduledPiece::What::inner, resource_of(r), control, frame, start.now[r].seconds, state_.now[r].seconds, busy});
  }
}

Moment SimulatedClocks::end() const {
  Moment end;
  for (std::size_t r = 0; r < state_.now.size(); ++r)
    if (!is_driver(r)) end = later(end, state_.now[r]);
  return end;
}

}  // namespace cleave::planner
