// Which file the text of an old argument lies in, whatever a tool calls its fields.
#include "context/list/own_file.h"

#include <gtest/gtest.h>

#include "schema/base/json.h"
#include "schema/base/limits.h"

namespace ebla::context {
namespace {

std::string quoted_json(std::string_view text) {
  JsonWriter out;
  out.string(text);
  return out.take();
}

struct Write {
  std::string id;
  std::string arguments;  // a JSON object
  std::string tool = "write_file";
  bool failed = false;
};

// The calls one after the other, each with its result, as this format writes them.
std::string list_of(FormatId format, const std::vector<Write>& writes) {
  std::string out;
  for (const Write& w : writes) {
    const std::string name = quoted_json(w.tool);
    const std::string text = quoted_json(w.arguments);
    out += out.empty() ? "" : ",";
    switch (format) {
      case FormatId::anthropic:
        out += R"({"role":"assistant","content":[{"type":"tool_use","id":")" + w.id +
               R"(","name":)" + name + R"(,"input":)" + w.arguments +
               R"(}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":")" + w.id +
               R"(","content":"ok","is_error":)" + (w.failed ? "true" : "false") + "}]}";
        break;
      case FormatId::openai:
        out += R"({"role":"assistant","content":null,"tool_calls":[{"id":")" + w.id +
               R"(","type":"function","function":{"name":)" + name + R"(,"arguments":)" + text +
               R"(}}]},{"role":"tool","tool_call_id":")" + w.id + R"(","content":"ok"})";
        break;
      case FormatId::responses:
        out += R"({"type":"function_call","call_id":")" + w.id + R"(","name":)" + name +
               R"(,"arguments":)" + text + R"(},{"type":"function_call_output","call_id":")" +
               w.id + R"(","output":"ok"})";
        break;
      case FormatId::langchain:
        out += R"({"type":"ai","content":"","tool_calls":[{"id":")" + w.id + R"(","name":)" + name +
               R"(,"args":)" + w.arguments + R"(}]},{"type":"tool","tool_call_id":")" + w.id +
               R"(","content":"ok","status":")" + (w.failed ? "error" : "success") + R"("})";
        break;
    }
  }
  return "[" + out + "]";
}

constexpr FormatId kFormats[] = {FormatId::anthropic, FormatId::openai, FormatId::responses,
                                 FormatId::langchain};

// The file of an argument of the call at this place among the calls.
std::string file_of(FormatId format, const std::vector<Write>& writes, size_t call,
                    std::string_view argument) {
  const std::string body = list_of(format, writes);
  const Conversation c = *format_of(format).parse(body);
  const OwnFiles files(body, c, [](const std::string& tool) { return tool != "read_file"; });
  // The call stands last, behind what the model said.
  return files.of(2 * call, c.messages.at(2 * call).parts.size() - 1, argument);
}

TEST(OwnFile, WhateverTheToolCallsItsFields) {
  for (const FormatId format : kFormats) {
    for (const char* path : {"file_path", "path", "filepath", "filePath", "filename", "file_name",
                             "notebook_path", "target_file", "file", "uri"}) {
      for (const char* text : {"content", "file_text", "new_string", "new_str", "new_source"}) {
        const std::string arguments = std::string(R"({")") + text + R"(":"long","n":1.0,")" + path +
                                      R"(":"\/w\/\u00e9t\u00e9.txt"})";
        EXPECT_EQ(file_of(format, {{"1", arguments}}, 0, text), "/w/été.txt")
            << format_name(format) << " " << path << " " << text;
      }
    }
  }
}

TEST(OwnFile, WhatStandsInNoFile) {
  for (const FormatId format : kFormats) {
    const auto of = [&](const std::string& arguments, std::string_view argument) {
      return file_of(format, {{"1", arguments}}, 0, argument);
    };
    const std::string edit = R"({"path":"/w/a","old_string":"x","new_string":"y","patch":"z"})";
    EXPECT_EQ(of(edit, "new_string"), "/w/a");
    EXPECT_EQ(of(edit, "old_string"), "") << "it was replaced";
    EXPECT_EQ(of(edit, "patch"), "");
    EXPECT_EQ(of(R"({"content":"x"})", "content"), "");
    EXPECT_EQ(of(R"({"content":"x","path":7})", "content"), "");
    EXPECT_EQ(of(R"({"content":"x","path":""})", "content"), "");
    EXPECT_EQ(of(R"({"content":"x","uri":"https://host/a"})", "content"), "");
    EXPECT_EQ(of(R"({"content":"x","uri":"file:///w/a"})", "content"), "file:///w/a");
    EXPECT_EQ(of(R"({"content":"x","path":"/w/a\nb"})", "content"), "") << "not to be copied";
    const std::string longest(limits::kOwnFileBytes, 'p');
    EXPECT_EQ(of(R"({"content":"x","path":")" + longest + R"("})", "content"), longest);
    EXPECT_EQ(of(R"({"content":"x","path":")" + longest + R"(p"})", "content"), "");
  }
}

TEST(OwnFile, OnlyTheNewestWriterHasIt) {
  const std::string a = R"({"file_path":"/w/a","content":"x"})";
  const std::string b = R"({"file_path":"/w/b","content":"x"})";
  const std::string edit = R"({"path":"/w/a","old_str":"x","new_str":"y"})";
  for (const FormatId format : kFormats) {
    const std::vector<Write> twice = {{"1", a}, {"2", b}, {"3", edit, "edit_file"}};
    EXPECT_EQ(file_of(format, twice, 0, "content"), "") << "it was edited since";
    EXPECT_EQ(file_of(format, twice, 1, "content"), "/w/b");
    EXPECT_EQ(file_of(format, twice, 2, "new_str"), "/w/a");
    const std::vector<Write> read = {{"1", a}, {"2", R"({"path":"/w/a"})", "read_file"}};
    EXPECT_EQ(file_of(format, read, 0, "content"), "/w/a") << "reading changes nothing";
  }
}

TEST(OwnFile, AFailedCallWroteNothing) {
  const std::string a = R"({"file_path":"/w/a","content":"x"})";
  for (const FormatId format : {FormatId::anthropic, FormatId::langchain}) {
    EXPECT_EQ(file_of(format, {{"1", a, "write_file", true}}, 0, "content"), "");
  }
  const std::string body = R"([{"role":"assistant","content":[{"type":"tool_use","id":"1","name":)"
                           R"("write_file","input":)" +
                           a + "}]}]";
  const Conversation c = *format_of(FormatId::anthropic).parse(body);
  EXPECT_EQ(OwnFiles(body, c, [](const std::string&) { return true; }).of(0, 0, "content"), "");
}

}  // namespace
}  // namespace ebla::context
