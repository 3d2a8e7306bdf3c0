// What is known of a list: which of its parts are asked for in the store, what its messages are
// found by, which pass it begins with, and the working list that comes of it. All pure: the caller
// asks the store in between.
//
// Leading system and developer messages take part in no chain and no pass: they always go first, as
// they are. Places count from the message after them.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "context/formats/pairs.h"
#include "context/list/conversation.h"
#include "context/list/working_list.h"
#include "context/settings.h"
#include "schema/model.h"

namespace ebla::context {

// A string argument of a call, by name; measured as any text.
struct ArgumentFacts {
  std::string name;
  PartFacts facts;
};
// Asked for each call whose arguments are long enough to hold one that could be put away.
using ReadArguments = std::function<std::vector<ArgumentFacts>(const Part& call)>;

// A part, or an argument of it, that may have been put away, or may be what stands in place of
// something that was.
struct ListItem {
  size_t message = 0;
  size_t part = 0;
  std::string argument;
  PartFacts facts;  // of the argument, else of the part
  ItemQuery query;  // its call id lies in the conversation
};
// Ascending by message and part. A result comes twice, as tool_result and as old_result.
std::vector<ListItem> list_items(const Conversation& conversation, const ReadArguments& arguments);
std::vector<ItemQuery> item_queries(std::span<const ListItem> items);

// Hash of a call's canonical arguments with originals in the place of those that arrived replaced.
// Asked only for calls with such arguments; `originals` by name. Also of the words that carry a
// result on, with the only original in place of what the tool said.
struct OriginalArgument {
  std::string_view name;
  const Original* original = nullptr;
};
using HashOriginals =
    std::function<Hash128(const Part& part, std::span<const OriginalArgument> originals)>;

// What one message of the client's list is found by.
struct Link {
  Hash128 identity;     // with replacements resolved to originals
  Hash128 chain;        // of everything up to and with it
  uint64_t place = 0;   // in the whole conversation
  size_t answered = 0;  // last message that answers a call up to here
};
struct Chain {
  size_t lead = 0;          // leading system and developer messages: no links
  std::vector<Link> links;  // one for each message of the client's list
  size_t fresh = 0;         // first message after the last one of the model
  size_t needed = 0;        // no pass covers this one: the first fresh result, else the last
  // A summary message of ours in the list: it and all before it stand for its pass.
  const Pass* carried = nullptr;
  size_t carrier = 0;
  // The carrier holds more than the summary: what is left of it comes next, with this link.
  std::shared_ptr<const Message> split;
};
// `answers`: the store's, one for each item. The chain points into `passes`.
Chain chain_of(const Conversation& conversation, std::span<const ListItem> items,
               std::span<const ItemAnswer> answers, std::span<const Pass> passes,
               const HashOriginals& originals);

// An image or document that the list carries itself. Equal ones are shown again, and what became of
// one says nothing of the next: a medium of a result is known by its call, any other by all that
// was said up to it. What was decided before the model had seen it holds from then on; what was
// decided after, once it has.
struct ListMedium {
  size_t message = 0;
  size_t part = 0;
  std::string id;  // that a decision bears in the place of a call's
  std::string fresh_id;
  Hash128 hash;
  uint64_t size = 0;  // bytes
};
// The id of a decision that was made before the model had seen it.
std::string fresh_medium_id(std::string_view id);
// Ascending.
std::vector<ListMedium> list_media(const Conversation& conversation, const Chain& chain);
// Two for each: by `fresh_id`, by `id`. They point into `media`.
std::vector<ItemQuery> media_queries(std::span<const ListMedium> media);

// The longest known pass that is a prefix of the list, covers nothing that is needed, and no call
// whose result came later.
struct KnownPass {
  const Pass* pass = nullptr;
  size_t covered = 0;     // messages of the client's list that it stands for
  bool in_place = false;  // the client's list itself carries its summary
};
std::optional<KnownPass> find_pass(const Chain& chain, std::span<const Pass> passes);

struct ListInput {
  const Conversation* conversation = nullptr;
  const Settings* settings = nullptr;
  std::span<const ListItem> items;
  std::span<const ItemAnswer> answers;
  const Chain* chain = nullptr;
  std::span<const ListMedium> media;
  std::span<const ItemAnswer> media_answers;  // to media_queries(); empty: none is known
  std::optional<KnownPass> pass;
  std::string summary;               // its message's text
  std::span<const uint64_t> pinned;  // the caller's, indexes of its list
  std::span<const PartAt> late;      // late_results() of the list
  // True for a result of Ebla's own reading tools, and of any tool whose call names a path in
  // Ebla's tree. `call` is nullptr where the list has none. It goes with the list, which asks it.
  using OwnReader = std::function<bool(const Part& result, const Part* call)>;
  OwnReader own_reader;
  double ratio = 1;
};
// Known items applied, pins and fresh messages marked.
WorkingList build_list(const ListInput& input);

}  // namespace ebla::context
