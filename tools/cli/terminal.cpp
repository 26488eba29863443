#include "tools/cli/terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <utility>

#include "graph/base/exceptions.h"
#include "graph/base/units.h"
#include "graph/base/utf8.h"

namespace cleave::cli {
namespace {

constexpr std::chrono::milliseconds kSilence(1000), kBetween(250);

std::size_t columns() {
  winsize size{};
  if (::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) return size.ws_col;
  return ::isatty(STDERR_FILENO) != 0 ? 80 : 1000;  // a line that is no terminal's is not wrapped
}

/// Formats a duration: "1 h 4 min", "3 min 20 s", "12 s".
std::string duration(double seconds) {
  const auto whole = static_cast<std::int64_t>(std::llround(std::min(seconds, 1e15)));
  const auto two = [](std::int64_t large, const char* unit, std::int64_t small, const char* small_unit) {
    return std::to_string(large) + unit + (small > 0 ? " " + std::to_string(small) + small_unit : "");
  };
  if (whole >= 86400) return two(whole / 86400, " d", whole % 86400 / 3600, " h");
  if (whole >= 3600) return two(whole / 3600, " h", whole % 3600 / 60, " min");
  if (whole >= 60) return two(whole / 60, " min", whole % 60, " s");
  return std::to_string(whole) + " s";
}

std::string rate(double per_second) {
  char text[48];
  std::snprintf(text, sizeof text, per_second < 10 ? "%.2g a second" : "%.0f a second", per_second);
  return text;
}

}  // namespace

bool shows_progress(const Options& options) {
  return !options.quiet && !options.json && (options.progress || ::isatty(STDERR_FILENO) != 0);
}

void StatusLine::show(std::string_view text) {
  if (!on_) return;
  const std::lock_guard lock(mutex_);
  std::string line = escape_controls_one_line(text);
  std::size_t end = 0;  // cut to the terminal's width: a wrapped line could not be overwritten
  for (std::size_t shown = 0, most = columns() - 1; shown < most && end < line.size(); ++shown) end += utf8_piece(line, end).length;
  line.resize(end);
  std::fputs(("\r" + line + "\033[K").c_str(), stderr);
  std::fflush(stderr);
  shown_ = true;
}

void StatusLine::clear() {
  const std::lock_guard lock(mutex_);
  if (!shown_) return;
  std::fputs("\r\033[K", stderr);
  std::fflush(stderr);
  shown_ = false;
}

std::string ProgressText::at(Clock::time_point now, const std::optional<RunProgress::Step>& step, const std::string& logged,
                             const std::string& transfers) {
  const auto seconds = [](Clock::duration time) { return std::chrono::duration<double>(time).count(); };
  const std::string elapsed = duration(seconds(now - start_));
  if (!step) {
    first_.reset();
    return "running for " + elapsed + logged;
  }
  std::string text = "step " + std::to_string(step->trip) + " of " + std::to_string(step->count) + logged;
  if (!first_ || first_->node != step->node || first_->trip > step->trip || first_->count != step->count) {
    first_ = step;
    first_at_ = now;
  }
  const double taken = seconds(now - first_at_);
  const auto done = static_cast<double>(step->trip - first_->trip);
  if (done <= 0 || taken <= 0) return text + ", " + elapsed + " so far";
  return text + ", " + rate(done / taken) + transfers + ", " + duration(static_cast<double>(step->count - step->trip) * taken / done) +
         " left";
}

ProgressWatch::ProgressWatch(StatusLine& line, const RunProgress& progress, std::int64_t runs, bool on, std::function<std::string()> logged,
                             std::string transfers)
    : line_(line), progress_(progress), runs_(runs), logged_(std::move(logged)), transfers_(std::move(transfers)) {
  if (!line_.on() || !on) return;
  if (Result<Thread> started = Thread::start([this] { watch(); }); started) thread_ = *std::move(started);  // else nothing is shown
}

void ProgressWatch::end() {
  {
    const std::lock_guard lock(mutex_);
    done_ = true;
  }
  over_.notify_all();
  thread_.join();
  line_.clear();
}

void ProgressWatch::watch() {
  // If memory runs out, progress ends but the run continues.
  (void)detail::guard_memory([this] {
    show();
    return Status();
  });
}

void ProgressWatch::show() {
  ProgressText text(ProgressText::Clock::now());
  std::unique_lock lock(mutex_);
  for (auto pause = kSilence / 2; !over_.wait_for(lock, pause, [&] { return done_; }); pause = kBetween) {
    const auto now = ProgressText::Clock::now();
    const std::int64_t run = run_.load(std::memory_order_relaxed) + 1;
    const std::string shown =
        text.at(now, progress_.step(), logged_(), transfers_);  // also before it is shown: the rate counts from the first poll
    const std::string prefix = runs_ > 1 ? "run " + std::to_string(run) + " of " + std::to_string(runs_) + ", " : "";
    if (now - text.start() >= kSilence) line_.show(prefix + shown);
  }
}

}  // namespace cleave::cli
