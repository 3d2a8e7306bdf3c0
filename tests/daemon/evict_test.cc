#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <thread>

#include "tests/daemon/methods_fixture.h"
#include "tests/kit/real_texts.h"
#include "tests/kit/temp_dir.h"

namespace ebla::daemon {
namespace {

class EvictTest : public MethodsFixture {
 protected:
  Json evict(std::string_view content, std::string_view more = "") {
    return must("evict", "{\"content\":" + json_string(content) + std::string(more) + "}");
  }
  std::string file(std::string_view path) {
    std::string bytes;
    uint64_t offset = 0;
    for (;;) {
      auto request = std::make_shared<Request>();
      request->wants_blobs = true;
      auto answer =
          send("fs.read_bytes",
               "{\"path\":" + json_string(path) + ",\"offset\":" + std::to_string(offset) + "}",
               request);
      if (!answer.result) {
        ADD_FAILURE() << answer.result.error().text;
        return bytes;
      }
      bytes += answer.blobs.at(0);
      const Json* next = answer.result->find("next");
      if (next == nullptr) return bytes;
      offset = *next->as_uint64();
    }
  }
};

TEST_F(EvictTest, StaysUpToTheLimitAndGoesOneCharacterAbove) {
  for (const size_t size : {size_t{79'000}, size_t{80'000}}) {
    for (const std::string& text :
         {kit::prose(size), kit::numbered_rows(size), kit::one_line(size)}) {
      const Json kept = evict(text);
      EXPECT_FALSE(flag_of(kept, "evicted"));
      EXPECT_EQ(text_of(kept, "reason"), "below_limit");
      EXPECT_EQ(number_of(kept, "tokens"), size / 4);
      EXPECT_EQ(number_of(kept, "limit_tokens"), 20'000u);
    }
  }
  EXPECT_EQ(number_of(must("fs.ls", R"({"path":"/large_tool_results"})"), "total"), 0u);
  for (const size_t size : {size_t{80'001}, size_t{240'000}}) {
    for (const std::string& text :
         {kit::prose(size), kit::numbered_rows(size), kit::one_line(size)}) {
      const Json gone = evict(text);
      EXPECT_TRUE(flag_of(gone, "evicted"));
      EXPECT_EQ(number_of(gone, "size"), size);
      EXPECT_EQ(file(text_of(gone, "path")), text);
    }
  }
}

TEST_F(EvictTest, SameItemSameAnswerForEver) {
  const std::string text = kit::numbered_rows(100'000);
  const Json first = evict(text, R"(,"id":"call_1")");
  EXPECT_EQ(text_of(first, "path"), "/large_tool_results/call_1");
  EXPECT_FALSE(flag_of(first, "known"));
  const Json again = evict(text, R"(,"id":"call_1")");
  EXPECT_TRUE(flag_of(again, "known"));
  EXPECT_EQ(text_of(again, "replacement"), text_of(first, "replacement"));
  EXPECT_EQ(text_of(again, "path"), text_of(first, "path"));
  // Same id, other content; same content, other id.
  const Json other = evict(kit::numbered_rows(100'001), R"(,"id":"call_1")");
  EXPECT_EQ(text_of(other, "path"), "/large_tool_results/call_1.2");
  const Json twin = evict(text, R"(,"id":"call_2")");
  EXPECT_EQ(text_of(twin, "same_as"), "/large_tool_results/call_1");
  // A replacement that comes back stays what it is, whatever the limit says.
  const Json back =
      evict(text_of(first, "replacement"), R"(,"id":"call_9","limit_tokens":1,"force":true)");
  EXPECT_FALSE(flag_of(back, "evicted"));
  EXPECT_EQ(text_of(back, "reason"), "already_replaced");
}

TEST_F(EvictTest, AwkwardIdsNeverMeetNorLeaveTheFolder) {
  const std::string prefix = "call_x__thought__" + std::string(1400, 'A');
  const std::vector<std::string> ids = {prefix + "1",
                                        prefix + "2",
                                        "../../etc/passwd",
                                        "a/b",
                                        "a_b",
                                        "a\\b",
                                        ".",
                                        "..",
                                        "-rf",
                                        "x\ny",
                                        std::string("x\0y", 3),
                                        "\xF0\x9F\x98\x80",
                                        "a:11",
                                        "call_1#fc_2|x"};
  std::vector<std::string> paths;
  for (size_t i = 0; i < ids.size(); ++i) {
    const std::string text = kit::random_bytes(100'000, i);
    std::string hex = text;
    for (char& byte : hex) byte = static_cast<char>('a' + (byte & 15));
    const Json gone = evict(hex, ",\"id\":" + json_string(ids[i]));
    const std::string path = text_of(gone, "path");
    EXPECT_TRUE(path.starts_with("/large_tool_results/")) << path;
    EXPECT_EQ(path.find('/', 20), std::string::npos) << path;
    EXPECT_LE(path.size(), 80u);
    EXPECT_EQ(std::ranges::count(paths, path), 0) << path;
    paths.push_back(path);
    EXPECT_EQ(file(path), hex);
    const Json stat = must("fs.stat", "{\"path\":" + json_string(path) + "}");
    EXPECT_EQ(text_of(*stat.find("attributes"), "user.ebla.tool_call_id"), ids[i]);
  }
}

TEST_F(EvictTest, WithoutAnIdEveryContentHasItsFile) {
  const Json one = evict(kit::prose(90'000));
  const Json two = evict(kit::prose(90'001), R"(,"id":"")");
  const Json three = evict(kit::prose(90'002), R"(,"id":null)");
  EXPECT_NE(text_of(one, "path"), text_of(two, "path"));
  EXPECT_NE(text_of(two, "path"), text_of(three, "path"));
  EXPECT_EQ(file(text_of(two, "path")), kit::prose(90'001));
}

TEST_F(EvictTest, BlocksAreJoinedAndWhatIsNoTextIsKept) {
  const std::string half = kit::prose(50'000);
  const std::string content =
      R"([{"type":"image","source":{"data":"AAAA","n":1.0}},{"type":"text","text":)" +
      json_string(half) + R"(,"cache_control":{"type":"ephemeral"}},{"type":"text","text":)" +
      json_string(half) + R"(},{"type":"document","n":1152921504606846976}])";
  const Json gone = must("evict", "{\"content\":" + content + "}");
  ASSERT_TRUE(flag_of(gone, "evicted"));
  EXPECT_EQ(file(text_of(gone, "path")), half + "\n" + half);
  const Json* shaped = gone.find("replacement");
  ASSERT_TRUE(shaped->is(Json::Kind::array));
  ASSERT_EQ(shaped->items.size(), 3u);
  EXPECT_EQ(to_json(shaped->items[0]), R"({"type":"image","source":{"data":"AAAA","n":1.0}})");
  EXPECT_EQ(text_of(shaped->items[1], "type"), "text");
  EXPECT_NE(text_of(shaped->items[1], "text").find(text_of(gone, "path")), std::string::npos);
  EXPECT_EQ(to_json(*shaped->items[1].find("cache_control")), R"({"type":"ephemeral"})");
  EXPECT_EQ(to_json(shaped->items[2]), R"({"type":"document","n":1152921504606846976})");
  // The same text as a string is the same item.
  const Json same = evict(half + "\n" + half);
  EXPECT_TRUE(flag_of(same, "known"));
  EXPECT_EQ(text_of(same, "replacement"), text_of(shaped->items[1], "text"));
}

TEST_F(EvictTest, BadContentIsRefusedByName) {
  for (const char* content :
       {"5", "true", "{}", R"({"$blob":0})", R"({"$fd":0})", R"({"$path":"relative"})",
        R"({"$path":5})", R"({"$blob":0,"x":1})", R"([1])", R"([{"text":"x"}])",
        R"([{"type":"text"}])", R"([{"type":"text","text":5}])", R"({"$other":"x"})"}) {
    const Error error = must_fail("evict", std::string("{\"content\":") + content + "}");
    EXPECT_EQ(error.code, Code::invalid_params) << content;
    EXPECT_TRUE(error.text.starts_with("content: ")) << error.text;
  }
  EXPECT_EQ(must_fail("evict", R"({"content":"x","kind":"other"})").code, Code::invalid_params);
  EXPECT_EQ(must_fail("evict", R"({"content":"x","limit_tokens":0})").code, Code::invalid_params);
  // References deeper than the whole value are text like any other.
  EXPECT_FALSE(flag_of(must("evict", R"({"content":[{"type":"x","y":{"$path":"/etc/passwd"}}]})"),
                       "evicted"));
}

TEST_F(EvictTest, DescriptorsOfFilesAndPipesAreReadWhole) {
  const std::string text = kit::even_lines(5'000'000, 80'000);
  const int file_fd = memfd_create("content", MFD_CLOEXEC);
  ASSERT_TRUE(write_full(file_fd, text));
  auto request = std::make_shared<Request>();
  request->fds.emplace_back(file_fd);
  auto from_file = send("evict", R"({"content":{"$fd":0},"id":"from_file"})", request).result;
  ASSERT_TRUE(from_file) << from_file.error().text;
  EXPECT_EQ(number_of(*from_file, "size"), text.size());
  EXPECT_EQ(number_of(*from_file, "lines"), 80'000u);
  EXPECT_EQ(file("/large_tool_results/from_file"), text);

  int ends[2];
  ASSERT_EQ(pipe2(ends, O_CLOEXEC), 0);
  std::thread writer([&] {
    EXPECT_TRUE(write_full(ends[1], text));
    close(ends[1]);
  });
  request = std::make_shared<Request>();
  request->fds.emplace_back(ends[0]);
  auto from_pipe = send("evict", R"({"content":{"$fd":0},"id":"from_pipe"})", request).result;
  writer.join();
  ASSERT_TRUE(from_pipe) << from_pipe.error().text;
  EXPECT_EQ(text_of(*from_pipe, "same_as"), "/large_tool_results/from_file");
  EXPECT_EQ(file("/large_tool_results/from_pipe"), text);
}

TEST_F(EvictTest, ALargeContentThatStaysLeavesNothingStaged) {
  const uint64_t before = store_->usage().content_bytes;
  const int file_fd = memfd_create("content", MFD_CLOEXEC);
  ASSERT_TRUE(write_full(file_fd, kit::prose(3'000'000)));
  auto request = std::make_shared<Request>();
  request->fds.emplace_back(file_fd);
  auto kept = send("evict", R"({"content":{"$fd":0},"limit_tokens":10000000})", request).result;
  ASSERT_TRUE(kept) << kept.error().text;
  EXPECT_FALSE(flag_of(*kept, "evicted"));
  EXPECT_EQ(store_->usage().content_bytes, before);
}

TEST_F(EvictTest, APipeWhoseOwnerLeftIsNotStored) {
  int ends[2];
  ASSERT_EQ(pipe2(ends, O_CLOEXEC), 0);
  ASSERT_TRUE(write_full(ends[1], "begun"));
  auto request = std::make_shared<Request>();
  request->fds.emplace_back(ends[0]);
  request->cancelled = std::make_shared<std::atomic<bool>>(false);
  std::thread leave([flag = request->cancelled] { *flag = true; });
  auto result = send("evict", R"({"content":{"$fd":0},"force":true})", request).result;
  leave.join();
  close(ends[1]);
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, Code::unavailable);
}

TEST_F(EvictTest, PathsOfTheHostAreForTheDaemonsUserOnly) {
  const kit::TempDir folder;
  const std::string path = folder / "log";
  std::ofstream(path) << kit::prose(100'000);
  const std::string params = "{\"content\":{\"$path\":" + json_string(path) + "}}";
  EXPECT_EQ(number_of(must("evict", params), "size"), 100'000u);
  EXPECT_EQ(must_fail("evict", "{\"content\":{\"$path\":" + json_string(folder.path()) + "}}").code,
            Code::is_directory);
  EXPECT_EQ(must_fail("evict", R"({"content":{"$path":"/dev/zero"}})").code, Code::invalid_params);
  EXPECT_EQ(must_fail("evict", R"({"content":{"$path":"/no/such"}})").code, Code::file_not_found);
  uid_ = 1001;
  EXPECT_EQ(must_fail("evict", params).code, Code::permission_denied);
}

TEST_F(EvictTest, BytesOfEveryKindComeBackAsTheyWere) {
  for (const kit::NamedText& sample : kit::all_shapes()) {
    auto request = std::make_shared<Request>();
    request->blobs.push_back({sample.text, {}, sample.text.size()});
    auto result =
        send("evict",
             "{\"content\":{\"$blob\":0},\"limit_tokens\":1,\"id\":" + json_string(sample.name) +
                 "}",
             request)
            .result;
    ASSERT_TRUE(result) << sample.name << ": " << result.error().text;
    if (!flag_of(*result, "evicted")) continue;
    EXPECT_EQ(file(text_of(*result, "path")), sample.text) << sample.name;
  }
}

TEST_F(EvictTest, OwnReadersAreExempt) {
  must("session.open", R"({"key":"s","capabilities":{"read":"ebla_read","grep":"ebla_grep"}})");
  const std::string text = kit::prose(90'000);
  for (const char* more :
       {R"(,"session":"s","tool":"ebla_read")", R"(,"session":"s","tool":"ebla_grep")",
        R"(,"path":"/large_tool_results/x")", R"(,"path":"/conversation_history/default.md")"}) {
    EXPECT_EQ(text_of(evict(text, more), "reason"), "own_reader") << more;
  }
  EXPECT_TRUE(
      flag_of(evict(text, R"(,"session":"s","tool":"read_file","path":"/etc/x")"), "evicted"));
  must("session.open", R"({"key":"p","mount_prefix":"/mnt/memory"})");
  EXPECT_EQ(
      text_of(evict(text, R"(,"session":"p","path":"/mnt/memory/large_tool_results/y")"), "reason"),
      "own_reader");
}

TEST_F(EvictTest, HumanTextsHaveTheirOwnLimitAndFolder) {
  const std::string text = kit::prose(200'001);
  EXPECT_FALSE(flag_of(evict(kit::prose(200'000), R"(,"kind":"human")"), "evicted"));
  const Json gone = evict(text, R"(,"kind":"human")");
  EXPECT_TRUE(flag_of(gone, "evicted"));
  const std::string path = text_of(gone, "path");
  EXPECT_TRUE(path.starts_with("/conversation_history/default/message-")) << path;
  EXPECT_TRUE(path.ends_with(".md"));
  EXPECT_EQ(file(path), text);
}

TEST_F(EvictTest, NothingIsStoredWhileTheDaemonStops) {
  services_->stopping = true;
  EXPECT_EQ(must_fail("evict", R"({"content":"x","force":true})").code, Code::unavailable);
}

}  // namespace
}  // namespace ebla::daemon
