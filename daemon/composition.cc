#include "daemon/composition.h"

#include <fmt/format.h>
#include <unistd.h>

#include <csignal>
#include <future>
#include <random>
#include <utility>

#include "daemon/quota_options.h"
#include "daemon/version.h"
#include "schema/base/host_path.h"
#include "schema/base/log.h"
#include "schema/sqlite/open.h"

namespace ebla::daemon {
namespace {

constexpr std::chrono::milliseconds kUnmountPatience(1000);
constexpr int kCallPatienceMs = 500;
constexpr std::chrono::milliseconds kSyncPatience(2000);

// Everything committed is on disk, or why not.
Result<void> sync_store(Store& store) {
  auto promise = std::make_shared<std::promise<Result<void>>>();
  auto synced = promise->get_future();
  store.sync({}, [promise](Result<void> result, const ChangeSet&) {
    promise->set_value(std::move(result));
  });
  if (synced.wait_for(kSyncPatience) != std::future_status::ready) {
    return fail(Code::timeout, "the disk takes too long: what was acknowledged is on it");
  }
  return synced.get();
}

// The way of a stop that is asked for from outside: the calls under way are answered.
void end_process() {
  log::info("nothing is mounted any more");
  ::kill(getpid(), SIGTERM);
}

std::function<uint64_t()> random_seeds() {
  return [] {
    std::random_device device;
    return uint64_t{device()} << 32 | device();
  };
}

}  // namespace

Daemon::Daemon(Options options) : options_(std::move(options)) {}

Daemon::~Daemon() {
  if (auto stopped = stop(); !stopped) log::error("stop: {}", stopped.error().text);
}

Result<std::unique_ptr<Daemon>> Daemon::start(Options options) {
  std::unique_ptr<Daemon> daemon(new Daemon(std::move(options)));
  if (auto opened = daemon->open(); !opened) return std::unexpected(opened.error());
  for (const std::string& warning : daemon->options_.warnings) log::warning("{}", warning);
  return daemon;
}

Result<void> Daemon::open() {
  sqlite::OpenOptions open;
  open.path = options_.store;
  open.allow_unsafe_filesystem = options_.allow_unsafe_filesystem;
  open.uid = geteuid();
  open.gid = getegid();
  open.clock = &clock_;
  open.quotas = quotas_of(options_);
  open.note = options_.socket;
  open.warn = [this](const std::string& line) { options_.warnings.push_back(line); };
  auto store = sqlite::open_store(open);
  if (!store) return std::unexpected(store.error());
  store_ = *std::move(store);

  fs::MountTableOptions mount_options;
  mount_options.threads = options_.threads;
  mount_options.fsname = options_.store;
  mount_options.socket_path = options_.socket;
  mount_options.version = kVersion;
  mount_options.forbidden = {options_.store, options_.socket};
  mount_options.allow_other = options_.allow_other;
  // Who removes a file at its limit may write another at once.
  if (quotas_of(options_).of_sessions()) mount_options.free_delay = {};
  if (options_.until_unmounted) mount_options.on_last_gone = end_process;
  auto mounts = fs::MountTable::create(*store_, std::move(mount_options));
  if (!mounts) return std::unexpected(mounts.error());
  mounts_ = *std::move(mounts);

  services_ = std::make_unique<Services>(*store_, view_of(*mounts_), options_);
  services_->uid = geteuid();
  services_->gid = getegid();
  services_->random = random_seeds();
  methods_ = std::make_unique<MethodTable>(*services_);

  ControlServerOptions control;
  control.path = options_.socket;
  control.spool_folder = folder_of(options_.store);
  control.allow_uids = options_.allow_uids;
  control.workers = options_.threads;
  auto bound = ControlServer::bind(*methods_, std::move(control));
  if (!bound) return std::unexpected(bound.error());
  control_ = *std::move(bound);
  services_->control_counters = [this] { return control_->counters(); };

  if (auto mounted = mount_all(); !mounted) return mounted;
  control_->start();
  return {};
}

Result<void> Daemon::mount_all() {
  for (const fs::MountSpec& spec : options_.mounts) {
    if (auto mounted = mounts_->mount(spec); !mounted) return std::unexpected(mounted.error());
    log::info("mounted {} at {}", spec.subtree, spec.directory);
  }
  if (options_.mounts.empty() && !options_.no_mount) {
    options_.warnings.emplace_back("nothing is mounted: --mount DIR shows the files to a shell");
  }
  return {};
}

Result<void> Daemon::stop() {
  if (std::exchange(stopped_, true)) return {};
  Result<void> result;
  if (services_) services_->stopping = true;
  if (mounts_) {
    if (auto unmounted = mounts_->unmount_all(kUnmountPatience); !unmounted) {
      log::warning("unmount: {}", unmounted.error().text);
    }
  }
  if (services_) services_->end_waits();
  if (control_) control_->stop(kCallPatienceMs);
  if (services_) services_->blocking.stop();
  if (store_) result = sync_store(*store_);
  control_.reset();
  methods_.reset();
  mounts_.reset();
  store_.reset();  // waits for what it was asked to do: services_ must still be there
  services_.reset();
  return result;
}

}  // namespace ebla::daemon
