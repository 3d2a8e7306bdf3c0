// Content of clients' files.
#include <algorithm>
#include <atomic>
#include <thread>

#include "schema/base/limits.h"
#include "tests/kit/file_calls.h"
#include "tests/kit/real_texts.h"
#include "tests/schema/store_contract.h"

namespace ebla {
namespace {

using kit::make_file;
using limits::kChunkBytes;
using testing::ElementsAre;

class StoreFiles : public StoreContract {
 protected:
  Ino root() { return store().root(); }
  Attr attr(Ino ino) { return store().getattr(ino).value_or(Attr{}); }
  std::string text(Ino ino) { return kit::read_file(store(), ino, 10'000); }
  void write(Ino ino, uint64_t offset, std::string_view bytes) {
    const auto ended = kit::write(store(), {.ino = ino, .offset = offset}, bytes);
    EXPECT_TRUE(ended.ok()) << ended.result.error().text;
    EXPECT_EQ(ended->count, bytes.size());
    EXPECT_EQ(ended->offset, offset);
  }
  void truncate(Ino ino, uint64_t size) {
    const auto ended = kit::setattr(store(), {.ino = ino, .size = size});
    ASSERT_TRUE(ended.ok()) << ended.result.error().text;
    EXPECT_EQ(ended->size, size);
  }
  void flush(Ino ino, Durability durability = Durability::durable) {
    const auto ended = kit::flush(store(), ino, {.durability = durability});
    EXPECT_TRUE(ended.ok()) << ended.result.error().text;
  }
};

TEST_P(StoreFiles, WrittenBytesAreThereAtOnceAndAfterACommit) {
  const Ino file = make_file(store(), root(), "f");
  clock_.advance_ns(4);
  const auto ended = kit::write(store(), {.ino = file}, "hello", {.origin = 3});
  EXPECT_EQ(ended.changes.revision, 0u);
  EXPECT_EQ(ended.changes.origin, 3u);
  EXPECT_THAT(ended.changes.attributes, ElementsAre(file));
  EXPECT_THAT(ended.changes.ranges, ElementsAre(RangeChange{file, 0, 5}));
  const auto check = [&] {
    EXPECT_EQ(text(file), "hello world");
    EXPECT_EQ(attr(file).size, 11u);
    EXPECT_EQ(attr(file).mtime_ns, clock_.wall_ns());
    EXPECT_EQ(attr(file).ctime_ns, clock_.wall_ns());
    EXPECT_EQ(store().lookup(root(), "f")->size, 11u);
    EXPECT_EQ(kit::list(store(), root()).back().attr.size, 11u);
  };
  const uint64_t before = attr(file).change;
  write(file, 5, " world");
  EXPECT_GT(attr(file).change, before);
  check();
  const uint64_t dirty = attr(file).change;
  flush(file);
  EXPECT_GE(attr(file).change, dirty);
  check();
  EXPECT_EQ(attr(file).raw_bytes, GetParam().durable ? 11u : 0u);
  flush(file);
  flush(file, Durability::ordered);
  check();
}

TEST_P(StoreFiles, OverwritingAcrossChunksKeepsTheRest) {
  std::string expected = kit::numbered_rows(20'000).substr(0, 3 * kChunkBytes + 77);
  const Ino file = make_file(store(), root(), "f", expected);
  flush(file);
  for (const auto& [offset, size] :
       std::vector<std::pair<size_t, size_t>>{{0, 1},
                                              {kChunkBytes - 1, 2},
                                              {kChunkBytes, kChunkBytes},
                                              {5, 2 * kChunkBytes},
                                              {3 * kChunkBytes, 77},
                                              {3 * kChunkBytes + 70, 20},
                                              {17, 0}}) {
    const std::string bytes = kit::random_bytes(size, offset);
    expected.resize(std::max(expected.size(), offset + size));
    expected.replace(offset, size, bytes);
    write(file, offset, bytes);
    EXPECT_EQ(text(file), expected) << offset;
    if (size != 2) flush(file, Durability::ordered);
    EXPECT_EQ(text(file), expected) << offset;
  }
  EXPECT_EQ(attr(file).size, expected.size());
}

TEST_P(StoreFiles, AppendsNeverInterleave) {
  const Ino file = make_file(store(), root(), "log");
  std::vector<std::thread> writers;
  for (int w = 0; w < 4; ++w) {
    writers.emplace_back([&, w] {
      for (int i = 0; i < 60; ++i) {
        const std::string line(static_cast<size_t>(500 + 3000 * w), static_cast<char>('a' + w));
        EXPECT_TRUE(kit::write(store(), {.ino = file, .append = true}, line + "\n").ok());
        if (i % 20 == 7) flush(file, Durability::ordered);
      }
    });
  }
  for (auto& writer : writers) writer.join();
  const std::string all = text(file);
  std::map<std::string, int> lines;
  for (size_t at = 0; at < all.size();) {
    const size_t end = all.find('\n', at);
    ASSERT_NE(end, std::string::npos);
    ++lines[all.substr(at, end - at)];
    at = end + 1;
  }
  ASSERT_EQ(lines.size(), 4u);
  for (const auto& [line, count] : lines) EXPECT_EQ(count, 60) << line.substr(0, 1);
}

TEST_P(StoreFiles, WhatTruncationTakesNeverComesBack) {
  const std::string bytes = kit::random_bytes(2 * kChunkBytes + 500, 3);
  const Ino file = make_file(store(), root(), "f", bytes);
  for (const bool committed : {false, true}) {
    if (committed) flush(file);
    write(file, 0, bytes);
    truncate(file, kChunkBytes + 9);
    EXPECT_EQ(text(file), bytes.substr(0, kChunkBytes + 9));
    truncate(file, 2 * kChunkBytes);
    std::string expected = bytes.substr(0, kChunkBytes + 9);
    expected.resize(2 * kChunkBytes);
    EXPECT_EQ(text(file), expected);
    truncate(file, 0);
    EXPECT_EQ(text(file), "");
    EXPECT_EQ(attr(file).raw_bytes, 0u);
    write(file, 3, "x");
    EXPECT_EQ(text(file), std::string("\0\0\0x", 4));
    truncate(file, 0);
  }
  const auto ended = kit::setattr(store(), {.ino = file, .size = 100});
  EXPECT_THAT(ended.changes.ranges, ElementsAre(RangeChange{file, 0, 0}));
  EXPECT_GT(ended.changes.revision, 0u);
  EXPECT_EQ(kit::setattr(store(), {.ino = file, .size = limits::kFileBytes + 1}).code(),
            Code::too_large);
  truncate(file, limits::kFileBytes);
}

TEST_P(StoreFiles, SparseFilesCostWhatTheyHold) {
  const Ino file = make_file(store(), root(), "sparse");
  const uint64_t far = 1'000'000 * kChunkBytes;
  write(file, far, "end");
  const auto check = [&] {
    EXPECT_EQ(attr(file).size, far + 3);
    std::string tail(8, 'x');
    ASSERT_EQ(*store().read(file, far - 5, tail), 8u);
    EXPECT_EQ(tail, std::string("\0\0\0\0\0end", 8));
    EXPECT_EQ(*store().seek(file, 0, SeekTo::data), far);
    EXPECT_EQ(*store().seek(file, 0, SeekTo::hole), 0u);
    EXPECT_EQ(*store().seek(file, far + 1, SeekTo::data), far + 1);
    EXPECT_EQ(*store().seek(file, far + 1, SeekTo::hole), far + 3);
    EXPECT_EQ(store().seek(file, far + 3, SeekTo::data).error().code, Code::no_data);
    EXPECT_EQ(store().seek(file, far + 3, SeekTo::hole).error().code, Code::no_data);
  };
  check();
  flush(file);
  check();
  EXPECT_LT(attr(file).raw_bytes, 2 * kChunkBytes);
  // A hole between two chunks, one committed and one not.
  write(file, 4 * kChunkBytes, std::string(kChunkBytes, 'd'));
  EXPECT_EQ(*store().seek(file, 0, SeekTo::data), 4 * kChunkBytes);
  EXPECT_EQ(*store().seek(file, 4 * kChunkBytes + 1, SeekTo::hole), 5 * kChunkBytes);
  EXPECT_EQ(*store().seek(file, 5 * kChunkBytes, SeekTo::data), far);
  truncate(file, 5 * kChunkBytes + 10);
  EXPECT_EQ(store().seek(file, 5 * kChunkBytes, SeekTo::data).error().code, Code::no_data);
  EXPECT_EQ(store().seek(root(), 0, SeekTo::data).error().code, Code::is_directory);
}

TEST_P(StoreFiles, AFlushTellsWhenFilesHoldOtherThanWasShown) {
  const Ino file = make_file(store(), root(), "sparse");
  truncate(file, 10 * kChunkBytes);
  flush(file);
  write(file, 5 * kChunkBytes, "x");
  const uint64_t shown = attr(file).raw_bytes;
  const auto ended = kit::flush(store(), file);
  const uint64_t held = attr(file).raw_bytes;
  EXPECT_EQ(ended.changes.attributes.empty(), shown == held);
  if (GetParam().durable) {
    EXPECT_GT(held, 0u);
  }
}

TEST_P(StoreFiles, RangesArePunchedZeroedAndReserved) {
  using Mode = AllocatePlan::Mode;
  std::string expected = kit::random_bytes(4 * kChunkBytes, 9);
  const Ino file = make_file(store(), root(), "f", expected);
  flush(file);
  const auto allocate = [&](uint64_t offset, uint64_t length, Mode mode) {
    return kit::allocate(store(), {.ino = file, .offset = offset, .length = length, .mode = mode});
  };
  ASSERT_TRUE(allocate(100, 2 * kChunkBytes, Mode::punch).ok());
  expected.replace(100, 2 * kChunkBytes, 2 * kChunkBytes, '\0');
  EXPECT_EQ(text(file), expected);
  flush(file);
  EXPECT_EQ(text(file), expected);
  EXPECT_LT(attr(file).raw_bytes, 3 * kChunkBytes + 1);
  EXPECT_EQ(*store().seek(file, kChunkBytes, SeekTo::hole), kChunkBytes);
  EXPECT_EQ(*store().seek(file, kChunkBytes, SeekTo::data), 2 * kChunkBytes);

  // Punching and zero_beyond keep the size, zero and reserve make it.
  ASSERT_TRUE(allocate(expected.size() - 5, 1000, Mode::punch).ok());
  ASSERT_TRUE(allocate(expected.size() + 5, 1000, Mode::zero_beyond).ok());
  ASSERT_TRUE(allocate(0, 10 * kChunkBytes, Mode::reserve_beyond).ok());
  EXPECT_EQ(attr(file).size, expected.size());
  const auto zeroed = allocate(expected.size() - 50, 100, Mode::zero);
  EXPECT_THAT(zeroed.changes.ranges, ElementsAre(RangeChange{file, expected.size() - 50, 100}));
  expected.replace(expected.size() - 50, 50, 100, '\0');
  EXPECT_EQ(text(file), expected);
  ASSERT_TRUE(allocate(expected.size(), 7, Mode::reserve).ok());
  expected.append(7, '\0');
  EXPECT_EQ(text(file), expected);
  flush(file);
  EXPECT_EQ(text(file), expected);

  EXPECT_EQ(allocate(0, 0, Mode::reserve).code(), Code::invalid_params);
  EXPECT_EQ(allocate(limits::kFileBytes, 1, Mode::reserve_beyond).code(), Code::too_large);
  EXPECT_EQ(kit::allocate(store(), {.ino = root(), .length = 1}).code(), Code::is_directory);
}

TEST_P(StoreFiles, CopiesKeepHolesAndStopAtTheEnd) {
  const Session session = kit::make_session(store(), "s-aaaaa");
  const std::string log = kit::numbered_rows(5000);
  const EvictionOutcome result = put(session, "call_1", log);
  const Ino copy = make_file(store(), root(), "copy", "0123456789");
  const auto ended = kit::copy_range(
      store(),
      {.from = result.ino, .from_offset = 7, .to = copy, .to_offset = 5, .length = log.size()});
  ASSERT_TRUE(ended.ok());
  EXPECT_EQ(*ended, log.size() - 7);
  EXPECT_THAT(ended.changes.ranges, ElementsAre(RangeChange{copy, 5, log.size() - 7}));
  EXPECT_EQ(text(copy), "01234" + log.substr(7));
  EXPECT_EQ(
      *kit::copy_range(store(), {.from = copy, .from_offset = log.size(), .to = copy, .length = 9}),
      0u);

  const Ino sparse = make_file(store(), root(), "sparse", "begin");
  truncate(sparse, 3 * kChunkBytes);
  const Ino other = make_file(store(), root(), "other", std::string(3 * kChunkBytes, 'o'));
  EXPECT_EQ(*kit::copy_range(store(), {.from = sparse, .to = other, .length = 1 << 20}),
            3 * kChunkBytes);
  EXPECT_EQ(text(other), text(sparse));
  EXPECT_EQ(
      kit::copy_range(store(), {.from = other, .to = other, .to_offset = 9, .length = 10}).code(),
      Code::invalid_params);
  EXPECT_EQ(kit::copy_range(store(), {.from = root(), .to = other, .length = 10}).code(),
            Code::is_directory);
  const Ino huge = make_file(store(), root(), "huge");
  truncate(huge, 1 << 30);
  EXPECT_EQ(*kit::copy_range(store(), {.from = huge, .to = other, .length = 1 << 30}),
            limits::kCopyBytes);
}

TEST_P(StoreFiles, WritingTakesPrivilegesWhereTheWriterMayNotKeepThem) {
  const Ino file = make_file(store(), root(), "f");
  const auto reset = [&](uint32_t mode) {
    ASSERT_TRUE(kit::setattr(store(), {.ino = file, .mode = mode}).ok());
  };
  reset(06755);
  write(file, 0, "x");
  EXPECT_EQ(attr(file).mode, 06755u);
  EXPECT_TRUE(kit::write(store(), {.ino = file, .drop_privileges = true}, "x").ok());
  EXPECT_EQ(attr(file).mode, 0755u);
  flush(file);
  EXPECT_EQ(attr(file).mode, 0755u);
  reset(06744);
  EXPECT_EQ(kit::setattr(store(), {.ino = file, .size = 0, .drop_privileges = true})->mode, 02744u);
  // Set again after the write: it stays.
  EXPECT_TRUE(kit::write(store(), {.ino = file, .drop_privileges = true}, "x").ok());
  reset(04711);
  flush(file);
  EXPECT_EQ(attr(file).mode, 04711u);
}

TEST_P(StoreFiles, TimesSetAfterAWriteStay) {
  const Ino file = make_file(store(), root(), "f");
  clock_.advance_ns(1'000'000'000);
  write(file, 0, "unpacked");
  ASSERT_TRUE(kit::setattr(store(), {.ino = file, .mtime = TimeValue{.ns = 42}}).ok());
  EXPECT_EQ(attr(file).mtime_ns, 42);
  flush(file);
  EXPECT_EQ(attr(file).mtime_ns, 42);
  EXPECT_EQ(text(file), "unpacked");
}

TEST_P(StoreFiles, WriteNamesItsFailures) {
  const Ino file = make_file(store(), root(), "f");
  const auto code = [&](WritePlan plan) { return kit::write(store(), plan, "bytes").code(); };
  EXPECT_EQ(code({.ino = root()}), Code::is_directory);
  EXPECT_EQ(code({.ino = Ino{1} << 50}), Code::file_not_found);
  EXPECT_EQ(code({.ino = file, .offset = limits::kFileBytes - 4}), Code::too_large);
  EXPECT_EQ(code({.ino = file, .offset = ~uint64_t{0}}), Code::too_large);
  EXPECT_EQ(code_info(Code::too_large).errno_value, EFBIG);
  EXPECT_EQ(attr(file).size, 0u);
  const auto empty = kit::write(store(), {.ino = file, .offset = 9}, "");
  EXPECT_TRUE(empty.ok());
  EXPECT_TRUE(empty.changes.empty());
  EXPECT_EQ(attr(file).size, 0u);
  CreatePlan fifo;
  fifo.parent = root();
  fifo.name = "p";
  fifo.kind = NodeKind::fifo;
  EXPECT_EQ(code({.ino = kit::create(store(), fifo)->ino}), Code::invalid_params);
}

TEST_P(StoreFiles, NodesWithoutANameAreStillWrittenAndRead) {
  const Ino file = make_file(store(), root(), "f", "before");
  ASSERT_TRUE(kit::remove(store(), {.parent = root(), .name = "f"}).ok());
  write(file, 6, " and after");
  flush(file);
  EXPECT_EQ(text(file), "before and after");
  truncate(file, 6);
  write(file, 6, "!");
  EXPECT_EQ(text(file), "before!");
  ASSERT_TRUE(kit::reap(store(), {file}).ok());
  EXPECT_EQ(kit::write(store(), {.ino = file}, "x").code(), Code::file_not_found);
  EXPECT_EQ(store().usage().logical_bytes, 0u);
}

TEST_P(StoreFiles, MoreThanMayWaitIsTakenAllTheSame) {
  // 96 MiB to six files by six threads, in pieces that fit no chunk: all limits are met.
  constexpr size_t kPiece = 1'000'003;
  const std::string piece = kit::random_bytes(kPiece, 1);
  std::vector<Ino> files;
  for (int i = 0; i < 6; ++i) files.push_back(make_file(store(), root(), std::to_string(i)));
  std::vector<std::thread> writers;
  for (const Ino file : files) {
    writers.emplace_back([&, file] {
      for (uint64_t i = 0; i < 16; ++i) write(file, i * kPiece, piece);
    });
  }
  for (auto& writer : writers) writer.join();
  for (const Ino file : files) {
    ASSERT_EQ(attr(file).size, 16 * kPiece);
    std::string bytes(kPiece, '\0');
    for (const uint64_t i : {0u, 7u, 15u}) {
      ASSERT_EQ(*store().read(file, i * kPiece, bytes), kPiece);
      EXPECT_TRUE(bytes == piece) << i;
    }
  }
}

TEST_P(StoreFiles, ReadersSeeEachStateWhole) {
  // A file that is always one letter throughout, rewritten, committed and cut while it is read.
  const Ino file = make_file(store(), root(), "f", std::string(50'000, 'a'));
  std::atomic<bool> done = false;
  std::thread reader([&] {
    std::string bytes(50'000, '\0');
    while (!done) {
      const auto count = store().read(file, 0, bytes);
      ASSERT_TRUE(count.has_value());
      ASSERT_TRUE(*count == 0 || *count == bytes.size()) << *count;
      const auto other =
          std::find_if(bytes.begin(), bytes.end(), [&](char c) { return c != bytes[0]; });
      ASSERT_TRUE(*count == 0 || other == bytes.end()) << other - bytes.begin();
      const auto seen = store().lookup(root(), "f");
      ASSERT_TRUE(seen->size == 0 || seen->size == bytes.size()) << seen->size;
    }
  });
  for (int i = 0; i < 150; ++i) {
    write(file, 0, std::string(50'000, static_cast<char>('a' + i % 26)));
    if (i % 3 == 0) flush(file, Durability::ordered);
    if (i % 7 == 0) truncate(file, 0);
  }
  done = true;
  reader.join();
}

TEST_P(StoreFiles, WhatIsWrittenOutlivesTheDaemon) {
  const std::string bytes = kit::random_bytes(3 * kChunkBytes + 5, 7);
  const Ino file = make_file(store(), root(), "f", bytes);
  const Ino orphan = make_file(store(), root(), "gone", bytes);
  ASSERT_TRUE(kit::link(store(), {.ino = file, .parent = root(), .name = "g"}).ok());
  ASSERT_TRUE(kit::remove(store(), {.parent = root(), .name = "gone"}).ok());
  kit::make_folder(store(), root(), "empty");
  ASSERT_TRUE(kit::remove_folder(store(), {.parent = root(), .name = "empty"}).ok());
  ASSERT_TRUE(kit::set_xattr(store(), {.ino = file, .name = "user.a", .value = "v"}).ok());
  write(file, 5, "not flushed");
  const Attr before = attr(file);
  reopen();
  if (IsSkipped()) return;
  std::string expected = bytes;
  expected.replace(5, 11, "not flushed");
  EXPECT_EQ(text(file), expected);
  Attr after = attr(file);
  after.raw_bytes = before.raw_bytes;
  EXPECT_EQ(after, before);
  EXPECT_EQ(kit::xattr(store(), file, "user.a"), "v");
  EXPECT_EQ(store().getattr(orphan).error().code, Code::file_not_found);
  EXPECT_EQ(store().usage().directories, 3u);
}

TEST_P(StoreFiles, SyncTakesEveryFile) {
  std::vector<Ino> files;
  for (int i = 0; i < 20; ++i) {
    files.push_back(make_file(store(), root(), std::to_string(i), std::to_string(i)));
  }
  ASSERT_TRUE(kit::sync(store()).ok());
  for (size_t i = 0; i < files.size(); ++i) EXPECT_EQ(text(files[i]), std::to_string(i));
}

INSTANTIATE_TEST_SUITE_P(Engines, StoreFiles, testing::ValuesIn(engines()),
                         [](const auto& engine) { return engine.param.name; });

}  // namespace
}  // namespace ebla
