#include "fs/mount_table.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <mutex>
#include <shared_mutex>
#include <utility>

#include "fs/connection.h"
#include "fs/host_mount.h"
#include "fs/invalidator.h"
#include "fs/mount_folder.h"
#include "fs/mountinfo.h"
#include "fs/pool.h"
#include "fs/runner.h"
#include "schema/base/host_path.h"
#include "schema/base/log.h"
#include "schema/path.h"

namespace ebla::fs {
namespace {

constexpr std::chrono::milliseconds kLastPatience{1000};
constexpr int kUnmountPauseMs = 10;

std::unexpected<Error> failed(std::string text) {
  return fail(Code::mount_failed, std::move(text));
}

struct Mount {
  MountInfo info;  // alive is asked of the connection
  MountFolder folder;
  std::string device_id;
  bool by_helper = false;
  std::shared_ptr<Connection> connection;
  std::unique_ptr<Invalidator> invalidator;

  bool alive() const { return connection->alive(); }
  bool writes() const { return alive() && info.writable; }
  MountInfo now() const {
    MountInfo out = info;
    out.alive = alive();
    return out;
  }
};

std::optional<Owner> owner_shown() {
  if (geteuid() == 0) return std::nullopt;
  return Owner{geteuid(), getegid()};
}

// A mount is ready when a program can list it.
Result<void> list_once(const std::string& directory) {
  DIR* dir = opendir(directory.c_str());
  if (dir == nullptr) return failed(errno_error(errno, "open " + directory).text);
  errno = 0;
  const bool listed = readdir(dir) != nullptr;  // NOLINT(concurrency-mt-unsafe): own stream
  const int error = errno;
  closedir(dir);
  if (!listed) return failed(errno_error(error, "list " + directory).text);
  return {};
}

// The mount point with every symbolic link on the way resolved, without a question to what is
// mounted on it: that may be dead.
std::string resolve_mount_point(std::string path) {
  for (int links = 0; links < 8; ++links) {
    const std::string parent = resolved_path(folder_of(path));
    std::string here = (parent == "/" ? "" : parent) + path.substr(path.rfind('/'));
    std::string target(PATH_MAX, '\0');
    const ssize_t n = ::readlink(here.c_str(), target.data(), target.size());
    if (n <= 0) return here;
    target.resize(static_cast<size_t>(n));
    path = clean_path(target.starts_with('/') ? target : fmt::format("{}/{}", parent, target));
    if (path == "/") return path;
  }
  return path;
}

}  // namespace

struct MountTable::Impl {
  Impl(Store& the_store, MountTableOptions the_options, std::unique_ptr<Pool> the_pool);

  Result<MountInfo> mount(const MountSpec& spec);
  Result<MountInfo> make(const MountSpec& spec);
  Result<MountInfo> unmount(const std::string& directory);
  void let_go(const std::shared_ptr<Mount>& mount);
  bool still_shown(const Mount& dead) const;
  void look_at_dead(MountId id);
  void end_with_last();
  Result<void> serve(const std::shared_ptr<Mount>& mount, HostMount host, View view);
  Result<void> check_place(const std::string& directory);
  void forget_dead(const std::string& directory);
  void deliver(const ChangeSet& changes, std::move_only_function<void()> delivered);
  Result<void> unmount_all(std::chrono::milliseconds patience);
  std::vector<std::shared_ptr<Mount>> mounts() const;
  View::Access access_for(const MountSpec& spec) const;
  bool held(Ino ino) const;

