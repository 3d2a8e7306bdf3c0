#include <fmt/format.h>

#include "tools/places.h"
#include "tools/text.h"
#include "tools/verbs/common.h"
#include "tools/verbs/verbs.h"

namespace ebla::tools {
namespace {

void add_health(Table& table, const Json& health) {
  if (!true_at(health, "writable")) {
    table.row({"writes",
               fmt::format("refused: {} ({})", text_at(health, "text"), text_at(health, "name"))});
  }
  if (const auto damaged = number_at(health, "damaged_files"); damaged.value_or(0) > 0) {
    table.row({"damaged",
               fmt::format("{} files, the last {}", *damaged, text_at(health, "last_damaged"))});
  }
  if (const auto failed = number_at(health, "failed_syncs"); failed.value_or(0) > 0) {
    table.row({"failed syncs", fmt::format("{}", *failed)});
  }
  if (true_at(health, "checking")) {
    table.row({"checking", "yes, in the background"});
  }
}

void add_mounts(Table& table, const Json& mounts) {
  for (const Json& mount : mounts.items) {
    const std::string subtree = text_at(mount, "subtree");
    std::string line = text_at(mount, "directory");
    if (subtree != "/") {
      line += fmt::format(" (shows {})", subtree);
    }
    const Json* alive = mount.find("alive");
    if (alive != nullptr && !alive->boolean) {
      line += " (no longer mounted)";
    }
    table.row({"mount", line});
  }
  if (mounts.items.empty()) {
    table.row({"mount", "none"});
  }
}

// Only what somebody has set: the rest is in the man page and in --json.
void add_changed(Table& table, const Json* values, std::string_view title) {
  if (values == nullptr) {
    return;
  }
  for (const auto& [name, setting] : values->members) {
    const std::string origin = text_at(setting, "origin");
    if (origin != "default") {
      table.row({std::string(title),
                 fmt::format("{} = {} ({})", printable(name), text_at(setting, "value"), origin)});
    }
  }
}

std::string rows(const Json& status) {
  using enum Table::Align;
  Table table({left, left});
  table.row({"state", text_at(status, "state")});
  table.row({"version", fmt::format("{}, protocol {}", text_at(status, "version"),
                                    text_at(status, "protocol"))});
  table.row(
      {"process", fmt::format("{} of user {}", text_at(status, "pid"), text_at(status, "uid"))});
  const auto uptime = number_at(status, "uptime_s").value_or(0);
  table.row({"up", format_duration(static_cast<uint64_t>(uptime))});
  table.row({"store", text_at(status, "store")});
  table.row({"engine", text_at(status, "engine")});
  table.row({"socket", text_at(status, "socket")});
  if (const Json* mounts = status.find("mounts"); mounts != nullptr) {
    add_mounts(table, *mounts);
  }
  if (const Json* memory = status.find("memory"); memory != nullptr) {
    const auto bytes = number_at(*memory, "resident_bytes").value_or(0);
    table.row({"memory", format_bytes(static_cast<uint64_t>(bytes))});
  }
  if (const Json* health = status.find("health"); health != nullptr) {
    add_health(table, *health);
  }
  add_changed(table, status.find("options"), "option");
  add_changed(table, status.find("settings"), "setting");
  if (const Json* warnings = status.find("warnings"); warnings != nullptr) {
    for (const Json& warning : warnings->items) {
      table.row({"warning", scalar_text(warning)});
    }
  }
  return table.text();
}

}  // namespace

Result<int> run_status(Call& call) {
  auto client = open_client(call);
  if (!client) {
    return std::unexpected(client.error());
  }
  auto reply = client->call("status", "{}");
  if (!reply) {
    return std::unexpected(reply.error());
  }
  return call.args.json ? print_json(call, *reply) : print(call, rows(reply->result));
}

}  // namespace ebla::tools
