#include "tools/content.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <filesystem>
#include <thread>

#include "tests/kit/real_texts.h"
#include "tests/kit/temp_dir.h"
#include "tests/tools/command.h"

namespace ebla::tools {
namespace {

using testing::HasSubstr;

// A pipe that a thread fills, as a shell's would be.
class Source {
 public:
  explicit Source(std::string bytes) {
    std::array<int, 2> ends{};
    EXPECT_EQ(pipe2(ends.data(), O_CLOEXEC), 0);
    end_.reset(ends[0]);
    writer_ = std::thread(
        [text = std::move(bytes), to = UniqueFd(ends[1])] { (void)write_full(to.get(), text); });
  }
  ~Source() { writer_.join(); }
  UniqueFd take() { return std::move(end_); }

 private:
  UniqueFd end_;
  std::thread writer_;
};

std::string copied(const Content& content) {
  const UniqueFd file = memory_file("");
  Output out(file.get(), false);
  EXPECT_TRUE(content.copy_to(out));
  return content_of_file(file.get());
}

TEST(Content, EveryShapeComesBackFromMemoryAndFromTheSpool) {
  const kit::TempDir folder("content");
  for (const auto& [name, text] : kit::all_shapes()) {
    const std::string large = above(text, 3 * Content::kMemoryBytes);
    for (const std::string& bytes : {text, large}) {
      Source source(bytes);
      const Content content = Content::read(source.take(), folder.path());
      ASSERT_FALSE(content.error()) << name;
      EXPECT_EQ(content.in_memory(), bytes.size() <= Content::kMemoryBytes) << name;
      EXPECT_EQ(content.size(), bytes.size());
      EXPECT_TRUE(copied(content) == bytes) << name;
      EXPECT_TRUE(copied(content) == bytes) << name << ", a second time";
      EXPECT_TRUE((content.in_memory() ? std::string(content.bytes())
                                       : content_of_file(content.file())) == bytes)
          << name;
    }
  }
  EXPECT_TRUE(std::filesystem::is_empty(folder.path())) << "the spool has no name";
}

TEST(Content, LimitOfTheMemoryIsExact) {
  const kit::TempDir folder("content");
  for (const size_t size : {size_t{0}, size_t{1}, Content::kMemoryBytes - 1, Content::kMemoryBytes,
                            Content::kMemoryBytes + 1}) {
    const std::string bytes = kit::random_bytes(size, size);
    Source source(bytes);
    const Content content = Content::read(source.take(), folder.path());
    EXPECT_EQ(content.in_memory(), size <= Content::kMemoryBytes) << size;
    EXPECT_TRUE(copied(content) == bytes) << size;
  }
}

TEST(Content, ARegularFileIsUsedAsItIs) {
  const std::string bytes = kit::with_nul(5'000);
  UniqueFd file = memory_file(bytes);
  const int number = file.get();
  const Content content = Content::read(std::move(file), "/nowhere");
  EXPECT_EQ(content.file(), number);
  EXPECT_EQ(content.size(), bytes.size());
  EXPECT_EQ(copied(content), bytes);
}

TEST(Content, AFileReadInPartGivesItsRest) {
  UniqueFd file = memory_file("first line\nthe rest\n");
  ASSERT_EQ(lseek(file.get(), 11, SEEK_SET), 11);
  const Content content = Content::read(std::move(file), "/nowhere");
  EXPECT_TRUE(content.in_memory());
  EXPECT_EQ(copied(content), "the rest\n");
}

TEST(Content, FilesWithoutASizeAreReadToTheirEnd) {
  auto file = open_file("/proc/self/status", O_RDONLY);
  ASSERT_TRUE(file);
  const Content content = Content::read(std::move(*file), "/nowhere");
  EXPECT_THAT(copied(content), HasSubstr("VmPeak:"));
}

TEST(Content, NoFolderForTheSpoolLosesNothing) {
  const std::string bytes = kit::random_bytes(4 * Content::kMemoryBytes, 1);
  Source source(bytes);
  const Content content = Content::read(source.take(), "/no/such/folder");
  ASSERT_TRUE(content.error());
  EXPECT_EQ(content.error()->code, Code::file_not_found);
  EXPECT_THAT(content.error()->text, HasSubstr("/no/such/folder"));
  EXPECT_TRUE(copied(content) == bytes);
}

// The file-size limit stands for a disk that fills up in the middle. In a child process, because
// the limit holds for everything that the process writes.
TEST(Content, ASpoolThatFillsUpLosesNothing) {
  const kit::TempDir folder("content");
  const std::string bytes = kit::random_bytes(4 * Content::kMemoryBytes, 2);
  for (const size_t limit : {size_t{0}, Content::kMemoryBytes / 2, 2 * Content::kMemoryBytes + 5}) {
    std::array<int, 2> in{};
    std::array<int, 2> out{};
    ASSERT_EQ(pipe2(in.data(), O_CLOEXEC), 0);
    ASSERT_EQ(pipe2(out.data(), O_CLOEXEC), 0);
    const pid_t child = fork();
    if (child == 0) {
      close(in[1]);
      const rlimit cap{limit, limit};
      setrlimit(RLIMIT_FSIZE, &cap);
      std::signal(SIGXFSZ, SIG_IGN);
      const Content content = Content::read(UniqueFd(in[0]), folder.path());
      Output output(out[1], false);
      const bool copied_all = content.copy_to(output).has_value();
      _exit(content.error() && content.error()->code == Code::too_large && copied_all ? 0 : 1);
    }
    ASSERT_GT(child, 0);
    close(in[0]);
    close(out[1]);
    std::thread writer([&bytes, end = UniqueFd(in[1])] { (void)write_full(end.get(), bytes); });
    const UniqueFd from(out[0]);
    std::string got(bytes.size() + 1, '\0');
    got.resize(read_full(from.get(), got.data(), got.size()).value_or(0));
    writer.join();
    EXPECT_TRUE(got == bytes) << limit;
    int status = -1;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0) << limit;
  }
}

TEST(Content, AFolderIsAnError) {
  auto folder = open_file("/", O_RDONLY);
  ASSERT_TRUE(folder);
  const Content content = Content::read(std::move(*folder), "/tmp");
  ASSERT_TRUE(content.error());
  EXPECT_EQ(content.error()->code, Code::is_directory);
  EXPECT_EQ(copied(content), "");
}

TEST(Content, DescriptorsThatDoNotWaitAreWaitedFor) {
  std::array<int, 2> in{};
  std::array<int, 2> out{};
  ASSERT_EQ(pipe2(in.data(), O_CLOEXEC | O_NONBLOCK), 0);
  ASSERT_EQ(pipe2(out.data(), O_CLOEXEC), 0);
  const std::string bytes = kit::random_bytes(500'000, 3);
  std::string got(bytes.size() + 1, '\0');
  std::thread writer([&, end = UniqueFd(in[1])] {
    fcntl(end.get(), F_SETFL, 0);
    (void)write_full(end.get(), bytes);
  });
  std::thread reader([&, end = UniqueFd(out[0])] {
    got.resize(read_full(end.get(), got.data(), got.size()).value_or(0));
  });
  fcntl(out[1], F_SETFL, O_NONBLOCK);
  {
    const UniqueFd to(out[1]);
    const Content content = Content::read(UniqueFd(in[0]), "/tmp");
    Output output(to.get(), false);
    EXPECT_TRUE(content.copy_to(output));
  }
  writer.join();
  reader.join();
  EXPECT_TRUE(got == bytes);
}

}  // namespace
}  // namespace ebla::tools
