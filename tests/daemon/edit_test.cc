#include "daemon/write/edit.h"

#include <thread>

#include "tests/daemon/writing_fixture.h"

namespace ebla::daemon {
namespace {

class EditTest : public WritingFixture {
 protected:
  static std::string texts(std::string_view old_text, std::string_view new_text) {
    return text_member("old", old_text) + text_member("new", new_text);
  }
  Json edit(std::string_view path, std::string_view old_text, std::string_view new_text,
            std::string_view more = "") {
    return must("fs.edit", at(path, texts(old_text, new_text) + std::string(more)));
  }
  Error edit_fails(std::string_view path, std::string_view old_text, std::string_view new_text,
                   std::string_view more = "") {
    return must_fail("fs.edit", at(path, texts(old_text, new_text) + std::string(more)));
  }
};

TEST_F(EditTest, PutsOneTextInThePlaceOfAnother) {
  write("/f", "第一行\n第二行\nthird $& \\1 line\n");
  const Json done = edit("/f", "第二行", "二 $& \\0");
  EXPECT_EQ(number_of(done, "replaced"), 1u);
  EXPECT_EQ(number_of(done, "line"), 2u);
  EXPECT_EQ(bytes("/f"), "第一行\n二 $& \\0\nthird $& \\1 line\n");
  EXPECT_EQ(text_of(done, "etag"), text_of(must("fs.stat", at("/f")), "etag"));
  edit("/f", "\n二 $& \\0\nthird", "");
  EXPECT_EQ(bytes("/f"), "第一行 $& \\1 line\n");
  edit("/f", bytes("/f"), "all new");
  EXPECT_EQ(bytes("/f"), "all new");
  EXPECT_EQ(attr("/f").mode, 0644u);
}

TEST_F(EditTest, ExactlyOnePlaceUnlessAll) {
  write("/f", "a = 1\nb = 1\nc = 1\n");
  expect_says(edit_fails("/f", "= 1", "= 2"), Code::ambiguous, "3 times (lines 1, 2, 3)");
  EXPECT_EQ(bytes("/f"), "a = 1\nb = 1\nc = 1\n");
  EXPECT_EQ(number_of(edit("/f", "= 1", "= 1 = 1", R"(,"all":true)"), "replaced"), 3u);
  EXPECT_EQ(bytes("/f"), "a = 1 = 1\nb = 1 = 1\nc = 1 = 1\n");
  write("/o", "xaaax");
  expect_says(edit_fails("/o", "aa", "b"), Code::ambiguous, "overlap");
  EXPECT_EQ(number_of(edit("/o", "aa", "b", R"(,"all":true)"), "replaced"), 1u);
  EXPECT_EQ(bytes("/o"), "xbax");
}

TEST_F(EditTest, SaysWhatIsWrong) {
  write("/f", "one\n  two\nlast");
  expect_says(edit_fails("/f", "three", "x"), Code::no_match, "/f: old is not in the file");
  expect_says(edit_fails("/f", "last\n", "x"), Code::no_match, "ends without a line's end");
  expect_says(edit_fails("/f", "   two\n", "x"), Code::no_match, "(line 2)");
  expect_says(edit_fails("/f", "", "x"), Code::invalid_params, "old: it is empty");
  expect_says(edit_fails("/f", "one", "one"), Code::invalid_params, "nothing would change");
  expect_says(edit_fails("/nowhere", "a", "b"), Code::file_not_found, "/nowhere");
  expect_says(edit_fails("/large_tool_results", "a", "b"), Code::is_directory, "is a folder");
  const std::string result = put(kit::prose(20'000), "call");
  expect_says(edit_fails(result, "a", "b"), Code::operation_not_permitted, "another name");
  EXPECT_EQ(edit_fails("/f", std::string(limits::kEditTextBytes + 1, 'a'), "b").code,
            Code::too_large);
  write("/empty", "");
  EXPECT_EQ(edit_fails("/empty", "a", "b").code, Code::no_match);
  EXPECT_EQ(edit_fails("/f", "one", "x", text_member("if_etag", "1-1")).code, Code::conflict);
  EXPECT_EQ(bytes("/f"), "one\n  two\nlast");
}

TEST_F(EditTest, TextCopiedFromAPageFitsAFileWithCrlf) {
  write("/f", "a\r\nb\r\nc\r\n");
  const Json done = edit("/f", "a\nb\n", "x\ny\nz\n");
  EXPECT_TRUE(flag_of(done, "crlf"));
  EXPECT_EQ(bytes("/f"), "x\r\ny\r\nz\r\nc\r\n");
  EXPECT_FALSE(flag_of(edit("/f", "z\r\nc", "z\nc"), "crlf"));
  EXPECT_EQ(bytes("/f"), "x\r\ny\r\nz\nc\r\n");
  expect_says(edit_fails("/f", "c\nd", "c"), Code::no_match, "several lines");
}

TEST_F(EditTest, AnyOtherByteStaysAsItIs) {
  const std::string odd =
      kit::with_nul(50'000) + kit::invalid_utf8(5'000) + std::string("\xff\xfe\0 end", 7);
  write_bytes("/f", odd + "MARK" + odd);
  edit("/f", "MARK", "标记");
  EXPECT_EQ(bytes("/f"), odd + "标记" + odd);
  const auto answer = send_bytes("fs.edit", at("/f", R"(,"old":{"$blob":0},"new":{"$blob":1})"),
                                 {std::string("\xff\xfe") + "标", std::string("\0\xff", 2)});
  EXPECT_EQ(answer.result.error().code, Code::no_match);
  const auto done = send_bytes("fs.edit", at("/f", R"(,"old":{"$blob":0},"new":{"$blob":1})"),
                               {"end标记", std::string("\0\xff", 2)});
  ASSERT_TRUE(done.result) << done.result.error().text;
  EXPECT_EQ(bytes("/f").size(), 2 * odd.size() - 3 + 2);
}

TEST_F(EditTest, PlacesAcrossEverySliceBorder) {
  for (const size_t before : {limits::kMiB - 3, limits::kMiB - 1, limits::kMiB,
                              2 * limits::kMiB - 2, 3 * limits::kMiB + 5}) {
    std::string text(before, '.');
    text += "needle" + std::string(limits::kMiB + 17, '-');
    write_bytes("/f", text);
    edit("/f", "needle", "pin");
    text.replace(before, 6, "pin");
    EXPECT_TRUE(bytes("/f") == text) << before;
  }
  std::string rows;
  std::string expected;
  for (int i = 0; i < 60'000; ++i) {
    rows += "row 你好 " + std::to_string(i) + " end\n";
    expected += "rOw! 你好 " + std::to_string(i) + " end\n";
  }
  write_bytes("/rows", rows);
  EXPECT_EQ(number_of(edit("/rows", "row", "rOw!", R"(,"all":true)"), "replaced"), 60'000u);
  EXPECT_TRUE(bytes("/rows") == expected);
}

TEST_F(EditTest, EditsOfManyAreAllKept) {
  std::string text;
  for (int i = 0; i < 40; ++i) text += "slot " + std::to_string(100 + i) + ": free\n";
  write("/plan", text);
  std::vector<std::thread> clients;
  for (int c = 0; c < 4; ++c) {
    clients.emplace_back([&, c] {
      for (int i = c; i < 40; i += 4) {
        const std::string slot = "slot " + std::to_string(100 + i) + ": ";
        edit("/plan", slot + "free", slot + "taken");
      }
    });
  }
  for (std::thread& client : clients) client.join();
  EXPECT_EQ(bytes("/plan").find("free"), std::string::npos);
  EXPECT_EQ(std::ranges::count(bytes("/plan"), '\n'), 40);
}

TEST_F(EditTest, BothReadingAndWritingAreAsked) {
  write("/f", "text");
  run_as_root();
  chmod("/", 0755, 0);
  chmod("/f", 0622, 0);
  uid_ = kOther;
  expect_says(edit_fails("/f", "text", "x"), Code::permission_denied, "may not read it");
}

}  // namespace
}  // namespace ebla::daemon
