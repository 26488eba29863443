// The data of a page as plain values, made once from a plan by page_data() and printed by page.cpp. Texts are not escaped.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "partitioner/report/page/page.h"
#include "partitioner/report/page/source_view.h"
#include "partitioner/report/page/timeline.h"

namespace cleave::planner {

/// A figure about the whole plan.
struct PageFact {
  std::string name, value, remark;
};

struct PageCell {
  std::string text;
  double number = std::numeric_limits<double>::quiet_NaN();  ///< the key by which the column is sorted; NaN: sorted by the text
  std::string link;                                          ///< the id of the link's target; empty: no link
  std::string kind;                                          ///< a class that the style sheet knows: "host", "accelerator"
};

struct PageRow {
  std::string id;  ///< empty: no link leads here
  std::vector<PageCell> cells;
};

struct PageTable {
  std::string id, title, about;      ///< `about`: an explanation of the rows for readers who do not know them
  std::vector<std::string> columns;  ///< a leading `#` marks numbers, which are aligned to the right
  std::vector<PageRow> rows;
  std::size_t left_out = 0;  ///< number of rows not shown; all are cheaper than those shown
};

struct PageData {
  std::string title, machine, headline;
  std::vector<PageFact> facts;
  std::vector<std::string> remarks;
  SourceView source;
  Timeline timeline;              ///< with observed times, if the plan has a profile
  Timeline unobserved;            ///< without observed times; no charts if there is no profile
  std::vector<PageTable> tables;  ///< only tables that have rows
};

PageData page_data(const Plan& plan, const PageExtras& extras);

}  // namespace cleave::planner
