// The data of a page, as plain values: made once from a plan, printed by page.cpp. Texts are as the user's program has them, not escaped.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "partitioner/report/page/page.h"
#include "partitioner/report/page/source_view.h"
#include "partitioner/report/page/timeline.h"

namespace cleave::planner {

/// A number that says something about the whole plan.
struct PageFact {
  std::string name, value, remark;
};

struct PageCell {
  std::string text;
  double number = std::numeric_limits<double>::quiet_NaN();  ///< what the column is sorted by; not a number: by the text
  std::string link;                                          ///< the id that it leads to; empty: none
  std::string kind;                                          ///< a word that the style sheet knows: "host", "accelerator"
};

struct PageRow {
  std::string id;  ///< empty: nothing links here
  std::vector<PageCell> cells;
};

struct PageTable {
  std::string id, title, about;      ///< `about`: what a row is, for those who do not know
  std::vector<std::string> columns;  ///< a leading `#`: numbers, aligned to the right
  std::vector<PageRow> rows;
  std::size_t left_out = 0;  ///< rows that are not shown, all of them cheaper than those that are
};

struct PageData {
  std::string title, machine, headline;
  std::vector<PageFact> facts;
  std::vector<std::string> remarks;
  SourceView source;
  Timeline timeline;              ///< with what was observed, where the plan knows of it
  Timeline unobserved;            ///< without; no charts where nothing was observed
  std::vector<PageTable> tables;  ///< those that have rows
};

PageData page_data(const Plan& plan, const PageExtras& extras);

}  // namespace cleave::planner
