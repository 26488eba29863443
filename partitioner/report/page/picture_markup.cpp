#include "partitioner/report/page/picture_markup.h"

namespace cleave::planner {
namespace {

constexpr std::string_view kPrefix = "picture-";

/// The text without all stretches from `begin` to `end`.
std::string without(std::string_view text, std::string_view begin, std::string_view end) {
  std::string out;
  for (;;) {
    const std::size_t from = text.find(begin);
    out += text.substr(0, from);
    if (from == std::string_view::npos) return out;
    const std::size_t to = text.find(end, from);
    if (to == std::string_view::npos) return out;
    text.remove_prefix(to + end.size());
  }
}

/// Inserts the prefix after each `mark`.
void prefix(std::string& text, std::string_view mark) {
  for (std::size_t at = text.find(mark); at != std::string::npos; at = text.find(mark, at + mark.size()))
    text.insert(at + mark.size(), kPrefix);
}

}  // namespace

std::string picture_element(std::string_view svg) {
  const std::size_t begin = svg.find("<svg");
  const std::size_t end = svg.rfind("</svg>");
  if (begin == std::string_view::npos || end == std::string_view::npos || end < begin) return "";
  std::string element = without(svg.substr(begin, end + 6 - begin), "<!--", "-->");
  // The user's texts never contain these marks, since their quotes are escaped.
  for (const std::string_view mark : {" id=\"", "href=\"#", "=\"url(#"}) prefix(element, mark);
  return element;
}

}  // namespace cleave::planner
