// Images: a budget of bytes and a number of them, links to files, one file for equal bytes.
#include <gmock/gmock.h>

#include "context/text/tokens.h"
#include "tests/daemon/prepare_fixture.h"
#include "tests/kit/store_calls.h"

namespace ebla::daemon {
namespace {

using testing::HasSubstr;
using testing::Not;

class PrepareMediaTest : public PrepareFixture {
 protected:
  static std::string png(size_t bytes, uint64_t seed) {
    return "\x89PNG\r\n\x1a\n" + kit::random_bytes(bytes - 8, seed);
  }
  static std::string image(std::string_view bytes) {
    return R"({"type":"image","source":{"type":"base64","media_type":"image/png","data":")" +
           base64(bytes) + R"("}})";
  }
  // A turn that shows an image: half of them in results of tools.
  static void show(std::vector<std::string>& list, size_t n, std::string_view bytes) {
    if (n % 2 == 0) {
      list.push_back(blocks("user", {image(bytes), R"({"type":"text","text":"look"})"}));
      list.push_back(assistant("seen"));
      return;
    }
    const std::string id = fmt::format("shot_{}", n);
    list.push_back(user("take a picture"));
    list.push_back(blocks("assistant", {tool_use(id, "screenshot", "{}")}));
    list.push_back(blocks("user", {fmt::format(R"({{"type":"tool_result","tool_use_id":"{}",)"
                                               R"("content":[{}]}})",
                                               id, image(bytes))}));
    list.push_back(assistant("seen"));
  }
  // By a blob: no line is that long.
  Json prepare_body(const std::string& body, std::string_view more) {
    auto request = std::make_shared<Request>();
    request->blobs.push_back({body, {}, body.size()});
    request->wants_blobs = true;
    auto answer = send("prepare",
                       fmt::format(R"({{"session":"s","format":"anthropic","reply":"messages",)"
                                   R"("messages":{{"$blob":0}}{}}})",
                                   more),
                       std::move(request));
    EXPECT_TRUE(answer.result) << answer.result.error().text;
    if (!answer.result) return {};
    out_ = answer.blobs.at(0);
    return *std::move(answer.result);
  }
  // The new list, message by message.
  std::vector<std::string> kept_list() const {
    std::vector<std::string> kept;
    const Result<Json> list = parse_json(out_);
    for (const Json& message : list->items) kept.push_back(to_json(message));
    return kept;
  }
  std::string out_;  // the new list
};

