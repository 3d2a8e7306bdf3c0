#include <fmt/format.h>

#include <filesystem>
#include <string>

#include "schema/base/json.h"
#include "schema/check.h"
#include "tools/store_verbs.h"
#include "tools/text.h"
#include "tools/verbs/common.h"
#include "tools/verbs/verbs.h"

namespace ebla::tools {
namespace {

// Exit statuses of fsck(8): a promise of their own, in ebla(1).
constexpr int kCorrected = 1;
constexpr int kLeft = 4;

void add_problem(JsonWriter& json, const Problem& problem) {
  json.begin_object().member("kind", problem.kind);
  if (!problem.path.empty()) json.member("path", problem.path);
  json.member("text", problem.text).member("mended", problem.mended).end_object();
}

std::string summary(const CheckReport& report, bool repair, const std::string& store) {
  std::string text = fmt::format(
      "{}: {}, {}, {}", store, report.problems == 0 ? "clean" : counted(report.problems, "problem"),
      counted(report.files, "file"), counted(report.folders, "folder"));
  if (report.bytes > 0) text += fmt::format(", {} bytes checked", report.bytes);
  if (report.problems > 0) {
    text += repair ? fmt::format("; {} mended, {} left", report.mended, report.left)
                   : "; `ebla fsck --repair` mends what can be mended";
  }
  if (report.online) text += "; read beside its daemon";
  text += "\n";
  if (!report.kept.empty()) {
    text += fmt::format("the damaged database was kept: {}\n", report.kept);
  }
  if (!report.note.empty()) text += fmt::format("what was mended is noted in {}\n", report.note);
  return text;
}

void add_report(JsonWriter& json, const CheckReport& report, const std::string& store) {
  json.member("store", store).member("clean", report.problems == 0);
  json.member("found", report.problems).member("mended", report.mended);
  json.member("left", report.left).member("files", report.files);
  json.member("folders", report.folders).member("bytes", report.bytes);
  json.member("online", report.online);
  if (!report.kept.empty()) json.member("kept", report.kept);
  if (!report.note.empty()) json.member("note", report.note);
}

}  // namespace

int fsck_status(Code code) {
  constexpr int kOperation = 8;
  constexpr int kUsage = 16;
  return code == Code::usage ? kUsage : kOperation;
}

Result<int> run_fsck(Call& call) {
  auto store = store_of(call);
  if (!store) return std::unexpected(std::move(store.error()));
  Progress progress(call.streams.err);
  JsonWriter json;
  if (call.args.json) json.begin_object().key("problems").begin_array();
  Result<void> written;
  CheckOptions options;
  options.store = *store;
  options.repair = call.args.has("repair");
  options.quick = call.args.has("quick");
  options.progress = [&](std::string_view step, uint64_t done, uint64_t total) {
    progress.show(fmt::format("checking {}", step), done, total);
  };
  options.found = [&](const Problem& problem) {
    progress.clear();
    if (call.args.json) return add_problem(json, problem);
    auto line = call.streams.out.write(
        fmt::format("{}{}\n", problem.mended ? "mended: " : "", printable(problem.text)));
    if (!line && written) written = std::move(line);
  };
  auto report = check_store(options);
  progress.clear();
  if (!report) return std::unexpected(std::move(report.error()));
  if (!written) return std::unexpected(std::move(written.error()));
  std::string end;
  if (call.args.json) {
    json.end_array();
    add_report(json, *report, *store);
    json.end_object();
    end = json.take() + "\n";
  } else {
    end = terminal_text(summary(*report, options.repair, *store));
  }
  if (auto said = print(call, end); !said) return said;
  if (report->left > 0) return kLeft;
  return report->mended > 0 ? kCorrected : static_cast<int>(kExitOk);
}

}  // namespace ebla::tools
