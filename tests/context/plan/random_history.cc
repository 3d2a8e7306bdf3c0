#include "tests/context/plan/random_history.h"

#include <algorithm>

#include "tests/context/list/list_builder.h"

namespace ebla::context {
namespace {

class History {
 public:
  History(std::mt19937& random, bool orderly) : random_(random), orderly_(orderly) {}

  Conversation build(size_t steps) {
    if (chance(30)) builder_.rules(upto(200));
    if (chance(20)) builder_.developer(upto(200));
    builder_.user(upto(300));
    for (size_t i = 0; i < steps; ++i) step();
    if (chance(80)) answer_all();
    if (chance(30)) builder_.model(upto(200));
    if (chance(60)) builder_.user(upto(200));
    return builder_.done();
  }

 private:
  bool chance(unsigned percent) { return random_() % 100 < percent; }
  uint64_t upto(uint64_t most) { return random_() % most + 1; }

  void step() {
    const auto kind = random_() % 10;
    if (kind < 4) {
      ask();
    } else if (kind < 6) {
      answer_all();
    } else if (kind == 6) {
      builder_.user(upto(300));
    } else if (kind == 7) {
      builder_.model(upto(300));
      if (orderly_) open_.clear();
    } else if (kind == 8) {
      builder_.developer(upto(50));
    } else {
      open_.clear();  // interrupted: these calls dangle
    }
  }

  void ask() {
    if (chance(20)) builder_.reasoning(upto(100));
    std::vector<std::string> ids;
    for (uint64_t i = upto(4); i > 0; --i) {
      ids.push_back(chance(15) ? "again" : "c" + std::to_string(next_++));
    }
    if (chance(30)) {
      for (const std::string& id : ids) builder_.calls({id});
    } else {
      builder_.calls(ids);
    }
    if (chance(10)) {
      for (Part& part : builder_.conversation.messages.back().parts) part.provider_side = true;
    }
    if (orderly_) open_.clear();
    open_.insert(open_.end(), ids.begin(), ids.end());
    if (chance(70)) answer_all();
  }

  void answer_all() {
    std::ranges::shuffle(open_, random_);
    if (chance(20) && !open_.empty()) open_.pop_back();
    if (chance(40) && !open_.empty()) {
      std::vector<std::pair<std::string, uint64_t>> results;
      for (const std::string& id : open_) results.emplace_back(id, upto(900));
      builder_.results(results);
    } else {
      for (const std::string& id : open_) {
        builder_.result(id, upto(900));
        if (chance(5)) builder_.user(upto(50));
      }
    }
    open_.clear();
  }

  std::mt19937& random_;
  ListBuilder builder_;
  bool orderly_;
  std::vector<std::string> open_;
  int next_ = 0;
};

}  // namespace

Conversation random_history(std::mt19937& random, size_t steps, bool orderly) {
  return History(random, orderly).build(steps);
}

}  // namespace ebla::context
