// A script that uses a store for everything it does, goes on whatever fails, and keeps a ledger of
// what it was told: after any fault, the store must hold one of the states that the ledger allows.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "schema/store.h"

namespace ebla::sqlite::test {

// What a thing is, as text; nullopt: it is not there.
using State = std::optional<std::string>;

// A thing is named by its kind and its name: "session s-bbbbb", "put call_1 3000", "history",
// "fact x", "file /notes", "attribute /notes". Each is changed as a whole or not at all.
class Ledger {
 public:
  // The store may hold it from here on.
  void attempted(const std::string& thing, State state);
  // It does, in order with all else that is committed.
  void committed(const std::string& thing);
  // A durable change was acknowledged, or the store closed in order: all that was committed before
  // is on disk.
  void acknowledged();

  // Fails the test for each thing that is in no state it may be in.
  void check(Store& store, const std::string& what) const;
  // Acknowledgements so far: a suite in which there are none proves nothing.
  uint64_t acknowledgements() const { return acknowledgements_; }

 private:
  struct Thing {
    std::vector<State> states{std::nullopt};  // in their order; before the script it was not there
    size_t committed = 0;  // none before this one comes back while the power is on
  };
  std::map<std::string, Thing> things_;
  uint64_t acknowledgements_ = 0;
};

// Reads a thing; an error when the store cannot say.
Result<State> look(Store& store, std::string_view thing);

class FaultScript {
 public:
  FaultScript(Store& store, Ledger& ledger) : store_(store), ledger_(ledger) {}
  void run();
  // One durable change that can follow on any state. False: refused.
  bool go_on(const std::string& value);

 private:
  template <class Ended>
  bool note(const std::string& thing, const Ended& ended,
            Durability durability = Durability::durable);

  bool open_session(const std::string& id);
  void put(const std::string& name, size_t bytes, ArtifactKind kind = ArtifactKind::tool_result);
  void remove_put(const std::string& name, size_t bytes);
  void append(uint64_t number, size_t bytes, Durability durability, bool pass);
  void set_fact(const std::string& name, State value, Durability durability);

  Ino file(const std::string& name, Durability durability);
  void write(const std::string& name, size_t bytes, Durability durability);
  void replace(const std::string& name, size_t bytes);
  void cut(const std::string& name, uint64_t size);
  void set_attribute(const std::string& name, const std::string& value);
  void link(const std::string& name, const std::string& other);
  void remove(const std::string& name);

  Store& store_;
  Ledger& ledger_;
  Session session_;
  uint64_t number_ = 0;
};

}  // namespace ebla::sqlite::test
