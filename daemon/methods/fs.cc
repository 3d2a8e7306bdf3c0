#include <fmt/format.h>

#include <optional>
#include <utility>

#include "daemon/json_views.h"
#include "daemon/methods/methods.h"
#include "daemon/methods/params.h"
#include "daemon/methods/path_param.h"
#include "schema/base/utf8.h"

namespace ebla::daemon::methods {
namespace {

void write_kind(JsonWriter& out, const Attr& attr) {
  out.member("kind", kind_name(attr.kind)).member("size", attr.size);
}

void list(MethodCall call, const Found& found) {
  if (found.attr.kind != NodeKind::directory) {
    return call.refuse(Code::not_directory,
                       fmt::format("{}: not a folder; fs.stat describes it", found.path));
  }
  auto after = integer_param(call, "after", 0, 0, INT64_MAX);
  if (!after) return call.refuse(std::move(after.error()));
  auto limit = integer_param(call, "limit", 100, 1, limits::kListEntries);
  if (!limit) return call.refuse(std::move(limit.error()));
  const auto wanted = static_cast<size_t>(*limit);
  Store& store = call.services().store;
  auto entries = store.readdir(found.attr.ino, static_cast<uint64_t>(*after), wanted + 1);
  if (!entries) return call.refuse(std::move(entries.error()));
  auto total = store.entry_count(found.attr.ino);
  if (!total) return call.refuse(std::move(total.error()));

  const bool more = entries->size() > wanted;
  if (more) entries->resize(wanted);
  JsonWriter out;
  out.begin_object().member("path", found.path).key("entries").begin_array();
  for (const DirEntry& entry : *entries) {
    out.begin_object().member("name", entry.name);
    if (!utf8::is_valid(entry.name)) out.member("name_base64", base64(entry.name));
    write_kind(out, entry.attr);
    out.member("mtime", time_text(entry.attr.mtime_ns)).end_object();
  }
  out.end_array().member("total", *total);
  if (more) out.member("next", entries->back().cookie);
  out.end_object();
  call.reply(out.take());
}

void describe(MethodCall call, const Found& found, const std::optional<Session>& session) {
  Services& services = call.services();
  const Attr& attr = found.attr;
  auto xattrs = services.store.xattrs(attr.ino);
  if (!xattrs) return call.refuse(std::move(xattrs.error()));
  JsonWriter out;
  out.begin_object().member("path", found.path);
  const std::string host = host_path_of(services, session.value_or(Session()), found.path);
  if (!host.empty()) out.member("host_path", host);
  out.member("ino", attr.ino);
  write_kind(out, attr);
  out.member("mode", fmt::format("{:04o}", attr.mode))
      .member("uid", static_cast<uint64_t>(attr.uid))
      .member("gid", static_cast<uint64_t>(attr.gid))
      .member("nlink", static_cast<uint64_t>(attr.nlink))
      .member("atime", time_text(attr.atime_ns))
      .member("mtime", time_text(attr.mtime_ns))
      .member("ctime", time_text(attr.ctime_ns))
      .member("etag", fmt::format("{}-{}", attr.ino, attr.change))
      .member("protected", (attr.flags & kNodeProtected) != 0)
      .member("removable", (attr.flags & kNodeRemovable) != 0);
  out.key("attributes").begin_object();
  for (const Xattr& xattr : *xattrs) out.member(xattr.name, xattr.value);
  out.end_object();
  if (attr.kind == NodeKind::symlink) {
    auto target = services.store.readlink(attr.ino);
    if (!target) return call.refuse(std::move(target.error()));
    out.member("target", *target);
  }
  out.end_object();
  call.reply(out.take());
}

}  // namespace

void fs_ls(MethodCall call) {
  with_path(std::move(call), [](MethodCall ready, const Found& found,
                                const std::optional<Session>&) { list(std::move(ready), found); });
}

void fs_stat(MethodCall call) {
  with_path(std::move(call),
            [](MethodCall ready, const Found& found, const std::optional<Session>& session) {
              describe(std::move(ready), found, session);
            });
}

}  // namespace ebla::daemon::methods