  Store& store;
  const MountTableOptions options;
  std::vector<std::string> forbidden;  // resolved
  Shared shared;
  std::unique_ptr<Pool> pool;
  std::mutex changing;  // one mount() or unmount_all() at a time
  bool ended = false;   // under `changing`
  bool closed = false;  // the last mount has gone, and the table with it; under `changing`
  mutable std::shared_mutex mutex;
  MountId next_id = 1;
  std::map<MountId, std::shared_ptr<Mount>> by_id;
  Runner runner;
};

MountTable::Impl::Impl(Store& the_store, MountTableOptions the_options,
                       std::unique_ptr<Pool> the_pool)
    : store(the_store),
      options(std::move(the_options)),
      shared(
          the_store, VirtualTree(options.socket_path, options.version, the_store.now_ns()),
          [this](Ino ino) { return held(ino); },
          [this](Runner::Work work) {
            runner.post_at(Runner::Clock::now() + options.free_delay, std::move(work));
          }),
      pool(std::move(the_pool)) {
  for (const std::string& path : options.forbidden) forbidden.push_back(resolved_path(path));
  shared.publish = [this](const ChangeSet& changes) { deliver(changes, {}); };
  shared.died = [this](MountId id) { runner.post([this, id] { look_at_dead(id); }); };
}

std::vector<std::shared_ptr<Mount>> MountTable::Impl::mounts() const {
  const std::shared_lock lock(mutex);
  std::vector<std::shared_ptr<Mount>> out;
  out.reserve(by_id.size());
  for (const auto& [id, mount] : by_id) out.push_back(mount);
  return out;
}

bool MountTable::Impl::held(Ino ino) const {
  const std::shared_lock lock(mutex);
  return std::ranges::any_of(
      by_id, [ino](const auto& pair) { return pair.second->connection->served().holds(ino); });
}

Result<void> MountTable::Impl::check_place(const std::string& directory) {
  for (const auto& mount : mounts()) {
    const std::string& other = mount->folder.path();
    if (directory == other) {
      return failed(fmt::format("{} is mounted already: name each folder once", directory));
    }
    if (lies_in(directory, other) || lies_in(other, directory)) {
      return failed(fmt::format("{} and the mount {} overlap: choose a folder outside of it",
                                directory, other));
    }
  }
  for (const std::string& path : forbidden) {
    if (lies_in(path, directory) || lies_in(directory, path)) {
      return failed(
          fmt::format("a mount at {} would cover {}, which Ebla needs itself: choose "
                      "another folder",
                      directory, path));
    }
  }
  return {};
}

// What is not mounted any more. Under `changing`.
void MountTable::Impl::let_go(const std::shared_ptr<Mount>& mount) {
  {
    const std::lock_guard lock(mutex);
    by_id.erase(mount->info.id);
  }
  if (mount->invalidator) mount->invalidator->stop();
  mount->folder.abandon();
}

bool MountTable::Impl::still_shown(const Mount& dead) const {
  const auto all = mounts();
  const bool number_taken = std::ranges::any_of(
      all, [&](const auto& mount) { return mount->alive() && mount->device_id == dead.device_id; });
  return !number_taken && is_mounted(dead.device_id, options.fsname);
}

// Somebody took it away with umount(8), or cut its connection. A cut one stays on its folder, where
// it fails whoever enters: it is kept and shown as dead until somebody takes it away.
void MountTable::Impl::look_at_dead(MountId id) {
  const std::lock_guard one(changing);
  if (ended) return;
  for (const auto& mount : mounts()) {
    if (mount->info.id != id || still_shown(*mount)) continue;
    log::info("{} was unmounted", mount->folder.path());
    let_go(mount);
    end_with_last();
  }
}

// Under `changing`, so that no mount comes up behind the decision.
void MountTable::Impl::end_with_last() {
  if (!options.on_last_gone || closed || !mounts().empty()) return;
  closed = true;
  options.on_last_gone();
}

// A dead mount of this table makes room for a new one.
void MountTable::Impl::forget_dead(const std::string& directory) {
  for (const auto& mount : mounts()) {
    if (mount->alive() || mount->folder.path() != directory) continue;
    const auto gone =
        unmount_from_host(directory, mount->device_id, mount->by_helper, Unmount::detach);
    if (!gone) log::warning("unmount {}: {}", directory, gone.error().text);
    let_go(mount);
  }
}

Result<MountInfo> MountTable::Impl::mount(const MountSpec& spec) {
  const std::lock_guard one(changing);
  if (ended || closed) return fail(Code::unavailable, "the mounts have been ended");
  auto made = make(spec);
  if (!made) end_with_last();
  return made;
}

Result<MountInfo> MountTable::Impl::make(const MountSpec& spec) {
  const auto root = resolve(store, spec.subtree);
  if (!root) {
    return failed(fmt::format("mount {}={}: {}", spec.subtree, spec.directory, root.error().text));
  }
  if (root->kind != NodeKind::directory) {
    return failed(
        fmt::format("mount {}={}: the subtree is not a folder", spec.subtree, spec.directory));
  }
  const std::string cleaned = clean_path(spec.directory);
  forget_dead(cleaned);
  if (auto free = check_place(cleaned); !free) return std::unexpected(std::move(free.error()));
  const std::string directory = resolve_mount_point(cleaned);
  forget_dead(directory);
  if (auto free = check_place(directory); !free) return std::unexpected(std::move(free.error()));
  if (auto clear = clear_stale_mounts(directory); !clear) {
    return std::unexpected(std::move(clear.error()));
  }
  auto folder = MountFolder::prepare(directory);
  if (!folder) return std::unexpected(std::move(folder.error()));
  auto host = mount_on_host(folder->path(), {.fsname = options.fsname,
                                             .allow_other = options.allow_other || spec.allow_other,
                                             .read_only = spec.read_only,
                                             .no_exec = spec.no_exec});
  if (!host) {
    folder->abandon();
    return std::unexpected(std::move(host.error()));
  }
  const View::Access access = access_for(spec);
  const MountInfo info{next_id++, spec, false, access == View::Access::writes};
  auto mount = std::make_shared<Mount>(
      Mount{info, std::move(*folder), host->device_id, host->by_helper, {}, {}});
  const View view(store, root->ino, shared.virtual_tree, owner_shown(), access);
  auto served = serve(mount, std::move(*host), view);
  if (served) return mount->now();
  const auto gone =
      unmount_from_host(mount->folder.path(), mount->device_id, mount->by_helper, Unmount::detach);
  if (!gone) log::warning("unmount {}: {}", mount->folder.path(), gone.error().text);
  let_go(mount);
  return std::unexpected(std::move(served.error()));
}

Result<MountInfo> MountTable::Impl::unmount(const std::string& directory) {
  const std::lock_guard one(changing);
  if (ended || closed) return fail(Code::unavailable, "the mounts have been ended");
  const std::string cleaned = clean_path(directory);
  const std::string resolved = resolve_mount_point(cleaned);
  const auto all = mounts();
  const auto found = std::ranges::find_if(all, [&](const auto& mount) {
    return mount->folder.path() == cleaned || mount->folder.path() == resolved;
  });
  if (found == all.end()) {
    return fail(Code::file_not_found,
                fmt::format("nothing of this daemon is mounted at {}", directory));
  }
  const auto& mount = *found;
  const Unmount how = mount->alive() ? Unmount::strict : Unmount::detach;
  auto gone = unmount_from_host(mount->folder.path(), mount->device_id, mount->by_helper, how);
  if (!gone && gone.error().code == Code::busy) {
    return fail(Code::busy, fmt::format("{0} is in use: 'fuser -vm {0}' shows by whom; end that, "
                                        "or take it off its path at once with 'umount -l {0}'",
                                        mount->folder.path()));
  }
  if (!gone) return std::unexpected(std::move(gone.error()));
  const MountInfo info = mount->info;
  let_go(mount);
  end_with_last();
  return info;
}

// A node is written through one mount alone: two kernels that cache the same file would each
// overwrite what the other has not heard of yet.
View::Access MountTable::Impl::access_for(const MountSpec& spec) const {
  const bool written_by_another = std::ranges::any_of(mounts(), [&](const auto& mount) {
    const std::string& other = mount->info.spec.subtree;
    return mount->writes() && (lies_in(spec.subtree, other) || lies_in(other, spec.subtree));
  });
  return spec.read_only || written_by_another ? View::Access::reads : View::Access::writes;
}

Result<void> MountTable::Impl::serve(const std::shared_ptr<Mount>& mount, HostMount host,
                                     View view) {
  auto connection = Connection::create(std::move(host.device), shared, mount->info.id, view);
  if (!connection) return std::unexpected(std::move(connection.error()));
  mount->connection = std::move(*connection);
  mount->invalidator = std::make_unique<Invalidator>(*mount->connection);
  {
    // Before the first request: from here on every change is told to it.
    const std::lock_guard lock(mutex);
    by_id.emplace(mount->info.id, mount);
  }
  if (auto added = pool->add(mount->connection); !added) return added;
  mount->folder.protect();
  return list_once(mount->folder.path());
}

void MountTable::Impl::deliver(const ChangeSet& changes,
                               std::move_only_function<void()> delivered) {
  ++shared.epoch;
  const bool awaited = static_cast<bool>(delivered);
  auto delivery = std::make_shared<Delivery>(std::move(delivered));
  bool told = false;
  for (const auto& mount : mounts()) {
    if (mount->info.id == changes.origin || !mount->alive()) continue;
    mount->invalidator->push(changes, delivery);
    told = true;
  }
  shared.orphanage.add(changes.orphaned);
  // Also with nobody to tell, the caller is not called back before it has returned.
  if (!told && awaited) runner.post([last = std::move(delivery)]() mutable { last.reset(); });
}

Result<void> MountTable::Impl::unmount_all(std::chrono::milliseconds patience) {
  const std::lock_guard one(changing);
  if (ended) return {};
  ended = true;
  Result<void> outcome;
  const auto deadline = std::chrono::steady_clock::now() + patience;
  const auto all = mounts();
  auto left = all;
  const auto try_unmount = [](const std::shared_ptr<Mount>& mount, Unmount how) {
    return unmount_from_host(mount->folder.path(), mount->device_id, mount->by_helper, how);
  };
  for (;;) {
    std::erase_if(
        left, [&](const auto& mount) { return try_unmount(mount, Unmount::strict).has_value(); });
    if (left.empty() || std::chrono::steady_clock::now() >= deadline) break;
    wait_for_mount_change(kUnmountPauseMs);  // whoever sits inside leaves without a sign
  }
  for (const auto& mount : left) {
    auto gone = try_unmount(mount, Unmount::detach);
    if (!gone) {
      outcome = failed(fmt::format("unmount {}: {}; run 'fusermount3 -uz {}'", mount->folder.path(),
                                   gone.error().text, mount->folder.path()));
    }
  }
  for (const auto& mount : all) {
    detach_copies(mount->folder.path(), mount->device_id, options.fsname);
  }
  // A notice may wait for an answer: the loops go on until the last is out.
  for (const auto& mount : all) mount->invalidator->stop();
  pool->stop();
  for (const auto& mount : all) {
    shared.growing.forget(mount->info.id);
    mount->folder.abandon();
  }
  const std::lock_guard lock(mutex);
  by_id.clear();
  return outcome;
}

MountTable::MountTable(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

MountTable::~MountTable() {
  const auto ended = unmount_all(kLastPatience);
  if (!ended) log::error("{}", ended.error().text);
  // Changes that were asked for by a mount may still be under way in the store.
  impl_->shared.sessions.wait_for_none();
}

Result<std::unique_ptr<MountTable>> MountTable::create(Store& store, MountTableOptions options) {
  auto pool = Pool::create(options.threads);
  if (!pool) return std::unexpected(std::move(pool.error()));
  auto impl = std::make_unique<Impl>(store, std::move(options), std::move(*pool));
  return std::unique_ptr<MountTable>(new MountTable(std::move(impl)));
}

Result<MountInfo> MountTable::mount(const MountSpec& spec) {
  return impl_->mount(spec);
}

Result<MountInfo> MountTable::unmount(const std::string& directory) {
  return impl_->unmount(directory);
}

void MountTable::deliver(const ChangeSet& changes, std::move_only_function<void()> delivered) {
  impl_->deliver(changes, std::move(delivered));
}

Result<std::shared_ptr<void>> MountTable::begin_growth(Ino ino) {
  return impl_->shared.growing.begin(ino);
}

std::vector<MountInfo> MountTable::list() const {
  std::vector<MountInfo> out;
  for (const auto& mount : impl_->mounts()) out.push_back(mount->now());
  return out;
}

MountInfo MountTable::find_for(std::string_view tree_path) const {
  MountInfo best;
  for (const auto& mount : impl_->mounts()) {
    const std::string& subtree = mount->info.spec.subtree;
    const bool longer = best.id == 0 || subtree.size() > best.spec.subtree.size();
    if (mount->alive() && longer && lies_in(tree_path, subtree)) best = mount->now();
  }
  return best;
}

std::string MountTable::tree_path_of(std::string_view host_path) const {
  const std::string path = clean_path(host_path);
  for (const auto& mount : impl_->mounts()) {
    const MountSpec& spec = mount->info.spec;
    for (const std::string& folder : {mount->folder.path(), clean_path(spec.directory)}) {
      if (!lies_in(path, folder)) continue;
      const std::string rest = path.substr(folder.size());
      if (spec.subtree == "/") return rest.empty() ? "/" : rest;
      return spec.subtree + rest;
    }
  }
  return "";
}

std::map<std::string, uint64_t> MountTable::request_counts() const {
  return impl_->shared.counters.read();
}

Result<void> MountTable::unmount_all(std::chrono::milliseconds patience) {
  return impl_->unmount_all(patience);
}

}  // namespace ebla::fs
