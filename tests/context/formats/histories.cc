#include "tests/context/formats/histories.h"

#include <algorithm>
#include <numeric>

#include "schema/base/json.h"
#include "schema/base/utf8.h"

namespace ebla::context::test {
namespace {

constexpr char kPng[] =
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJg"
    "gg==";

std::string quoted(std::string_view text) {
  JsonWriter out;
  out.string(text);
  return out.take();
}

std::string random_text(std::mt19937& random) {
  constexpr std::string_view kPieces[] = {"make: *** [all] Error 2\n",
                                          "été ",
                                          "\xe4\xb8\xad\xe6\x96\x87",
                                          "\xf0\x9f\x9a\x80",
                                          "\"quoted\\path\"",
                                          "\t\r",
                                          "{\"a\": 1}",
                                          "a plain sentence. ",
                                          "\x1b[31mred\x1b[0m",
                                          "0",
                                          "</system>",
                                          "$&"};
  std::string text;
  const size_t count = 1 + below(random, 6);
  for (size_t i = 0; i < count; ++i) text += kPieces[below(random, std::size(kPieces))];
  return text + "x";
}

std::string joined(const std::vector<std::string>& items) {
  std::string out;
  for (const std::string& item : items) {
    if (!out.empty()) out += ",";
    out += item;
  }
  return out;
}

std::string message(std::string_view role, std::string_view content, std::string_view more = "") {
  return R"({"role":)" + quoted(role) + R"(,"content":)" + std::string(content) +
         std::string(more) + "}";
}

void anthropic(const Step& step, std::vector<std::string>& out) {
  if (step.who == Step::Who::user) {
    out.push_back(message("user", quoted(step.text)));
    return;
  }
  std::vector<std::string> blocks;
  if (!step.thinking.empty()) {
    blocks.push_back(R"({"type":"thinking","thinking":)" + quoted(step.thinking) +
                     R"(,"signature":"sig"})");
  }
  if (step.server_tool) {
    blocks.push_back(R"({"type":"server_tool_use","id":"srv","name":"web_search","input":{}})");
    blocks.push_back(R"({"type":"web_search_tool_result","tool_use_id":"srv","content":[]})");
  }
  if (!step.text.empty()) blocks.push_back(R"({"type":"text","text":)" + quoted(step.text) + "}");
  for (const CallStep& call : step.calls) {
    blocks.push_back(R"({"type":"tool_use","id":)" + quoted(call.id) + R"(,"name":)" +
                     quoted(call.name) + R"(,"input":)" + call.arguments + "}");
  }
  out.push_back(message("assistant", "[" + joined(blocks) + "]"));
  std::vector<std::string> results;
  for (size_t i : step.result_order) {
    const CallStep& call = step.calls[i];
    std::string content = quoted(call.result);
    if (call.image) {
      content = R"([{"type":"text","text":)" + content +
                R"(},{"type":"image","source":{"type":"base64","media_type":"image/png","data":")" +
                kPng + R"("}}])";
    }
    results.push_back(R"({"type":"tool_result","tool_use_id":)" + quoted(call.id) +
                      R"(,"content":)" + content + "}");
  }
  if (!results.empty()) out.push_back(message("user", "[" + joined(results) + "]"));
}

// Content of a result where images are told by URLs.
std::string url_content(const CallStep& call, std::string_view text_type) {
  if (!call.image) return quoted(call.result);
  const std::string url = std::string("\"data:image/png;base64,") + kPng + "\"";
  const bool items = text_type == "input_text";
  return R"([{"type":)" + quoted(text_type) + R"(,"text":)" + quoted(call.result) +
         (items ? R"(},{"type":"input_image","image_url":)" + url
                : R"(},{"type":"image_url","image_url":{"url":)" + url + "}") +
         "}]";
}

