#include "partitioner/machine/op_costs.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "partitioner/machine/point_key.h"

namespace cleave::planner {
namespace {

constexpr const char* kOneThread = "one_thread";
constexpr const char* kFused = "fused";

/// The element type that determines the rate: that of the first floating operand or result, else of the first integer operand, else of the
/// first result.
DType working_type(std::span<const TensorType> inputs, std::span<const TensorType> results) {
  for (const std::span<const TensorType> types : {inputs, results}) {
    for (const TensorType& type : types)
      if (is_floating(type.dtype)) return type.dtype;
  }
  for (const TensorType& input : inputs) {
    if (input.dtype != DType::boolean) return input.dtype;
  }
  if (!results.empty()) return results[0].dtype;
  return inputs.empty() ? DType::f32 : inputs[0].dtype;
}

Cost cost_of(const OpDef& op, std::span<const TensorType> inputs, std::span<const TensorType> results, const Attributes& attributes) {
  if (op.cost) return op.cost(inputs, results, attributes);
  Cost cost;
  for (const TensorType& type : inputs) cost.bytes += static_cast<double>(type.bytes());
  for (const TensorType& type : results) cost.bytes += static_cast<double>(type.bytes());
  return cost;
}

/// Other types whose times are similar to a type's, the nearest first.
std::vector<DType> near_types(DType type) {
  using enum DType;
  switch (type) {
    case f32: return {f64, bf16, f16, i32, i64};
    case f64: return {f32, i64, i32};
    case f16: return {bf16, f32, f64};
    case bf16: return {f16, f32, f64};
    case i32: return {i64, f32, f64};
    case i64: return {i32, f64, f32};
    case u8: return {boolean, i32, i64, f32};
    case boolean: return {u8, i32, i64, f32};
    default: return {};
  }
  return {};
}

/// The type whose tables are used for integer types that are never measured: one of the same size, or of the next larger size.
DType measured_as(DType type) {
  using enum DType;
  switch (type) {
    case i8: return u8;
    case i16:
    case u16:
    case u32: return i32;
    case u64: return i64;
    default: return type;
  }
}

double between(double from, double to, double part) {
  return from + (to - from) * part;
}

double mean_of(const std::vector<const PointTable*>& tables, double size) {
  double logarithm = 0;
  for (const PointTable* points : tables) logarithm += std::log(seconds_at(*points, size));
  return std::exp(logarithm / static_cast<double>(std::max<std::size_t>(1, tables.size())));
}

/// The seconds by table `with`. Beyond its last point, further work takes at least as long as in table `without`, since a speed reached in
/// a cache does not continue beyond it.
double seconds_with(const PointTable& with, const PointTable& without, double size) {
  const double own = seconds_at(with, size), end = with.back().first;
  if (size <= end) return own;
  return std::max(own, with.back().second + seconds_at(without, size) - seconds_at(without, end));
}

double ratio_of(const std::vector<std::pair<const PointTable*, const PointTable*>>& ratio, double size) {
  double logarithm = 0;
  for (const auto& [with, without] : ratio) logarithm += std::log(seconds_with(*with, *without, size) / seconds_at(*without, size));
  return std::exp(logarithm / static_cast<double>(std::max<std::size_t>(1, ratio.size())));
}

/// Interpolates linearly between the two measured extents around `extent`: launch, sides and surfaces of a product are all linear in it.
/// Beyond the last extent the time grows in proportion; below the first it stays constant.
template <class Ends, class SecondsOf>
double between_extents(const Ends& ends, double extent, const SecondsOf& seconds_of) {
  const auto above = ends.lower_bound(extent);
  if (above == ends.end()) return seconds_of(*std::prev(above)) * (extent / std::prev(above)->first);
  if (above == ends.begin() || above->first == extent) return seconds_of(*above);
  const auto low = std::prev(above);
  return between(seconds_of(*low), seconds_of(*above), (extent - low->first) / (above->first - low->first));
}

/// Seconds of a product by its rows, columns and arithmetic operations (`size`).
template <class Sides>
double by_sides(const Sides& sides, double size, const OpWork& work) {
  const double depth = size / (work.rows * work.columns);
  return between_extents(sides, work.rows, [&](const auto& row) {
    return between_extents(row.second, work.columns,
                           [&](const auto& cell) { return seconds_at(*cell.second, depth * row.first * cell.first); });
  });
}

}  // namespace

std::string_view to_string(CostSource source) {
  switch (source) {
    case CostSource::none: break;
    case CostSource::measured: return "measured";
    case CostSource::by_class: return "class";
    case CostSource::by_rate: return "rate";
    case CostSource::observed: return "observed";
    case CostSource::given: return "given";
  }
  return "none";
}

OpWork work_of(const OpDef& op, std::span<const TensorType> inputs, std::span<const TensorType> results, const Attributes& attributes) {
  // Products work in the type of their factors, whatever the type in which quantized ones are rescaled.
  const bool factors = op.cost_class == CostClass::product && !inputs.empty();
  OpWork work{&op, factors ? inputs[0].dtype : working_type(inputs, results), cost_of(op, inputs, results, attributes), {}, 0, 0, 1};
  if (op.form) work.form = op.form(inputs, results, attributes);
  if (op.cost_class == CostClass::product && work.cost.flops > 0) {
    work.columns = inputs[1].rank() > 1 ? static_cast<double>(inputs[1].shape.back()) : 1;
    work.rows = work.cost.flops / (2 * static_cast<double>(inputs[0].shape.back()) * work.columns * std::max(1.0, work.form.repeats));
  }
  if (op.elementwise()) {
    std::int64_t size = size_of(results[0].dtype);
    for (const TensorType& input : inputs) size += size_of(input.dtype);
    const double all = static_cast<double>(results[0].elements()) * static_cast<double>(size);
    if (all > 0) work.traffic = std::min(1.0, work.cost.bytes / all);
  }
  return work;
}

OpCosts::OpCosts(const DeviceRates& rates, int threads) : rates_(rates), threads_(threads) {
  read_tables();
}

void OpCosts::read_tables() {
  for (const auto& [text, points] : rates_.points) {
    const std::optional<PointKey> key = parse_point_key(text);
    if (!key || !key->type) continue;
    if (key->rows > 0) {
      sides_[{key->op, *key->type}][key->rows][key->columns] = &points;
      continue;
    }
    tables_[key->variant][{key->op, *key->type}] = &points;
    const bool reads = key->variant.empty() && key->op->cost_class == CostClass::reduction && key->type == DType::f32 && points.size() > 3;
    if (reads && (!reading_ || points.back().second / points.back().first < reading_->back().second / reading_->back().first))
      reading_ = &points;
    if (!key->form.empty()) extents_[key->form][key->extent] = key->variant;
  }
}

const PointTable* OpCosts::table(const Key& key, const std::string& variant) const {
  const auto tables = tables_.find(variant);
  if (tables == tables_.end()) return nullptr;
  const auto found = tables->second.find(key);
  return found == tables->second.end() ? nullptr : found->second;
}

/// The tables of the operations of the same class with this type.
OpCosts::Tables OpCosts::of_class(const Key& key, const std::string& variant) const {
  Tables all;
  const auto tables = tables_.find(variant);
  if (tables == tables_.end() || key.first->cost_class == CostClass::bookkeeping) return all;
  for (const auto& [other, points] : tables->second)
    if (other.first->cost_class == key.first->cost_class && other.second == key.second) all.push_back(points);
  return all;
}

/// The ratio of the variant's times to those of the plain tables: of the operation, else of its class; with its type, else with a near one.
OpCosts::Ratio OpCosts::ratio(const Key& key, const std::string& variant) const {
  std::vector<DType> types = near_types(key.second);
  types.insert(types.begin(), key.second);
  for (const DType type : types) {
    const PointTable *own = table({key.first, type}, variant), *plain = table({key.first, type}, "");
    if (own && plain) return {{own, plain}};
  }
  const auto tables = tables_.find(variant);
  if (tables == tables_.end()) return {};
  for (const DType type : types) {
    Ratio all;
    for (const auto& [other, points] : tables->second) {
      const PointTable* plain = table(other, "");
      if (other.first->cost_class == key.first->cost_class && other.second == type && plain) all.emplace_back(points, plain);
    }
    if (!all.empty()) return all;
  }
  return {};
}

void OpCosts::find_seconds(const Key& key, Known& known) const {
  if (const PointTable* own = table(key, "")) {
    known.source = CostSource::measured;
    known.seconds = {own};
    return;
  }
  const auto plain = tables_.find("");
  if (plain == tables_.end()) return;
  known.source = CostSource::by_class;
  for (const DType type : near_types(key.second)) {
    const PointTable* other = table({key.first, type}, "");
    if (!other) continue;
    // Scale by the ratio for operations of the class that were measured with both types.
    for (const auto& [mate, points] : plain->second) {
      const PointTable* with_other = table({mate.first, type}, "");
      if (mate.first->cost_class == key.first->cost_class && mate.second == key.second && with_other)
        known.scale.emplace_back(points, with_other);
    }
    if (known.scale.empty()) continue;
    known.seconds = {other};
    return;
  }
  known.seconds = of_class(key, "");
  if (known.seconds.empty()) known.source = CostSource::by_rate;
}

void OpCosts::find_forms(const Key& key, Known& known) const {
  for (const auto& [form, variants] : extents_) {
    for (const auto& [extent, variant] : variants) {
      Ratio found = ratio(key, variant);
      if (!found.empty()) known.forms[form].push_back({extent, std::move(found)});
    }
  }
}

OpCosts::Known OpCosts::find(const Key& wanted) const {
  const Key key = table(wanted, "") ? wanted : Key{wanted.first, measured_as(wanted.second)};
  Known known;
  find_seconds(key, known);
  if (known.seconds.empty()) return known;
  find_forms(key, known);
  known.one_thread = ratio(key, kOneThread);
  if (const auto found = sides_.find(key); found != sides_.end()) known.sides = &found->second;
  if (const PointTable* own = table(key, kFused)) known.computing = {own};
  if (known.computing.empty()) known.computing = of_class(key, kFused);
  for (const DType type : near_types(key.second))
    if (known.computing.empty()) known.computing = of_class({key.first, type}, kFused);
  return known;
}

const OpCosts::Known& OpCosts::known(const Key& key) const {
  const auto found = cache_.find(key);
  return found != cache_.end() ? found->second : cache_.emplace(key, find(key)).first->second;
}

double OpCosts::plain_seconds(const Known& known, double size) {
  return mean_of(known.seconds, size) * (known.scale.empty() ? 1 : ratio_of(known.scale, size));
}

/// Interpolates between the measured extents by their logarithms; at `full` the form costs nothing extra.
double OpCosts::in_form(const Known& known, double size, const OpWork& work) const {
  const WorkForm& form = work.form;
  if (known.sides && work.rows > 0) return by_sides(*known.sides, size, work);
  const double plain = plain_seconds(known, size);
  const auto found = known.forms.find(form.name);
  if (form.name.empty() || found == known.forms.end()) return plain;
  std::vector<std::pair<double, const Ratio*>> ends;
  for (const Form& each : found->second)
    if (form.full <= 0 || each.extent < form.full) ends.emplace_back(each.extent, &each.ratio);
  if (ends.empty()) return plain;
  const auto ratio_at = [&](std::size_t i) { return std::log(ratio_of(*ends[i].second, size)); };
  if (form.extent <= ends.front().first) return plain * std::exp(ratio_at(0));
  std::size_t above = 0;
  while (above < ends.size() && ends[above].first < form.extent) ++above;
  const double low = ends[above - 1].first;
  const double high = above < ends.size() ? ends[above].first : form.full;
  if (high <= low) return plain * std::exp(ratio_at(above - 1));  // there is no larger extent to interpolate to
  const double part = std::min(1.0, std::log(form.extent / low) / std::log(high / low));
  return plain * std::exp(between(ratio_at(above - 1), above < ends.size() ? ratio_at(above) : 0, part));
}

/// Converts `seconds`, measured with as many threads as the file says, to fewer threads: only the parallel share of the time grows.
double OpCosts::with_threads(const Known& known, double seconds, double size, double threads) const {
  const double measured = rates_.threads;
  if (threads <= 0 || measured <= 1 || threads >= measured || known.one_thread.empty()) return seconds;
  const double alone = std::max(1.0, ratio_of(known.one_thread, size));
  return seconds * (1 + (alone - 1) * (1 / threads - 1 / measured) / (1 - 1 / measured));
}

OpCost OpCosts::cost(const OpWork& work) const {
  const Known& known = this->known({work.op, work.type});
  if (known.seconds.empty()) return {by_rate(work, rates_.flops[static_cast<std::size_t>(work.type)]), CostSource::by_rate};
  const double pieces = std::max(1.0, work.form.repeats), size = work.cost.size() / pieces;
  double seconds = with_threads(known, in_form(known, size, work), size, threads_);
  if (work.traffic < 1) {
    const double waiting = seconds - plain_seconds(known, 0) - computing(known, work);
    seconds -= std::max(0.0, waiting) * (1 - work.traffic);
  }
  if (pieces > 1) {
    // One kernel whose threads share the pieces, even if each piece is too small to be split itself.
    const double threads = threads_ > 0 && rates_.threads > 0 ? std::min(threads_, static_cast<double>(rates_.threads))
                                                              : std::max(1.0, static_cast<double>(rates_.threads));
    const double start = std::min(seconds, plain_seconds(known, 0));
    const double alone = with_threads(known, in_form(known, size, work), size, 1);
    const double shared = (alone - start) / std::min(threads, pieces);
    // One piece may fit the caches although all pieces together do not: hence the memory traffic.
    seconds = start + pieces * std::max(0.0, std::min(seconds - start, shared)) + work.cost.bytes / rates_.bytes_per_second;
  }
  if (known.source == CostSource::by_class) seconds = std::max(seconds, memory_floor(work));
  return {seconds, known.source};
}

/// Lower limit on a time derived from other operations: the time to read all bytes, for operations that go through their operands
/// sequentially.
double OpCosts::memory_floor(const OpWork& work) const {
  const CostClass kind = work.op->cost_class;
  const bool through = work.op->elementwise() || kind == CostClass::reduction || kind == CostClass::scan || kind == CostClass::softmax;
  return reading_ && through && work.cost.bytes > 0 ? work.cost.bytes * seconds_a_byte(work.cost.bytes) : 0;
}

/// Seconds per byte to read data again after `distance` other bytes were accessed (reuse distance).
double OpCosts::seconds_a_byte(double distance) const {
  constexpr double kBytes = 4;
  const double size = std::clamp(distance / kBytes, (*reading_)[1].first, reading_->back().first);
  return std::max(0.0, seconds_at(*reading_, size) - seconds_at(*reading_, 0)) / (kBytes * size);
}

double OpCosts::from_memory(double seconds, const Operands& operands) const {
  if (!reading_) return seconds;
  double own = 0, hot = 0, cold = 0;
  for (const auto& [bytes, distance] : operands) own += bytes;
  for (const auto& [bytes, distance] : operands) {
    hot += bytes * seconds_a_byte(own);
    cold += bytes * std::max(seconds_a_byte(own), seconds_a_byte(std::max(own, distance)));
  }
  const double start = std::min(seconds, rates_.overhead_seconds);
  return std::max(seconds, std::min(seconds + cold - hot, start + cold));
}

/// The least seconds per additional unit of size, beyond the first point: the rate at which memory is not waited for.
double OpCosts::best_rate(const Known& known, const OpWork& work) const {
  const PointTable& sizes = *known.seconds.front();
  const double first = in_form(known, sizes.front().first, work);
  double best = first / sizes.front().first;
  for (std::size_t i = 1; i < sizes.size(); ++i)
    best = std::min(best, std::max(0.0, in_form(known, sizes[i].first, work) - first) / (sizes[i].first - sizes.front().first));
  return best;
}

double OpCosts::computing(const Known& known, const OpWork& work) const {
  if (known.computing.empty()) return work.cost.size() * best_rate(known, work);
  const double threads = rates_.threads > 0 && threads_ > 0 ? std::max(1.0, rates_.threads / threads_) : 1;
  // Another form is slower by the same factor as outside of a fused kernel, for data in the caches.
  const double small = known.computing.front()->front().first;
  const double longer = work.form.name.empty() ? 1 : std::max(1.0, in_form(known, small, work) / plain_seconds(known, small));
  return mean_of(known.computing, work.cost.size()) * threads * longer;
}

double OpCosts::computing_seconds(const OpWork& work) const {
  const Known& known = this->known({work.op, work.type});
  if (!known.seconds.empty()) return computing(known, work);
  const double rate = rates_.flops[static_cast<std::size_t>(work.type)] * rates_.efficiency_of(work.op->cost_class).flops;
  return rate > 0 ? work.cost.flops / rate : 0;
}

std::optional<double> OpCosts::by_key(const OpDef& op, std::string_view type, const OpWork& work) const {
  if (rates_.points.empty()) return std::nullopt;
  const auto table = rates_.points.find(std::string(op.name) + "/" + std::string(type));
  return table == rates_.points.end() ? std::nullopt : std::optional(seconds_at(table->second, work.cost.size()));
}

double OpCosts::by_rate(const OpWork& work, double flops) const {
  const Efficiency& part = rates_.efficiency_of(work.op->cost_class);
  const double computing = flops > 0 ? work.cost.flops / (flops * part.flops) : 0;
  return rates_.overhead_seconds + std::max(computing, work.cost.bytes / (rates_.bytes_per_second * part.bytes));
}

}  // namespace cleave::planner
