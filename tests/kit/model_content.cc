// Bytes of files in the model store: put-away ones and histories are one string, clients' ones a
// map of chunks, so that a file of a terabyte with a byte at its end is a small one.
#include <algorithm>

#include "schema/base/limits.h"
#include "tests/kit/model_state.h"

namespace ebla::kit {

using limits::kChunkBytes;

Result<size_t> ModelState::read(Ino ino, uint64_t offset, std::span<char> out) const {
  const auto at = nodes_.find(ino);
  if (at == nodes_.end()) return fail(Code::file_not_found, "no such node");
  const ModelNode& node = at->second;
  if (node.attr.kind == NodeKind::directory) return fail(Code::is_directory, "a directory");
  if (node.attr.kind != NodeKind::file || offset >= node.attr.size) return size_t{0};
  const size_t count = std::min<uint64_t>(out.size(), node.attr.size - offset);
  const auto history = history_texts_.find(ino);
  if (history != history_texts_.end()) {
    history->second.text.copy(out.data(), count, offset);
    return count;
  }
  if (node.content != 0) {
    contents_.at(node.content).bytes.copy(out.data(), count, offset);
    return count;
  }
  for (size_t done = 0; done < count;) {
    const uint64_t within = (offset + done) % kChunkBytes;
    const size_t length = std::min<uint64_t>(count - done, kChunkBytes - within);
    const auto chunk = node.chunks.find((offset + done) / kChunkBytes);
    if (chunk == node.chunks.end()) {
      std::fill_n(out.data() + done, length, '\0');
    } else {
      chunk->second.copy(out.data() + done, length, within);
    }
    done += length;
  }
  return count;
}

Result<ModelNode*> ModelState::writable(Ino ino) {
  const auto at = nodes_.find(ino);
  if (at == nodes_.end()) return fail(Code::file_not_found, "no such node");
  const Attr& attr = at->second.attr;
  if (attr.kind == NodeKind::directory) return fail(Code::is_directory, "a directory");
  if (attr.kind != NodeKind::file) return fail(Code::invalid_params, "no file");
  if ((attr.flags & (kNodeProtected | kNodeImmutable)) != 0) {
    return fail(Code::operation_not_permitted, "protected");
  }
  return &at->second;
}

void ModelState::put_bytes(ModelNode& node, uint64_t offset, std::string_view bytes) {
  node.attr.size = std::max(node.attr.size, offset + bytes.size());
  while (!bytes.empty()) {
    const uint64_t within = offset % kChunkBytes;
    const size_t length = std::min<uint64_t>(bytes.size(), kChunkBytes - within);
    std::string& chunk = node.chunks[offset / kChunkBytes];
    chunk.resize(kChunkBytes);
    chunk.replace(within, length, bytes.substr(0, length));
    bytes.remove_prefix(length);
    offset += length;
  }
}

void ModelState::zero_bytes(ModelNode& node, uint64_t offset, uint64_t end) {
  auto at = node.chunks.lower_bound(offset / kChunkBytes);
  while (at != node.chunks.end() && at->first * kChunkBytes < end) {
    const uint64_t start = at->first * kChunkBytes;
    if (offset <= start && end >= start + kChunkBytes) {
      at = node.chunks.erase(at);
      continue;
    }
    const uint64_t from = std::max(offset, start) - start;
    const uint64_t to = std::min(end, start + kChunkBytes) - start;
    at->second.replace(from, to - from, to - from, '\0');
    ++at;
  }
}

void ModelState::resize(ModelNode& node, uint64_t size) {
  if (size < node.attr.size) {
    const uint64_t chunks = (node.attr.size + kChunkBytes - 1) / kChunkBytes;
    zero_bytes(node, size, std::max(chunks * kChunkBytes, size));
  }
  node.attr.size = size;
}

Result<WriteOutcome> ModelState::write(const WritePlan& plan, std::string_view bytes,
                                       ChangeSet& changes) {
  const auto node = writable(plan.ino);
  if (!node) return std::unexpected(node.error());
  Attr& attr = (*node)->attr;
  const uint64_t offset = plan.append ? attr.size : plan.offset;
  if (offset > limits::kFileBytes || bytes.size() > limits::kFileBytes - offset) {
    return fail(Code::too_large, "beyond the largest file");
  }
  if (bytes.empty()) return WriteOutcome{.offset = offset, .count = 0};
  put_bytes(**node, offset, bytes);
  if (plan.drop_privileges) {
    attr.mode &= (attr.mode & 010) != 0 ? ~06000u : ~04000u;
  }
  touch(**node, changes);
  changes.ranges.push_back({.ino = plan.ino, .offset = offset, .length = bytes.size()});
  name_session((*node)->session, changes);
  return WriteOutcome{.offset = offset, .count = bytes.size()};
}

Result<void> ModelState::allocate(const AllocatePlan& plan, ChangeSet& changes) {
  const auto node = writable(plan.ino);
  if (!node) return std::unexpected(node.error());
  if (plan.length == 0) return fail(Code::invalid_params, "an empty range");
  if (plan.offset > limits::kFileBytes || plan.length > limits::kFileBytes - plan.offset) {
    return fail(Code::too_large, "beyond the largest file");
  }
  using Mode = AllocatePlan::Mode;
  const uint64_t end = plan.offset + plan.length;
  if (plan.mode != Mode::reserve && plan.mode != Mode::reserve_beyond) {
    zero_bytes(**node, plan.offset, end);
    changes.ranges.push_back({.ino = plan.ino, .offset = plan.offset, .length = plan.length});
  }
  if (plan.mode == Mode::reserve || plan.mode == Mode::zero) {
    resize(**node, std::max((*node)->attr.size, end));
  }
  touch(**node, changes);
  name_session((*node)->session, changes);
  return {};
}

Result<uint64_t> ModelState::copy_range(const CopyPlan& plan, ChangeSet& changes) {
  const auto from = nodes_.find(plan.from);
  if (from == nodes_.end()) return fail(Code::file_not_found, "no such node");
  if (from->second.attr.kind == NodeKind::directory) return fail(Code::is_directory, "from");
  if (from->second.attr.kind != NodeKind::file) return fail(Code::invalid_params, "no file");
  const auto to = writable(plan.to);
  if (!to) return std::unexpected(to.error());
  const uint64_t size = from->second.attr.size;
  const uint64_t left = plan.from_offset < size ? size - plan.from_offset : 0;
  const uint64_t count = std::min({left, plan.length, limits::kCopyBytes});
  if (count == 0) return 0;
  if (plan.to_offset > limits::kFileBytes || count > limits::kFileBytes - plan.to_offset) {
    return fail(Code::too_large, "beyond the largest file");
  }
  if (plan.from == plan.to && plan.from_offset < plan.to_offset + count &&
      plan.to_offset < plan.from_offset + count) {
    return fail(Code::invalid_params, "the ranges overlap");
  }
  std::string bytes(count, '\0');
  const auto got = read(plan.from, plan.from_offset, bytes);
  if (!got) return std::unexpected(got.error());
  put_bytes(**to, plan.to_offset, bytes);
  touch(**to, changes);
  changes.ranges.push_back({.ino = plan.to, .offset = plan.to_offset, .length = count});
  name_session((*to)->session, changes);
  return count;
}

Result<uint64_t> ModelState::seek(Ino ino, uint64_t offset, SeekTo to) const {
  const auto at = nodes_.find(ino);
  if (at == nodes_.end()) return fail(Code::file_not_found, "no such node");
  const ModelNode& node = at->second;
  if (node.attr.kind == NodeKind::directory) return fail(Code::is_directory, "a directory");
  if (node.attr.kind != NodeKind::file) return fail(Code::invalid_params, "no file");
  const uint64_t size = node.attr.size;
  if (offset >= size) return fail(Code::no_data, "beyond the end");
  if (node.content != 0 || history_texts_.contains(ino)) {
    return to == SeekTo::data ? offset : size;
  }
  auto chunk = node.chunks.lower_bound(offset / kChunkBytes);
  if (to == SeekTo::data) {
    if (chunk == node.chunks.end() || chunk->first * kChunkBytes >= size) {
      return fail(Code::no_data, "no data follows");
    }
    return std::max(offset, chunk->first * kChunkBytes);
  }
  uint64_t hole = offset;
  for (uint64_t index = offset / kChunkBytes; chunk != node.chunks.end() && chunk->first == index;
       ++chunk) {
    hole = ++index * kChunkBytes;
  }
  return std::min(hole, size);
}

}  // namespace ebla::kit
