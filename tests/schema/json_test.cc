#include "schema/base/json.h"

#include <gtest/gtest.h>

#include <random>
#include <string>

#include "schema/base/json_text.h"

namespace ebla {
namespace {

using namespace std::string_literals;

std::string text_of(std::string_view json) {
  auto value = parse_json(json);
  EXPECT_TRUE(value) << json << ": " << (value ? "" : value.error().text);
  return value ? value->text : "";
}

TEST(JsonRead, KeepsNumbersAsTheyWereWritten) {
  for (const char* number : {"0", "-0", "1.0", "1e2", "1152921504606846976", "1E-400", "12.50"}) {
    EXPECT_EQ(text_of(number), number);
    EXPECT_EQ(to_json(*parse_json("{\"n\":"s + number + "}")), "{\"n\":"s + number + "}");
  }
  EXPECT_EQ(parse_json("1152921504606846976")->as_int64(), int64_t{1} << 60);
  EXPECT_EQ(parse_json("1.0")->as_int64(), std::nullopt);
  EXPECT_EQ(parse_json("-1")->as_uint64(), std::nullopt);
  EXPECT_EQ(parse_json("99999999999999999999")->as_int64(), std::nullopt);
}

// Two readers of strings, the one a character at a time, agree on what is an escape and what it
// says, wherever blocks of it begin and end.
TEST(JsonText, ReadsEscapesByBlocksAsOneByOne) {
  constexpr std::string_view kPieces[] = {
      "\\\\",    "\\\"",         "\\n",   "\\u00e9", "\\ud83d\\ude00",
      "\\ud800", "\\u12",        "\\x",   "\\",      "plain text of any length ",
      "x",       "\u6f22\u5b57", "\\u004"};
  std::mt19937 random(9);
  size_t faults = 0;
  for (int round = 0; round < 20'000; ++round) {
    std::string inside(random() % 70, 'a');
    const bool sound = round % 2 == 0;
    for (size_t pieces = random() % 12; pieces > 0; --pieces) {
      inside += kPieces[random() % (sound ? 6 : std::size(kPieces))];
      inside.append(random() % 30, 'b');
    }
    std::string expected;
    const auto end = json_text::unescape(inside + "\"", expected);
    const bool fault = end.fault != nullptr;
    if (!fault && end.taken <= inside.size()) continue;  // a bare quote came about
    ASSERT_EQ(json_text::escape_fault(inside) != nullptr, fault) << inside;
    faults += fault ? 1 : 0;
    if (fault) continue;
    std::string decoded;
    json_text::append_decoded(inside, decoded);
    ASSERT_EQ(decoded, expected) << inside;
  }
  EXPECT_GT(faults, 1000u);
}

TEST(JsonRead, Unescapes) {
  EXPECT_EQ(text_of(R"("a\"\\\/\b\f\n\r\tz")"), "a\"\\/\b\f\n\r\tz");
  EXPECT_EQ(text_of(R"("A中")"), "A中");
  EXPECT_EQ(text_of(R"("😀")"), "😀");
  EXPECT_EQ(text_of(R"("a\u0000b")"), "a\0b"s);
  EXPECT_EQ(text_of(R"("a\\u0000b")"), "a\\u0000b");
  EXPECT_EQ(text_of("  \"x\"  "), "x");
}

TEST(JsonRead, KeepsALoneSurrogateAsItsThreeBytes) {
  EXPECT_EQ(text_of(R"("\ud83d")"), "\xED\xA0\xBD");
  EXPECT_EQ(text_of(R"("\udc00\ud83d!")"), "\xED\xB0\x80\xED\xA0\xBD!");
  EXPECT_EQ(text_of(R"("\ud83dA")"),
            "\xED\xA0\xBD"
            "A");
  // Shown as the replacement character, so that every reply is strict UTF-8.
  EXPECT_EQ(to_json(*parse_json(R"("\ud83d")")), "\"\uFFFD\"");
}

TEST(JsonRead, ReadsTrees) {
  auto value = parse_json(R"( {"a":[1,{"b":null},true,[]],"a":{"c":"d"}, "":{} } )");
  ASSERT_TRUE(value) << value.error().text;
  EXPECT_EQ(to_json(*value), R"({"a":[1,{"b":null},true,[]],"a":{"c":"d"},"":{}})");
  EXPECT_EQ(value->find("a")->find("c")->text, "d") << "the last of equal keys counts";
  EXPECT_EQ(value->find("z"), nullptr);
}

TEST(JsonRead, RefusesWhatIsNotJson) {
  const std::string deep(100'000, '[');
  for (const std::string& bad : {""s,
                                 " "s,
                                 "{"s,
                                 "}"s,
                                 "[1,]"s,
                                 "[1 2]"s,
                                 "{\"a\" 1}"s,
                                 "{\"a\":1,}"s,
                                 "{1:2}"s,
                                 "01"s,
                                 "1."s,
                                 "-"s,
                                 "+1"s,
                                 "1e"s,
                                 "NaN"s,
                                 "Infinity"s,
                                 "tru"s,
                                 "nul"s,
                                 "'a'"s,
                                 "\"a"s,
                                 "\"\\x\""s,
                                 "\"\\u12\""s,
                                 "\"\\u12G4\""s,
                                 "\"a\nb\""s,
                                 "\"\xff\""s,
                                 "\"\xc0\x80\""s,
                                 "\"\xed\xa0\x80\""s,
                                 "{} {}"s,
                                 "[] 1"s,
                                 "1 2"s,
                                 "\"a\" \"b\""s,
                                 "\"a\"x"s,
                                 "[\"a\"x]"s,
                                 "{\"a\":tru}"s,
                                 "GET / HTTP/1.1"s,
                                 "[1}"s,
                                 deep,
                                 deep + std::string(100'000, ']')}) {
    auto value = parse_json(bad);
    ASSERT_FALSE(value) << bad.substr(0, 40);
    EXPECT_EQ(value.error().code, Code::parse_error) << bad.substr(0, 40);
  }
}

TEST(JsonWrite, IsStrictUtf8) {
  JsonWriter out;
  out.begin_object();
  out.member("s", "a\xff\"\n\x01"s).member("n", uint64_t{1} << 63).member("b", true);
  out.key("list").begin_array().number(-1).null().raw("1.0").end_array();
  out.end_object();
  EXPECT_EQ(out.take(),
            "{\"s\":\"a\uFFFD\\\"\\n\\u0001\",\"n\":9223372036854775808,\"b\":true,"
            "\"list\":[-1,null,1.0]}");
}

TEST(Base64, Pads) {
  EXPECT_EQ(base64(""), "");
  EXPECT_EQ(base64("f"), "Zg==");
  EXPECT_EQ(base64("fo"), "Zm8=");
  EXPECT_EQ(base64("foo"), "Zm9v");
  EXPECT_EQ(base64("\xff\x00\xfe"s), "/wD+");
}

TEST(Printable, EscapesWhatATerminalWouldObey) {
  EXPECT_EQ(printable("a\x1b]52;c;x\x07z\n"), "a\\x1b]52;c;x\\x07z\\n");
  EXPECT_EQ(printable("中\xff\u0085"), "中\\xff\\xc2\\x85");
}

}  // namespace
}  // namespace ebla
