#include "daemon/setting_text.h"

#include <algorithm>

#include "context/settings.h"
#include "schema/base/json.h"

namespace ebla::daemon {
namespace {

std::string_view kind_of(std::string_view name) {
  for (const context::SettingInfo& setting : context::setting_table()) {
    if (setting.name == name) return setting.kind;
  }
  return {};
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

}  // namespace

std::string setting_json(std::string_view name, std::string_view text) {
  text = trimmed(text);
  if (!text.empty() && std::string_view("[{\"").find(text.front()) != std::string_view::npos) {
    return std::string(text);
  }
  const std::string_view kind = kind_of(name);
  JsonWriter out;
  if (kind == "choice" || kind == "text") return out.string(text).take();
  if (kind != "list") return text.empty() ? "null" : std::string(text);
  out.begin_array();
  while (!text.empty()) {
    const size_t end = std::min(text.find(','), text.size());
    if (const auto item = trimmed(text.substr(0, end)); !item.empty()) out.string(item);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return out.end_array().take();
}

}  // namespace ebla::daemon
