// What mends have in common. Each works within a transaction of the caller's, and none deletes
// bytes that can be read. Counters are left to the rules that count. Private to this folder.
#pragma once

#include <cstdint>
#include <string>

#include "schema/sqlite/check/rule.h"
#include "schema/sqlite/database.h"

namespace ebla::sqlite::check {

inline constexpr std::string_view kLostFolder = "lost+found";

// The folder for what has no place any more; made when there is none.
Result<int64_t> lost_folder(const Mend& mend);
// Makes the row of a node that is gone, when others tell what it was. False: nobody does.
Result<bool> restore_node(const Mend& mend, int64_t ino);
// Gives a node without a name its place: where sessions and decisions say, else in the lost folder.
// What holds nothing goes to the orphans instead, which the next start frees.
Result<bool> give_name(const Mend& mend, int64_t ino);
// Enters a node into a folder under this name, or one like it that is free.
Result<void> enter(const Mend& mend, int64_t folder, const std::string& name, int64_t ino);
// A file of the lost folder that owns the content's chunks from now on.
Result<bool> adopt_content(const Mend& mend, int64_t content);

// Contents (mend_content.cc). Each makes what is stored about the bytes fit the bytes that are
// there; what is missing between them becomes zeros.
// Of a content that never changes, with the nodes and decisions that use it.
Result<bool> settle_content(const Mend& mend, int64_t content);
// Of a content that sections lie in.
Result<bool> settle_sections(const Mend& mend, int64_t content);
// Puts a content that nobody owns back into the one history that lacks so many bytes at the place
// that its number says. False: there is none.
Result<bool> restore_section(const Mend& mend, int64_t content);
// Of a client's file.
Result<bool> settle_file(const Mend& mend, int64_t ino);
// The second claim on a content gets a copy of its chunks.
Result<bool> copy_content(const Mend& mend, int64_t ino);

// Decisions (mend_decisions.cc).
Result<void> write_keys(const Mend& mend, int64_t eviction);

}  // namespace ebla::sqlite::check
