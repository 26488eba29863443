#include "executor/report/log_csv.h"

#include <sys/stat.h>

#include <charconv>
#include <string_view>
#include <utility>

#include "graph/base/mapped_file.h"
#include "graph/base/number_text.h"
#include "graph/base/output_file.h"

namespace cleave {
namespace {

/// A label as a cell: in quotes if it holds what separates cells.
std::string csv_cell(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string cell = "\"";
  for (const char c : text) cell += c == '"' ? std::string("\"\"") : std::string(1, c);
  return cell + "\"";
}

std::string header_of(const std::vector<std::string>& labels) {
  std::string header = "step,seconds";
  for (const std::string& label : labels) header += "," + csv_cell(label);
  return header + "\n";
}

/// The header and the rows of the steps before `from`. A last row without its end was cut off with the process.
std::string rows_before(std::string_view text, std::size_t header, std::int64_t from) {
  std::string kept(text.substr(0, header));
  for (std::string_view rest = text.substr(header); rest.find('\n') != std::string_view::npos;) {
    const std::string_view row = rest.substr(0, rest.find('\n') + 1);
    std::int64_t step = -1;
    const auto [end, code] = std::from_chars(row.data(), row.data() + row.size(), step);
    if (code == std::errc() && *end == ',' && step < from) kept += row;
    rest.remove_prefix(row.size());
  }
  return kept;
}

/// Takes the rows of the steps from `from` on out of a file of an earlier run. False: there is no such file.
Result<bool> go_back(const std::string& path, const std::string& header, std::int64_t from) {
  struct stat found {};
  if (::stat(path.c_str(), &found) != 0 || !S_ISREG(found.st_mode) || found.st_size == 0) return false;
  const auto file = MappedFile::open(path);
  if (!file) return file.error();
  const std::string text((*file)->bytes());
  if (!text.starts_with(header)) {
    return Error{path + ": its columns are `" + text.substr(0, text.find('\n')) + "`, and those of this program `" +
                     header.substr(0, header.size() - 1) + "`; a run that continues goes on in the file",
                 {},
                 ErrorKind::file};
  }
  auto anew = OutputFile::create(path);
  if (!anew) return anew.error();
  if (Status written = anew->write(rows_before(text, header.size(), from)); !written) return written.error();
  if (Status committed = anew->commit(); !committed) return committed.error();
  return true;
}

std::string number_of(const Array& scalar) {
  switch (scalar.dtype()) {
    case DType::f64: return shortest_text(*scalar.data<double>());
    case DType::f32: return shortest_text(*scalar.data<float>());
    default: return to_string(scalar);
  }
}

}  // namespace

Result<LogCsv> LogCsv::create(const std::string& path, const std::vector<std::string>& labels, std::optional<std::int64_t> from) {
  const std::string header = header_of(labels);
  bool goes_on = false;
  if (from) {
    Result<bool> back = go_back(path, header, *from);
    if (!back) return back.error();
    goes_on = *back;
  }
  Result<AppendedFile> file = AppendedFile::open(path, !goes_on);
  if (!file) return file.error();
  if (!goes_on)
    if (Status written = file->write(header); !written) return written.error();
  return LogCsv(*std::move(file), labels);
}

Status LogCsv::add(const LoggedStep& step) {
  std::string row = std::to_string(step.step) + "," + fixed_text(step.seconds, 6);
  for (const std::string& label : labels_) {
    const Array* value = step.value(label);
    row += "," + (value ? number_of(*value) : std::string());
  }
  return file_.write(row + "\n");
}

}  // namespace cleave
