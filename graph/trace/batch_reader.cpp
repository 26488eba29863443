#include "graph/trace/batch_reader.h"

#include <limits>

#include "graph/trace/composer.h"

namespace cleave::detail {
namespace {

constexpr const char* kOrderReason = "the order of `batches` is drawn on the host";
constexpr const char* kHostReason = "`batches` reads rows of an input where the input is";

std::string rows_text(std::int64_t rows) {
  return std::to_string(rows) + (rows == 1 ? " row" : " rows");
}

}  // namespace

BatchReader::BatchReader(Tracer& tracer, std::vector<Source> sources, const BatchOptions& options, SourceLocation location,
                         SourceLocation size)
    : tracer_(tracer), sources_(std::move(sources)), options_(options), location_(std::move(location)) {
  if (!check(size) || !options.shuffle) return;
  const Operand pass = tracer_.count_entries(location_);
  // No accelerator has a kernel for the order, whatever the place of the loop is.
  tracer_.push_place(tracer_.placed() ? Pin{} : Pin{Side::host, kOrderReason});
  order_ = tracer_.call(op::random_permutation, {{pass}}, {{"n", rows_}, {"seed", *options.shuffle}}, location_);
  tracer_.pop_place();
}

/// Sets `rows_`, unless there is a mistake.
bool BatchReader::check(const SourceLocation& size) {
  std::int64_t rows = 0;
  for (const Source& source : sources_) {
    const TensorType* type = tracer_.type(source.array);
    if (!type) return false;  // reported
    const std::string name = tracer_.name_of(source.array), what = (name.empty() ? "an array" : "`" + name + "`") + " of `batches` ";
    const auto refuse = [&](const std::string& why) {
      tracer_.error(DiagnosticKind::shape, source.location, what + why);
      return false;
    };
    if (source.array.literal || type->rank() == 0 || type->shape[0] == 0) return refuse("is " + to_string(*type) + ", which has no rows");
    if (type->shape[0] > std::numeric_limits<std::int32_t>::max()) return refuse("has more than 2147483647 rows");
    if (rows != 0 && type->shape[0] != rows)
      return refuse("has " + rows_text(type->shape[0]) + ", but the first one has " + std::to_string(rows));
    rows = type->shape[0];
  }
  if (sources_.empty()) {
    tracer_.error(DiagnosticKind::type, location_, "`batches` reads at least one array");
    return false;
  }
  if (options_.size < 1 || options_.size > rows) {
    tracer_.error(DiagnosticKind::value, size,
                  "a batch has from 1 to all " + rows_text(rows) + ", so `size` cannot be " + std::to_string(options_.size));
    return false;
  }
  rows_ = rows;
  return true;
}

std::int64_t BatchReader::trips() const {
  return rows_ / options_.size + (pads() ? 1 : 0);
}

std::int64_t BatchReader::rest() const {
  return options_.remainder == Remainder::smaller ? rows_ % options_.size : 0;
}

Operand BatchReader::first_row(const Operand& counter) const {
  Composer c(tracer_, location_);
  return options_.size == 1 ? counter : c.multiply({tracer_, counter}, options_.size).operand();
}

std::vector<Operand> BatchReader::each_source(const Places& places, const Rows& rows) const {
  std::vector<Operand> batch;
  Operand computed[2];  // the places of rows, for the arrays that are read on the host and for the others
  for (const Source& source : sources_) {
    const bool pinned = !tracer_.placed() && tracer_.graph().producer(source.array.value).kind == NodeKind::input;
    if (pinned) tracer_.push_place(Pin{Side::host, kHostReason});
    Operand& at = computed[pinned ? 1 : 0];
    if (at.poisoned()) at = places();
    batch.push_back(rows(source.array, at));
    if (pinned) tracer_.pop_place();
  }
  return batch;
}

std::vector<Operand> BatchReader::slices(const Places& first, std::int64_t count) const {
  Composer c(tracer_, location_);
  const auto places = [&] {
    const Operand begin = first();
    return options_.shuffle ? c(op::dynamic_slice, {{tracer_, order_}, {tracer_, begin}}, {{"sizes", Shape{count}}}).operand() : begin;
  };
  return each_source(places, [&](const Operand& source, const Operand& at) {
    const Part array(tracer_, source);
    if (options_.shuffle) return c(op::take, {array, {tracer_, at}}, {{"axis", std::int64_t{0}}}).operand();
    Parts operands{array, {tracer_, at}};
    operands.resize(static_cast<std::size_t>(array.rank()) + 1, Part(0));
    Shape sizes = array.shape();
    sizes[0] = count;
    return c(op::dynamic_slice, operands, {{"sizes", std::move(sizes)}}).operand();
  });
}

std::vector<Operand> BatchReader::padded(const Operand& counter) const {
  Composer c(tracer_, location_);
  const auto wanted = [&] { return c.add({tracer_, first_row(counter)}, c(op::arange, {}, {{"start", options_.size}})); };
  const auto places = [&] {
    const Part existing = c(op::minimum, {wanted(), Part(rows_ - 1)});
    return (options_.shuffle ? c(op::take, {{tracer_, order_}, existing}) : existing).operand();
  };
  std::vector<Operand> batch = each_source(places, [&](const Operand& source, const Operand& at) {
    return c(op::take, {{tracer_, source}, {tracer_, at}}, {{"axis", std::int64_t{0}}}).operand();
  });
  const Part real = c(op::less, {wanted(), Part(rows_)});
  for (Operand& rows : batch) {
    const Part taken(tracer_, rows);
    Shape column(taken.shape().size(), 1);
    column[0] = options_.size;
    const Part zero = taken.dtype() == DType::boolean ? Part(false) : Part(0);
    rows = c(op::where, {c.reshape(real, std::move(column)), taken, zero}).operand();
  }
  return batch;
}

std::vector<Operand> BatchReader::read(const Operand& counter) const {
  return pads() ? padded(counter) : slices([&] { return first_row(counter); }, options_.size);
}

Operand BatchReader::real_rows(const Operand& counter) const {
  Composer c(tracer_, location_);
  if (!pads()) return make_literal(options_.size);
  return c(op::minimum, {c.subtract(Part(rows_), {tracer_, first_row(counter)}), Part(options_.size)}).operand();
}

std::vector<Operand> BatchReader::read_rest() const {
  return slices([&] { return Operand(make_literal(rows_ - rest())); }, rest());
}

}  // namespace cleave::detail
