#include "daemon/write/removal.h"

#include <fmt/format.h>

#include <optional>

#include "daemon/wait_for.h"

namespace ebla::daemon {
namespace {

constexpr size_t kBatch = 64;  // entries that are removed at once

// A folder whose entries are on their way out.
struct Level {
  Target target;  // its node is the folder
  uint64_t after = 0;
  bool must_stay = false;  // something in it does
};

class Removal {
 public:
  explicit Removal(const MethodCall& call) : call_(call), store_(call.services().store) {}

  Result<Removed> run(const Target& target) {
    Result<void> done;
    if (target.node->kind == NodeKind::directory) {
      done = remove_tree(target);
    } else if (may_go(target)) {
      done = remove_files({target});
    }
    if (done && removed_.files + removed_.folders > 0) done = make_durable();
    if (!done) return std::unexpected(with_progress(std::move(done.error())));
    const bool nothing = removed_.files + removed_.folders == 0;
    if (nothing && first_reason_) return std::unexpected(*first_reason_);
    return std::move(removed_);
  }

 private:
  static constexpr ChangeOptions kOrdered = {.durability = Durability::ordered};

  Error with_progress(Error error) const {
    if (removed_.files + removed_.folders > 0) {
      error.text += fmt::format("; {} files and {} folders were removed before", removed_.files,
                                removed_.folders);
    }
    return error;
  }

  void keep(const Target& target, Error why) {
    ++removed_.kept;
    if (removed_.kept_paths.size() < limits::kSkippedNames) {
      removed_.kept_paths.emplace_back(target.path, why.text);
    }
    if (!first_reason_) first_reason_ = std::move(why);
  }

  // Else it is noted as kept.
  bool may_go(const Target& target) {
    const bool result = (target.node->flags & kNodeRemovable) != 0;
    auto good = result ? Result<void>() : check_unprotected(target);
    if (good) {
      good = check_entry(actor_of(call_), target.folder, target.folder_path, &*target.node);
    }
    if (good) return true;
    keep(target, std::move(good.error()));
    return false;
  }

  // What somebody else has removed meanwhile is gone as well.
  Result<void> remove_files(const std::vector<Target>& targets) {
    std::vector<Change<void>> changes(targets.size());
    for (size_t i = 0; i < targets.size(); ++i) {
      store_.remove({.parent = targets[i].folder.ino,
                     .name = targets[i].name,
                     .uid = call_.uid(),
                     .reason = "delete"},
                    kOrdered, changes[i].completion(call_.services()));
    }
    std::vector<ChangeSet> told;
    Result<void> all;
    for (size_t i = 0; i < targets.size(); ++i) {
      auto removed = changes[i].wait(told);
      if (removed) {
        ++removed_.files;
        removed_.bytes += targets[i].node->size;
      } else if (removed.error().code != Code::file_not_found && all) {
        all = std::move(removed);
      }
    }
    tell_mounts(call_.services(), told);
    return all;
  }

  // One folder after the other, each after all that is in it; no deeper on the stack for it.
  Result<void> remove_tree(const Target& top) {
    std::vector<Level> levels;
    if (auto begun = enter(levels, top); !begun) return begun;
    while (!levels.empty()) {
      if (call_.cancelled()) {
        return fail(Code::unavailable, "nobody waits for it any more: it was cut off");
      }
      auto more = step(levels);
      if (!more) return std::unexpected(std::move(more.error()));
      if (*more) continue;
      Level done = std::move(levels.back());
      levels.pop_back();
      if (auto gone = leave(done, levels); !gone) return gone;
    }
    return {};
  }

  Result<void> enter(std::vector<Level>& levels, const Target& folder) {
    const Attr& node = *folder.node;
    const bool made_by_daemon = (node.flags & kNodeFixed) != 0;
    auto good =
        made_by_daemon ? Result<void>() : check_may(actor_of(call_), node, folder.path, Wish::read);
    if (!good) {
      keep(folder, std::move(good.error()));
      if (!levels.empty()) levels.back().must_stay = true;
      return {};
    }
    levels.push_back({.target = folder});
    return {};
  }

  // Takes the next entries of the innermost folder; false when there are no more.
  Result<bool> step(std::vector<Level>& levels) {
    Level& level = levels.back();
    const Target here = level.target;
    auto entries = store_.readdir(here.node->ino, level.after, kBatch);
    if (!entries) {
      if (entries.error().code == Code::file_not_found) return false;
      return std::unexpected(std::move(entries.error()));
    }
    std::vector<Target> files;
    std::optional<Target> folder;
    for (const DirEntry& entry : *entries) {
      Target target{.path = fmt::format("{}/{}", here.path, entry.name),
                    .folder_path = here.path,
                    .folder = *here.node,
                    .missing = {},
                    .name = entry.name,
                    .node = entry.attr};
      level.after = entry.cookie;
      if (entry.attr.kind == NodeKind::directory) {
        folder = std::move(target);
        break;
      }
      if (may_go(target)) {
        files.push_back(std::move(target));
      } else {
        level.must_stay = true;
      }
    }
    if (auto gone = remove_files(files); !gone) return std::unexpected(std::move(gone.error()));
    if (folder) {
      if (auto begun = enter(levels, *folder); !begun) {
        return std::unexpected(std::move(begun.error()));
      }
    }
    return !entries->empty();
  }

  // The folder itself, unless something in it had to stay or it must stay itself.
  Result<void> leave(Level& level, std::vector<Level>& above) {
    const Target& folder = level.target;
    bool stays = level.must_stay;
    if (!stays && !may_go(folder)) stays = true;
    if (!stays) {
      auto gone = wait_for<void>(call_.services(), [&](Completion<void> done) {
        store_.remove_folder({.parent = folder.folder.ino,
                              .name = folder.name,
                              .uid = call_.uid(),
                              .reason = "delete"},
                             kOrdered, std::move(done));
      });
      if (gone) {
        ++removed_.folders;
      } else if (gone.error().code == Code::not_empty) {
        keep(folder, {Code::not_empty, "something was put into it meanwhile"});
        stays = true;
      } else if (gone.error().code != Code::file_not_found) {
        return gone;
      }
    }
    if (stays && !above.empty()) above.back().must_stay = true;
    return {};
  }

  // One log: what was committed before is on disk with it.
  Result<void> make_durable() {
    return wait_for<void>(call_.services(), [&](Completion<void> done) {
      store_.flush(store_.root(), durable_change(), std::move(done));
    });
  }

  const MethodCall& call_;
  Store& store_;
  Removed removed_;
  std::optional<Error> first_reason_;
};

}  // namespace

Result<Removed> remove_all(const MethodCall& call, const Target& target) {
  return Removal(call).run(target);
}

}  // namespace ebla::daemon
