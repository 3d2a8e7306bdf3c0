// Sessions as `prepare` sees them: trees, settings from above, keys and ids, closed ones, and
// bodies that come as a path.
#include <gmock/gmock.h>
#include <sys/stat.h>

#include <fstream>

#include "tests/daemon/prepare_fixture.h"
#include "tests/kit/temp_dir.h"

namespace ebla::daemon {
namespace {

using testing::HasSubstr;

class PrepareSessionTest : public PrepareFixture {
 protected:
  static std::vector<std::string> one_result(size_t characters, std::string_view id = "call_1") {
    return {user("go"), blocks("assistant", {tool_use(id)}),
            blocks("user", {tool_result(id, kit::numbered_rows(characters))})};
  }
  Json ask(std::string_view session, const std::vector<std::string>& list) {
    return must("prepare", fmt::format(R"({{"session":{},"window":200000,"reply":"messages",)"
                                       R"("messages":{}}})",
                                       json_string(session), list_of(list)));
  }
};

TEST_F(PrepareSessionTest, SettingsComeFromAboveAtEachCall) {
  must("session.open", R"({"key":"top","settings":{"tool_result_tokens":1000}})");
  must("session.open", R"({"key":"mid","parent":"top"})");
  must("session.open", R"({"key":"low","parent":"mid","settings":{"tool_result_tokens":9000}})");
  EXPECT_EQ(count_of(ask("mid", one_result(8'000, "m")), "tool_result"), 1u);
  EXPECT_EQ(count_of(ask("low", one_result(9'000, "l")), "tool_result"), 0u);
  must("session.open", R"({"key":"top","settings":{"tool_result_tokens":5000}})");
  EXPECT_EQ(count_of(ask("mid", one_result(8'001, "m2")), "tool_result"), 0u);
  must("session.open", R"({"key":"low","settings":{"tool_result_tokens":null}})");
  EXPECT_EQ(count_of(ask("low", one_result(30'000, "l2")), "tool_result"), 1u);
}

TEST_F(PrepareSessionTest, DecisionsHoldInTheTreeAndNowhereElse) {
  must("session.open", R"({"key":"top"})");
  must("session.open", R"({"key":"child","parent":"top"})");
  const auto list = one_result(100'000);
  const Json first = ask("top", list);
  const std::string path = text_of(action_of(first, "tool_result"), "path");
  const Json shared = ask("child", list);
  EXPECT_EQ(messages_of(shared), messages_of(first));
  EXPECT_EQ(number_of(*shared.find("known"), "items"), 1u);
  EXPECT_EQ(file(path), kit::numbered_rows(100'000));
  const Json other = ask("other", list);
  EXPECT_EQ(number_of(*other.find("known"), "items"), 0u);
  EXPECT_NE(text_of(action_of(other, "tool_result"), "path"), path);
  // A child that decides first does it for its parent too.
  const auto second = one_result(100'001, "call_2");
  const auto out = messages_of(ask("child", second));
  EXPECT_EQ(messages_of(ask("top", second)), out);
}

TEST_F(PrepareSessionTest, AKeyAndAnIdAreOneSession) {
  const Json session = must("session.open", R"({"key":"my key / 1","project":"/p"})");
  const auto list = one_result(100'000);
  const Json by_key = ask("my key / 1", list);
  const Json by_id = ask(text_of(session, "id"), list);
  EXPECT_EQ(text_of(by_key, "session"), text_of(session, "id"));
  EXPECT_EQ(text_of(by_id, "session"), text_of(session, "id"));
  EXPECT_EQ(messages_of(by_id), messages_of(by_key));
  EXPECT_EQ(must("session.list", R"({"project":"/p"})").find("sessions")->items.size(), 1u);
  EXPECT_TRUE(must("session.list", R"({"project":"/q"})").find("sessions")->items.empty());
}

TEST_F(PrepareSessionTest, WhoIsNotItsUserMayNotUseIt) {
  const Json session = must("session.open", R"({"key":"mine"})");
  const std::string params = R"(,"messages":)" + list_of({user("hi")}) + "}";
  uid_ = 1001;
  EXPECT_EQ(
      must_fail("prepare", R"({"session":)" + json_string(text_of(session, "id")) + params).code,
      Code::unknown_session);
  // The same key is another session of theirs; the daemon's user may look at that one only.
  const Json theirs = must("prepare", R"({"session":"mine")" + params);
  EXPECT_NE(text_of(theirs, "session"), text_of(session, "id"));
  uid_ = kUid;
  EXPECT_EQ(
      must_fail("prepare", R"({"session":)" + json_string(text_of(theirs, "session")) + params)
          .code,
      Code::permission_denied);
}

TEST_F(PrepareSessionTest, AClosedSessionKeepsWhatItDecided) {
  const auto list = one_result(100'000);
  const auto out = messages_of(ask("s", list));
  must("session.close", R"({"session":"s"})");
  must("session.close", R"({"session":"s"})");
  EXPECT_EQ(messages_of(ask("s", list)), out);
  start();
  EXPECT_EQ(messages_of(ask("s", list)), out);
  const Json again = must("session.open", R"({"key":"s"})");
  EXPECT_FALSE(flag_of(again, "created"));
  EXPECT_EQ(messages_of(ask("s", list)), out);
  EXPECT_EQ(must_fail("session.get", R"({"session":"nobody"})").code, Code::unknown_session);
  EXPECT_EQ(must_fail("session.close", R"({"session":"nobody"})").code, Code::unknown_session);
  EXPECT_EQ(must("session.list", "{}").find("sessions")->items.size(), 1u) << "neither makes one";
}

TEST_F(PrepareSessionTest, ABodyMayComeAsAPath) {
  const kit::TempDir folder("bodies");
  const auto list = one_result(100'000);
  std::ofstream(folder / "list.json") << list_of(list);
  std::ofstream(folder / "request.json")
      << R"({"model":"m","messages":)" << list_of(list) << R"(,"max_tokens":100})";
  const auto params = [&](std::string_view member, const std::string& path) {
    return fmt::format(
        R"({{"session":"s","reply":"messages","window":200000,"{}":{{"$path":{}}}}})", member,
        json_string(path));
  };
  const auto out = messages_of(ask("s", list));
  EXPECT_EQ(messages_of(must("prepare", params("messages", folder / "list.json"))), out);
  EXPECT_EQ(messages_of(must("prepare", params("request", folder / "request.json"))), out);
  EXPECT_EQ(number_of(must("history.append", R"({"session":"h","messages":{"$path":)" +
                                                 json_string(folder / "list.json") + "}}"),
                      "appended"),
            3u);
  ASSERT_EQ(::mkfifo((folder / "pipe").c_str(), 0600), 0);
  for (const auto& [path, code] :
       std::vector<std::pair<std::string, Code>>{{folder.path(), Code::is_directory},
                                                 {folder / "none", Code::file_not_found},
                                                 {folder / "pipe", Code::invalid_params},
                                                 {"/dev/zero", Code::invalid_params},
                                                 {"relative", Code::invalid_params}}) {
    EXPECT_EQ(must_fail("prepare", params("messages", path)).code, code) << path;
    EXPECT_EQ(must_fail("history.append",
                        R"({"session":"h","messages":{"$path":)" + json_string(path) + "}}")
                  .code,
              code)
        << path;
  }
  // Deeper it is what it says, not what it names.
  const std::string inside = R"([{"role":"user","content":[{"type":"text","text":"x"},)"
                             R"({"$path":"/etc/passwd"}]}])";
  const auto kept = call("prepare", R"({"session":"s","format":"anthropic","reply":"messages",)"
                                    R"("messages":)" +
                                        inside + "}");
  if (kept) {
    EXPECT_THAT(messages_of(*kept).at(0), HasSubstr(R"({"$path":"/etc/passwd"})"));
  }
  uid_ = 1001;
  EXPECT_EQ(must_fail("prepare", params("messages", folder / "list.json")).code,
            Code::permission_denied);
}

}  // namespace
}  // namespace ebla::daemon
