#include <unistd.h>

#include "daemon/json_views.h"
#include "daemon/methods/methods.h"
#include "daemon/quota_options.h"
#include "daemon/version.h"

namespace ebla::daemon::methods {
namespace {

void write_usage(JsonWriter& out, const Usage& usage) {
  out.begin_object()
      .member("files", usage.files)
      .member("directories", usage.directories)
      .member("logical_bytes", usage.logical_bytes)
      .member("content_bytes", usage.content_bytes)
      .member("sessions", usage.sessions)
      .member("evictions", usage.evictions)
      .member("database_bytes", usage.database_bytes)
      .member("free_bytes", usage.free_bytes)
      .member("wal_bytes", usage.wal_bytes)
      .member("host_free_bytes", usage.host_free_bytes)
      .end_object();
}

void write_limits(JsonWriter& out, const sqlite::Quotas& quotas) {
  out.begin_object()
      .member("store_bytes", quotas.store_bytes)
      .member("file_bytes", quotas.file_bytes)
      .member("session_bytes", quotas.session_bytes)
      .member("session_files", quotas.session_files)
      .end_object();
}

void write_evictions(JsonWriter& out, const EvictCounters& counters) {
  out.begin_object()
      .member("calls", counters.calls.load())
      .member("put_away", counters.put_away.load())
      .member("known", counters.known.load())
      .member("kept", counters.kept.load())
      .member("failed", counters.failed.load())
      .member("bytes", counters.bytes.load())
      .member("tokens_in", counters.tokens_in.load())
      .member("tokens_out", counters.tokens_out.load())
      .end_object();
}

void write_prepares(JsonWriter& out, const PrepareCounters& counters) {
  out.begin_object()
      .member("calls", counters.calls.load())
      .member("failed", counters.failed.load())
      .member("degraded", counters.degraded.load())
      .member("breaches", counters.breaches.load())
      .member("unchanged", counters.unchanged.load())
      .member("items", counters.items.load())
      .member("item_tokens_in", counters.item_tokens_in.load())
      .member("item_tokens_out", counters.item_tokens_out.load())
      .member("passes", counters.passes.load())
      .member("tokens_before", counters.tokens_before.load())
      .member("tokens_after", counters.tokens_after.load())
      .member("copied_marks", counters.copied_marks.load())
      .end_object();
}

void write_summaries(JsonWriter& out, const Services& services) {
  const SummaryCounters& counters = services.summaries;
  out.begin_object()
      .member("offered", counters.offered.load())
      .member("accepted", counters.accepted.load())
      .member("refused", counters.refused.load())
      .member("extracts", counters.extracts.load())
      .member("commands", counters.commands.load())
      .member("failed", counters.failed.load())
      .member("breakers", counters.breakers.load())
      .member("running", static_cast<uint64_t>(services.summariser.running()))
      .member("waiting", static_cast<uint64_t>(services.summariser.waiting()))
      .end_object();
}

void write_control(JsonWriter& out, const ControlCounters& counters) {
  out.begin_object()
      .member("connections", counters.connections)
      .member("accepted", counters.accepted)
      .member("refused", counters.refused)
      .member("requests", counters.requests)
      .member("errors", counters.errors)
      .end_object();
}

void write_health(JsonWriter& out, const Health& health) {
  out.begin_object()
      .member("writable", health.writable)
      .member("name", health.name)
      .member("text", health.text)
      .member("failed_syncs", health.failed_syncs)
      .member("damaged_files", health.damaged_files)
      .member("last_damaged", health.last_damaged)
      .member("checking", health.checking)
      .end_object();
}

void write_origins(JsonWriter& out, const std::map<std::string, Origin>& origins) {
  out.begin_object();
  for (const auto& [name, origin] : origins) {
    out.key(name).begin_object().key("value").raw(origin.value);
    out.member("origin", origin.origin).end_object();
  }
  out.end_object();
}

}  // namespace

void stats(MethodCall call) {
  Services& services = call.services();
  JsonWriter out;
  out.begin_object();
  write_usage(out.key("store"), services.store.usage());
  write_limits(out.key("limits"), quotas_of(services.options));
  write_evictions(out.key("evict"), services.evictions);
  write_prepares(out.key("prepare"), services.prepares);
  write_summaries(out.key("summaries"), services);
  write_control(out.key("control"),
                services.control_counters ? services.control_counters() : ControlCounters());
  out.key("fuse").begin_object();
  for (const auto& [name, count] : services.mounts.request_counts()) out.member(name, count);
  out.end_object();
  write_memory(out.key("memory"));
  out.end_object();
  call.reply(out.take());
}

void status(MethodCall call) {
  Services& services = call.services();
  const Options& options = services.options;
  const Health health = services.store.health();
  const auto uptime = std::chrono::steady_clock::now() - services.started;
  const char* state = services.stopping ? "stopping" : health.writable ? "ready" : "degraded";
  JsonWriter out;
  out.begin_object()
      .member("state", state)
      .member("version", kVersion)
      .member("protocol", rpc::kProtocol)
      .member("pid", static_cast<int64_t>(getpid()))
      .member("uid", static_cast<uint64_t>(services.uid))
      .member("uptime_s", static_cast<int64_t>(
                              std::chrono::duration_cast<std::chrono::seconds>(uptime).count()))
      .member("store", options.store)
      .member("socket", options.socket)
      .member("engine", health.engine);
  write_health(out.key("health"), health);
  write_mounts(out.key("mounts"), services.mounts);
  write_memory(out.key("memory"));
  write_origins(out.key("options"), options.options);
  write_origins(out.key("settings"), options.setting_origins);
  out.key("warnings").begin_array();
  for (const std::string& warning : options.warnings) out.string(warning);
  out.end_array().end_object();
  call.reply(out.take());
}

}  // namespace ebla::daemon::methods
