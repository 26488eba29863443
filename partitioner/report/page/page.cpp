// Prints the data of a page. style.css has its design, and script.js its one behavior, sorting; the page can be read without scripts.
#include "partitioner/report/page/page.h"

#include "graph/base/number_text.h"
#include "graph/base/version.h"
#include "partitioner/report/markup.h"
#include "partitioner/report/page/page_data.h"
#include "partitioner/report/page/page_texts.h"
#include "partitioner/report/page/picture_markup.h"
#include "partitioner/report/page/source_markup.h"
#include "partitioner/report/page/timeline_markup.h"

namespace cleave::planner {
namespace {

std::string_view embedded(std::string_view name) {
  for (const EmbeddedText& text : page_texts())
    if (text.name == name) return text.text;
  return {};
}

class ReportPageWriter {
 public:
  ReportPageWriter(const PageData& page, const PagePicture& picture) : page_(page), picture_(picture) {}

  std::string run() {
    out_.raw("<!DOCTYPE html>\n");
    out_.open("html", {{"xmlns", "http://www.w3.org/1999/xhtml"}, {"lang", "en"}});
    head();
    out_.open("body");
    out_.line();
    overview();
    out_.open("main");
    for (const PageTable& table : page_.tables)
      if (table.id == "round-trips") write(table);
    write_source(out_, page_.source);
    timeline();
    picture();
    for (const PageTable& table : page_.tables)
      if (table.id != "round-trips") write(table);
    out_.close();
    out_.open("footer");
    out_.prose("cleave " + std::string(kVersion) + ". Predictions by a cost model; `cleave run --profile` says what was true.");
    out_.close();
    out_.raw("\n<script>//<![CDATA[\n");
    out_.raw(embedded("script"));
    out_.raw("//]]></script>\n");
    out_.close();
    out_.close();
    out_.line();
    return std::move(out_).take();
  }

 private:
  void head() {
    out_.open("head");
    out_.empty("meta", {{"charset", "utf-8"}});
    out_.line();
    // Forbids loading from the network, whatever the page contains.
    out_.empty("meta", {{"http-equiv", "Content-Security-Policy"},
                        {"content", "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:"}});
    out_.line();
    out_.empty("meta", {{"name", "viewport"}, {"content", "width=device-width, initial-scale=1"}});
    out_.empty("meta", {{"name", "color-scheme"}, {"content", "light dark"}});
    out_.empty("link", {{"rel", "icon"}, {"href", "data:,"}});
    out_.line();
    out_.leaf("title", page_.title.empty() ? "cleave explain" : page_.title + " – cleave explain");
    out_.raw("\n<style>\n");
    out_.raw(embedded("style"));
    out_.raw("</style>\n");
    out_.close();
    out_.line();
  }

  void overview() {
    out_.open("header");
    out_.leaf("h1", page_.title.empty() ? "program" : page_.title);
    paragraph(page_.headline, "headline");
    if (!page_.facts.empty()) facts();
    for (const std::string& remark : page_.remarks) paragraph(remark, "remark");
    for (const std::size_t message : page_.source.placeless) write_message(out_, page_.source, message);
    contents();
    out_.close();
    out_.line();
  }

  void paragraph(std::string_view prose, std::string_view kind) {
    out_.open("p", {{"class", kind}});
    out_.prose(prose);
    out_.close();
  }

  void facts() {
    out_.open("dl", {{"class", "facts"}});
    for (const PageFact& fact : page_.facts) {
      out_.open("div");
      out_.leaf("dt", fact.name);
      out_.leaf("dd", fact.value);
      out_.open("dd", {{"class", "about"}});
      out_.prose(fact.remark);
      out_.close();
      out_.close();
    }
    out_.close();
  }