void openai(const Step& step, bool functions, std::vector<std::string>& out) {
  if (step.who == Step::Who::user) {
    out.push_back(message("user", quoted(step.text)));
    return;
  }
  const std::string content = step.text.empty() ? "null" : quoted(step.text);
  std::string more;
  if (!step.thinking.empty()) more += R"(,"reasoning_content":)" + quoted(step.thinking);
  std::vector<std::string> calls;
  for (const CallStep& call : step.calls) {
    const std::string function =
        R"({"name":)" + quoted(call.name) + R"(,"arguments":)" + quoted(call.arguments) + "}";
    if (functions) {
      out.push_back(message("assistant", content, more + R"(,"function_call":)" + function));
      out.push_back(message("function", quoted(call.result), R"(,"name":)" + quoted(call.name)));
    }
    calls.push_back(R"({"id":)" + quoted(call.id) + R"(,"type":"function","function":)" + function +
                    "}");
  }
  if (functions && !step.calls.empty()) return;
  if (!calls.empty()) more += R"(,"tool_calls":[)" + joined(calls) + "]";
  out.push_back(message("assistant", content, more));
  for (size_t i : step.result_order) {
    const CallStep& call = step.calls[i];
    out.push_back(
        message("tool", url_content(call, "text"), R"(,"tool_call_id":)" + quoted(call.id)));
  }
}

void responses(const Step& step, std::mt19937* random, std::vector<std::string>& out) {
  const auto words = [&](std::string_view role, std::string_view type) {
    out.push_back(R"({"type":"message","role":)" + quoted(role) + R"(,"content":[{"type":)" +
                  quoted(type) + R"(,"text":)" + quoted(step.text) + "}]}");
  };
  if (step.who == Step::Who::user) return words("user", "input_text");
  if (!step.thinking.empty()) {
    out.push_back(R"({"type":"reasoning","id":"rs","summary":[],"encrypted_content":)" +
                  quoted(step.thinking) + "}");
  }
  if (step.server_tool) {
    out.push_back(R"({"type":"web_search_call","id":"ws","status":"completed"})");
  }
  if (!step.text.empty() || (step.calls.empty() && !step.server_tool)) {
    words("assistant", "output_text");
  }
  std::vector<std::string> results(step.calls.size());
  for (size_t i = 0; i < step.calls.size(); ++i) {
    const CallStep& call = step.calls[i];
    const bool custom = call.name == "apply";
    out.push_back(R"({"type":)" + quoted(custom ? "custom_tool_call" : "function_call") +
                  R"(,"id":"fc","call_id":)" + quoted(call.id) + R"(,"name":)" + quoted(call.name) +
                  (custom ? R"(,"input":)" : R"(,"arguments":)") + quoted(call.arguments) + "}");
    results[i] = R"({"type":)" +
                 quoted(custom ? "custom_tool_call_output" : "function_call_output") +
                 R"(,"call_id":)" + quoted(call.id) + R"(,"output":)" +
                 url_content(call, "input_text") + "}";
    if (random != nullptr && chance(*random, 3)) out.push_back(std::exchange(results[i], ""));
  }
  for (size_t i : step.result_order) {
    if (!results[i].empty()) out.push_back(results[i]);
  }
}

std::string chain_message(Dialect dialect, std::string_view type, std::string_view class_name,
                          std::string_view fields) {
  const std::string typed = R"({"type":)" + quoted(type);
  if (dialect == Dialect::chain_plain) return typed + "," + std::string(fields) + "}";
  if (dialect == Dialect::chain_data) return typed + R"(,"data":{)" + std::string(fields) + "}}";
  return R"({"lc":1,"type":"constructor","id":["langchain","schema","messages",)" +
         quoted(class_name) + R"(],"kwargs":{)" + std::string(fields) + "}}";
}

