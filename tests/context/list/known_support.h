// A store as far as the known part of a list needs one, by hash; and the two ways in which a client
// keeps its list.
#pragma once

#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "context/text/tokens.h"
#include "tests/context/list/list_builder.h"

namespace ebla::context {

class FakeStore {
 public:
  // This text is the replacement of that part.
  void original(std::string_view text, ArtifactKind kind, const Part& part);
  void decision(ArtifactKind kind, std::string_view call_id, const PartFacts& facts,
                std::string replacement);
  // What pass_key() and a summary message come to.
  void pass(const PassKey& key, std::string_view summary);

  std::vector<ItemAnswer> find(std::span<const ItemQuery> queries) const;
  // Everything known of the list, as `prepare` finds it.
  WorkingList list(const Conversation& conversation,
                   const std::vector<uint64_t>& pinned = {}) const;

  Settings settings;
  uint64_t last_pass_total = 0;  // of the session, as late_pass_due() takes it
  ReadArguments arguments;
  HashOriginals originals;
  std::function<bool(const Part& result, const Part* call)> own_reader;

 private:
  std::map<Hash128, Original> originals_;
  std::map<std::tuple<ArtifactKind, std::string, Hash128>, EvictionOutcome> decisions_;
  std::vector<Pass> passes_;
  std::map<uint64_t, std::string> messages_;
};

// The list with another text in the place of the only part of this message.
Conversation with_text(Conversation conversation, size_t message, std::string_view text,
                       uint64_t tokens);

// The user's message that carries a summary of this text.
Message summary_carrier(std::string_view summary);

// What a client that takes the reply for its list goes on with.
Conversation as_replaced(const WorkingList& list);

}  // namespace ebla::context
