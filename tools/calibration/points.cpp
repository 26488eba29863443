#include "tools/calibration/points.h"

#include <time.h>

#include <array>
#include <chrono>
#include <cmath>
#include <cstring>

#include "graph/base/number_text.h"
#include "graph/ops/convert.h"

namespace cleave::calibration {
namespace {

/// Rounds to three digits: more would be noise.
double rounded(double value) {
  return read_double(general_text(value, 3)).value_or(value);
}

void round_all(PointTable& points) {
  for (auto& [size, seconds] : points) seconds = rounded(seconds);
}

void round_all(LinkDirection& link) {
  link.latency_seconds = rounded(link.latency_seconds);
  link.bytes_per_second = rounded(link.bytes_per_second);
  round_all(link.points);
  round_all(link.pageable_points);
}

const PointTable* find_table(const DeviceRates& rates, const std::string& key) {
  const auto found = rates.points.find(key);
  return found == rates.points.end() || found->second.empty() ? nullptr : &found->second;
}

/// Derives the device's overall rates from the tables of products and sums.
void take_rates(DeviceRates& rates) {
  for (int i = 0; i < kDTypeCount; ++i) {
    const auto type = static_cast<DType>(i);
    const PointTable* products = find_table(rates, "matmul/" + std::string(to_string(type)));
    if (!products) continue;
    double& best = rates.flops[static_cast<std::size_t>(i)] = 0;
    for (const auto& [flops, seconds] : *products) best = std::max(best, flops / seconds);
  }
  if (const PointTable* sums = find_table(rates, "add/f32")) rates.bytes_per_second = 12 * sums->back().first / sums->back().second;
}

/// The predicted seconds of the next size, if time keeps growing by the factor between the last two sizes (sizes grow by a constant factor,
/// and the time of some operations by its square or cube). 0 with fewer than two points.
double next_takes(const PointTable& points) {
  if (points.size() < 2) return 0;
  const double last = points.back().second, before = points[points.size() - 2].second;
  return last * std::max(1.0, last / std::max(before, 1e-9));
}

}  // namespace

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

namespace {

double seconds_of(clockid_t clock) {
  timespec time{};
  clock_gettime(clock, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

}  // namespace

double processor_time() {
  return seconds_of(CLOCK_PROCESS_CPUTIME_ID);
}

double thread_time() {
  return seconds_of(CLOCK_THREAD_CPUTIME_ID);
}

double undisturbed(std::vector<double> times) {
  const auto at = times.begin() + static_cast<std::ptrdiff_t>(times.size() / 4);
  std::nth_element(times.begin(), at, times.end());
  return *at;
}

bool stable(std::vector<double> times) {
  constexpr double kClose = 1.05;
  if (times.size() < 5) return false;
  std::sort(times.begin(), times.end());
  return times[times.size() / 2] < kClose * times[times.size() / 8];
}

namespace {

/// Fills matrices with numbers that are largest on the diagonal and decrease with the distance from it.
void fill_matrices(std::byte* data, DType type, std::int64_t count, std::int64_t side, std::int64_t first) {
  dispatch(type, [&](auto zero) {
    using T = decltype(zero);
    if constexpr (std::is_floating_point_v<T>) {
      for (std::int64_t i = 0; i < count; ++i) {
        const std::int64_t at = (first + i) % (side * side), distance = std::abs(at / side - at % side);
        const T value = static_cast<T>(distance == 0 ? static_cast<double>(side) : 1 / (1 + static_cast<double>(distance)));
        std::memcpy(data + i * static_cast<std::int64_t>(sizeof value), &value, sizeof value);
      }
    }
  });
}

}  // namespace

void fill(std::byte* data, DType type, std::int64_t bytes, const Contents& contents, std::int64_t offset) {
  const std::int64_t element = size_of(type), count = bytes / element;
  std::uint64_t state = 20;
  const auto next = [&] {
    state = state * 6364136223846793005U + 1442695040888963407U;
    return state >> 40;  // 24 bits
  };
  if (contents.side > 0) return fill_matrices(data, type, count, contents.side, offset / element);
  if (contents.below != 0) {
    for (std::int64_t i = 0; i < count; ++i) {
      const auto drawn = static_cast<std::int32_t>(((next() << 24U) ^ next()) % static_cast<std::uint64_t>(std::abs(contents.below)));
      const std::int32_t index = contents.below > 0 ? drawn : -1 - drawn;
      std::memcpy(data + i * element, &index, sizeof index);
    }
    return;
  }
  // One piece of random numbers, longer than any sorted sample, followed by copies of it.
  const std::int64_t piece = std::min<std::int64_t>(count, 1 << 22);
  dispatch(type, [&](auto zero) {
    using T = decltype(zero);
    for (std::int64_t i = 0; i < piece; ++i) {
      T value;
      if constexpr (std::is_same_v<T, bool>) {
        value = next() % 2 == 1;
      } else if constexpr (std::is_integral_v<T>) {
        value = static_cast<T>(1 + next() % 9);
      } else {
        value = ops::convert<T>(0.1 + 0.8 * static_cast<double>(next()) * 0x1p-24);
      }
      std::memcpy(data + i * element, &value, sizeof value);
    }
  });
  for (std::int64_t done = piece; done < count; done += piece)
    std::memcpy(data + done * element, data, static_cast<std::size_t>(std::min(piece, count - done) * element));
}

Course::Course(const CalibrationOptions& options, double seconds) : options_(options), end_(now() + seconds) {}

void Course::say(std::string_view what, double part) const {
  if (options_.progress) options_.progress(what, part);
}

Status measure_table(const Table& table, const SecondsOf& seconds_of, double added, DeviceRates& rates) {
  constexpr double kLong = 0.12;    ///< seconds of one call: a call eight times as large would take about a second
  constexpr double kLongest = 1.5;  ///< seconds that the next call may be expected to take
  PointTable points;
  for (const std::int64_t elements : table.elements) {
    const std::optional<Sample> call = table.sample(elements);
    if (!call) continue;
    const double size = std::round(call->work.cost.size());
    if (size <= 0 || (!points.empty() && size <= points.back().first)) continue;
    const Result<std::optional<double>> seconds = seconds_of(*call, table);
    if (!seconds) return seconds.error();
    if (!*seconds) break;
    points.emplace_back(size, **seconds + added);
    if (**seconds > kLong || next_takes(points) > kLongest) break;
  }
  // More work does not take less time. Exceptions: products of other sides may use another algorithm, and long arrays are printed only in
  // part.
  const bool grows = table.rows == 0 && table.op->cost_class != CostClass::bookkeeping;
  for (std::size_t i = 1; grows && i < points.size(); ++i) points[i].second = std::max(points[i].second, points[i - 1].second);
  if (points.empty()) return {};
  PointTable& known = rates.points[table.key()];
  for (auto& [size, seconds] : points) {
    const auto before = std::find_if(known.begin(), known.end(), [size = size](const auto& point) { return point.first == size; });
    if (before != known.end()) seconds = std::min(seconds, before->second);
  }
  if (points.size() >= known.size()) known = std::move(points);
  return {};
}

void tidy(DeviceRates& rates) {
  take_rates(rates);
  const auto rate = [&](DType type) -> double& { return rates.flops[static_cast<std::size_t>(type)]; };
  for (double& each : rates.flops) each = rounded(each);
  rates.bytes_per_second = rounded(rates.bytes_per_second);
  for (double* each : {&rates.overhead_seconds, &rates.run_seconds, &rates.trip_seconds}) *each = rounded(*each);
  for (auto& [key, points] : rates.points) round_all(points);
  round_all(rates.host_to_accelerator);
  round_all(rates.accelerator_to_host);
  if (!find_table(rates, "matmul/bool")) rate(DType::boolean) = rate(DType::u8);
}

}  // namespace cleave::calibration
