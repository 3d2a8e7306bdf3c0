#include "schema/sqlite/overlay.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "schema/base/limits.h"

namespace ebla::sqlite {
namespace {

constexpr auto kAge = std::chrono::milliseconds(limits::kDirtyAgeMs);

const Layer* top_of(const DirtyFile& file) {
  return file.open ? file.open.get() : file.closed.get();
}

uint32_t without_privileges(uint32_t mode) {
  return mode & ((mode & 010) != 0 ? ~06000u : ~04000u);
}

void amend_by(const Layer& layer, Attr& attr) {
  attr.size = layer.size;
  attr.raw_bytes = layer.raw_bytes;
  attr.mtime_ns = layer.time_ns;
  attr.ctime_ns = std::max(attr.ctime_ns, layer.time_ns);
  if (layer.drop_privileges) attr.mode = without_privileges(attr.mode);
}

void amend_locked(const DirtyFile& file, Attr& attr) {
  const uint64_t row_change = attr.change;
  const auto each = [&](const Layer& layer) {
    amend_by(layer, attr);
    // Committed and not gone yet: the row has counted it.
    const bool counted = layer.change_after != 0 && layer.change_after <= row_change;
    if (!counted) attr.change += layer.changes;
  };
  if (file.closed) each(*file.closed);
  if (file.open) each(*file.open);
}

}  // namespace

std::shared_ptr<DirtyFile> Overlay::find(Ino ino) const {
  if (count_.load() == 0) return nullptr;
  const std::scoped_lock lock(mutex_);
  const auto at = files_.find(ino);
  return at == files_.end() ? nullptr : at->second;
}

std::shared_ptr<DirtyFile> Overlay::find_or_add(Ino ino) {
  const std::scoped_lock lock(mutex_);
  auto& file = files_[ino];
  if (!file) {
    file = std::make_shared<DirtyFile>(ino);
    // It may have been here before: a read that began then is not for this one.
    file->dropped_at = drops_.load();
    ++count_;
  }
  return file;
}

void Overlay::remove_clean(const std::shared_ptr<DirtyFile>& file) {
  const std::scoped_lock lock(mutex_);
  const std::scoped_lock file_lock(file->mutex);
  if (file->gone || !file->clean()) return;
  file->gone = true;
  files_.erase(file->ino);
  --count_;
}

Overlay::Glance Overlay::at(Ino ino) const {
  const uint64_t drops = drops_.load();
  return {.drops = drops, .any = false, .dirty = find(ino) != nullptr};
}

// The file is not here: whether that was so all the time.
bool Overlay::unchanged(const Glance& glance) const {
  return glance.any ? drops_.load() == glance.drops : !glance.dirty;
}

bool Overlay::amend(const Glance& glance, Attr& attr) const {
  if (attr.kind != NodeKind::file) return true;
  const auto file = find(attr.ino);
  if (!file) return unchanged(glance);
  const std::scoped_lock lock(file->mutex);
  if (file->gone || file->dropped_at > glance.drops) return false;
  amend_locked(*file, attr);
  return true;
}

bool Overlay::amend(const Glance& glance, Ino ino, uint64_t offset, std::span<char> out,
                    size_t held, size_t& count) const {
  count = held;
  const auto file = find(ino);
  if (!file) return unchanged(glance);
  const std::scoped_lock lock(file->mutex);
  if (file->gone || file->dropped_at > glance.drops) return false;
  const Layer* top = top_of(*file);
  if (top == nullptr) return true;
  count = offset < top->size ? std::min<uint64_t>(out.size(), top->size - offset) : 0;
  out = out.first(count);
  if (held < count) std::memset(out.data() + held, 0, count - held);
  if (file->closed) file->closed->lay_over(offset, out);
  if (file->open) file->open->lay_over(offset, out);
  return true;
}

void Overlay::amend_now(Attr& attr) const {
  if (const auto file = find(attr.ino)) {
    const std::scoped_lock lock(file->mutex);
    amend_locked(*file, attr);
  }
}

Result<void> Overlay::change(Ino ino, const Start& start,
                             const std::function<Result<void>(DirtyFile&)>& change) {
  for (;;) {
    const auto file = find_or_add(ino);
    Result<void> done;
    {
      const std::scoped_lock lock(file->mutex);
      if (file->gone) continue;
      if (!file->known) {
        // The file is in the table: from here on no commit changes its content unseen.
        auto row = start(ino);
        if (row) {
          file->size = file->committed_size = row->size;
          file->raw_bytes = row->raw_bytes;
          file->session = row->session;
          file->tree = row->tree;
          file->known = true;
        } else {
          done = std::unexpected(std::move(row.error()));
        }
      }
      if (done) done = change(*file);
      if (!file->clean()) return done;
    }
    remove_clean(file);
    return done;
  }
}

void Overlay::add_weight(DirtyFile& file, ptrdiff_t by) {
  file.weight += static_cast<size_t>(by);
  weight_ += static_cast<size_t>(by);
}

std::shared_ptr<Layer> Overlay::close(Ino ino) {
  const auto file = find(ino);
  if (!file) return nullptr;
  const std::scoped_lock lock(file->mutex);
  file->flush_asked = false;
  if (!file->open) return file->closed;
  auto layer = std::exchange(file->open, nullptr);
  if (file->closed) {
    // An earlier attempt has failed, or is a unit of the same transaction and holds its layer.
    const size_t before = file->closed->weight() + layer->weight();
    auto both = std::make_shared<Layer>(*file->closed);
    both->absorb(*layer);
    add_weight(*file, static_cast<ptrdiff_t>(both->weight()) - static_cast<ptrdiff_t>(before));
    layer = std::move(both);
  }
  file->closed = layer;
  return layer;
}

void Overlay::note_written(Ino ino, const std::shared_ptr<Layer>& layer, uint64_t change) {
  const auto file = find(ino);
  if (!file) return;
  const std::scoped_lock lock(file->mutex);
  layer->change_after = change;
}

void Overlay::drop(Ino ino, const std::shared_ptr<Layer>& layer) {
  const auto file = find(ino);
  if (!file) return;
  {
    const std::scoped_lock lock(file->mutex);
    if (file->closed != layer) return;
    file->closed = nullptr;
    file->committed_size = layer->size;
    add_weight(*file, -static_cast<ptrdiff_t>(layer->weight()));
    file->dropped_at = ++drops_;
    if (file->open) file->due = std::chrono::steady_clock::now() + kAge;
    if (!file->clean()) return;
  }
  remove_clean(file);
}

void Overlay::forget(Ino ino) {
  const auto file = find(ino);
  if (!file) return;
  {
    const std::scoped_lock lock(file->mutex);
    file->closed = nullptr;
    file->open = nullptr;
    add_weight(*file, -static_cast<ptrdiff_t>(file->weight));
    file->dropped_at = ++drops_;
  }
  remove_clean(file);
}

std::optional<Overlay::Outline> Overlay::outline(Ino ino) const {
  const auto file = find(ino);
  if (!file) return std::nullopt;
  const std::scoped_lock lock(file->mutex);
  const Layer* top = top_of(*file);
  if (top == nullptr) return std::nullopt;
  Outline outline{.size = top->size, .cut = Layer::kUncut, .data = {}};
  const auto add = [&](const Layer& layer) {
    outline.cut = std::min(outline.cut, layer.cut_at());
    for (const auto& [offset, extent] : layer.extents()) {
      if (extent.zeros == 0) outline.data.emplace_back(offset, offset + extent.length());
    }
  };
  if (file->closed) add(*file->closed);
  if (file->open) add(*file->open);
  return outline;
}

std::vector<std::shared_ptr<DirtyFile>> Overlay::all() const {
  const std::scoped_lock lock(mutex_);
  std::vector<std::shared_ptr<DirtyFile>> all;
  all.reserve(files_.size());
  for (const auto& [ino, file] : files_) all.push_back(file);
  return all;
}

int64_t Overlay::growth(std::optional<SessionId> tree) const {
  int64_t growth = 0;
  for (const auto& file : all()) {
    const std::scoped_lock lock(file->mutex);
    if (tree && file->tree != *tree) continue;
    growth += static_cast<int64_t>(file->size) - static_cast<int64_t>(file->committed_size);
  }
  return growth;
}

std::vector<Ino> Overlay::files() const {
  std::vector<Ino> inos;
  for (const auto& file : all()) inos.push_back(file->ino);
  return inos;
}

std::vector<Ino> Overlay::take_due(std::chrono::steady_clock::time_point now,
                                   std::chrono::steady_clock::time_point& next) {
  next = std::chrono::steady_clock::time_point::max();
  std::vector<Ino> due;
  for (const auto& file : all()) {
    const std::scoped_lock lock(file->mutex);
    if (file->clean()) continue;
    if (file->due <= now) {
      due.push_back(file->ino);
      file->due = now + kAge;
      file->flush_asked = true;
    }
    next = std::min(next, file->due);
  }
  return due;
}

std::vector<Ino> Overlay::take_open() {
  std::vector<Ino> taken;
  for (const auto& file : all()) {
    const std::scoped_lock lock(file->mutex);
    if (!file->open || file->flush_asked) continue;
    file->flush_asked = true;
    taken.push_back(file->ino);
  }
  return taken;
}

void Overlay::ask_again(Ino ino) {
  const auto file = find(ino);
  if (!file) return;
  const std::scoped_lock lock(file->mutex);
  file->flush_asked = false;
}

}  // namespace ebla::sqlite
