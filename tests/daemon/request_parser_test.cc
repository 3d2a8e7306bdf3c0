#include "daemon/control/request_parser.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "schema/base/limits.h"

namespace ebla::daemon {
namespace {

std::string call(std::string_view method, std::string_view params, std::string_view rest = "") {
  return R"({"jsonrpc":"2.0","id":1,"method":")" + std::string(method) + R"(","params":)" +
         std::string(params) + std::string(rest) + "}";
}

Error refusal(std::string_view line) {
  ParsedRequest parsed = parse_request(line);
  EXPECT_TRUE(parsed.refusal.has_value()) << line;
  return parsed.refusal.value_or(Error{Code::usage, ""});
}

TEST(RequestParser, TakesEveryMethodOfTheTable) {
  for (const rpc::Method& method : rpc::methods()) {
    std::string params;
    for (const rpc::Param& param : method.params) {
      const char* value = nullptr;
      switch (param.type) {
        case rpc::Type::integer:
          value = "-9223372036854775808";
          break;
        case rpc::Type::boolean:
          value = "false";
          break;
        case rpc::Type::object:
          value = R"({"any":{"$blob":7}})";
          break;
        case rpc::Type::array:
        case rpc::Type::body:
          value = "[]";
          break;
        case rpc::Type::option:
          value = "true";
          break;
        default:
          value = R"("text")";
      }
      params += (params.empty() ? "\"" : ",\"") + std::string(param.name) + "\":" + value;
    }
    const ParsedRequest parsed = parse_request(call(method.name, "{" + params + "}"));
    ASSERT_FALSE(parsed.refusal.has_value()) << method.name << ": " << parsed.refusal->text;
    EXPECT_EQ(parsed.method, &method);
    EXPECT_EQ(parsed.params.members.size(), method.params.size());
    EXPECT_GT(parsed.cost_bytes, params.size());
  }
}

TEST(RequestParser, ABodyIsTheBytesThatWereSent) {
  // Numbers, escapes, doubled keys, white space: whatever goes to a model goes as it came.
  for (const char* body :
       {R"({"n":1.0,"n":1e2,"big":1152921504606846976,"t":"\u0041\ud800 }]\\\"" })", "[ ]",
        R"([ {"a":[{"b":"{[,]}"}]} , null,true ])", "{}"}) {
    const ParsedRequest parsed = parse_request(
        call("prepare", R"({ "session" : "s\\\"" , "window":5, "compact":null, "request" : )" +
                            std::string(body) + R"( ,"dry_run":true})"));
    ASSERT_FALSE(parsed.refusal.has_value()) << parsed.refusal->text;
    const Json* request = parsed.params.find("request");
    ASSERT_NE(request, nullptr);
    EXPECT_EQ(request->text, body);
    EXPECT_TRUE(request->members.empty());
    EXPECT_EQ(parsed.params.find("compact"), nullptr);
  }
  // By a name with escapes too, and whichever way the members of the request stand.
  const ParsedRequest odd = parse_request(
      R"({"params":{"req\u0075est":{"a" : 1},"session":"s"},"method":"prepare","jsonrpc":"2.0"})");
  ASSERT_FALSE(odd.refusal.has_value()) << odd.refusal->text;
  EXPECT_EQ(odd.params.find("request")->text, R"({"a" : 1})");
  // A reference stays one.
  const ParsedRequest blob =
      parse_request(call("prepare", R"({"session":"s","request":{"$blob":0}})", R"(,"blobs":[5])"));
  ASSERT_FALSE(blob.refusal.has_value()) << blob.refusal->text;
  EXPECT_EQ(blob.params.find("request")->members.front().first, "$blob");
  for (const char* params :
       {R"({"session":"s","request":"text"})", R"({"session":"s","request":5})",
        R"({"session":"s","request":{"$blob":0}})", R"({"session":"s","request":{"$other":0}})",
        R"({"session":"s","request":{},"compact":"yes"})", R"({"request":{}})"}) {
    EXPECT_EQ(refusal(call("prepare", params)).code, Code::invalid_params) << params;
  }
}

