// A pass over a list as `prepare` does it, with replacements of usual size and no store: what is
// planned is carried out, counted, and planned again. Checks on the way that nothing grows and that
// every step ends.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "tests/context/list/known_support.h"

namespace ebla::context {

struct PassRun {
  std::shared_ptr<const Conversation> conversation;  // that the list is about
  WorkingList list;
  std::vector<std::string> steps;  // names of those that did something, in order
  uint64_t before = 0;
  uint64_t after = 0;
  bool fits = false;
  bool late = false;

  bool did(std::string_view step) const;
};

class PassDriver {
 public:
  explicit PassDriver(FakeStore& store, uint64_t window) : store_(store), window_(window) {}

  // One call with this list. Decisions and passes go into the store. `refused`: the provider
  // refused a list of so many tokens.
  PassRun prepare(const Conversation& conversation, uint64_t refused = 0);

  void set_window(uint64_t window) { window_ = window; }

 private:
  void carry_out(WorkingList& list, const std::vector<ItemPlan>& plans);
  template <class Plan>
  void step(PassRun& run, const char* name, Plan plan);
  void summarise(PassRun& run, const Room& room, bool smallest);
  void clip(PassRun& run, const Room& room, uint64_t refused);

  FakeStore& store_;
  uint64_t window_;
};

}  // namespace ebla::context
