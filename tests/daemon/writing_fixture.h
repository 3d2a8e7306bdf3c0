// Files of clients over the methods, in this process.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "schema/path.h"
#include "tests/daemon/methods_fixture.h"
#include "tests/kit/file_calls.h"
#include "tests/kit/real_texts.h"

namespace ebla::daemon {

class WritingFixture : public MethodsFixture {
 protected:
  static constexpr uid_t kOther = 2000;

  // {"path":PATH, and `more`, members with a comma in front.
  static std::string at(std::string_view path, std::string_view more = "") {
    return "{\"path\":" + json_string(path) + std::string(more) + "}";
  }
  static std::string text_member(std::string_view name, std::string_view text) {
    return ",\"" + std::string(name) + "\":" + json_string(text);
  }
  Json write(std::string_view path, std::string_view text, std::string_view more = "") {
    return must("fs.write", at(path, text_member("content", text) + std::string(more)));
  }
  Error write_fails(std::string_view path, std::string_view more = "") {
    return must_fail("fs.write", at(path, text_member("content", "x") + std::string(more)));
  }
  // With the bytes as they are.
  Answer send_bytes(std::string_view method, std::string_view params,
                    const std::vector<std::string>& blobs) {
    auto request = std::make_shared<Request>();
    for (const std::string& blob : blobs) request->blobs.push_back({blob, {}, blob.size()});
    return send(method, params, request);
  }
  void write_bytes(std::string_view path, const std::string& bytes) {
    const auto answer = send_bytes("fs.write", at(path, R"(,"content":{"$blob":0})"), {bytes});
    EXPECT_TRUE(answer.result) << answer.result.error().text;
  }
  Attr attr(std::string_view path) { return resolve(*store_, path).value_or(Attr{}); }
  bool there(std::string_view path) { return resolve(*store_, path).has_value(); }
  std::string bytes(std::string_view path) { return kit::read_file(*store_, attr(path).ino); }
  void chmod(std::string_view path, uint32_t mode, uint32_t uid = kUid) {
    const auto done =
        kit::setattr(*store_, {.ino = attr(path).ino, .mode = mode, .uid = uid, .gid = uid});
    ASSERT_TRUE(done.ok()) << done.result.error().text;
  }
  static void expect_says(const Error& error, Code code, std::string_view part) {
    EXPECT_EQ(error.code, code) << error.text;
    EXPECT_NE(error.text.find(part), std::string::npos) << error.text;
  }
  // A daemon that is root, so that owners count for everybody else.
  void run_as_root() { services_->uid = services_->gid = 0; }
};

}  // namespace ebla::daemon
