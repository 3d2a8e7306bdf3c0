#include "context/formats/reading.h"

#include <algorithm>
#include <utility>

#include "context/formats/call_ids.h"
#include "context/formats/canonical.h"
#include "context/formats/carried.h"
#include "context/formats/media.h"
#include "context/formats/pairs.h"
#include "context/formats/shapes.h"
#include "context/list/identity.h"
#include "context/text/blank.h"
#include "context/text/tokens.h"
#include "schema/base/limits.h"

namespace ebla::context {
namespace {

// What the provider adds around a message, a call and a result, in tokens.
constexpr uint64_t kMessageFrame = 4;
constexpr uint64_t kCallFrame = 8;

// What the provider answers itself bears its own ids.
void set_call_id(Part& part, const std::string& id, bool provider_side) {
  const CallId read = provider_side ? CallId{id} : read_call_id(id);
  part.call_id = read.id;
  part.number = read.number;
}

Showing showing_of(std::string_view text) {
  if (text.empty()) return Showing::nothing;
  return is_blank(text) ? Showing::white_space : Showing::words;
}

}  // namespace

JsonValue text_token(const JsonValue& block) {
  std::string scratch;
  const std::string_view type = block["type"].text(scratch);
  if (type == "text" || type == "input_text" || type == "output_text" || type == "summary_text") {
    const JsonValue token = block["text"];
    return token.is_string() ? token : JsonValue();
  }
  if (type == "refusal") {
    const JsonValue token = block["refusal"];
    return token.is_string() ? token : JsonValue();
  }
  return {};
}

std::optional<std::vector<JsonValue>> result_texts(const JsonValue& block) {
  if (block.is_string()) return {{block}};
  if (const JsonValue token = text_token(block)) return {{token}};
  if (!block["stdout"].is_string()) return std::nullopt;
  std::vector<JsonValue> written;
  for (const std::string_view name : {"stdout", "stderr"}) {
    const JsonValue token = block[name];
    if (token.is_string() && !token.equals("")) written.push_back(token);
  }
  return written;
}

void PartReader::content(Message& message, const JsonValue& value, const BlockHook& hook) {
  message.shape = shape_of_content(value);
  if (value.is_string()) {
    text(message, value.span(), value);
  } else if (value.is_list()) {
    message.parts.reserve(message.parts.size() + value.size());
    for (const JsonValue& item : value) block(message, item, hook);
  } else if (value && !value.is(JsonKind::null)) {
    block(message, value, hook);
  }
}

void PartReader::block(Message& message, const JsonValue& value, const BlockHook& hook) {
  if (value.is_string()) {
    text(message, value.span(), value);
    return;
  }
  std::string type_scratch;
  const std::string_view type = value["type"].text(type_scratch);
  if (hook && hook(*this, message, value, type)) return;
  if (const JsonValue token = text_token(value)) {
    text(message, value.span(), token);
  } else if (!media(message, value)) {
    unknown(message, value);
  }
}

void PartReader::text(Message& message, Span block, const JsonValue& token) {
  Part& part = message.parts.emplace_back();
  part.kind = PartKind::text;
  part.span = block;
  part.texts.push_back(token.span());
  const std::string_view said = token.text(scratch_);
  part.stand_in = is_stand_in(said);
  part.showing = showing_of(said);
  part.facts = measure_part(said);
  if (!part.stand_in) return;
  const auto carried = read_carried(said);
  if (!carried) return;
  part.carried = std::make_shared<const Carried>(
      Carried{std::string(carried->lead), measure_part(carried->said)});
  part.call_id = carried->call_id;
  part.tool = carried->tool;
}

void PartReader::reasoning(Message& message, const JsonValue& block, const JsonValue& token) {
  Part& part = message.parts.emplace_back();
  part.kind = PartKind::reasoning;
  part.span = block.span();
  if (token.is_string()) {
    part.texts.push_back(token.span());
    part.facts = measure_part(token.text(scratch_));
    return;
  }
  // Encrypted: what stands behind it is shorter than the block.
  part.facts.hash = xxh3_128(block.raw());
  part.facts.bytes = block.raw().size();
  part.facts.characters = part.facts.bytes;
  part.facts.class_sum = part.facts.bytes;
  part.facts.tokens = part.facts.bytes / limits::kSealedBytesPerToken;
}

void PartReader::unknown(Message& message, const JsonValue& block) {
  Part& part = message.parts.emplace_back();
  part.kind = PartKind::unknown;
  part.span = block.span();
  joined_.clear();
  append_canonical(joined_, block, kCacheMark);
  part.facts = measure_part(joined_);
}

void PartReader::measure_media(Part& part, const JsonValue& token) {
  std::string_view text = token.text(scratch_);
  // By its own bytes: what it is found by when it has become a file.
  std::optional<std::string> bytes;
  if (!part.data.empty()) bytes = decode_base64(base64_payload(text));
  if (bytes) text = *bytes;
  part.facts.hash = xxh3_128(text);
  part.facts.bytes = text.size();
  part.facts.tokens = limits::kImageTokens;
  if (part.data.empty()) return;
  if (part.kind == PartKind::image) {
    part.facts.tokens = image_tokens(text.substr(0, limits::kImageHeadBytes));
  } else {
    part.facts.tokens =
        std::max(limits::kImageTokens, part.facts.bytes / limits::kDocumentBytesPerToken);
  }
}

bool PartReader::media(Message& message, const JsonValue& block) {
  std::optional<Media> media = media_of(block);
  if (!media) return false;
  Part& part = message.parts.emplace_back();
  part.kind = media->kind;
  part.span = block.span();
  part.media_type = std::move(media->media_type);
  part.immovable = media->immovable;
  if (media->text.is_string()) {
    part.texts.push_back(media->text.span());
    part.facts = measure_part(media->text.text(scratch_));
    return true;
  }
  part.data = media->data.span();
  if (part.data.empty()) part.texts.push_back(media->link.span());
  measure_media(part, part.data.empty() ? media->link : media->data);
  return true;
}

void PartReader::call(Message& message, const JsonValue& block, const Call& call) {
  Part& part = message.parts.emplace_back();
  part.kind = PartKind::tool_call;
  part.span = block.span();
  set_call_id(part, call.id, call.provider_side);
  part.tool = call.name;
  part.arguments = call.arguments.span();
  part.free_form = call.free_form;
  part.provider_side = call.provider_side;
  joined_.clear();
  if (!call.arguments.is_string()) {
    append_canonical(joined_, call.arguments);
    part.facts = measure_part(joined_);
  } else if (call.free_form) {
    part.facts = measure_part(call.arguments.text(scratch_));
  } else {
    part.facts = measure_part(canonical_arguments(call.arguments.text(scratch_)));
  }
}

void PartReader::result(Message& message, const JsonValue& block, const Answer& answer) {
  const size_t index = message.parts.size();
  {
    Part& part = message.parts.emplace_back();
    part.kind = PartKind::tool_result;
    part.span = block.span();
    set_call_id(part, answer.id, answer.provider_side);
    part.tool = answer.name;
    part.content = answer.content.span();
    part.error = answer.error;
    part.shape = shape_of_content(answer.content);
    part.provider_side = answer.provider_side;
  }
  std::vector<Span> texts;
  joined_.clear();
  std::string_view text;  // a first string as it stands, else all in joined_
  Showing showing = Showing::words;
  const auto add = [&](const JsonValue& token) {
    const bool first = texts.empty();
    texts.push_back(token.span());
    if (first && token.is_string()) {
      text = token.text(first_);
      showing = showing_of(text);
      return;
    }
    if (joined_.empty()) joined_ = text;
    if (!first) joined_.push_back('\n');
    if (token.is_string()) {
      const std::string_view more = token.text(scratch_);
      joined_ += more;
      showing = std::max(showing, showing_of(more));
    } else {
      append_canonical(joined_, token, kCacheMark);
    }
    text = joined_;
  };
  const auto add_block = [&](const JsonValue& item) {
    if (const auto tokens = result_texts(item)) {
      std::ranges::for_each(*tokens, add);
    } else if (!media(message, item)) {
      add(item);
    }
  };
  if (answer.content.is_list() && !answer.provider_side) {
    for (const JsonValue& item : answer.content) add_block(item);
  } else if (answer.content.is_object() && !answer.provider_side) {
    add_block(answer.content);
  } else if (answer.content && !answer.content.is(JsonKind::null)) {
    add(answer.content);
  }
  Part& part = message.parts[index];
  part.texts = std::move(texts);
  part.showing = showing;
  part.facts = measure_part(text);
}

void PartReader::finish(Message& message) {
  // Some formats carry results in messages of the user.
  if (message.role == Role::user && !message.parts.empty()) {
    const Part* result = nullptr;
    const bool only_results = std::ranges::all_of(message.parts, [&result](const Part& part) {
      if (part.kind == PartKind::tool_result) result = &part;
      return result != nullptr && stands_within(part, *result);
    });
    if (only_results) message.role = Role::tool;
  }
  std::vector<Hash128> hashes;
  hashes.reserve(message.parts.size());
  message.tokens = kMessageFrame;
  for (const Part& part : message.parts) {
    hashes.push_back(part.facts.hash);
    message.tokens += part.facts.tokens;
    if (part.kind == PartKind::tool_call) message.tokens += kCallFrame + estimate_tokens(part.tool);
    if (part.kind == PartKind::tool_result) message.tokens += kCallFrame;
  }
  message.identity = identity_of(message, hashes);
}

uint64_t overhead_of(const JsonValue& request, std::initializer_list<std::string_view> members) {
  uint64_t tokens = 0;
  std::string scratch;
  for (const std::string_view name : members) {
    const JsonValue value = request[name];
    if (value.is_string()) {
      tokens += kMessageFrame + estimate_tokens(value.text(scratch));
    } else if (value.is_list() || value.is_object()) {
      for (const JsonValue& item : value) {
        const JsonValue token = text_token(item);
        tokens += kMessageFrame + estimate_tokens(token ? token.text(scratch) : item.raw());
      }
    }
  }
  return tokens;
}

Role role_of_name(std::string_view name) {
  constexpr std::pair<std::string_view, Role> kRoles[] = {
      {"user", Role::user},           {"assistant", Role::assistant}, {"system", Role::system},
      {"developer", Role::developer}, {"tool", Role::tool},           {"function", Role::tool},
  };
  for (const auto& [known, role] : kRoles) {
    if (known == name) return role;
  }
  return Role::other;
}

}  // namespace ebla::context
