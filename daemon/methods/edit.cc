// fs.edit: one text of a file replaced by another.
#include <fmt/format.h>

#include <memory>
#include <optional>
#include <utility>

#include "daemon/content_intake.h"
#include "daemon/content_source.h"
#include "daemon/methods/methods.h"
#include "daemon/methods/params.h"
#include "daemon/reading.h"
#include "daemon/write/edit.h"
#include "daemon/write/put.h"
#include "daemon/write/target.h"

namespace ebla::daemon::methods {
namespace {

struct Outcome {
  Target target;
  Attr attr;
  EditPlan plan;
};

Result<Edit> edit_params(const MethodCall& call) {
  auto old_text = read_text(call, "old", limits::kEditTextBytes);
  if (!old_text) return std::unexpected(std::move(old_text.error()));
  auto new_text = read_text(call, "new", limits::kEditTextBytes);
  if (!new_text) return std::unexpected(std::move(new_text.error()));
  if (old_text->empty()) {
    return fail(Code::invalid_params,
                "old: it is empty: name the text to be replaced, or write the file (fs.write; "
                "\"append\":true adds at its end)");
  }
  if (*old_text == *new_text) {
    return fail(Code::invalid_params, "old and new are the same: nothing would change");
  }
  return Edit{.old_text = *std::move(old_text),
              .new_text = *std::move(new_text),
              .all = flag_param(call, "all")};
}

Result<void> check_edit(const MethodCall& call, const Target& target, const PutOptions& options) {
  if (auto good = check_put(call, target, options); !good) return good;
  if (auto good = check_may(actor_of(call), *target.node, target.path, Wish::read); !good) {
    return good;
  }
  if (target.node->size <= limits::kEditFileBytes) return {};
  return fail(Code::too_large,
              fmt::format("{} has {} bytes, at most {} are edited: write it anew (fs.write)",
                          printable(target.path), target.node->size, limits::kEditFileBytes));
}

// Whether another look may help: the file is another one by now.
bool has_changed(const MethodCall& call, const Target& target) {
  auto now = call.services().store.getattr(target.node->ino);
  return !now || now->nlink == 0 || now->change != target.node->change;
}

// The whole way once. Whatever is found holds only if the file has not changed meanwhile; that is
// said by conflict.
Result<Outcome> attempt(const MethodCall& call, const Target& target, const PutOptions& options,
                        const Edit& edit) {
  const ReadAt read = reader_of(call, target.node->ino);
  const uint64_t size = target.node->size;
  const auto changed = [&](Error error) -> std::unexpected<Error> {
    if (!call.cancelled() && has_changed(call, target)) return fail(Code::conflict, error.text);
    if (error.code == Code::no_match || error.code == Code::ambiguous) {
      error.text = fmt::format("{}: {}", printable(target.path), error.text);
    }
    return std::unexpected(std::move(error));
  };
  auto plan = plan_edit(read, size, edit);
  if (!plan) return changed(std::move(plan.error()));
  ContentSource source = edited(read, size, plan->edit);
  Store& store = call.services().store;
  auto intake = take_in(store, source, {});
  if (!intake) return changed(std::move(intake.error()));
  const ContentRef staged{.bytes = {}, .staged = intake->content.staged, .size = 0, .hash = {}};
  auto attr = put_once(call, target, options, target.node->change, std::move(intake->content));
  if (!attr) {
    discard(store, staged);
    return std::unexpected(std::move(attr.error()));
  }
  return Outcome{target, *attr, *std::move(plan)};
}

Result<Outcome> edit_file(const MethodCall& call, const std::optional<Session>& session) {
  auto edit = edit_params(call);
  if (!edit) return std::unexpected(std::move(edit.error()));
  PutOptions options;
  if (const Json* etag = call.param("if_etag")) options.if_etag = etag->text;
  Result<Outcome> outcome = fail(Code::conflict, "");
  for (size_t tries = 0; tries < limits::kWriteAttempts; ++tries) {
    auto target = find_existing(call, call.param("path")->text, session);
    if (!target) return std::unexpected(std::move(target.error()));
    if (auto good = check_edit(call, *target, options); !good) {
      return std::unexpected(std::move(good.error()));
    }
    outcome = attempt(call, *target, options, *edit);
    if (outcome || outcome.error().code != Code::conflict) return outcome;
  }
  return fail(Code::conflict,
              "the file changes all the time: nothing was edited. Try again when it is quiet");
}

void edit_and_answer(MethodCall call, const std::optional<Session>& session) {
  auto outcome = edit_file(call, session);
  if (!outcome) return call.refuse(std::move(outcome.error()));
  const EditPlan& plan = outcome->plan;
  JsonWriter out;
  out.begin_object();
  write_node(out, call, session, outcome->target.path, outcome->attr);
  out.member("replaced", plan.edit.all ? plan.places.count : 1)
      .member("line", plan.places.lines.front());
  if (plan.crlf) out.member("crlf", true);
  out.end_object();
  call.reply(out.take());
}

}  // namespace

void fs_edit(MethodCall call) {
  on_writing_thread(std::move(call), edit_and_answer);
}

}  // namespace ebla::daemon::methods
