#include "daemon/line_index.h"

#include <algorithm>
#include <cstring>
#include <string_view>
#include <utility>

namespace ebla::daemon {
namespace {

uint64_t count_line_ends(std::string_view bytes) {
  return static_cast<uint64_t>(std::ranges::count(bytes, '\n'));
}

}  // namespace

Result<LineIndex> build_line_index(const ReadAt& read, uint64_t size) {
  LineIndex index;
  std::vector<char> block(LineIndex::kBlock);
  uint64_t ends = 0;
  while (index.size < size) {
    auto got = read(index.size, block);
    if (!got) return std::unexpected(got.error());
    if (*got == 0) break;
    index.ends_before.push_back(ends);
    ends += count_line_ends({block.data(), *got});
    index.final_newline = block[*got - 1] == '\n';
    index.size += *got;
    if (*got < block.size()) break;
  }
  index.lines = ends + (index.size > 0 && !index.final_newline ? 1 : 0);
  return index;
}

Result<uint64_t> line_start(const ReadAt& read, const LineIndex& index, uint64_t line) {
  if (line == 0) return 0;
  // The line begins after line end number `line`, which lies in the last block with fewer before.
  const auto after = std::ranges::lower_bound(index.ends_before, line);
  const auto block = static_cast<uint64_t>(after - index.ends_before.begin()) - 1;
  std::vector<char> bytes(LineIndex::kBlock);
  auto got = read(block * LineIndex::kBlock, bytes);
  if (!got) return std::unexpected(got.error());
  uint64_t left = line - index.ends_before[block];
  const char* at = bytes.data();
  const char* end = at + *got;
  while (left > 0) {
    at = static_cast<const char*>(std::memchr(at, '\n', static_cast<size_t>(end - at)));
    if (at == nullptr) return fail(Code::conflict, "the file changed while it was read: ask again");
    ++at;
    --left;
  }
  return block * LineIndex::kBlock + static_cast<uint64_t>(at - bytes.data());
}

Result<uint64_t> line_ends_before(const ReadAt& read, const LineIndex& index, uint64_t offset) {
  if (index.ends_before.empty()) return 0;
  const uint64_t block =
      std::min<uint64_t>(offset / LineIndex::kBlock, index.ends_before.size() - 1);
  std::vector<char> bytes(offset - block * LineIndex::kBlock);
  auto got = read(block * LineIndex::kBlock, bytes);
  if (!got) return std::unexpected(got.error());
  return index.ends_before[block] + count_line_ends({bytes.data(), *got});
}

std::shared_ptr<const LineIndex> LineIndexCache::find(Ino ino, uint64_t change) {
  const std::scoped_lock lock(mutex_);
  const auto at = std::ranges::find_if(
      entries_, [&](const Entry& entry) { return entry.ino == ino && entry.change == change; });
  if (at == entries_.end()) return nullptr;
  entries_.splice(entries_.begin(), entries_, at);
  return at->index;
}

void LineIndexCache::keep(Ino ino, uint64_t change, std::shared_ptr<const LineIndex> index) {
  const std::scoped_lock lock(mutex_);
  if (index->ends_before.size() > kBlocks) return;
  entries_.remove_if([&](const Entry& entry) {
    if (entry.ino != ino) return false;
    blocks_ -= entry.index->ends_before.size();
    return true;
  });
  blocks_ += index->ends_before.size();
  entries_.push_front({ino, change, std::move(index)});
  while (entries_.size() > kFiles || blocks_ > kBlocks) {
    blocks_ -= entries_.back().index->ends_before.size();
    entries_.pop_back();
  }
}

}  // namespace ebla::daemon
