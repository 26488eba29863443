// Table: rows of cells for people, aligned by their widest cell; of many rows the weightiest are shown, and what the rest sums to.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace cleave::planner {

inline constexpr std::size_t kUsualRows = 20;  ///< of one table, unless someone asks for more or fewer

class Table {
 public:
  /// A cell is shown on one line, whatever names it holds.
  void add(double seconds, std::vector<std::string> cells);
  /// In the order they were added; if there are more than `most`, those that take longest, longest first, and a line about the others.
  [[nodiscard]] std::string text(std::size_t most) const;

 private:
  struct Row {
    double seconds = 0;
    std::vector<std::string> cells;
  };
  std::vector<Row> rows_;
};

/// "  and 41 more, 3.2 ms in sum (--all shows them)".
std::string left_out(std::size_t rows, double seconds);

}  // namespace cleave::planner
