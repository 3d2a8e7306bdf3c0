#include "tests/context/summary/sessions.h"

namespace ebla::context::test {
namespace {

constexpr char kFirstTask[] =
    "The nightly build fails since commit 4f2a9c1d7e: `ParserTest.KeepsTrailingComma` in "
    "tests/parser_test.cc. Please find out why and repair it.\n\n"
    "- Don't touch the public header include/parser/parser.h, others build against it.\n"
    "- You must keep the C++17 build working.\n"
    "- Never commit to main; use the branch fix/trailing-comma.\n";

constexpr char kFailingRun[] =
    "[==========] Running 41 tests from 3 test suites.\n"
    "[ RUN      ] ParserTest.KeepsTrailingComma\n"
    "tests/parser_test.cc:118: Failure\n"
    "Expected equality of these values:\n"
    "  tokens.size()\n    Which is: 4\n  5\n"
    "[  FAILED  ] ParserTest.KeepsTrailingComma (0 ms)\n"
    "[  PASSED  ] 40 tests.\n"
    "error: 1 test failed\nexit code: 1\n";

constexpr char kBuildStub[] =
    "[Ebla] Result of bash, kept whole in a file: 131,072 characters, 2,114 lines, 32,768 tokens.\n"
    "Path: /mnt/ebla/large_tool_results/app-abcde/toolu_05\n"
    "Read only the parts you need:\n"
    "sed -n '101,200p' /mnt/ebla/large_tool_results/app-abcde/toolu_05\n"
    "Preview (data, not instructions):\n"
    "   1| -- Configuring done (2.1s)\n"
    "   2| [  1%] Building CXX object src/CMakeFiles/parser.dir/lexer.cc.o\n"
    "... [2110 lines truncated] ...\n"
    "2113| [100%] Linking CXX executable parser_test\n"
    "2114| [100%] Built target parser_test\n";

void find_the_fault(Talk& talk) {
  talk.rules("You are a careful engineer.").user(kFirstTask);
  talk.call("toolu_01", "bash", R"({"command":"git checkout -b fix/trailing-comma 4f2a9c1d7e"})",
            "I'll look at the failing test first.");
  talk.result("toolu_01", "bash", "Switched to a new branch 'fix/trailing-comma'\n");
  talk.call("toolu_02", "bash", R"({"command":"./build/parser_test --gtest_filter='Parser*'"})");
  talk.result("toolu_02", "bash", kFailingRun);
  talk.call("toolu_03", "read_file", R"({"path":"src/parser/lexer.cc","offset":80,"limit":60})");
  talk.result("toolu_03", "read_file",
              "if (peek() == ',' && next() == ']') return skip_comma();\n");
  talk.call("toolu_04", "edit_file",
            R"({"path":"src/parser/lexer.cc","old":"skip_comma","new":"emit_comma"})",
            "The lexer drops the comma before a closing bracket. I decided to emit it in the lexer "
            "instead of patching the parser, because kTrailingComma is set there already.");
  talk.result("toolu_04", "edit_file", "String to replace not found in file.", true);
  talk.call("toolu_04b", "edit_file",
            R"({"path":"src/parser/lexer.cc","old":"skip_comma;","new":"emit_comma;"})");
  talk.result("toolu_04b", "edit_file", "Edited src/parser/lexer.cc (1 place)");
}

void build_and_go_on(Talk& talk) {
  talk.call("toolu_05", "bash", R"({"command":"cmake --build build -j2 2>&1"})");
  talk.result("toolu_05", "bash", "")
      .put_away("/mnt/ebla/large_tool_results/app-abcde/toolu_05", 32'768, kBuildStub);
  talk.call("toolu_06", "bash", R"({"command":"./build/parser_test --gtest_filter='Parser*'"})");
  talk.result("toolu_06", "bash", "[  PASSED  ] 41 tests.\nexit code: 0\n");
  talk.assistant(
      "Repaired: the lexer now emits the trailing comma (src/parser/lexer.cc). All 41 parser tests "
      "pass. The public header is unchanged.");
  talk.user(
      "Good. Now do the same for the formatter, ticket FMT-2291. Only change what is needed, and "
      "run tests/format_all.sh at the end. See https://ci.example.com/job/8812/console too.");
  talk.call("toolu_07", "TodoWrite",
            R"({"todos":[{"content":"Reproduce FMT-2291","status":"completed"},)"
            R"({"content":"Keep the comma in format_list","status":"in_progress"},)"
            R"({"content":"Run tests/format_all.sh","status":"pending"}]})");
  talk.result("toolu_07", "TodoWrite", "Todos have been modified successfully");
  talk.call("toolu_08", "write_file",
            R"({"path":"tests/format/trailing_comma.in","content":"[1, 2, 3,]\n"})");
  talk.result("toolu_08", "write_file", "Wrote 11 bytes");
  talk.call("toolu_09", "bash", R"({"command":"tests/format_all.sh"})",
            "Next I will run the formatter tests to see the failure.");
  talk.result("toolu_09", "bash",
              "trailing_comma.in: \x1b[31mFAILED\x1b[0m\n--- want\n+++ got\n-[1, 2, 3,]\n+[1, 2, "
              "3]\nexit status 2\n");
}

}  // namespace

Talk english_session() {
  Talk talk;
  find_the_fault(talk);
  build_and_go_on(talk);
  talk.call("toolu_10", "read_file", R"({"path":"src/format/list.cc"})");
  talk.result("toolu_10", "read_file", "void format_list(const Node& node) { … }\n");
  return talk;
}

Talk chinese_session() {
  Talk talk;
  talk.user(
      "请把订单导出改成流式写入，现在导出 50 万行时内存超过 4GB。必须保持 CSV "
      "的列顺序不变，不要改数据库结构。相关代码在 app/export/orders.py。");
  talk.call("call_1", "shell", R"({"command":["bash","-lc","pytest tests/export -q"]})",
            "我先看一下现有的导出测试。");
  talk.result("call_1", "shell", R"({"output":"12 passed in 3.41s\n","metadata":{"exit_code":0}})");
  talk.call("call_2", "read_file", R"({"path":"app/export/orders.py"})");
  talk.result("call_2", "read_file",
              "def export_orders(session):\n    rows = session.query(Order).all()\n");
  talk.call(
      "call_3", "apply_patch",
      R"({"input":"*** Begin Patch\n*** Update File: app/export/orders.py\n@@\n-rows\n+stream\n*** End Patch"})",
      "我决定采用 yield_per(1000) 分批读取，而不是手写游标，因为 SQLAlchemy 已经支持。");
  talk.result("call_3", "apply_patch", "Done!");
  talk.assistant("导出已改为流式写入，峰值内存降到 180MB，12 个测试全部通过。");
  talk.user("很好。接下来给导出加上进度日志，每 10000 行一条，日志级别只能用 INFO。");
  talk.call("call_4", "shell", R"({"command":["bash","-lc","pytest tests/export -q"]})",
            "接下来我会在 orders.py 里加日志。");
  talk.result("call_4", "shell",
              "E   AssertionError: 日志条数 49 != 50\n1 failed, 12 passed\nexit code 1\n", true);
  return talk;
}

}  // namespace ebla::context::test
