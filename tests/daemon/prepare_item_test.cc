// Items: what goes at once, what stays, and that it is found again whatever a client does to the
// rest of the list.
#include <gmock/gmock.h>

#include <algorithm>

#include "tests/daemon/prepare_fixture.h"

namespace ebla::daemon {
namespace {

using testing::HasSubstr;
using testing::Not;

class PrepareItemTest : public PrepareFixture {};

// So many lines of 62 characters, and the rest.
std::string lines_of_62(size_t characters) {
  std::string text;
  for (size_t n = 1; text.size() < characters; ++n) {
    std::string line = fmt::format("line {}: ", n);
    line += kit::prose(61 - line.size());
    text += line + "\n";
  }
  text.resize(characters);
  return text;
}

std::string text_content(const std::string& message) {
  auto parsed = parse_json(message);
  return text_of(*parsed, "content");
}

TEST_F(PrepareItemTest, AHugeHumanTextIsAFileAndItsEndsAreSeen) {
  const std::string text = lines_of_62(200'058);
  const std::vector<std::string> list = {user(text)};
  const Json reply = prepare(list);
  const std::string seen = text_content(messages_of(reply).at(0));
  EXPECT_LE(seen.size(), 2'900u);
  // The end is there whole, line by line behind its number.
  EXPECT_THAT(seen, HasSubstr("| " + text.substr(text.rfind('\n') + 1)));
  for (size_t at = text.size() - 1'400; (at = text.find('\n', at)) < text.rfind('\n'); ++at) {
    EXPECT_THAT(seen, HasSubstr("| " + text.substr(at + 1, 61)));
  }
  const std::string path = text_of(action_of(reply, "human"), "path");
  EXPECT_EQ(file(path), text);
  EXPECT_THAT(path, HasSubstr("/conversation_history/"));
}

TEST_F(PrepareItemTest, EvictOfAHookAndPrepareTakeOneDecision) {
  const std::string text = kit::numbered_rows(100'000);
  const Json hook = must("evict", R"({"session":"s","id":"call_1","tool":"bash","content":)" +
                                      json_string(text) + "}");
  const Json reply = prepare({user("go"), blocks("assistant", {tool_use("call_1")}),
                              blocks("user", {tool_result("call_1", text)})});
  EXPECT_TRUE(reply.find("actions")->items.empty());
  EXPECT_EQ(number_of(*reply.find("known"), "items"), 1u);
  EXPECT_THAT(messages_of(reply).at(2), HasSubstr(json_string(text_of(hook, "replacement"))));
}

TEST_F(PrepareItemTest, WhatFrameworksDoToTheListChangesNothing) {
  const std::string text = kit::numbered_rows(100'000);
  const std::string result = json_string(text);
  const auto out = messages_of(prepare(
      {user("go"),
       R"({"role":"assistant","content":[{"type":"thinking","thinking":"hm","signature":"s"},)"
       R"({"type":"tool_use","id":"c1","name":"bash","input":{"command":"ls","n":1}}]})",
       R"({"role":"user","content":[{"type":"tool_result","tool_use_id":"c1","content":)" + result +
           R"(,"cache_control":{"type":"ephemeral"}}]})"}));
  // Thinking dropped, keys in another order, the mark moved, ids added, blocks for a string.
  const Json again = prepare(
      {R"({"content":[{"type":"text","text":"go","cache_control":{"type":"ephemeral"}}],"role":"user"})",
       R"({"id":"msg_1","role":"assistant","content":[{"name":"bash","input":{"n": 1, )"
       R"("command":"ls"},"id":"c1","type":"tool_use"}]})",
       R"({"role":"user","content":[{"content":[{"text":)" + result +
           R"(,"type":"text"}],"tool_use_id":"c1","type":"tool_result"}]})"});
  EXPECT_TRUE(again.find("actions")->items.empty());
  EXPECT_EQ(number_of(*again.find("known"), "items"), 1u);
  const auto replacement = [](const std::string& message) {
    auto parsed = parse_json(message);
    const Json& content = *parsed->find("content")->items.at(0).find("content");
    return content.is(Json::Kind::string) ? content.text : text_of(content.items.at(0), "text");
  };
  EXPECT_EQ(replacement(messages_of(again).at(2)), replacement(out.at(2)));
}

std::vector<std::string> turn_of(size_t results, size_t characters, bool reversed) {
  std::vector<std::string> calls;
  std::vector<std::string> answers;
  for (size_t i = 0; i < results; ++i) {
    const std::string id = fmt::format("call_{}", i);
    calls.push_back(tool_use(id));
    std::string text = fmt::format("result {}\n", i);
    text += kit::prose(characters - text.size());
    answers.push_back(tool_result(id, text));
  }
  if (reversed) std::ranges::reverse(answers);
  return {user("go"), blocks("assistant", calls), blocks("user", answers)};
}

TEST_F(PrepareItemTest, ParallelResultsShareTheBudgetOfTheTurn) {
  std::vector<std::string> ids;
  for (const bool reversed : {false, true}) {
    store_ = kit::make_model_store(clock_, kUid, kUid);
    start();
    const Json reply = prepare(turn_of(10, 4 * 19'900, reversed), R"(,"window":128000)");
    EXPECT_EQ(count_of(reply, "tool_result"), 7u);
    EXPECT_EQ(count_of(reply, "summary"), 0u);
    EXPECT_TRUE(flag_of(reply, "fits"));
    std::vector<std::string> gone;
    for (const Json& action : reply.find("actions")->items) gone.push_back(text_of(action, "id"));
    std::ranges::sort(gone);
    if (ids.empty()) ids = gone;
    EXPECT_EQ(gone, ids) << "whatever order they came in";
  }
  const Json small = prepare(turn_of(40, 4 * 500, false), R"(,"window":128000)");
  EXPECT_TRUE(small.find("actions")->items.empty());
  const Json six = prepare(turn_of(6, 4 * 19'900, false), R"(,"window":128000)");
  EXPECT_EQ(count_of(six, "summary"), 0u);
  EXPECT_TRUE(flag_of(six, "fits"));
}

TEST_F(PrepareItemTest, OldArgumentsBecomeMarksThatMayNotBeCopied) {
  const std::string text = kit::numbered_rows(20'000);
  const std::string input = R"({"file_path":"/w/a.txt","content":)" + json_string(text) + "}";
  std::vector<std::string> list = {user("go"),
                                   blocks("assistant", {tool_use("c1", "write_file", input)}),
                                   blocks("user", {tool_result("c1", "ok")})};
  for (int n = 0; n < 12; ++n) {
    list.push_back(assistant(fmt::format("{} {}", n, kit::prose(1'000))));
    list.push_back(user(fmt::format("{} {}", n, kit::prose(1'000))));
  }
  const uint64_t total = tokens_of(prepare(list, R"(,"window":1000000,"dry_run":true)"), "before");
  const std::string window = fmt::format(R"(,"window":{})", total * 100 / 88);
  const Json reply = prepare(list, window);
  ASSERT_EQ(count_of(reply, "argument"), 1u);
  EXPECT_EQ(count_of(reply, "summary"), 0u);
  const std::string call = messages_of(reply).at(1);
  EXPECT_THAT(call, HasSubstr("[shortened in this old call only: "));
  EXPECT_THAT(call, HasSubstr("now in /w/a.txt;")) << "the file that the tool wrote";
  EXPECT_THAT(call, HasSubstr(R"("file_path":"/w/a.txt")"));
  EXPECT_EQ(file(text_of(action_of(reply, "argument"), "path")), text);
  // The model copies the mark.
  const std::string mark =
      text_of(*parse_json(call)->find("content")->items.at(0).find("input"), "content");
  list.push_back(blocks(
      "assistant", {tool_use("c2", "write_file",
                             R"({"file_path":"/w/b.txt","content":)" + json_string(mark) + "}")}));
  list.push_back(blocks("user", {tool_result("c2", "ok")}));
  const Json copied = prepare(list, window);
  EXPECT_EQ(text_of(action_of(copied, "copied_mark"), "id"), "c2");
  // A client that keeps our list: the same decisions.
  const auto kept = messages_of(copied);
  EXPECT_EQ(messages_of(prepare(kept, window)), kept);
}

TEST_F(PrepareItemTest, ADryRunStoresNothing) {
  const std::vector<std::string> list = turn_of(2, 100'000, false);
  const Json plan = prepare(list, R"(,"dry_run":true)");
  EXPECT_EQ(count_of(plan, "tool_result"), 2u);
  EXPECT_EQ(messages_of(plan), list);
  EXPECT_EQ(number_of(must("fs.ls", R"({"path":"/large_tool_results","session":"s"})"), "total"),
            0u);
  EXPECT_EQ(store_->usage().evictions, 0u);
}

TEST_F(PrepareItemTest, AResultGoesWhenTheCallerAsks) {
  std::vector<std::string> list = turn_of(2, 3'000, false);
  list.push_back(assistant("done"));
  list.push_back(user("next"));
  const Json reply = prepare(list, R"(,"put_away":["call_1","nobody"])");
  EXPECT_EQ(count_of(reply, "tool_result"), 1u);
  EXPECT_EQ(text_of(action_of(reply, "tool_result"), "reason"), "asked");
  // An id that nothing was done for is named, each time.
  EXPECT_EQ(count_of(reply, "not_put_away"), 1u);
  EXPECT_EQ(text_of(action_of(reply, "not_put_away"), "id"), "nobody");
  EXPECT_EQ(count_of(prepare(list, R"(,"put_away":["call_1"])"), "not_put_away"), 0u);
  EXPECT_TRUE(prepare(list).find("actions")->items.empty());
}

TEST_F(PrepareItemTest, BadRequestsAreNamed) {
  const auto refused = [&](std::string_view params) {
    return must_fail("prepare", fmt::format(R"({{"session":"s",{}}})", params));
  };
  for (const auto& [params, part] : std::vector<std::pair<std::string, std::string>>{
           {R"("window":5)", "exactly one of request and messages"},
           {R"("messages":[],"request":{})", "exactly one of request and messages"},
           {R"("messages":[],"format":"morse")", "format: morse is none of anthropic, openai"},
           {R"("messages":[],"reply":"request")", "request needs a whole request"},
           {R"("messages":[],"usage":{"input":5})", "usage: revision and input"},
           {R"("messages":[],"usage":{"revision":"x","input":-5})", "usage.input: an integer"},
           {R"("messages":[],"usage":{"revision":"x","input":5,"more":1})", "\"more\""},
           {R"("messages":[],"summary":{"id":"x"})", "summary: id, and one of text and error"},
           {R"("messages":[],"compact":{"fokus":"x"})", "\"fokus\""},
           {R"("messages":[{"role":"user","content":"x"}],"pinned":[1])", "pinned: 1 is no index"},
           {R"("messages":[{"role":"user","content":"x"},5],"format":"anthropic")", "[1]"}}) {
    const Error error = refused(params);
    EXPECT_EQ(error.code, Code::invalid_params) << params;
    EXPECT_THAT(error.text, HasSubstr(part)) << params;
  }
}

TEST_F(PrepareItemTest, UsageCorrectsTheCount) {
  std::vector<std::string> list = {user(kit::prose(20'000)), assistant("ok"), user("more")};
  const Json first = prepare(list);
  const uint64_t counted = tokens_of(first, "before");
  const std::string revision = text_of(first, "revision");
  list.push_back(assistant("an answer"));
  list.push_back(user("and"));
  const Json told = prepare(list, fmt::format(R"(,"usage":{{"revision":"{}","input":{},)"
                                              R"("cache_read":1000,"output":50}})",
                                              revision, 2 * counted));
  const uint64_t before = tokens_of(told, "before");
  EXPECT_GE(before, 2 * counted + 1'050);
  EXPECT_LE(before, 2 * counted + 1'050 + 40);
  // It holds without being told again, also after a restart.
  start();
  EXPECT_EQ(tokens_of(prepare(list), "before"), before);
}

TEST_F(PrepareItemTest, AnOverflowIsAnsweredByALesserList) {
  std::vector<std::string> list;
  for (int n = 0; n < 20; ++n) {
    list.push_back(user(fmt::format("{} {}", n, kit::prose(1'000))));
    list.push_back(assistant(fmt::format("{} {}", n, kit::prose(1'000))));
  }
  list.push_back(user("the current request"));
  const uint64_t refused = tokens_of(prepare(list), "before");
  const Json reply = prepare(list, R"(,"overflow":true)");
  EXPECT_LE(tokens_of(reply, "after"), refused * 95 / 100 * 70 / 100);
  EXPECT_THAT(messages_of(reply).back(), HasSubstr("the current request"));
  // A limit that was named holds from now on, for this session alone.
  const Json named = prepare(list, R"(,"window":100000,"overflow":{"limit":5000})");
  EXPECT_EQ(tokens_of(named, "window"), 5'000u);
  EXPECT_EQ(tokens_of(prepare(list, R"(,"window":100000)"), "window"), 5'000u);
  const Json other =
      must("prepare", R"({"session":"other","window":100000,"messages":)" + list_of(list) + "}");
  EXPECT_EQ(tokens_of(other, "window"), 100'000u);
}

TEST_F(PrepareItemTest, ALimitThatLeavesNoRoomChangesNothing) {
  const std::string list = list_of({user("hi")});
  for (const int limit : {1, 500, 8192}) {
    const std::string request =
        fmt::format(R"({{"session":"s","window":100000,"request":{{"model":"zz","max_tokens":8000,)"
                    R"("messages":{}}})",
                    list);
    const Json reported =
        must("prepare", request + fmt::format(R"(,"overflow":{{"limit":{}}}}})", limit));
    EXPECT_EQ(tokens_of(reported, "window"), 100'000u) << limit;
    EXPECT_EQ(tokens_of(must("prepare", request + "}"), "window"), 100'000u) << limit;
  }
}

TEST_F(PrepareItemTest, ALimitThatLeavesNoRoomIsNone) {
  std::vector<std::string> list = {user("the first task")};
  for (int n = 0; n < 12; ++n) {
    list.push_back(user(fmt::format("{} {}", n, kit::prose(1'000))));
    list.push_back(assistant(fmt::format("{} {}", n, kit::prose(1'000))));
  }
  list.push_back(user("the current request"));
  int session = 0;
  for (const char* limit : {"true", R"({"limit":1})", R"({"limit":500})", R"({"limit":0})"}) {
    const std::string request =
        fmt::format(R"({{"session":"s{}","window":100000,"overflow":{},"request":{{"model":"zz",)"
                    R"("max_tokens":8000,"messages":{}}}}})",
                    ++session, limit, list_of(list));
    const Json reply = must("prepare", request);
    EXPECT_TRUE(flag_of(reply, "fits")) << limit;
    EXPECT_LT(tokens_of(reply, "after"), tokens_of(reply, "before") * 7 / 10) << limit;
  }
}

TEST_F(PrepareItemTest, WhatTheModelMayWriteLeavesTheWindowForTheList) {
  for (const int window : {400'000, 128'000, 32'000, 16'000}) {
    const Json reply =
        must("prepare", fmt::format(R"({{"session":"s","window":{},"request":{{"model":"gpt-5",)"
                                    R"("messages":[{{"role":"user","content":"hi"}}]}}}})",
                                    window));
    EXPECT_LE(tokens_of(reply, "reserve"), static_cast<uint64_t>(window) / 4);
    EXPECT_GT(tokens_of(reply, "reserve"), 0u);
  }
}

// Sending it again would be refused again.
TEST_F(PrepareItemTest, AnOverflowThatNothingCanBeDoneAboutDoesNotFit) {
  const std::vector<std::string> list = {user("one"), assistant("two"), user("three")};
  const Json reply = prepare(list, R"(,"window":100000,"overflow":true)");
  EXPECT_EQ(messages_of(reply), list);
  EXPECT_FALSE(flag_of(reply, "fits"));
  EXPECT_FALSE(reply.find("fills")->items.empty());
  EXPECT_TRUE(flag_of(prepare(list, R"(,"window":100000)"), "fits"));
}

// A report of many times the count teaches nothing; one without a model teaches its own session
// alone.
TEST_F(PrepareItemTest, ReportsOfUseReachNoFurtherThanTheyShould) {
  std::vector<std::string> list = {user("task")};
  for (int n = 0; n < 8; ++n) {
    list.push_back(assistant(kit::prose(1'000)));
    list.push_back(user(kit::prose(1'000)));
  }
  const auto in = [&](std::string_view session, std::string_view more) {
    return must("prepare", fmt::format(R"({{"session":"{}","window":20000,"messages":{}{}}})",
                                       session, list_of(list), more));
  };
  const auto used = [](const Json& reply, uint64_t input) {
    return fmt::format(R"(,"usage":{{"revision":"{}","input":{},"output":1}})",
                       text_of(reply, "revision"), input);
  };
  const uint64_t counted = tokens_of(in("other", ""), "before");
  const Json first = in("s", "");
  EXPECT_EQ(tokens_of(in("s", used(first, 1'000'000)), "before"), counted);
  EXPECT_GE(tokens_of(in("s", used(first, counted * 2)), "before"), counted * 2);
  EXPECT_EQ(tokens_of(in("other", ""), "before"), counted);
  EXPECT_EQ(tokens_of(in("third", ""), "before"), counted);
}

// Far from what was counted it is a mistake: a client that leaves out what came from a cache would
// have a list that overflows taken for a short one. The last report that was believed holds on.
TEST_F(PrepareItemTest, ReportsFarFromTheCountAreNotBelieved) {
  std::vector<std::string> list = {user("task")};
  for (int n = 0; n < 8; ++n) {
    list.push_back(assistant(kit::prose(5'000)));
    list.push_back(user(kit::prose(5'000)));
  }
  const auto used = [](const Json& reply, uint64_t input) {
    return fmt::format(R"(,"usage":{{"revision":"{}","input":{}}})", text_of(reply, "revision"),
                       input);
  };
  const Json first = prepare(list);
  const uint64_t counted = tokens_of(first, "before");
  for (const uint64_t input :
       {uint64_t{0}, uint64_t{12}, counted * 49 / 100, counted * 302 / 100}) {
    for (const std::string_view window : {"", R"(,"window":500000)"}) {
      const Json reply = prepare(list, used(first, input) + std::string(window));
      EXPECT_EQ(tokens_of(reply, "before"), counted) << input;
      EXPECT_EQ(text_of(action_of(reply, "usage_ignored"), "reason"),
                fmt::format("{} tokens reported, {} counted", input, counted));
      EXPECT_EQ(reply.find("actions")->items.size(), 1u);
    }
  }
  const uint64_t low = counted * 51 / 100;
  for (const uint64_t input : {low, counted * 299 / 100}) {
    const Json reply = prepare(list, used(first, input));
    EXPECT_EQ(tokens_of(reply, "before"), input);
    EXPECT_TRUE(reply.find("actions")->items.empty());
  }
  EXPECT_EQ(tokens_of(prepare(list, used(first, 12)), "before"), low) << "the first one of a list";
}

TEST_F(PrepareItemTest, ManySmallResultsBecomeLinesWhereNoticesWouldNotFit) {
  std::vector<std::string> calls;
  std::vector<std::string> results;
  for (int n = 0; n < 200; ++n) {
    const std::string id = fmt::format("k{:03}", n);
    calls.push_back(tool_use(id, "sh", fmt::format(R"({{"c":"{}"}})", id)));
    results.push_back(tool_result(id, fmt::format("{} {}", n, kit::numbered_rows(900))));
  }
  const std::vector<std::string> list = {user("go"), blocks("assistant", calls),
                                         blocks("user", results)};
  const Json reply = prepare(list, R"(,"window":20000)");
  EXPECT_TRUE(flag_of(reply, "fits")) << to_json(*reply.find("tokens"));
  EXPECT_EQ(file(text_of(reply.find("actions")->items.at(0), "path")).substr(0, 2), "0 ");
  EXPECT_TRUE(prepare(list, R"(,"window":20000)").find("actions")->items.empty());
}

TEST_F(PrepareItemTest, ADryRunMakesNoSession) {
  const std::string params =
      fmt::format(R"({{"session":"new","window":128000,"messages":{},"dry_run":true}})",
                  list_of(turn_of(2, 90'000, false)));
  const Json plan = must("prepare", params);
  EXPECT_EQ(count_of(plan, "tool_result"), 2u) << to_json(plan);
  EXPECT_EQ(plan.find("degraded"), nullptr);
  // A result without its call is looked up like any other.
  const Json stray =
      must("prepare", R"({"session":"new","dry_run":true,"messages":)" +
                          list_of({user("go"), assistant("yes"),
                                   blocks("user", {tool_result("x", kit::prose(5'000))})}) +
                          "}");
  EXPECT_EQ(stray.find("degraded"), nullptr) << to_json(stray);
  EXPECT_EQ(count_of(stray, "repair"), 1u);
  EXPECT_TRUE(must("session.list", "{}").find("sessions")->items.empty());
}

// Whatever its tool calls the argument that names the path.
TEST_F(PrepareItemTest, WhatWasReadInTheTreeIsNotPutAwayAgain) {
  for (const std::string name : {"path", "filename", "target_file", "uri"}) {
    const std::string text = name + kit::numbered_rows(90'000);
    const auto read = [&](std::string_view path) {
      const std::string arguments = fmt::format(R"({{"{}":"{}"}})", name, path);
      return prepare({user("go"), blocks("assistant", {tool_use(name, "my_reader", arguments)}),
                      blocks("user", {tool_result(name, text)})});
    };
    const Json in_tree = read("/large_tool_results/x");
    EXPECT_TRUE(in_tree.find("actions")->items.empty()) << name;
    EXPECT_EQ(number_of(*in_tree.find("known"), "items"), 0u) << name;
    EXPECT_EQ(count_of(read("/somewhere/else"), "tool_result"), 1u) << name;
  }
}

}  // namespace
}  // namespace ebla::daemon
