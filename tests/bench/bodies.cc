#include "tests/bench/bodies.h"

#include <string_view>

#include "schema/base/json.h"
#include "tests/kit/real_texts.h"

namespace ebla::bench {
namespace {

using context::FormatId;

constexpr size_t kStep = 64;  // a result begins so many bytes behind the one before

std::string quoted(std::string_view text) {
  JsonWriter out;
  out.string(text);
  return out.take();
}

std::string anthropic_message(bool call, const std::string& id, std::string_view result) {
  if (!call) {
    return R"({"role":"user","content":[{"type":"tool_result","tool_use_id":)" + id +
           R"(,"content":)" + quoted(result) + "}]}";
  }
  return R"({"role":"assistant","content":[{"type":"text","text":"Reading on."},)"
         R"({"type":"tool_use","id":)" +
         id + R"(,"name":"read_file","input":{"path":"/src/main.cc","limit":100}}]})";
}

std::string openai_message(bool call, const std::string& id, std::string_view result) {
  if (!call) {
    return R"({"role":"tool","tool_call_id":)" + id + R"(,"content":)" + quoted(result) + "}";
  }
  return R"({"role":"assistant","content":"Reading on.","tool_calls":[{"id":)" + id +
         R"(,"type":"function","function":{"name":"read_file","arguments":)"
         R"("{\"path\": \"/src/main.cc\", \"limit\": 100}"}}]})";
}

}  // namespace

std::string program_text(size_t bytes) {
  std::string out;
  for (int i = 0; out.size() < bytes; ++i) {
    out += "  if (request.headers[\"Content-Length\"] != std::to_string(body_size_" +
           std::to_string(i % 100) +
           ")) {\n    return fail(Code::invalid_request, \"wrong\");\n  }\n";
  }
  out.resize(bytes);
  return out;
}

std::string request_of(size_t messages, size_t result_bytes, FormatId format) {
  const size_t bytes = messages * kStep + result_bytes;
  const std::string prose = kit::prose(bytes);
  const std::string program = program_text(bytes);
  std::string out = R"({"max_tokens":4096,"model":"m","messages":[)"
                    R"({"role":"user","content":"Find out why the build is slow."})";
  for (size_t i = 1; i < messages; ++i) {
    const std::string id = "\"toolu_01A09q90qw90lq917835lq" + std::to_string((i - 1) / 2) + "\"";
    const std::string_view texts = i % 4 == 0 ? prose : program;
    const std::string_view result = texts.substr(i * kStep, result_bytes);
    out += ",";
    out += format == FormatId::anthropic ? anthropic_message(i % 2 == 1, id, result)
                                         : openai_message(i % 2 == 1, id, result);
  }
  return out + "]}";
}

}  // namespace ebla::bench
