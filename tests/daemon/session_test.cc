#include "tests/daemon/methods_fixture.h"
#include "tests/kit/real_texts.h"

namespace ebla::daemon {
namespace {

using SessionTest = MethodsFixture;

TEST_F(SessionTest, AKeyResumesAndNoKeyIsAlwaysNew) {
  const Json first = must("session.open", R"({"key":"build","label":"Build","project":"/p"})");
  EXPECT_TRUE(flag_of(first, "created"));
  const std::string id = text_of(first, "id");
  EXPECT_TRUE(id.starts_with("build-")) << id;
  EXPECT_EQ(text_of(first, "folder"), "/large_tool_results/" + id);
  EXPECT_EQ(text_of(first, "history"), "/conversation_history/" + id + ".md");
  EXPECT_EQ(number_of(must("fs.stat", "{\"path\":" + json_string(text_of(first, "history")) + "}"),
                      "size"),
            0u);
  const Json again = must("session.open", R"({"key":"build","window":200000})");
  EXPECT_FALSE(flag_of(again, "created"));
  EXPECT_EQ(text_of(again, "id"), id);
  EXPECT_EQ(text_of(again, "label"), "Build");
  EXPECT_EQ(number_of(again, "window"), 200'000u);
  EXPECT_EQ(must_fail("session.open", R"({"key":"build","window":999})").code,
            Code::invalid_params);
  EXPECT_NE(text_of(must("session.open", "{}"), "id"), text_of(must("session.open", "{}"), "id"));
  EXPECT_EQ(text_of(must("session.get", R"({"session":"build"})"), "id"), id);
  EXPECT_EQ(text_of(must("session.get", "{\"session\":" + json_string(id) + "}"), "key"), "build");
}

TEST_F(SessionTest, GetCreatesNothing) {
  EXPECT_EQ(must_fail("session.get", R"({"session":"nobody"})").code, Code::unknown_session);
  EXPECT_EQ(must("session.list", "{}").find("sessions")->items.size(), 0u);
  must("evict", R"({"content":"x","session":"nobody"})");
  EXPECT_EQ(text_of(must("session.get", R"({"session":"nobody"})"), "key"), "nobody");
}

TEST_F(SessionTest, TheDefaultSessionHasTheFolderItself) {
  const Json made = must("session.open", R"({"key":"default"})");
  EXPECT_EQ(text_of(made, "id"), "default");
  EXPECT_EQ(text_of(made, "folder"), "/large_tool_results");
  EXPECT_EQ(text_of(made, "history"), "/conversation_history/default.md");
}

TEST_F(SessionTest, ParentsMakeTrees) {
  const Json root = must("session.open", R"({"key":"root"})");
  const Json child = must("session.open", R"({"key":"child","parent":"root"})");
  const Json leaf = must("session.open", R"({"key":"leaf","parent":"child"})");
  EXPECT_EQ(text_of(leaf, "tree"), text_of(root, "id"));
  EXPECT_EQ(text_of(leaf, "parent"), text_of(child, "id"));
  EXPECT_EQ(must_fail("session.open", R"({"key":"x","parent":"nobody"})").code,
            Code::unknown_session);
  EXPECT_EQ(must_fail("session.open", R"({"key":"leaf","parent":"root"})").code, Code::conflict);
  // Decisions are shared within the tree.
  const std::string text = json_string(kit::prose(90'000));
  const Json one = must("evict", R"({"session":"root","id":"c","content":)" + text + "}");
  const Json two = must("evict", R"({"session":"leaf","id":"c","content":)" + text + "}");
  EXPECT_TRUE(flag_of(two, "known"));
  EXPECT_EQ(text_of(one, "replacement"), text_of(two, "replacement"));
}

TEST_F(SessionTest, SettingsLieOverTheDaemonsAndAreChecked) {
  const Json made = must(
      "session.open",
      R"({"key":"s","settings":{"tool_result_tokens":1000,"tool_result_tokens.web":100,"never":["keep"]}})");
  EXPECT_EQ(made.find("settings")->find("tool_result_tokens")->as_uint64(), 1000u);
  EXPECT_EQ(made.find("own_settings")->members.size(), 3u);
  const std::string text = json_string(kit::prose(5'000));
  EXPECT_TRUE(flag_of(must("evict", R"({"session":"s","content":)" + text + "}"), "evicted"));
  EXPECT_FALSE(flag_of(must("evict", R"({"content":)" + text + "}"), "evicted"));
  EXPECT_EQ(text_of(must("evict", R"({"session":"s","tool":"keep","content":)" +
                                      json_string(kit::prose(6'000)) + "}"),
                    "reason"),
            "tool_never");
  const Json reset = must("session.open", R"({"key":"s","settings":{"tool_result_tokens":null}})");
  EXPECT_EQ(reset.find("settings")->find("tool_result_tokens")->as_uint64(), 20'000u);

  const Error unknown = must_fail("session.open", R"({"key":"s","settings":{"no_such":1}})");
  EXPECT_EQ(unknown.code, Code::invalid_params);
  EXPECT_NE(unknown.text.find("no_such"), std::string::npos);
  const Error unfit =
      must_fail("session.open", R"({"key":"s","settings":{"tool_result_tokens":-1}})");
  EXPECT_EQ(unfit.code, Code::invalid_params);
  EXPECT_NE(unfit.text.find("tool_result_tokens"), std::string::npos);
  EXPECT_EQ(must("session.get", R"({"session":"s"})").find("own_settings")->members.size(), 2u);
}

TEST_F(SessionTest, ParametersOutOfRangeAreNamed) {
  for (const char* params :
       {R"({"key":""})", R"({"window":-1})", R"({"window":1000000001})", R"({"window":1.5})",
        R"({"mount_prefix":"relative"})", R"({"mount_prefix":"/a\nb"})", R"({"mount_prefix":"/"})",
        R"({"capabilities":{"shell":"yes"}})", R"({"capabilities":{"unknown":true}})"}) {
    EXPECT_EQ(must_fail("session.open", params).code, Code::invalid_params) << params;
  }
  EXPECT_EQ(must_fail("session.open", "{\"key\":" + json_string(std::string(257, 'k')) + "}").code,
            Code::invalid_params);
  must("session.open", "{\"key\":" + json_string(std::string(256, 'k')) + "}");
  must("session.open", "{\"key\":" + json_string(std::string("a\0b\n\xF0\x9F\x98\x80", 8)) + "}");
}

TEST_F(SessionTest, TheTextUpFrontNamesPlacesThatTheAgentSees) {
  const Json plain = must("session.open", R"({"key":"a"})");
  EXPECT_NE(text_of(plain, "prompt").find(text_of(plain, "folder")), std::string::npos);
  EXPECT_EQ(plain.find("host_folder"), nullptr);
  const Json seen = must("session.open", R"({"key":"b","mount_prefix":"/mem/"})");
  EXPECT_EQ(text_of(seen, "mount_prefix"), "/mem");
  EXPECT_EQ(text_of(seen, "host_folder"), "/mem" + text_of(seen, "folder"));
  EXPECT_NE(text_of(seen, "prompt").find("/mem/conversation_history"), std::string::npos);
}

TEST_F(SessionTest, ListsPageById) {
  for (int i = 0; i < 25; ++i) {
    must("session.open", "{\"key\":\"k" + std::to_string(i) +
                             "\",\"project\":" + (i % 5 == 0 ? "\"/five\"" : "\"/other\"") + "}");
  }
  std::vector<std::string> ids;
  std::string after;
  for (;;) {
    const Json page = must("session.list", "{\"limit\":4,\"after\":" + json_string(after) + "}");
    for (const Json& one : page.find("sessions")->items) ids.push_back(text_of(one, "id"));
    const Json* next = page.find("next");
    if (next == nullptr) break;
    after = next->text;
  }
  EXPECT_EQ(ids.size(), 25u);
  EXPECT_TRUE(std::ranges::is_sorted(ids));
  EXPECT_EQ(must("session.list", R"({"project":"/five"})").find("sessions")->items.size(), 5u);
  EXPECT_EQ(must_fail("session.list", R"({"limit":0})").code, Code::invalid_params);
  EXPECT_EQ(must_fail("session.list", R"({"limit":1001})").code, Code::invalid_params);
}

TEST_F(SessionTest, UsersSeeTheirOwnOnly) {
  const std::string text = json_string(kit::prose(90'000));
  const Json mine = must("evict", R"({"session":"work","id":"c","content":)" + text + "}");
  const Json home = must("session.get", R"({"session":"work"})");
  uid_ = 1001;
  EXPECT_EQ(must("session.list", "{}").find("sessions")->items.size(), 0u);
  EXPECT_EQ(must_fail("session.get", "{\"session\":" + json_string(text_of(home, "id")) + "}").code,
            Code::unknown_session);
  EXPECT_EQ(must_fail("fs.read", "{\"path\":" + json_string(text_of(mine, "path")) + "}").code,
            Code::permission_denied);
  EXPECT_EQ(must_fail("fs.ls", R"({"path":"/large_tool_results"})").code, Code::permission_denied);
  EXPECT_EQ(must_fail("fs.ls", "{\"path\":" + json_string(text_of(home, "folder")) + "}").code,
            Code::permission_denied);

  // The same key is another session; the default one too.
  const Json theirs = must("evict", R"({"session":"work","id":"c","content":)" + text + "}");
  EXPECT_NE(text_of(theirs, "path"), text_of(mine, "path"));
  EXPECT_FALSE(flag_of(theirs, "known"));
  must("fs.read", "{\"path\":" + json_string(text_of(theirs, "path")) + "}");
  const Json other_default = must("evict", R"({"content":)" + text + "}");
  EXPECT_NE(text_of(other_default, "session"), "default");
  EXPECT_EQ(must("session.list", "{}").find("sessions")->items.size(), 2u);

  // The daemon's user reads all, and writes into its own; root acts as that user.
  uid_ = kUid;
  must("fs.read", "{\"path\":" + json_string(text_of(theirs, "path")) + "}");
  EXPECT_EQ(must_fail("evict", "{\"content\":\"x\",\"session\":" +
                                   json_string(text_of(theirs, "session")) + "}")
                .code,
            Code::permission_denied);
}

}  // namespace
}  // namespace ebla::daemon
