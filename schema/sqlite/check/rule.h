// Rules of a sound store, as data: what selects the offenders, how one is told, how it is mended.
// Private to this folder.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "schema/base/result.h"
#include "schema/sqlite/database.h"

namespace ebla::sqlite::check {

// What breaks a rule: numbers for the mend, the rest for the text.
struct Offender {
  int64_t id = 0;
  int64_t second = 0;
  // For the text alone; empty for those that nobody is told of one by one.
  std::string path = {};
  std::string a = {};
  std::string b = {};
};

struct Mend {
  Database& db;
  int64_t now_ns;
};

// Within a transaction of its own. False: it cannot be mended; nothing was changed then.
using MendFunction = Result<bool> (*)(const Mend& mend, const Offender& offender);

struct Rule {
  std::string_view kind;
  // {path}, {id}, {a} and {b} stand for the offender's.
  const char* text;
  // Columns: id, second, node whose path it is (0: none), name behind that path (NULL: none), a, b.
  // What is missing at the end is empty.
  const char* select;
  const char* mend_sql = nullptr;  // ?1 and ?2 are id and second
  MendFunction mend = nullptr;
  bool at_once = false;  // one run of mend_sql mends all offenders
};

// Rules that may be asked one after the other on the same helper tables (helpers.h). A mend within
// a group does not change what a later rule of the group asks the helpers for.
using Group = std::span<const Rule>;

// In the order in which they must be kept: a group may trust the ones before it.
Group session_rules();    // sessions that others speak of are there
Group existence_rules();  // entries, nodes and folders
Group name_rules();       // who has which name
Group shape_rules();      // one tree, without loops
Group count_rules();      // what is counted of nodes and names
Group content_rules();    // who owns which content
Group decision_rules();   // put-away files and what finds them
Group history_rules();    // sections and passes
Group usage_rules();      // counters of session trees

}  // namespace ebla::sqlite::check