void chain(const Step& step, Dialect dialect, std::vector<std::string>& out) {
  std::string fields = R"("content":)" + quoted(step.text);
  if (step.who == Step::Who::user) {
    out.push_back(chain_message(dialect, "human", "HumanMessage", fields));
    return;
  }
  std::vector<std::string> calls;
  for (const CallStep& call : step.calls) {
    calls.push_back(R"({"name":)" + quoted(call.name) + R"(,"args":)" + call.arguments +
                    R"(,"id":)" + quoted(call.id) + R"(,"type":"tool_call"})");
  }
  fields += R"(,"tool_calls":[)" + joined(calls) + "]";
  out.push_back(chain_message(dialect, "ai", "AIMessage", fields));
  for (size_t i : step.result_order) {
    const CallStep& call = step.calls[i];
    out.push_back(chain_message(
        dialect, "tool", "ToolMessage",
        R"("tool_call_id":)" + quoted(call.id) + R"(,"content":)" + url_content(call, "text")));
  }
}

}  // namespace

size_t below(std::mt19937& random, size_t count) {
  return random() % count;
}
bool chance(std::mt19937& random, size_t one_in) {
  return below(random, one_in) == 0;
}

FormatId format_id(Dialect dialect) {
  switch (dialect) {
    case Dialect::anthropic:
      return FormatId::anthropic;
    case Dialect::openai:
    case Dialect::openai_functions:
      return FormatId::openai;
    case Dialect::responses:
      return FormatId::responses;
    default:
      return FormatId::langchain;
  }
}

History random_history(std::mt19937& random, const Wishes& wishes) {
  constexpr std::string_view kTools[] = {"read_file", "apply", "shell", "web_search"};
  History history;
  size_t id = 0;
  for (size_t i = 0; i < wishes.steps; ++i) {
    Step& step = history.emplace_back();
    const bool user =
        i == 0 || (history[i - 1].calls.empty() && history[i - 1].who == Step::Who::model);
    if (user) {
      step.text = random_text(random);
      continue;
    }
    step.who = Step::Who::model;
    const size_t most = wishes.plain_calls ? 2 : wishes.parallel + 1;
    const size_t calls = below(random, most);
    for (size_t c = 0; c < calls; ++c) {
      CallStep& call = step.calls.emplace_back();
      call.id = "call_" + std::to_string(id++);
      call.name = kTools[below(random, wishes.plain_calls ? 1 : std::size(kTools))];
      call.arguments = R"({"path":"/a\/b","n":1.0,"big":1152921504606846976,"text":)" +
                       quoted(random_text(random)) + "}";
      call.result = random_text(random);
      call.image = chance(random, 4);
    }
    step.result_order.resize(calls);
    std::iota(step.result_order.begin(), step.result_order.end(), size_t{0});
    std::shuffle(step.result_order.begin(), step.result_order.end(), random);
    if (calls == 0 || (!wishes.plain_calls && chance(random, 2))) step.text = random_text(random);
    if (wishes.plain_calls) continue;
    if (chance(random, 2)) step.thinking = random_text(random);
    step.server_tool = chance(random, 5);
  }
  return history;
}

std::vector<std::string> messages_of(const History& history, Dialect dialect,
                                     std::mt19937* random) {
  std::vector<std::string> out;
  for (const Step& step : history) {
    switch (dialect) {
      case Dialect::anthropic:
        anthropic(step, out);
        break;
      case Dialect::openai:
      case Dialect::openai_functions:
        openai(step, dialect == Dialect::openai_functions, out);
        break;
      case Dialect::responses:
        responses(step, random, out);
        break;
      default:
        chain(step, dialect, out);
    }
  }
  return out;
}

std::string request_of(const std::vector<std::string>& messages, Dialect dialect) {
  const char* member = dialect == Dialect::responses ? "input" : "messages";
  return R"({"model":"some-model","max_tokens":4096,")" + std::string(member) + R"(": [)" +
         joined(messages) + R"( ], "tools":[{"name":"read_file"}], "top_p":1.0})";
}

}  // namespace ebla::context::test
