#include <fmt/format.h>

#include "schema/base/json.h"
#include "schema/salvage.h"
#include "tools/store_verbs.h"
#include "tools/text.h"
#include "tools/verbs/common.h"
#include "tools/verbs/verbs.h"

namespace ebla::tools {
namespace {

// Of the list; all of it stands in the report.
constexpr uint64_t kShownLosses = 20;

std::string report_json(const SalvageReport& report) {
  JsonWriter json;
  json.begin_object().member("tree", report.tree).member("report", report.list);
  json.member("files", report.files).member("folders", report.folders);
  json.member("bytes", report.bytes).member("damaged", report.damaged);
  json.member("losses", report.losses).end_object();
  return json.take() + "\n";
}

}  // namespace

Result<int> run_salvage(Call& call) {
  if (call.args.operands.size() != 2) {
    return fail(Code::usage, "`ebla salvage` needs the path of the store and that of a new folder");
  }
  auto store = store_of(call);
  if (!store) return std::unexpected(std::move(store.error()));
  Progress progress(call.streams.err);
  uint64_t shown = 0;
  SalvageOptions options;
  options.store = *store;
  options.folder = call.args.operands[1];
  options.lost = [&](std::string_view line) {
    if (shown++ >= kShownLosses) return;
    progress.clear();
    call.streams.err.note(fmt::format("ebla: {}\n", printable(line)));
  };
  options.progress = [&](std::string_view step, uint64_t done, uint64_t total) {
    progress.show(std::string(step), done, total);
  };
  auto report = salvage_store(options);
  progress.clear();
  if (!report) return std::unexpected(std::move(report.error()));
  if (shown > kShownLosses) {
    call.streams.err.note(fmt::format("ebla: {} more stand in {}\n", shown - kShownLosses,
                                      terminal_text(report->list)));
  }
  auto said = print(
      call, call.args.json
                ? report_json(*report)
                : terminal_text(fmt::format(
                      "{} files and {} folders, {} bytes, are in {}; {} of "
                      "the files are damaged\n{}",
                      report->files, report->folders, report->bytes, report->tree, report->damaged,
                      report->losses == 0
                          ? "everything could be read\n"
                          : fmt::format("what could not be read, and why: {}\n", report->list))));
  if (!said) return said;
  return static_cast<int>(report->losses == 0 ? kExitOk : kExitFailure);
}

}  // namespace ebla::tools
