// Table: rows of cells for people, aligned by the widest cell of each column. If there are too many rows, it shows the costliest and a
// total of the others.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace cleave::planner {

inline constexpr std::size_t kUsualRows = 20;  ///< the default number of rows of one table

class Table {
 public:
  /// Adds a row. Each cell is printed on one line, with control characters in names escaped.
  void add(double seconds, std::vector<std::string> cells);
  /// The rows in the order in which they were added. If there are more than `most`, the costliest ones, costliest first, and a line about
  /// the others.
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
