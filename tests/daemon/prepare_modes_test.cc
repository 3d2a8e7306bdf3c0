// A client that keeps its own list and one that keeps ours read the same, though the one still
// holds arguments that the other sees as marks.
#include <gmock/gmock.h>

#include "tests/daemon/prepare_fixture.h"
#include "tests/daemon/speech.h"

namespace ebla::daemon {
namespace {

using testing::HasSubstr;
using testing::Not;

enum class Forget : uint8_t { nothing, originals };

class PrepareModesTest : public PrepareFixture {
 protected:
  struct Outcome {
    std::vector<std::string> sent;
    std::string history;
    std::vector<std::string> prompts;  // that the client was asked with
    size_t shortened = 0;
    size_t summaries = 0;
  };

  void begin() {
    store_ = kit::make_model_store(clock_, kUid, kUid);
    seed_ = 1;  // the same ids of sessions, and so the same paths
    start();
    must("session.open",
         R"({"key":"s","settings":{"argument_tools":["write_file","apply_patch"]}})");
  }

  // What an agent does in a turn: it writes a file, or patches one.
  static std::vector<std::string> work(const Speech& speech, size_t n) {
    const std::string text =
        fmt::format("constant kToken_{}_alpha = 90{}77123;\n{}", n, n, kit::prose(3'000));
    const std::string id = fmt::format("call_{}", n);
    if (n % 5 == 0) return speech.tool(id, fmt::format("output {}\n{}", n, text));
    if (n % 3 == 0) {
      const std::string patch = fmt::format(
          "*** Begin Patch\n*** Update File: /w/patched_{}.cc\n@@\n+{}*** Add File: "
          "/w/added_{}.cc\n+x\n*** End Patch\n",
          n, text, n);
      return speech.call(id, "apply_patch", R"({"input":)" + json_string(patch) + "}", "Done!");
    }
    return speech.call(
        id, "write_file",
        fmt::format(R"({{"file_path":"/w/file_{}.cc","content":{}}})", n, json_string(text)),
        n % 4 == 0 ? "Error: disk full" : "ok");
  }

  Outcome run(const Speech& speech, bool keeps_ours, std::string_view summariser, Forget forget) {
    begin();
    Outcome out;
    std::vector<std::string> list = speech.lead;
    for (size_t n = 1; n <= 40; ++n) {
      list.push_back(speech.user(fmt::format("ask {}: {}", n, kit::prose(1'000))));
      for (std::string& message : work(speech, n)) list.push_back(std::move(message));
      const Json reply =
          must("prepare",
               fmt::format(R"({{"session":"s","format":"{}","window":10000,"summariser":"{}",)"
                           R"("reply":"messages","messages":{}}})",
                           speech.format, summariser, list_of(list)));
      EXPECT_EQ(count_of(reply, "breach"), 0u) << n;
      out.sent = messages_of(reply);
      out.shortened += count_of(reply, "argument");
      out.summaries += count_of(reply, "summary");
      if (const Json* asked = reply.find("summary_request")) {
        out.prompts.push_back(text_of(*asked, "prompt"));
      }
      if (forget == Forget::originals) remove_originals(reply);
      if (keeps_ours) list = out.sent;
      list.push_back(speech.model(fmt::format("answer {}: {}", n, kit::prose(1'000))));
    }
    out.history = history();
    return out;
  }

  void remove_originals(const Json& reply) {
    for (const Json& action : reply.find("actions")->items) {
      const std::string what = text_of(action, "what");
      if (what != "argument" && what != "old_result") continue;
      must("fs.delete", R"({"path":)" + json_string(text_of(action, "path")) + "}");
    }
  }

  void expect_equal(const Outcome& own, const Outcome& ours) {
    EXPECT_GT(own.shortened, 3u);
    EXPECT_GT(own.summaries, 1u);
    EXPECT_EQ(own.sent, ours.sent);
    EXPECT_EQ(own.history, ours.history);
    EXPECT_EQ(own.prompts, ours.prompts);
  }
};

TEST_F(PrepareModesTest, ShortenedArgumentsReadTheSameInBothWaysOfKeepingTheList) {
  for (const Speech& speech : speeches()) {
    SCOPED_TRACE(speech.format);
    for (std::string_view summariser : {"extract", "client"}) {
      SCOPED_TRACE(summariser);
      const Outcome own = run(speech, false, summariser, Forget::nothing);
      const Outcome ours = run(speech, true, summariser, Forget::nothing);
      expect_equal(own, ours);
      // What the marks stand for is known to both.
      EXPECT_THAT(ours.history, HasSubstr("\"/w/patched_3.cc\": edited"));
      EXPECT_THAT(ours.history, HasSubstr("\"/w/added_3.cc\": written"));
      EXPECT_THAT(ours.history, HasSubstr(" tokens, begins \"output 5\"\n"));
      EXPECT_EQ(own.prompts.empty(), summariser == "extract");
    }
  }
}

// There both see the marks.
TEST_F(PrepareModesTest, AndWhereTheOriginalsAreGone) {
  for (const Speech& speech : speeches()) {
    SCOPED_TRACE(speech.format);
    const Outcome own = run(speech, false, "extract", Forget::originals);
    expect_equal(own, run(speech, true, "extract", Forget::originals));
    EXPECT_THAT(own.history, Not(HasSubstr("\"/w/patched_3.cc\": edited")));
  }
}

}  // namespace
}  // namespace ebla::daemon
