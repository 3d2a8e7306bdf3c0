// JSON written another way.
#include <algorithm>

#include "schema/base/json.h"
#include "schema/base/utf8.h"
#include "tests/context/formats/histories.h"

namespace ebla::context::test {
namespace {

std::string blank(std::mt19937& random) {
  constexpr std::string_view kBlanks[] = {"", "", " ", "\n", "\t ", "\r\n  "};
  return std::string(kBlanks[below(random, std::size(kBlanks))]);
}

void append_unit(std::string& out, uint32_t unit) {
  constexpr char kDigits[] = "0123456789abcdefABCDEF";
  out += "\\u";
  for (int shift = 12; shift >= 0; shift -= 4) out.push_back(kDigits[unit >> shift & 15]);
}

// Some characters by their number, some slashes escaped.
std::string string_token(std::string_view text, std::mt19937& random) {
  std::string out = "\"";
  while (!text.empty()) {
    const utf8::Decoded d = utf8::decode(text);
    const std::string_view raw = text.substr(0, d.length);
    text.remove_prefix(d.length);
    const bool must = d.code_point < 0x20 || d.code_point == '"' || d.code_point == '\\';
    if (d.code_point == '\n' && !chance(random, 3)) {
      out += "\\n";
    } else if (d.code_point == '/' && chance(random, 2)) {
      out += "\\/";
    } else if (must || chance(random, 12)) {
      if (d.code_point > 0xFFFF) {
        append_unit(out, 0xD800 + ((d.code_point - 0x10000) >> 10));
        append_unit(out, 0xDC00 + ((d.code_point - 0x10000) & 0x3FF));
      } else {
        append_unit(out, d.code_point);
      }
    } else {
      out += raw;
    }
  }
  return out + "\"";
}

constexpr std::string_view kOddMembers[] = {
    R"("x_big":1152921504606846976)",
    R"("x_float":1.0)",
    R"("x_exp":1e2)",
    R"("x_minus":-0)",
    R"("x_empty":[])",
    R"("x_nul":"\u0000")",
    R"("x_lone":"\ud800")",
    R"("x_nest":{"a":[{}, null ,true]})",
};

void write(std::string& out, const Json& value, std::mt19937& random, bool grow);

void write_object(std::string& out, const Json& value, std::mt19937& random, bool grow) {
  std::vector<std::string> members;
  for (const auto& [name, member] : value.members) {
    std::string text;
    // Arguments, sources and what they hold belong to others: only their form changes.
    const bool own = name != "input" && name != "args" && name != "source" && name != "image_url";
    write(text, member, random, grow && own);
    members.push_back(string_token(name, random) + blank(random) + ":" + blank(random) + text);
  }
  std::shuffle(members.begin(), members.end(), random);
  if (grow && chance(random, 2)) {
    const size_t at = below(random, members.size() + 1);
    members.insert(members.begin() + static_cast<ptrdiff_t>(at),
                   std::string(kOddMembers[below(random, std::size(kOddMembers))]));
  }
  if (grow && !value.members.empty() && chance(random, 6)) {
    const std::string& name = value.members[below(random, value.members.size())].first;
    members.insert(members.begin(), string_token(name, random) + R"(:"an earlier value")");
  }
  out += "{" + blank(random);
  for (size_t i = 0; i < members.size(); ++i) {
    if (i > 0) out += blank(random) + "," + blank(random);
    out += members[i];
  }
  out += blank(random) + "}";
}

void write(std::string& out, const Json& value, std::mt19937& random, bool grow) {
  switch (value.kind) {
    case Json::Kind::object:
      write_object(out, value, random, grow);
      break;
    case Json::Kind::array:
      out += "[" + blank(random);
      for (size_t i = 0; i < value.items.size(); ++i) {
        if (i > 0) out += blank(random) + "," + blank(random);
        write(out, value.items[i], random, grow);
      }
      out += blank(random) + "]";
      break;
    case Json::Kind::string:
      out += string_token(value.text, random);
      break;
    default:
      out += to_json(value);
  }
}

}  // namespace

std::string rewritten(std::string_view json, std::mt19937& random) {
  std::string out = blank(random);
  write(out, *parse_json(json), random, true);
  return out + blank(random);
}

}  // namespace ebla::context::test
