#include "partitioner/report/markup.h"

#include "graph/base/check.h"
#include "graph/base/utf8.h"

namespace cleave::planner {

std::string escape_markup(std::string_view text) {
  const std::string shown = escape_controls(text);
  std::string out;
  out.reserve(shown.size());
  for (std::size_t i = 0; i < shown.size(); ++i) {
    const std::string_view rest = std::string_view(shown).substr(i, 3);
    switch (shown[i]) {
      case '&': out += "&amp;"; break;
      case '<': out += "&lt;"; break;
      case '>': out += "&gt;"; break;
      case '"': out += "&quot;"; break;
      case '\'': out += "&#39;"; break;
      case '\r': out += " "; break;
      case '\n': out += "\\x0a"; break;  // in a name; longer texts have an element for each line
      default:
        if (rest == "\xef\xbf\xbe" || rest == "\xef\xbf\xbf") {  // not allowed in XML
          out += "\xef\xbf\xbd";
          i += 2;
        } else {
          out += shown[i];
        }
    }
  }
  return out;
}

void Markup::begin(std::string_view tag, Attributes attributes) {
  out_ += '<';
  out_ += tag;
  for (const auto& [name, value] : attributes) {
    if (value.empty()) continue;
    out_ += ' ';
    out_ += name;
    out_ += "=\"";
    out_ += escape_markup(value);
    out_ += '"';
  }
}

void Markup::open(std::string_view tag, Attributes attributes) {
  begin(tag, attributes);
  out_ += '>';
  open_.emplace_back(tag);
}

void Markup::close() {
  CLEAVE_CHECK(!open_.empty());
  out_ += "</" + open_.back() + ">";
  open_.pop_back();
}

void Markup::prose(std::string_view text) {
  for (;;) {
    const std::size_t begin = text.find('`');
    const std::size_t end = begin == std::string_view::npos ? begin : text.find('`', begin + 1);
    this->text(text.substr(0, end == std::string_view::npos ? end : begin));
    if (end == std::string_view::npos) return;
    leaf("code", text.substr(begin + 1, end - begin - 1));
    text.remove_prefix(end + 1);
  }
}

void Markup::leaf(std::string_view tag, std::string_view text, Attributes attributes) {
  open(tag, attributes);
  out_ += escape_markup(text);
  close();
}

void Markup::empty(std::string_view tag, Attributes attributes) {
  begin(tag, attributes);
  out_ += "/>";
}

}  // namespace cleave::planner
