// Long sessions of five kinds of agents, as their summaries have to carry them.
#pragma once

#include <string>
#include <vector>

#include "tests/context/summary/talk.h"

namespace ebla::context::test {

// Each has its first request pinned, as it is by default. Generated, the same each time.
Talk coding_session();   // one task, 140 messages, build logs, a failure still open at the end
Talk analyst_session();  // SQL and numbers, corrections by the user
Talk clerk_session();    // in Chinese, files with Chinese names
Talk support_session();  // a chat without tools
Talk json_session();     // nearly all of it minified JSON

struct NamedSession {
  std::string name;
  Talk talk;
};
std::vector<NamedSession> long_sessions();

// Number them: "c1", "c2", …; a call and its result.
class Calls {
 public:
  explicit Calls(Talk& talk) : talk_(talk) {}
  // `arguments` is JSON, `says` what the model says with the call.
  void run(std::string_view tool, std::string_view arguments, std::string_view result,
           std::string_view says = "", bool error = false);
  void bash(std::string_view command, std::string_view result, std::string_view says = "");

 private:
  Talk& talk_;
  size_t next_ = 0;
};
void pin_first_request(Talk& talk);

}  // namespace ebla::context::test