TEST_F(PrepareMediaTest, ManyLargeImagesStayWithinTheBudget) {
  std::vector<std::string> list;
  for (size_t n = 0; n < 63; ++n) show(list, n, png(1'200'000, n));
  list.push_back(user("and now"));
  const std::string body = list_of(list);
  EXPECT_GT(body.size(), 100'000'000u);
  must("session.open", R"({"key":"s","settings":{"image_bytes":20000000}})");
  const Json reply = prepare_body(body, "");
  EXPECT_LT(out_.size(), 20'000'000u + 100'000u);
  EXPECT_GT(count_of(reply, "media"), 40u);
  EXPECT_EQ(count_of(reply, "breach"), 0u);
  // The first task and the newest stay, the oldest are files.
  const auto holds = [&](uint64_t seed) {
    return out_.find(base64(png(1'200'000, seed)).substr(0, 1'000)) != std::string::npos;
  };
  EXPECT_TRUE(holds(0));
  EXPECT_FALSE(holds(1));
  EXPECT_TRUE(holds(62));
  const Json& first = action_of(reply, "media");
  EXPECT_THAT(text_of(first, "path"), HasSubstr("/conversation_history/media/"));
  EXPECT_THAT(text_of(first, "path"), HasSubstr(".png"));
  EXPECT_TRUE(file(text_of(first, "path")) == png(1'200'000, 1));
  // Again: the same bytes, nothing new.
  const std::string before = out_;
  EXPECT_TRUE(prepare_body(body, "").find("actions")->items.empty());
  EXPECT_TRUE(out_ == before);
}

TEST_F(PrepareMediaTest, AnImageCountsAsAnImageAndGoesToTheHistoryAsALink) {
  const std::string bytes = png(800'000, 7);
  std::vector<std::string> list;
  show(list, 0, bytes);
  show(list, 1, bytes);
  for (int n = 0; n < 10; ++n) {
    list.push_back(user(fmt::format("{} {}", n, kit::prose(1'000))));
    list.push_back(assistant(fmt::format("{} {}", n, kit::prose(1'000))));
  }
  list.push_back(user("now"));
  const Json reply = prepare_body(list_of(list), R"(,"compact":true)");
  EXPECT_LT(tokens_of(reply, "before"), 20'000u);
  EXPECT_EQ(count_of(reply, "summary"), 1u);
  const std::string text = history();
  EXPECT_LT(text.size(), 100'000u);
  const Json media = must("fs.ls", R"({"path":"/conversation_history/media"})");
  EXPECT_EQ(number_of(media, "total"), 1u) << "one file for equal bytes";
  const std::string name = text_of(media.find("entries")->items.at(0), "name");
  EXPECT_EQ(file("/conversation_history/media/" + name), bytes);
  EXPECT_THAT(text, HasSubstr("/conversation_history/media/" + name));
}

TEST_F(PrepareMediaTest, WhatAResultShowsGoesWhenTheCallerAsks) {
  const std::string bytes = png(90'000, 3);
  std::vector<std::string> list;
  show(list, 1, bytes);
  list.push_back(user("next"));
  const Json reply = prepare_body(list_of(list), R"(,"put_away":["shot_1"])");
  EXPECT_EQ(count_of(reply, "media"), 1u);
  EXPECT_EQ(count_of(reply, "not_put_away"), 0u);
  EXPECT_EQ(file(text_of(action_of(reply, "media"), "path")), bytes);
  EXPECT_LT(out_.size(), 1'000u);
  EXPECT_THAT(out_, HasSubstr("shot_1"));
}

TEST_F(PrepareMediaTest, TurnsWithAPictureEachTakeFewPassesAndTheNewestStays) {
  std::vector<std::string> list;
  size_t passes = 0;
  for (size_t n = 0; n < 60; ++n) {
    show(list, n, png(3'000, n));
    const std::string answer = list.back();
    list.pop_back();
    const Json reply = prepare_body(list_of(list), "");
    passes += count_of(reply, "media") > 0 ? 1u : 0u;
    EXPECT_EQ(count_of(reply, "breach"), 0u);
    EXPECT_NE(out_.find(base64(png(3'000, n)).substr(0, 1'000)), std::string::npos) << n;
    if (count_of(reply, "media") > 0) {
      EXPECT_EQ(count_of(reply, "media"), 11u) << n;
      // The first message is the task and stays.
      const std::string oldest = png(3'000, 1 + 11 * (passes - 1));
      EXPECT_EQ(number_of(action_of(reply, "media"), "tokens_before"),
                context::image_tokens(oldest));
    }
    list.push_back(answer);
  }
  EXPECT_EQ(passes, 4u);
  // Back to an earlier turn, with the pictures themselves: as they were sent then.
  list.resize(60);
  const Json reply = prepare_body(list_of(list), "");
  EXPECT_TRUE(reply.find("actions")->items.empty());
  EXPECT_GT(number_of(*reply.find("known"), "items"), 10u);
}

// A tool that takes the same picture again, and a user who shows it again.
TEST_F(PrepareMediaTest, APictureThatIsShownAgainStaysUntilItsOwnTurnComes) {
  const std::string same = png(3'000, 999);
  std::vector<std::string> list;
  show(list, 1, png(3'000, 0));
  for (size_t n = 2; n < 4; ++n) show(list, n, same);  // by the user, by a tool
  for (size_t n = 4; n < 24; ++n) show(list, n, png(3'000, n));
  list.pop_back();
  prepare_body(list_of(list), "");
  const std::string data = base64(same);
  const auto shown = [&] {
    size_t count = 0;
    for (size_t at = out_.find(data); at != std::string::npos; at = out_.find(data, at + 1))
      ++count;
    return count;
  };
  EXPECT_EQ(shown(), 0u) << "both went";
  std::vector<std::string> kept = kept_list();
  std::vector<std::string> more = {assistant("seen")};
  for (size_t n = 30; n < 34; ++n) show(more, n, same);  // two by each
  for (const std::string& message : more) {
    list.push_back(message);
    kept.push_back(message);
    if (message == assistant("seen")) continue;
    const size_t before = list.size();
    SCOPED_TRACE(before);
    const Json reply = prepare_body(list_of(list), "");
    EXPECT_EQ(count_of(reply, "media"), 0u);
    const std::string answer = out_;
    EXPECT_GE(shown(), 1u);
    prepare_body(list_of(kept), "");
    EXPECT_TRUE(out_ == answer);
    prepare_body(list_of(list), "");
    EXPECT_TRUE(out_ == answer);
  }
  EXPECT_EQ(shown(), 4u) << "settled by now, and no rule wants them to go";
}

// Once decided it holds, though the model had not seen it.
TEST_F(PrepareMediaTest, APictureThatWentUnseenStaysAway) {
  std::vector<std::string> list;
  show(list, 0, png(3'000, 1));
  const std::string large = png(300'000, 2);
  list.push_back(blocks("user", {image(large), R"({"type":"text","text":"look"})"}));
  must("session.open", R"({"key":"s","settings":{"image_bytes":200000}})");
  EXPECT_EQ(count_of(prepare_body(list_of(list), R"(,"pinned":[0])"), "media"), 1u);
  const std::string answer = out_;
  std::vector<std::string> kept = kept_list();
  EXPECT_EQ(count_of(prepare_body(list_of(list), R"(,"pinned":[0])"), "media"), 0u);
  EXPECT_TRUE(out_ == answer);
  for (std::vector<std::string>* each : {&list, &kept}) {
    each->push_back(assistant("seen"));
    each->push_back(user("go on"));
  }
  EXPECT_EQ(count_of(prepare_body(list_of(list), R"(,"pinned":[0])"), "media"), 0u);
  const std::string later = out_;
  EXPECT_EQ(later.find(base64(large).substr(0, 1'000)), std::string::npos);
  prepare_body(list_of(kept), R"(,"pinned":[0])");
  EXPECT_TRUE(out_ == later);
}

// A store of before knows media by what they hold alone.
TEST_F(PrepareMediaTest, ALinkOfBeforeHoldsForWhatTheModelHasSeen) {
  const std::string bytes = png(3'000, 5);
  std::vector<std::string> list;
  show(list, 1, bytes);
  list.push_back(user("next"));
  prepare_body(list_of(list), "");  // the session is there
  const Session session = *store_->find_session(kUid, "s");
  EvictionPlan plan = kit::eviction_plan(session, "", bytes, "ignored");
  plan.kind = ArtifactKind::media;
  plan.extension = ".png";
  plan.replacement_parts = {"[moved into /", "]"};
  ASSERT_TRUE(kit::commit_eviction(*store_, plan).ok());
  // One list that was not answered yet: seen, and shown anew.
  show(list, 3, bytes);
  list.pop_back();
  prepare_body(list_of(list), "");
  EXPECT_THAT(out_, HasSubstr("[moved into /"));
  EXPECT_NE(out_.find(base64(bytes)), std::string::npos);
}

TEST_F(PrepareMediaTest, DocumentsBecomeFilesOfTheirKind) {
  const auto document = [](std::string_view bytes) {
    return R"({"type":"document","source":{"type":"base64","media_type":"application/pdf","data":")" +
           base64(bytes) + R"("}})";
  };
  std::vector<std::string> list;
  for (size_t n = 0; n < 3; ++n) {
    const std::string pdf = "%PDF-1.7\n" + kit::random_bytes(400'000, n);
    list.push_back(blocks("user", {document(pdf), R"({"type":"text","text":"read"})"}));
    list.push_back(assistant("read"));
  }
  list.push_back(user("now"));
  must("session.open", R"({"key":"s","settings":{"image_bytes":1500000}})");
  const Json reply = prepare_body(list_of(list), R"(,"pinned":[0])");
  ASSERT_EQ(count_of(reply, "media"), 1u);
  const Json& gone = action_of(reply, "media");
  EXPECT_EQ(number_of(gone, "index"), 2u) << "the oldest that is not pinned";
  EXPECT_THAT(text_of(gone, "path"), HasSubstr(".pdf"));
  EXPECT_EQ(number_of(gone, "tokens_before"), 400'009 / limits::kDocumentBytesPerToken);
}

// To a client that keeps our list a link is a text that was put away.
TEST_F(PrepareMediaTest, BytesOfAnImageAreNoBeginningOfAText) {
  std::vector<std::string> list;
  for (size_t n = 0; n < 30; ++n) show(list, n, png(2'000, n));
  list.push_back(user("and now"));
  const Json links = prepare(list, R"(,"window":1000000)");
  EXPECT_GT(count_of(links, "media"), 5u);
  list = messages_of(links);
  for (size_t n = 0; n < 10; ++n) {
    list.push_back(assistant(kit::prose(4'000)));
    list.push_back(user(kit::prose(4'000)));
  }
  const Json asked = prepare(list, R"(,"window":35000,"summariser":"client")");
  const Json* request = asked.find("summary_request");
  ASSERT_NE(request, nullptr) << to_json(*asked.find("tokens"));
  const std::string prompt = text_of(*request, "prompt");
  EXPECT_THAT(prompt, HasSubstr("/conversation_history/media/"));
  EXPECT_THAT(prompt, Not(HasSubstr("PNG")));
  EXPECT_EQ(count_of(prepare(list, R"(,"window":20000,"summariser":"extract")"), "summary"), 1u);
  EXPECT_THAT(history(), HasSubstr("/conversation_history/media/"));
  EXPECT_THAT(history(), Not(HasSubstr("begins \"\\x89PNG")));
}

}  // namespace
}  // namespace ebla::daemon
