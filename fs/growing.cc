#include "fs/growing.h"

namespace ebla::fs {

bool Growing::open(MountId mount, Ino ino, Clock::time_point now) {
  const std::scoped_lock lock(mutex_);
  File& file = files_[ino];
  const auto seen = file.seen.find(mount);
  const bool old = file.grown != 0 && (seen == file.seen.end() || seen->second < file.grown);
  if (file.growing != 0 || old) {
    file.promised = now + kPromise;
    return false;
  }
  ++file.open[mount];
  return true;
}

void Growing::close(MountId mount, Ino ino) {
  const std::scoped_lock lock(mutex_);
  const auto file = files_.find(ino);
  if (file == files_.end()) return;
  const auto open = file->second.open.find(mount);
  if (open == file->second.open.end()) return;
  if (--open->second == 0) file->second.open.erase(open);
  if (file->second.open.empty() && file->second.growing == 0 && file->second.grown == 0) {
    files_.erase(file);
  }
}

void Growing::forget(MountId mount) {
  const std::scoped_lock lock(mutex_);
  for (auto& [ino, file] : files_) {
    file.open.erase(mount);
    file.seen.erase(mount);
  }
}

void Growing::released(Ino ino) {
  const std::scoped_lock lock(mutex_);
  const auto file = files_.find(ino);
  if (file == files_.end()) return;
  if (file->second.open.empty() && file->second.growing == 0) files_.erase(file);
}

void Growing::shown(MountId mount, Ino ino, uint64_t before) {
  if (now_ == 0) return;  // nothing has ever grown
  const std::scoped_lock lock(mutex_);
  const auto file = files_.find(ino);
  if (file != files_.end() && file->second.grown != 0) file->second.seen[mount] = before;
}

Result<std::shared_ptr<void>> Growing::begin(Ino ino, Clock::time_point now) {
  const std::scoped_lock lock(mutex_);
  File& file = files_[ino];
  if (!file.open.empty() || now < file.promised) {
    return fail(Code::busy,
                "a program has it open for writing through a mount: append when it has closed it, "
                "or write through the mount");
  }
  ++file.growing;
  return std::shared_ptr<void>(nullptr, [this, ino](void*) { end(ino); });
}

void Growing::end(Ino ino) {
  const std::scoped_lock lock(mutex_);
  File& file = files_[ino];
  --file.growing;
  file.grown = ++now_;
  file.seen.clear();
  if (files_.size() <= kRemembered) return;
  std::erase_if(files_, [this](const auto& one) {
    const File& other = one.second;
    return other.open.empty() && other.growing == 0 && other.grown + kRemembered <= now_;
  });
}

}  // namespace ebla::fs