TEST(RequestParser, NullCountsAsAbsent) {
  const ParsedRequest parsed =
      parse_request(call("evict", R"({"content":"x","id":null,"tool":null,"limit_tokens":null})"));
  ASSERT_FALSE(parsed.refusal.has_value()) << parsed.refusal->text;
  ASSERT_EQ(parsed.params.members.size(), 1u);
  EXPECT_EQ(parsed.params.members.front().first, "content");
  // What is required is missing then, and what is unknown stays unknown.
  for (const char* params : {R"({"content":null})", R"({"content":"x","foo":null})"}) {
    const ParsedRequest refused = parse_request(call("evict", params));
    ASSERT_TRUE(refused.refusal.has_value()) << params;
    EXPECT_EQ(refused.refusal->code, Code::invalid_params) << params;
  }
}

TEST(RequestParser, KeepsTheIdAsItIsWritten) {
  const std::string digits(10'000, '7');
  for (const std::string& id :
       {std::string("1"), std::string("-0"), std::string("1.50"), std::string("1e400"), digits,
        std::string("\"a\\\"b\""), std::string("\"\""), std::string("null")}) {
    const std::string line = R"({"jsonrpc":"2.0","method":"status","id":)" + id + "}";
    const ParsedRequest parsed = parse_request(line);
    EXPECT_FALSE(parsed.refusal.has_value());
    EXPECT_FALSE(parsed.notification);
    EXPECT_EQ(parsed.id, id);
  }
  EXPECT_TRUE(parse_request(R"({"jsonrpc":"2.0","method":"status"})").notification);
  for (const char* id : {"true", "[1]", "{}"}) {
    const std::string line = R"({"jsonrpc":"2.0","method":"status","id":)" + std::string(id) + "}";
    EXPECT_EQ(refusal(line).code, Code::invalid_request) << id;
    EXPECT_EQ(parse_request(line).id, "null");
  }
}

TEST(RequestParser, RefusesWhatIsNoJson) {
  const std::vector<std::string> lines = {
      "x",
      "{",
      "{}}",
      R"({"jsonrpc":"2.0",})",
      "GET / HTTP/1.1",
      R"({"jsonrpc":"2.0","id":NaN,"method":"status"})",
      R"({"jsonrpc":"2.0","id":1,"method":"status","params":{"a":Infinity}})",
      R"({"jsonrpc":"2.0","id":01,"method":"status"})",
      std::string(100'000, '['),
      std::string(100'000, '[') + std::string(100'000, ']'),
      R"({"jsonrpc":"2.0","id":1,"method":"status","params":)" + std::string(100, '[') +
          std::string(100, ']') + "}",
      std::string("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"sta\0tus\"}", 42),
  };
  for (const std::string& line : lines) {
    EXPECT_EQ(refusal(line).code, Code::parse_error) << line.substr(0, 80);
    EXPECT_EQ(parse_request(line).id, "null");
    EXPECT_FALSE(parse_request(line).notification);
    EXPECT_FALSE(parse_request(line).framing_lost);
  }
}

TEST(RequestParser, RefusesInvalidUtf8Anywhere) {
  for (const std::string& bad :
       {std::string("\xff"), std::string("\xc0\xaf"), std::string("\xe2\x82"),
        std::string("\xed\xa0\x80"), std::string("\xf4\x90\x80\x80"), std::string("\x80")}) {
    EXPECT_EQ(refusal(call("fs.stat", "{\"path\":\"/" + bad + "\"}")).code, Code::parse_error);
    EXPECT_EQ(refusal(call("fs.stat", "{\"" + bad + "\":1}")).code, Code::parse_error);
    EXPECT_EQ(refusal(call("status", "{}") + bad).code, Code::parse_error);
  }
  // A lone surrogate as an escape is text that JSON can say; it is kept as its three bytes.
  const ParsedRequest parsed = parse_request(call("fs.stat", R"({"path":"/\ud800"})"));
  EXPECT_FALSE(parsed.refusal.has_value());
  EXPECT_EQ(parsed.params.find("path")->text, "/\xed\xa0\x80");
}

TEST(RequestParser, RefusesBatchesAndOtherShapes) {
  EXPECT_EQ(refusal("[]").code, Code::invalid_request);
  EXPECT_EQ(refusal("[" + call("status", "{}") + "]").code, Code::invalid_request);
  for (const char* line : {"1", "\"text\"", "null", "true"}) {
    EXPECT_EQ(refusal(line).code, Code::invalid_request) << line;
  }
  EXPECT_EQ(refusal("{}").code, Code::invalid_request);
  EXPECT_EQ(refusal(R"({"id":1,"method":"status"})").code, Code::invalid_request);
  EXPECT_EQ(refusal(R"({"jsonrpc":2.0,"id":1,"method":"status"})").code, Code::invalid_request);
  EXPECT_EQ(refusal(R"({"jsonrpc":"2.0","id":1})").code, Code::invalid_request);
  EXPECT_EQ(refusal(R"({"jsonrpc":"2.0","id":1,"method":7})").code, Code::invalid_request);
  EXPECT_EQ(refusal(R"({"jsonrpc":"2.0","id":1,"method":"status","param":{}})").code,
            Code::invalid_request);
  EXPECT_EQ(refusal(R"({"jsonrpc":"2.0","id":1,"id":2,"method":"status"})").code,
            Code::invalid_request);
  // Nobody would hear of it otherwise.
  EXPECT_FALSE(parse_request(R"({"method":"status"})").notification);
}

TEST(RequestParser, NamesTheNearestMethod) {
  const Error near = refusal(call("fs.raed", "{}"));
  EXPECT_EQ(near.code, Code::method_not_found);
  EXPECT_NE(near.text.find("did you mean fs.read?"), std::string::npos) << near.text;
  const Error far = refusal(call("make_coffee_with_milk", "{}"));
  EXPECT_EQ(far.code, Code::method_not_found);
  EXPECT_EQ(far.text.find("did you mean"), std::string::npos) << far.text;
  const Error hostile =
      refusal(call(R"(\u001b]52;c;aGk=\u0007)" + std::string(100'000, 'x'), "{}"));
  EXPECT_LT(hostile.text.size(), 200u);
  EXPECT_EQ(hostile.text.find('\x1b'), std::string::npos);
}

TEST(RequestParser, NamesTheParameterThatIsWrong) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {call("fs.stat", "{}"), "'path'"},
      {call("fs.stat", R"({"path":7})"), "'path'"},
      {call("fs.stat", R"({"path":null})"), "'path'"},
      {call("fs.stat", R"({"path":"/","path":"/"})"), "'path'"},
      {call("fs.stat", R"({"path":"/","sesion":"a"})"), "'sesion'"},
      {call("fs.read", R"({"path":"/","offset":1.0})"), "'offset'"},
      {call("fs.read", R"({"path":"/","offset":1e400})"), "'offset'"},
      {call("fs.read", R"({"path":"/","offset":)" + std::string(10'000, '9') + "}"), "'offset'"},
      {call("fs.read", R"({"path":"/","offset":"1"})"), "'offset'"},
      {call("fs.read", R"({"path":"/","numbered":1})"), "'numbered'"},
      {call("session.open", R"({"settings":[]})"), "'settings'"},
      {call("session.get", R"({"session":)" + std::string("\"") + std::string(257, 'k') + "\"}"),
       "'session'"},
      {call("evict", R"({"content":7})"), "'content'"},
      {call("evict", R"({"content":{"$blob":0}})"), "'content'"},
      {call("evict", R"({"content":{"$blob":1}})", R"(,"blobs":[3])"), "'content'"},
      {call("evict", R"({"content":{"$blob":-1}})", R"(,"blobs":[3])"), "'content'"},
      {call("evict", R"({"content":{"$blob":0,"x":1}})", R"(,"blobs":[3])"), "'content'"},
      {call("evict", R"({"content":{"$fd":16}})"), "'content'"},
      {call("evict", R"({"content":{"$path":"relative"}})"), "'content'"},
      {call("evict", R"({"content":{"$path":"/a\u0000b"}})"), "'content'"},
      {call("evict", R"({"content":{}})"), "'content'"},
      {call("evict", R"({"content":"x","tool":{"$blob":0}})", R"(,"blobs":[3])"), "'tool'"},
      {call("status", R"({"x":1})"), "'x'"},
  };
  for (const auto& [line, name] : cases) {
    const Error error = refusal(line);
    EXPECT_EQ(error.code, Code::invalid_params) << line.substr(0, 120);
    EXPECT_NE(error.text.find(name), std::string::npos) << error.text;
    EXPECT_LT(error.text.size(), 400u);
  }
  EXPECT_EQ(refusal(call("status", "[]")).code, Code::invalid_params);
  EXPECT_EQ(refusal(call("status", "null")).code, Code::invalid_params);
}

TEST(RequestParser, TakesReferencesAsTheWholeValueOnly) {
  const ParsedRequest blob =
      parse_request(call("evict", R"({"content":{"$blob":1}})", R"(,"blobs":[3,0])"));
  EXPECT_FALSE(blob.refusal.has_value());
  EXPECT_EQ(blob.blobs, (std::vector<uint64_t>{3, 0}));
  const ParsedRequest fd = parse_request(call("evict", R"({"content":{"$fd":4}})"));
  EXPECT_FALSE(fd.refusal.has_value());
  EXPECT_EQ(fd.fds_needed, 5u);
  // Deeper it is what a tool wrote.
  const ParsedRequest deep = parse_request(
      call("evict", R"({"content":[{"type":"text","text":"x","y":{"$fd":3}},{"$blob":9}]})"));
  EXPECT_FALSE(deep.refusal.has_value());
  EXPECT_EQ(deep.fds_needed, 0u);
}

TEST(RequestParser, SaysWhenTheNextRequestCannotBeFound) {
  // Bytes of a blob must never be read as requests.
  for (const char* line :
       {R"({"jsonrpc":"2.0","id":1,"method":"evict","blobs":[5],)", "[{\"blobs\":[1]}]",
        R"({"jsonrpc":"2.0","id":1,"method":"status","blobs":7})",
        R"({"jsonrpc":"2.0","id":1,"method":"status","blobs":[-1]})",
        R"({"jsonrpc":"2.0","id":1,"method":"status","blobs":["1"]})",
        R"({"jsonrpc":"2.0","id":1,"method":"status","blobs":[1.0]})",
        R"({"jsonrpc":"2.0","id":1,"method":"status","blobs":[18446744073709551615,2]})",
        R"({"jsonrpc":"2.0","id":1,"method":"status","blobs":[68719476736,1]})",
        R"({"jsonrpc":"2.0","what":0,"blobs":[1],"blobs":[2],"id":1,"method":"status"})"}) {
    EXPECT_TRUE(parse_request(line).framing_lost) << line;
    EXPECT_TRUE(parse_request(line).refusal.has_value()) << line;
  }
  // Here the sizes are known: the request is refused and its blobs are drained.
  std::string sizes = "1";
  for (size_t i = 0; i < limits::kBlobsPerRequest; ++i) sizes += ",1";
  const ParsedRequest many = parse_request(call("status", "{}", ",\"blobs\":[" + sizes + "]"));
  EXPECT_EQ(many.refusal.value().code, Code::too_large);
  EXPECT_FALSE(many.framing_lost);
  EXPECT_EQ(many.blobs.size(), limits::kBlobsPerRequest + 1);
  // Speaking of blobs inside a string is not announcing them.
  EXPECT_FALSE(parse_request(R"({"a":"\"blobs\"",)").framing_lost);
}

TEST(RequestParser, CountsWhatATreeCosts) {
  std::string items = "0";
  for (int i = 0; i < 400'000; ++i) items += ",0";
  const ParsedRequest parsed = parse_request(call("evict", "{\"content\":[" + items + "]}"));
  EXPECT_FALSE(parsed.refusal.has_value());
  EXPECT_GT(parsed.cost_bytes, 400'000 * sizeof(Json));
}

}  // namespace
}  // namespace ebla::daemon
