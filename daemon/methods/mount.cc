// mount.add, mount.remove: mounts that come and go while the daemon runs.
#include <fmt/format.h>

#include <utility>

#include "daemon/control/request_params.h"
#include "daemon/json_views.h"
#include "daemon/methods/methods.h"
#include "daemon/methods/params.h"
#include "daemon/reading.h"
#include "schema/base/log.h"
#include "schema/path.h"

namespace ebla::daemon::methods {
namespace {

// A guest (--allow-uid) sees files of its own only; a mount shows those of all.
Result<void> check_owner(const MethodCall& call) {
  if (call.owner()) return {};
  return fail(Code::permission_denied,
              "only the user who runs the daemon, and root, may mount and unmount");
}

Result<std::string> directory_param(const MethodCall& call) {
  auto directory = text_param(call, "directory", limits::kPathBytes);
  if (!directory) return directory;
  if (directory->starts_with('/') && directory->find('\0') == std::string::npos) return directory;
  return fail(Code::invalid_params,
              fmt::format("directory: {} is no absolute path of the host", quoted(*directory)));
}

Result<fs::MountSpec> spec_of(const MethodCall& call) {
  fs::MountSpec spec;
  auto directory = directory_param(call);
  if (!directory) return std::unexpected(std::move(directory.error()));
  spec.directory = *std::move(directory);
  if (const Json* subtree = call.param("subtree")) {
    const auto elements = split_path(subtree->text);
    if (!elements) return std::unexpected(elements.error());
    spec.subtree = join_path(*elements);
  }
  spec.read_only = flag_param(call, "read_only");
  spec.no_exec = flag_param(call, "no_exec");
  spec.allow_other = flag_param(call, "allow_other");
  return spec;
}

void answer(MethodCall& call, Result<fs::MountInfo> done) {
  if (!done) return call.refuse(std::move(done.error()));
  JsonWriter out;
  write_mount(out, *done);
  call.reply(out.take());
}

void add(MethodCall call) {
  auto spec = spec_of(call);
  if (!spec) return call.refuse(std::move(spec.error()));
  auto mounted = call.services().mounts.add(*spec);
  if (mounted) log::info("mounted {} at {}", mounted->spec.subtree, mounted->spec.directory);
  answer(call, std::move(mounted));
}

void remove(MethodCall call) {
  auto directory = directory_param(call);
  if (!directory) return call.refuse(std::move(directory.error()));
  auto gone = call.services().mounts.remove(*directory);
  if (gone) log::info("unmounted {}", gone->spec.directory);
  answer(call, std::move(gone));
}

}  // namespace

void mount_add(MethodCall call) {
  if (auto good = check_owner(call); !good) return call.refuse(std::move(good.error()));
  on_blocking_thread(std::move(call), add);
}

void mount_remove(MethodCall call) {
  if (auto good = check_owner(call); !good) return call.refuse(std::move(good.error()));
  on_blocking_thread(std::move(call), remove);
}

}  // namespace ebla::daemon::methods
