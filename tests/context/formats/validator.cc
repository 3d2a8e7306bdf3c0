#include "tests/context/formats/validator.h"
#include "context/text/blank.h"

#include <algorithm>
#include <set>

#include "schema/base/json.h"

namespace ebla::context::test {
namespace {

const Json& member(const Json& value, std::string_view name) {
  static const Json kNone;
  const Json* found = value.find(name);
  return found == nullptr ? kNone : *found;
}
const std::string& text(const Json& value, std::string_view name) {
  return member(value, name).text;
}
// Calls that wait and what else is wrong, message by message.
class Checker {
 public:
  explicit Checker(Dialect dialect) : dialect_(dialect) {}
  Checker(const Checker&) = delete;
  Checker& operator=(const Checker&) = delete;
  virtual ~Checker() = default;
  virtual void message(const Json& message) = 0;
  virtual void finish() {}

  std::vector<std::string> faults;

 protected:
  void fault(std::string what) { faults.push_back(std::move(what)); }
  void call(const std::string& id) {
    waiting_.insert(id);
    ids_.insert(id);
  }
  void result(const std::string& id) {
    const auto found = waiting_.find(id);
    if (found == waiting_.end()) return fault("a result without its call: " + id);
    if (!id.empty() && ids_.count(id) > 1) fault("a result of two calls: " + id);
    waiting_.erase(found);
  }
  // Whatever is open now gets no result any more.
  void close(std::string_view why) {
    for (const std::string& id : waiting_) {
      fault("a call without its result: " + id + ", " + std::string(why));
    }
    waiting_.clear();
    if (dialect_ != Dialect::anthropic && dialect_ != Dialect::responses) ids_.clear();
  }
  // One vendor takes white space for nothing.
  bool says_nothing(std::string_view said) const {
    if (dialect_ != Dialect::anthropic) return said.empty();
    return is_blank(said);
  }
  // A string, or a list of objects that each name their type, none of them empty.
  void content(const Json& value, bool may_be_empty = false) {
    if (value.is(Json::Kind::string)) {
      if (!may_be_empty && says_nothing(value.text)) fault("an empty content");
      return;
    }
    if (!value.is(Json::Kind::array)) return fault("a content of another type");
    if (value.items.empty() && !may_be_empty) fault("an empty list");
    for (const Json& block : value.items) {
      const bool chain = dialect_ >= Dialect::chain_plain && block.is(Json::Kind::string);
      if (chain) continue;
      if (!block.is(Json::Kind::object) || text(block, "type").empty()) fault("no block");
      if (block.find("text") != nullptr && says_nothing(text(block, "text")))
        fault("an empty block");
    }
  }

  Dialect dialect_;
  std::multiset<std::string> waiting_;
  std::multiset<std::string> ids_;  // of calls that must differ: of the list, or of one message
};

class Blocks final : public Checker {
 public:
  using Checker::Checker;
  void message(const Json& message) override {
    const std::string& role = text(message, "role");
    const bool model = role == "assistant";
    if (!model && role != "user") fault("a role: " + role);
    if (first_ && model) fault("the model speaks first");
    first_ = false;
    if (model != was_model_) words_ = false;
    if (model && !was_model_) close("the model goes on");
    was_model_ = model;
    calls_ = false;
    content(member(message, "content"));
    for (const Json& block : member(message, "content").items) part(block, model);
  }
  void finish() override {
    if (!calls_) close("the list goes on");
  }

 private:
  void part(const Json& block, bool model) {
    const std::string& type = text(block, "type");
    if (type == "tool_use") {
      if (!model) fault("a call of the user");
      calls_ = true;
      if (!member(block, "input").is(Json::Kind::object)) fault("an input that is no object");
      return call(text(block, "id"));
    }
    if (type == "tool_result") {
      if (model) fault("a result of the model");
      if (words_) fault("a result behind words");
      if (block.find("content") != nullptr) content(member(block, "content"));
      return result(text(block, "tool_use_id"));
    }
    if (type == "thinking" && text(block, "signature").empty()) fault("thinking without signature");
    words_ = true;
    if (!model && !waiting_.empty()) close("words before its result");
  }

  bool first_ = true;
  bool was_model_ = false;
  bool calls_ = false;  // the newest message
  bool words_ = false;
};

class Chat final : public Checker {
 public:
  using Checker::Checker;
  void message(const Json& message) override {
    const Json* fields = &message;
    for (const char* name : {"data", "kwargs"}) {
      if (message.find(name) != nullptr) fields = message.find(name);
    }
    std::string role = text(message, "role");
    if (role.empty()) role = text(message, "type");
    if (message.find("lc") != nullptr) role = member(message, "id").items.back().text;
    const Json& said = member(*fields, "content");
    goes_on_ = role == "tool" || role == "ToolMessage" || role == "function";
    if (role == "tool" || role == "ToolMessage") {
      content(said);
      return result(text(*fields, "tool_call_id"));
    }
    if (role == "function") {
      if (!said.is(Json::Kind::null)) content(said);
      return result(text(*fields, "name"));
    }
    close("a message before its result");
    const bool model = role == "assistant" || role == "ai" || role == "AIMessage";
    const size_t before = waiting_.size();
    for (const Json& each : member(*fields, "tool_calls").items) call(text(each, "id"));
    const Json& function = member(*fields, "function_call");
    if (function.is(Json::Kind::object)) call(text(function, "name"));
    const bool calls = waiting_.size() > before;
    const bool absent = said.is(Json::Kind::null) && dialect_ < Dialect::chain_plain;
    if (!(model && calls && absent)) content(said, model && calls);
  }
  void finish() override {
    if (goes_on_) close("the list goes on");
  }

 private:
  bool goes_on_ = false;  // behind the calls
};

class Items final : public Checker {
 public:
  using Checker::Checker;
  void message(const Json& item) override {
    const std::string& type = text(item, "type");
    words_ = false;
    if (type == "function_call" || type == "custom_tool_call") return call(text(item, "call_id"));
    if (type == "reasoning") return;
    if (type == "function_call_output" || type == "custom_tool_call_output") {
      content(member(item, "output"));
      old_.erase(text(item, "call_id"));
      result(text(item, "call_id"));
      old_.insert(waiting_.begin(), waiting_.end());
      return;
    }
    if (type != "message" && !type.empty()) return;
    content(member(item, "content"));
    if (text(item, "role") != "assistant") old_.insert(waiting_.begin(), waiting_.end());
    words_ = true;
  }
  // A result may come anywhere, but come it must.
  void finish() override {
    if (words_) old_.insert(waiting_.begin(), waiting_.end());
    for (const std::string& id : old_) fault("a call without its result: " + id);
  }

 private:
  bool words_ = false;         // the newest item
  std::set<std::string> old_;  // calls that something stands behind which is not the model's
};

template <class Kind>
std::vector<std::string> checked(const Json& list, Dialect dialect) {
  Kind checker(dialect);
  for (const Json& message : list.items) checker.message(message);
  checker.finish();
  return std::move(checker.faults);
}

}  // namespace

std::vector<std::string> refusals(std::string_view list, Dialect dialect) {
  const Result<Json> parsed = parse_json(list);
  if (!parsed || !parsed->is(Json::Kind::array)) return {"no list"};
  if (dialect == Dialect::anthropic) return checked<Blocks>(*parsed, dialect);
  if (dialect == Dialect::responses) return checked<Items>(*parsed, dialect);
  return checked<Chat>(*parsed, dialect);
}

}  // namespace ebla::context::test
