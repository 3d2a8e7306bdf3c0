#include "tests/context/summary/long_sessions.h"

#include <fmt/format.h>

namespace ebla::context::test {
namespace {

std::string build_log(size_t files, std::string_view end) {
  std::string out = "[0/2] Re-checking globbed directories...\n";
  for (size_t i = 1; i <= files; ++i) {
    out += fmt::format(
        "[{}/{}] /usr/bin/c++ -std=c++20 -O2 -Iinclude -MD -MT src/CMakeFiles/kv.dir/"
        "unit_{}.cc.o -c /home/dev/kv/src/unit_{}.cc\n",
        i, files, i, i);
  }
  return out.append(end);
}

std::string read_file(size_t n) {
  return fmt::format(R"({{"file_path":"/home/dev/kv/src/unit_{}.cc","offset":1,"limit":200}})", n);
}

constexpr char kTask[] =
    "Port the key-value server in /home/dev/kv from callbacks to C++20 coroutines. The protocol "
    "must "
    "not change: clients of version 3.2 have to work unchanged.\n\n"
    "Rules:\n- Never touch third_party/.\n- Do not use Boost; only the standard library and "
    "liburing.\n"
    "- Every public function keeps its name and signature in include/kv/server.h.\n"
    "- Run ctest before you say that something is done.\n- Commit in small steps on the branch "
    "coro-port, never push.\n";

void look_around(Calls& calls) {
  calls.bash(
      "cd /home/dev/kv && git checkout -b coro-port && ls",
      "Switched to a new branch 'coro-port'\nCMakeLists.txt\ninclude\nsrc\ntests\nthird_party\n",
      "I'll start by looking at how the event loop calls back into the sessions.");
  calls.bash("cd /home/dev/kv && grep -rn 'on_read(' src | head -20",
             "src/loop.cc:88:  s->on_read(buf, n);\nsrc/session.cc:41:void Session::on_read(char* "
             "b, size_t n) {\n");
  for (size_t n = 1; n <= 6; ++n) {
    calls.run("Read", read_file(n),
              fmt::format("     1\t#include \"kv/unit_{}.h\"\n     2\tnamespace kv {{\n", n));
  }
  calls.bash("cd /home/dev/kv && grep -rn 'deprecated' src", "\nexit code 1\n");
  calls.run(
      "TodoWrite",
      R"({"todos":[{"content":"Write Task<T> and an awaitable for io_uring","status":"in_progress"},)"
      R"({"content":"Port Session to coroutines","status":"pending"},)"
      R"({"content":"Port Replicator to coroutines","status":"pending"},)"
      R"({"content":"Remove the callback loop","status":"pending"}]})",
      "Todos have been modified successfully");
}

void first_step(Calls& calls) {
  calls.run(
      "Write",
      R"({"file_path":"/home/dev/kv/include/kv/task.h","content":"template <class T> class Task {};"})",
      "File created successfully",
      "The loop owns the sessions through raw pointers, so a coroutine may outlive its session. I "
      "decided "
      "to let Session hold its Task and to cancel it in the destructor, instead of reference "
      "counts, "
      "because the loop has one thread.");
  calls.bash(
      "cd /home/dev/kv && cmake --build build -j8 2>&1 | tail -40",
      build_log(40,
                "../include/kv/task.h:31:9: error: 'coroutine_handle' is not a member of 'std'\n"
                "ninja: build stopped: subcommand failed.\nexit code 1\n"));
  calls.run(
      "Edit",
      R"({"file_path":"/home/dev/kv/include/kv/task.h","old_string":"#pragma once","new_string":"#pragma once\n#include <coroutine>"})",
      "The file has been updated");
  calls.bash("cd /home/dev/kv && cmake --build build -j8 2>&1 | tail -40",
             build_log(40, "[40/40] Linking CXX executable kv_server\nexit code 0\n"));
  calls.run(
      "Edit",
      R"({"file_path":"/home/dev/kv/src/session.cc","old_string":"on_read","new_string":"co_await read"})",
      "The file has been updated");
  calls.run(
      "Edit",
      R"({"file_path":"/home/dev/kv/src/loop.cc","old_string":"s->on_read(buf, n);","new_string":"s->resume(n);"})",
      "String to replace not found in file.", "", true);
  calls.run(
      "Edit",
      R"({"file_path":"/home/dev/kv/src/loop.cc","old_string":"s->on_read(buf,n);","new_string":"s->resume(n);"})",
      "The file has been updated");
  calls.bash("cd /home/dev/kv && ctest --test-dir build 2>&1 | tail -15",
             "96% tests passed, 2 tests failed out of 52\n\nThe following tests FAILED:\n\t 17 - "
             "session_timeout (Failed)\n"
             "\t 31 - replicator_lag (Timeout)\nErrors while running CTest\nexit code 8\n");
  calls.bash(
      "cd /home/dev/kv && ./build/tests/session_timeout",
      "session_timeout.cc:77: CHECK(elapsed < 250ms) failed: elapsed = 1004ms\nexit code 1\n",
      "session_timeout fails because the timer is armed before the coroutine is suspended: the "
      "completion is dropped in Loop::complete at src/loop.cc:131.");
  calls.run(
      "Edit",
      R"({"file_path":"/home/dev/kv/src/loop.cc","old_string":"arm(t);","new_string":"suspend(); arm(t);"})",
      "The file has been updated");
  calls.bash("cd /home/dev/kv && ./build/tests/session_timeout",
             "all checks passed\nexit code 0\n");
  calls.bash(
      "cd /home/dev/kv && git commit -qam 'kv: sessions are coroutines' && git log --oneline | "
      "head -1",
      "7be19d4 kv: sessions are coroutines\n");
}

void second_step(Calls& calls) {
  for (size_t n = 7; n <= 20; ++n) {
    calls.run("Read", read_file(n), fmt::format("     1\t#include \"kv/unit_{}.h\"\n", n));
    calls.bash(fmt::format("cd /home/dev/kv && sed -n '1,80p' src/unit_{}.cc", n),
               "namespace kv {\n");
  }
  calls.run(
      "TodoWrite",
      R"({"todos":[{"content":"Write Task<T> and an awaitable for io_uring","status":"completed"},)"
      R"({"content":"Port Session to coroutines","status":"completed"},)"
      R"({"content":"Port Replicator to coroutines","status":"in_progress"},)"
      R"({"content":"Remove the callback loop","status":"pending"}]})",
      "Todos have been modified successfully");
  calls.run(
      "Edit",
      R"({"file_path":"/home/dev/kv/src/replicator.cc","old_string":"on_ack","new_string":"co_await ack"})",
      "The file has been updated");
  calls.bash("cd /home/dev/kv && ctest --test-dir build -R replicator_lag 2>&1 | tail -15",
             "1/1 Test #31: replicator_lag ...***Timeout 30.02 sec\n0% tests passed, 1 tests "
             "failed out of 1\nexit code 8\n",
             "The lag test still times out: the follower acknowledges in batches of 64, and the "
             "last batch is never full.");
  calls.bash(
      "cd /home/dev/kv && curl -s localhost:7411/debug/replicas",
      R"({"replicas":[{"id":"9f1c2d34-77aa-4c1e-9d52-0b6f3f0a9b11","lag":63,"state":"waiting"}]})");
}

}  // namespace

void Calls::run(std::string_view tool, std::string_view arguments, std::string_view result,
                std::string_view says, bool error) {
  const std::string id = "c" + std::to_string(++next_);
  talk_.call(id, tool, arguments, says).result(id, tool, result, error);
}

void Calls::bash(std::string_view command, std::string_view result, std::string_view says) {
  run("Bash", fmt::format(R"({{"command":{}}})", json_token(command)), result, says);
}

void pin_first_request(Talk& talk) {
  for (WorkingMessage& message : talk.list().messages) {
    if (message.message->role != Role::user) continue;
    message.pinned = message.first_task = true;
    return;
  }
}

Talk coding_session() {
  Talk talk;
  Calls calls(talk);
  talk.user(kTask);
  look_around(calls);
  first_step(calls);
  talk.assistant(
      "Sessions are coroutines now. 51 of 52 tests pass; replicator_lag times out as it did before "
      "my "
      "change (I checked with git stash). Committed as 7be19d4. Shall I go on with the "
      "replicator?");
  talk.user(
      "Yes, go on. One more thing: the replicator must never block longer than 50 ms, and please "
      "don't rename the metrics, the dashboards use them (kv_replica_lag, kv_ack_batch).");
  second_step(calls);
  talk.call("last", "Bash", R"({"command":"cd /home/dev/kv && ctest --test-dir build"})",
            "Next I will flush a batch after 20 ms even if it is not full, then run ctest again.");
  talk.result("last", "Bash",
              build_log(3,
                        "98% tests passed, 1 tests failed out of 52\n\nThe following tests "
                        "FAILED:\n\t 31 - replicator_lag (Timeout)\nexit code 8\n"));
  talk.assistant("One test is left.");
  pin_first_request(talk);
  return talk;
}

std::vector<NamedSession> long_sessions() {
  std::vector<NamedSession> out;
  out.push_back({"coding", coding_session()});
  out.push_back({"analyst", analyst_session()});
  out.push_back({"clerk", clerk_session()});
  out.push_back({"support", support_session()});
  out.push_back({"json", json_session()});
  return out;
}

}  // namespace ebla::context::test
