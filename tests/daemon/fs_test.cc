#include "tests/daemon/methods_fixture.h"
#include "tests/kit/real_texts.h"

namespace ebla::daemon {
namespace {

class FsTest : public MethodsFixture {
 protected:
  void remove(std::string_view folder, std::string_view name) {
    Ino parent = store_->root();
    parent = store_->lookup(parent, folder)->ino;
    store_->remove({parent, std::string(name), kUid, "rm"}, {},
                   [](Result<void> done, const ChangeSet&) { EXPECT_TRUE(done); });
  }
};

TEST_F(FsTest, LsPagesWithTotal) {
  for (int i = 0; i < 23; ++i) put(kit::prose(20'000), "c" + std::to_string(i));
  std::vector<std::string> names;
  uint64_t after = 0;
  for (;;) {
    const Json page = must("fs.ls", R"({"path":"/large_tool_results/","limit":5,"after":)" +
                                        std::to_string(after) + "}");
    EXPECT_EQ(text_of(page, "path"), "/large_tool_results");
    EXPECT_EQ(number_of(page, "total"), 23u);
    for (const Json& entry : page.find("entries")->items) {
      names.push_back(text_of(entry, "name"));
      EXPECT_EQ(text_of(entry, "kind"), "file");
      EXPECT_EQ(number_of(entry, "size"), 20'000u);
    }
    if (page.find("next") == nullptr) break;
    after = number_of(page, "next");
  }
  EXPECT_EQ(names.size(), 23u);
  const Json root = must("fs.ls", R"({"path":"/"})");
  EXPECT_EQ(number_of(root, "total"), 2u);
  EXPECT_EQ(must_fail("fs.ls", R"({"path":"/large_tool_results/c1"})").code, Code::not_directory);
  EXPECT_EQ(must_fail("fs.ls", R"({"path":"/nowhere"})").code, Code::file_not_found);
}

TEST_F(FsTest, PathsAreCheckedBeforeAnything) {
  put(kit::prose(20'000), "c");
  for (const char* path : {"", "relative", "/a/../b", "/large_tool_results/../x", "/\\u0000"}) {
    const std::string params = std::string("{\"path\":\"") + path + "\"}";
    EXPECT_EQ(must_fail("fs.read", params).code, Code::invalid_path) << path;
    EXPECT_EQ(must_fail("fs.stat", params).code, Code::invalid_path) << path;
  }
  EXPECT_EQ(must_fail("fs.ls", "{\"path\":\"/" + std::string(5000, 'a') + "\"}").code,
            Code::invalid_path);
  EXPECT_EQ(must_fail("fs.ls", "{\"path\":\"/" + std::string(256, 'a') + "\"}").code,
            Code::name_too_long);
  must("fs.read", R"({"path":"//large_tool_results/./c"})");
  EXPECT_EQ(must_fail("fs.read", R"({"path":"/large_tool_results"})").code, Code::is_directory);
}

TEST_F(FsTest, StatTellsWhatIsKnown) {
  const std::string text = kit::prose(20'000);
  put(text, "weird id/\xF0\x9F\x98\x80");
  const Json listed = must("fs.ls", R"({"path":"/large_tool_results"})");
  const std::string name = text_of(listed.find("entries")->items.at(0), "name");
  const Json stat =
      must("fs.stat", "{\"path\":" + json_string("/large_tool_results/" + name) + "}");
  EXPECT_EQ(number_of(stat, "size"), text.size());
  EXPECT_EQ(text_of(stat, "mode"), "0400");
  EXPECT_TRUE(flag_of(stat, "protected"));
  EXPECT_TRUE(flag_of(stat, "removable"));
  const Json* attributes = stat.find("attributes");
  EXPECT_EQ(text_of(*attributes, "user.ebla.tool_call_id"), "weird id/\xF0\x9F\x98\x80");
  EXPECT_EQ(text_of(*attributes, "user.ebla.xxh3"), xxh3_128(text).hex());
}

TEST_F(FsTest, TheSessionsOwnFolderComesFirst) {
  put("default " + kit::prose(20'000), "same");
  const std::string own = put("own " + kit::prose(20'000), "same", "s");
  put("only " + kit::prose(20'000), "elsewhere");
  const auto first_word = [&](std::string_view params) {
    return text_of(must("fs.read", params), "text").substr(0, 4);
  };
  EXPECT_EQ(first_word(R"({"path":"/large_tool_results/same"})"), "defa");
  EXPECT_EQ(first_word(R"({"path":"/large_tool_results/same","session":"s"})"), "own ");
  EXPECT_EQ(first_word("{\"path\":" + json_string(own) + ",\"session\":\"s\"}"), "own ");
  EXPECT_EQ(first_word(R"({"path":"/large_tool_results/elsewhere","session":"s"})"), "only");
  EXPECT_EQ(number_of(must("fs.ls", R"({"path":"/large_tool_results","session":"s"})"), "total"),
            1u);
}

TEST_F(FsTest, HostPathsOfMountsAndOfStoredTextsAreUnderstood) {
  mounts_.find_for = [](std::string_view) {
    return fs::MountInfo{.id = 1, .spec = {"/large_tool_results", "/host/results"}, .alive = true};
  };
  mounts_.tree_path_of = [](std::string_view path) {
    return path.starts_with("/host/results/") ? "/large_tool_results" + std::string(path.substr(13))
                                              : std::string();
  };
  start();
  put(kit::prose(20'000), "c");
  must("fs.read", R"({"path":"/host/results/c"})");
  // The mount is gone, its notices are not.
  mounts_ = no_mounts();
  start();
  must("fs.read", R"({"path":"/host/results/c"})");
  EXPECT_EQ(must_fail("fs.read", R"({"path":"/host/resultsc"})").code, Code::file_not_found);
  must("session.open", R"({"key":"p","mount_prefix":"/box/memory"})");
  must("fs.read", R"({"path":"/box/memory/large_tool_results/c","session":"p"})");
}

TEST_F(FsTest, ARemovedResultIsExplained) {
  put(kit::prose(20'000), "gone");
  remove("large_tool_results", "gone");
  for (const char* params : {R"({"path":"/large_tool_results/gone"})",
                             R"({"path":"/large_tool_results/gone","session":"s"})"}) {
    const Error error = must_fail("fs.read", params);
    EXPECT_EQ(error.code, Code::file_not_found);
    EXPECT_NE(error.text.find("removed at 2023-11-14T22:13:20"), std::string::npos) << error.text;
    EXPECT_NE(error.text.find("by uid 1000 (rm)"), std::string::npos) << error.text;
  }
  EXPECT_EQ(must_fail("fs.read", R"({"path":"/large_tool_results/never"})").text.find("removed"),
            std::string::npos);
}

TEST_F(FsTest, ReadGivesWhatThePageSays) {
  put(kit::numbered_rows(100'000), "rows");
  const Json page = must("fs.read", R"({"path":"/large_tool_results/rows","offset":10,"limit":3})");
  EXPECT_EQ(text_of(page, "text"), "row 11\nrow 12\nrow 13\n");
  EXPECT_EQ(number_of(page, "first"), 11u);
  EXPECT_EQ(number_of(page, "last"), 13u);
  EXPECT_EQ(number_of(page, "next"), 13u);
  EXPECT_EQ(text_of(page, "encoding"), "utf-8");
  EXPECT_EQ(number_of(must("fs.read", R"({"path":"/large_tool_results/rows"})"), "last"), 100u);
  const Error past =
      must_fail("fs.read", R"({"path":"/large_tool_results/rows","offset":1000000})");
  EXPECT_EQ(past.code, Code::out_of_range);
  EXPECT_EQ(must_fail("fs.read", R"({"path":"/large_tool_results/rows","limit":-1})").code,
            Code::invalid_params);
}

TEST_F(FsTest, APageIsNeverLargerThanTheSessionsOwnLimit) {
  put(kit::one_line(100'000), "line");
  must("session.open", R"({"key":"small","settings":{"tool_result_tokens":500}})");
  const Json page = must("fs.read", R"({"path":"/large_tool_results/line","session":"small"})");
  EXPECT_LE(text_of(page, "text").size(), 2'000u);
  EXPECT_GT(number_of(page, "next_column"), 1'000u);
}

TEST_F(FsTest, BinarySaysTypeAndSize) {
  put("\x89PNG\r\n\x1a\n" + kit::with_nul(20'000), "png");
  const Json page = must("fs.read", R"({"path":"/large_tool_results/png"})");
  EXPECT_TRUE(flag_of(page, "binary"));
  EXPECT_EQ(text_of(page, "type"), "PNG image");
  EXPECT_EQ(text_of(page, "text"), "");
  EXPECT_EQ(number_of(page, "size"), 20'008u);
}

TEST_F(FsTest, TextThatMeetsTheSniffBoundaryStaysText) {
  for (const size_t lead : {8'189u, 8'190u, 8'191u, 8'192u}) {
    const std::string text =
        std::string(lead, 'a') + "\xED\x95\x9C\xEA\xB8\x80" + kit::prose(9'000);
    const std::string path = put(text, "k" + std::to_string(lead));
    const Json page = must("fs.read", "{\"path\":" + json_string(path) + "}");
    EXPECT_FALSE(flag_of(page, "binary")) << lead;
    EXPECT_EQ(text_of(page, "text").substr(lead, 3), "\xED\x95\x9C");
  }
}

TEST_F(FsTest, BytesComeAsBlobOrBase64) {
  const std::string bytes = kit::with_nul(2'500'000);
  put(bytes, "b");
  std::string joined;
  uint64_t offset = 0;
  for (;;) {
    auto request = std::make_shared<Request>();
    request->wants_blobs = true;
    auto answer = send(
        "fs.read_bytes",
        R"({"path":"/large_tool_results/b","offset":)" + std::to_string(offset) + "}", request);
    ASSERT_TRUE(answer.result);
    EXPECT_EQ(number_of(*answer.result, "total"), bytes.size());
    joined += answer.blobs.at(0);
    if (answer.result->find("next") == nullptr) break;
    offset = number_of(*answer.result, "next");
  }
  EXPECT_EQ(joined, bytes);
  const Json text =
      must("fs.read_bytes", R"({"path":"/large_tool_results/b","offset":3,"size":7})");
  EXPECT_EQ(text_of(text, "bytes"), base64(bytes.substr(3, 7)));
  EXPECT_EQ(must_fail("fs.read_bytes", R"({"path":"/large_tool_results/b","offset":2500001})").code,
            Code::out_of_range);
  EXPECT_EQ(number_of(must("fs.read_bytes", R"({"path":"/large_tool_results/b","offset":2500000})"),
                      "size"),
            0u);
  EXPECT_EQ(must_fail("fs.read_bytes", R"({"path":"/large_tool_results/b","size":1048577})").code,
            Code::invalid_params);
}

TEST_F(FsTest, AReaderThatLeftEndsTheRead) {
  put(kit::prose(1'000'000), "c");
  auto request = std::make_shared<Request>();
  request->cancelled = std::make_shared<std::atomic<bool>>(true);
  EXPECT_EQ(send("fs.read", R"({"path":"/large_tool_results/c"})", request).result.error().code,
            Code::unavailable);
}

TEST_F(FsTest, StatusAndStatsHaveTheirMembers) {
  put(kit::prose(90'000), "c");
  const Json stats = must("stats", "{}");
  EXPECT_EQ(number_of(*stats.find("evict"), "put_away"), 1u);
  EXPECT_EQ(number_of(*stats.find("evict"), "bytes"), 90'000u);
  EXPECT_GT(number_of(*stats.find("memory"), "resident_bytes"), 1'000'000u);
  const Json status = must("status", "{}");
  EXPECT_EQ(text_of(status, "state"), "ready");
  EXPECT_EQ(number_of(status, "uid"), kUid);
}

TEST_F(FsTest, HelloRefusesAnotherProtocol) {
  EXPECT_EQ(
      number_of(must("hello", R"({"client":"test/1","protocol":1,"blobs":true})"), "protocol"), 1u);
  EXPECT_EQ(must_fail("hello", R"({"protocol":2})").code, Code::invalid_params);
}

TEST(MethodTableTest, EveryMethodOfTheAbiIsServed) {
  for (const rpc::Method& method : rpc::methods()) {
    EXPECT_EQ(std::ranges::count(method_entries(), method.name, &MethodEntry::name), 1)
        << method.name;
  }
  EXPECT_EQ(rpc::methods().size(), method_entries().size());
}

}  // namespace
}  // namespace ebla::daemon
