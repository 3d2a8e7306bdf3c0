// What is found in a text for whoever searches for it later.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "context/summary/terms.h"
#include "context/text/term_words.h"
#include "schema/base/utf8.h"
#include "tests/context/summary/talk.h"
#include "tests/context/support.h"
#include "tests/kit/real_texts.h"

namespace ebla::context {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::Not;
using testing::UnorderedElementsAre;

std::vector<std::string> terms(std::string_view text) {
  std::vector<std::string> out;
  each_term(text, [&out](std::string_view term, uint32_t) { out.emplace_back(term); });
  return out;
}

TEST(Terms, AreFoundWhole) {
  for (std::string_view term : {"550e8400-e29b-41d4-a716-446655440000",
                                "12345678-1234-1234-1234-123456789012",
                                "4f2a9c1d7e",
                                "da39a3ee5e6b4b0d3255bfef95601890afd80709",
                                "0x80070005",
                                "https://ci.example.com:8443/job/8812/console?x=1&y=%20#L3",
                                "s3://bucket/a/b.parquet",
                                "FMT-2291",
                                "CVE-2024-3094",
                                "ORA-00942",
                                "#4711",
                                "TS2345",
                                "E0382",
                                "ENOENT",
                                "SIGSEGV",
                                "ERR_CONNECTION_REFUSED",
                                "10.0.0.12:8080",
                                "192.168.1.7",
                                "fe80::1ff:fe23",
                                "v1.24.0",
                                "1.24.0",
                                "2.0.0-rc1",
                                "ann.lee@example.com",
                                "src/parser/lexer.cc",
                                "./build/parser_test",
                                "../x/y.h",
                                "~/.ssh/config",
                                "/var/log/nginx/error.log",
                                "main.cc",
                                "kTrailingComma",
                                "user_id",
                                "ParserTest.KeepsTrailingComma",
                                "C:\\Users\\me\\new\\table.txt",
                                "D:/a/b.csv",
                                "1,234,567",
                                "98231.55",
                                "C++17",
                                "café_menu.txt",
                                "отчёт_2024.docx",
                                "/home/me/a\\ b.txt"}) {
    for (const auto& [before, after] :
         {std::pair("see ", " now"), std::pair("(", ")."), std::pair("id=", ","),
          std::pair("\u300c", "\u300d\u3002"), std::pair("- `", "`:"), std::pair("\"", "\"")}) {
      EXPECT_THAT(terms(before + std::string(term) + after), Contains(term));
    }
  }
}

TEST(Terms, EscapesAreRead) {
  EXPECT_THAT(terms(R"({"q":"\nSELECT user_id\nFROM app_users\t;","n":"Caf\u00e9_2024.pdf"})"),
              ElementsAre("user_id", "app_users", "Café_2024.pdf"));
  EXPECT_THAT(terms(R"({"path":"C:\\new\\table.txt","said":"open \"src/a.cc\" \u4e2d\u6587"})"),
              ElementsAre("C:\\new\\table.txt", "src/a.cc"));
  EXPECT_THAT(terms(R"("{\"out\":\"\\nINSERT_x done\\u0041bc_d\"}")"),
              ElementsAre("INSERT_x", "doneAbc_d"));
  EXPECT_THAT(terms(R"(printf("\x1b[31mfail_x\033[0m\n_y");)"), ElementsAre("fail_x"));
  EXPECT_THAT(terms(R"(report/\u9500\u552e.csv)"), ElementsAre("report/销售.csv"));
}

TEST(Terms, NamesOfJsonAndWordsOfProseAreNone) {
  EXPECT_THAT(terms(R"({"user_id": 7, "is_ok" : true, "a\"x": "plain words, e.g. these etc."})"),
              ElementsAre());
  EXPECT_THAT(terms("Please go on with it, and/or stop. It isn't e.g. 12 or 3.5 at 12:30:05!"),
              ElementsAre());
  EXPECT_THAT(terms("[2024-05-01T12:00:00.123Z] INFO ERROR EVERY THING"), ElementsAre());
}

TEST(Terms, LineNumbersAreNoPartOfAFile) {
  EXPECT_THAT(terms("tests/parser_test.cc:118:5: error, main.cc:7: note, 10.0.0.1:80"),
              ElementsAre("tests/parser_test.cc", "main.cc", "10.0.0.1:80"));
}

TEST(Terms, FilesAreFoundInASentenceWithoutSpaces) {
  EXPECT_THAT(terms("请看reports/销售.csv。"), ElementsAre("reports/销售.csv"));
  EXPECT_THAT(terms("路径是/home/用户/报告.docx，"), ElementsAre("/home/用户/报告.docx"));
  EXPECT_THAT(terms("“季度报告.xlsx”已保存"), ElementsAre("季度报告.xlsx"));
  EXPECT_THAT(terms("销售2024年报.xlsx"), ElementsAre("销售2024年报.xlsx"));
  EXPECT_THAT(terms("代码在app/export/orders.py里，请打开report.xlsx看"),
              ElementsAre("app/export/orders.py", "report.xlsx"));
  EXPECT_THAT(
      terms("详见https://ci.example.com/job/8812查看，或https://zh.wikipedia.org/wiki/北京。"),
      ElementsAre("https://ci.example.com/job/8812", "https://zh.wikipedia.org/wiki/北京"));
  EXPECT_THAT(terms("现在导出五十万行时内存超过限制"), ElementsAre());
}

TEST(Terms, APathWithSpacesStandsInQuotesOrIsAWholeValue) {
  EXPECT_THAT(terms("cat \"/home/me/My Documents/q3 report.docx\" | wc"),
              ElementsAre("/home/me/My Documents/q3 report.docx"));
  EXPECT_THAT(terms(R"({"p":"C:\\Program Files\\App\\app.exe"})"),
              ElementsAre("C:\\Program Files\\App\\app.exe"));
  EXPECT_THAT(terms("he said \"either/or is a question, see a.txt\""), Contains("a.txt"));
  EXPECT_TRUE(is_path("/home/me/My Documents/q3 report.docx"));
  EXPECT_TRUE(is_path("数据/2024 年销售.csv") || is_path("/数据/2024 年销售.csv"));
  EXPECT_TRUE(is_path("\\\\nas\\share\\a b.xls"));
  EXPECT_TRUE(is_path("charts/q3 revenue by region.png"));
  EXPECT_FALSE(is_path("Read src/main.cc"));
  EXPECT_FALSE(is_path("Read main.cc"));
  EXPECT_FALSE(is_path("Read main.cc, then fix: a.cc"));
  EXPECT_FALSE(is_path("SELECT a/b FROM x"));
  EXPECT_FALSE(is_path("https://example.com/a.txt"));
  test::Talk talk;
  talk.call("1", "Read", R"({"file_path":"/home/me/My Documents/\u5831\u544a 3.docx","limit":5})");
  talk.call("2", "open", R"({"filename":"Q3 report.xlsx","title":"Read main.cc"})");
  EXPECT_THAT(terms_of(talk.input(2)).best(9),
              ElementsAre("Q3 report.xlsx", "/home/me/My Documents/報告 3.docx", "main.cc"));
}

TEST(Terms, WhatTheUserNamedComesFirstAndNothingTwice) {
  test::Talk talk;
  talk.user("Look at ticket FMT-2291 in src/format/list.cc.");
  for (int i = 0; i < 30; ++i) {
    const std::string id = std::to_string(i);
    talk.call(id, "bash", "{\"command\":\"cat list.cc tmp/file_" + id + ".txt\"}");
    talk.result(id, "bash", "value_of_" + id + " = format/list.cc");
  }
  const std::vector<std::string> best = terms_of(talk.input(61)).best(10);
  ASSERT_GE(best.size(), 4u);
  EXPECT_THAT(std::vector(best.begin(), best.begin() + 2),
              UnorderedElementsAre("FMT-2291", "src/format/list.cc"));
  EXPECT_THAT(best, Not(Contains("list.cc")));
  EXPECT_THAT(best, Not(Contains("format/list.cc")));
}

TEST(Terms, OfASeriesAFewAreEnoughUnlessTheUserNamedThem) {
  test::Talk talk;
  talk.user("Compare FMT-1, FMT-22, FMT-333 and FMT-4444.");
  for (int i = 0; i < 40; ++i) {
    talk.assistant(test::repeat("unit_" + std::to_string(i) + ".cc ", 9));
  }
  talk.result("1", "bash", "id 9f1c2d34-77aa-4c1e-9d52-0b6f3f0a9b11");
  const std::vector<std::string> best = terms_of(talk.input(42)).best(20);
  EXPECT_THAT(best, UnorderedElementsAre("FMT-1", "FMT-22", "FMT-333", "FMT-4444", "unit_39.cc",
                                         "unit_38.cc", "9f1c2d34-77aa-4c1e-9d52-0b6f3f0a9b11"));
}

TEST(Terms, AnyTextIsReadToItsEnd) {
  std::mt19937 random(5);
  for (int i = 0; i < 300; ++i) {
    std::string text = utf8::to_valid(test::messy(random, 400));
    for (std::string_view piece :
         {"\\", "\\u12", "\"", "C:\\", "\\\\\\", "://", "中.", "/中", "`/"}) {
      text.insert(utf8::floor_boundary(text, random() % text.size()), piece);
    }
    text += "\nlast_of_all";
    const std::vector<std::string> found = terms(text);
    ASSERT_FALSE(found.empty());
    EXPECT_EQ(found.back(), "last_of_all");
    for (const std::string& term : found) {
      EXPECT_TRUE(utf8::is_valid(term));
      EXPECT_EQ(term.find('\n'), std::string::npos);
    }
  }
}

}  // namespace
}  // namespace ebla::context