  void contents() {
    out_.open("nav", {{"aria-label", "contents"}});
    const auto entry = [&](const std::string& id, const std::string& title) {
      out_.leaf("a", title, {{"href", "#" + id}});
      out_.text(" ");
    };
    for (const PageTable& table : page_.tables)
      if (table.id == "round-trips") entry(table.id, table.title);
    if (!page_.source.files.empty()) entry("source", "Source");
    if (!page_.timeline.charts.empty()) entry("timeline", "Timeline");
    if (has_picture()) entry("picture", "Picture");
    for (const PageTable& table : page_.tables)
      if (table.id != "round-trips") entry(table.id, table.title);
    out_.close();
  }

  [[nodiscard]] bool has_picture() const { return !picture_.svg.empty() || !picture_.remark.empty(); }

  void timeline() {
    if (page_.timeline.charts.empty()) return;
    out_.open("section", {{"id", "timeline"}});
    out_.leaf("h2", "Timeline");
    out_.open("p", {{"class", "about"}});
    out_.text(page_.unobserved.charts.empty() ? "Predicted: who is at work when. " : "Who is at work when, by what the profile observed. ");
    out_.text("A loop is one bar, and one of its trips is drawn below; the paler a bar, the less of its time is work. ");
    out_.leaf("span", "waits for the other side", {{"class", "key waits"}});
    out_.close();
    write_charts(out_, page_.timeline);
    if (!page_.unobserved.charts.empty()) {
      paragraph("The same as predicted by the machine file alone, without the times that the profile observed:", "about");
      write_charts(out_, page_.unobserved);
    }
    out_.close();
    out_.line();
  }

  void picture() {
    if (!has_picture()) return;
    out_.open("section", {{"id", "picture"}});
    out_.leaf("h2", "Picture");
    if (!picture_.remark.empty()) paragraph(picture_.remark, "about");
    if (!picture_.svg.empty()) {
      out_.open("div", {{"class", "picture"}, {"tabindex", "0"}});
      out_.raw(picture_element(picture_.svg));
      out_.close();
    }
    out_.close();
    out_.line();
  }

  void write(const PageTable& table) {
    out_.open("section", {{"id", table.id}});
    out_.leaf("h2", table.title);
    out_.leaf("p", table.about, {{"class", "about"}});
    if (table.left_out > 0)
      paragraph("The costliest " + std::to_string(table.rows.size()) + "; " + std::to_string(table.left_out) +
                    " cheaper ones are left out here, `cleave explain --json` has them all.",
                "about");
    out_.open("div", {{"class", "scroll"}});
    out_.open("table", {{"class", "sortable"}});
    out_.open("thead");
    out_.open("tr");
    for (const std::string& column : table.columns) {
      const bool numbers = column.size() > 1 && column[0] == '#';
      out_.leaf("th", numbers ? column.substr(1) : column, {{"scope", "col"}, {"class", numbers ? "number" : ""}});
    }
    out_.close();
    out_.close();
    out_.open("tbody");
    for (const PageRow& row : table.rows) write(table, row);
    for (int i = 0; i < 4; ++i) out_.close();
    out_.line();
  }

  void write(const PageTable& table, const PageRow& row) {
    out_.line();
    out_.open("tr", {{"id", row.id}});
    for (std::size_t i = 0; i < row.cells.size(); ++i) {
      const PageCell& cell = row.cells[i];
      std::string kind = table.columns[i][0] == '#' ? "number" : "";
      if (!cell.kind.empty()) kind += (kind.empty() ? "" : " ") + cell.kind;
      const bool sorted_by_number = cell.number == cell.number;
      out_.open("td", {{"class", kind}, {"data-v", sorted_by_number ? shortest_text(cell.number) : ""}});
      if (cell.link.empty())
        out_.prose(cell.text);
      else
        out_.leaf("a", cell.text, {{"href", "#" + cell.link}});
      out_.close();
    }
    out_.close();
  }

  const PageData& page_;
  const PagePicture& picture_;
  Markup out_;
};

}  // namespace

std::string html_page(const Plan& plan, const PageExtras& extras) {
  return ReportPageWriter(page_data(plan, extras), extras.picture).run();
}

}  // namespace cleave::planner
