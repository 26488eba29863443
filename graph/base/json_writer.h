// JsonWriter: the only JSON writer of cleave. It streams: a document is written in order, and the caller may remove the text written so far
// between two items. Any bytes become valid UTF-8; numbers keep all their digits; NaN and infinities become null.
//
//   std::string text;
//   JsonWriter json(text, 2);
//   json.object([&] {
//     json.field("model", name);
//     json.list("sizes", [&] { for (int size : sizes) json.value(size); });
//   });
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>

namespace cleave {

class JsonWriter {
 public:
  static constexpr int kCompact = -1;  ///< everything on one line, without blanks
  /// Appends to `out`. `indent` spaces per level, one item per line.
  explicit JsonWriter(std::string& out, int indent = kCompact) : out_(out), indent_(indent) {}

  /// `{...}` and `[...]`; `body` writes the fields or items.
  template <class F>
  void object(F&& body) {
    open('{');
    body();
    close('}');
  }
  template <class F>
  void list(F&& body) {
    open('[');
    body();
    close(']');
  }
  /// The same as the value of a key.
  template <class F>
  void object(std::string_view name, F&& body) {
    key(name);
    object(body);
  }
  template <class F>
  void list(std::string_view name, F&& body) {
    key(name);
    list(body);
  }

  void key(std::string_view name);
  template <class T>
  void field(std::string_view name, const T& item) {
    key(name);
    value(item);
  }

  void value(std::string_view text);
  void value(const char* text) { value(std::string_view(text)); }
  void value(const std::string& text) { value(std::string_view(text)); }
  void value(double number);
  void value(float number);  ///< the shortest digits that read back as this float
  void value(std::nullptr_t) { scalar("null"); }
  void value(bool flag) { scalar(flag ? "true" : "false"); }
  template <class T>
  requires std::is_integral_v<T>
  void value(T number) {
    if constexpr (std::is_signed_v<T>)
      integer(static_cast<std::int64_t>(number));
    else
      whole(static_cast<std::uint64_t>(number));
  }
  template <class T>
  void value(const std::optional<T>& item) {
    if (item)
      value(*item);
    else
      value(nullptr);
  }
  /// A list of numbers or texts, an object of them by name.
  template <class Items>
  requires requires(const Items& items) {
    items.begin();
  } &&(!std::is_convertible_v<const Items&, std::string_view>)void value(const Items& items) {
    list([&] {
      for (const auto& item : items) value(item);
    });
  }
  template <class T>
  void value(const std::map<std::string, T>& items) {
    object([&] {
      for (const auto& [name, item] : items) field(name, item);
    });
  }

 private:
  void before_item();  ///< comma and line break, unless a key precedes
  void scalar(std::string_view text);
  void integer(std::int64_t number);
  void whole(std::uint64_t number);
  void open(char bracket);
  void close(char bracket);
  void line_break();

  std::string& out_;
  int indent_;
  int depth_ = 0;
  bool first_ = true;  ///< the innermost object or list is still empty
  bool after_key_ = false;
};

}  // namespace cleave
