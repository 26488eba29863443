#include "partitioner/report/table.h"

#include <algorithm>

#include "graph/base/units.h"
#include "graph/base/utf8.h"

namespace cleave::planner {

std::string left_out(std::size_t rows, double seconds) {
  return "  and " + std::to_string(rows) + " more, " + format_seconds(seconds) + " in sum (--all shows " + (rows == 1 ? "it" : "them") +
         ")\n";
}

void Table::add(double seconds, std::vector<std::string> cells) {
  for (std::string& cell : cells) cell = escape_controls_one_line(cell);
  rows_.push_back({seconds, std::move(cells)});
}

std::string Table::text(std::size_t most) const {
  std::vector<const Row*> shown;
  for (const Row& row : rows_) shown.push_back(&row);
  double rest = 0;
  if (shown.size() > most) {
    std::stable_sort(shown.begin(), shown.end(), [](const Row* a, const Row* b) { return a->seconds > b->seconds; });
    for (std::size_t r = most; r < shown.size(); ++r) rest += shown[r]->seconds;
    shown.resize(most);
  }
  std::vector<std::size_t> widths;
  for (const Row* row : shown) {
    widths.resize(std::max(widths.size(), row->cells.size()), 0);
    for (std::size_t c = 0; c < row->cells.size(); ++c) widths[c] = std::max(widths[c], row->cells[c].size());
  }
  std::string text;
  for (const Row* row : shown) {
    std::string line = " ";
    for (std::size_t c = 0; c < row->cells.size(); ++c)
      line += " " + row->cells[c] + std::string(widths[c] - row->cells[c].size() + 1, ' ');
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  }
  return text + (rows_.size() > shown.size() ? left_out(rows_.size() - shown.size(), rest) : "");
}

}  // namespace cleave::planner
