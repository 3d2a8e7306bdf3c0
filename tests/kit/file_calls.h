// Changes of clients' files as plain calls that wait for their completion.
#pragma once

#include <string>
#include <string_view>

#include "tests/kit/store_calls.h"

namespace ebla::kit {

Ended<Attr> create(Store& store, CreatePlan plan, ChangeOptions options = {});
Ended<Attr> link(Store& store, LinkPlan plan, ChangeOptions options = {});
Ended<void> rename(Store& store, RenamePlan plan, ChangeOptions options = {});
Ended<void> remove_folder(Store& store, RemovePlan plan, ChangeOptions options = {});
Ended<Attr> replace(Store& store, ReplacePlan plan, ChangeOptions options = {});
Ended<Attr> setattr(Store& store, SetAttrPlan plan, ChangeOptions options = {});
Ended<void> set_xattr(Store& store, XattrPlan plan, ChangeOptions options = {});
Ended<void> remove_xattr(Store& store, Ino ino, std::string name, ChangeOptions options = {});
Ended<WriteOutcome> write(Store& store, WritePlan plan, std::string_view bytes,
                          ChangeOptions options = {});
Ended<void> allocate(Store& store, AllocatePlan plan, ChangeOptions options = {});
Ended<uint64_t> copy_range(Store& store, CopyPlan plan, ChangeOptions options = {});
Ended<void> flush(Store& store, Ino ino, ChangeOptions options = {});

// A file or folder of uid 1000; the test fails when it cannot be made.
Ino make_file(Store& store, Ino parent, std::string_view name, std::string_view bytes = "");
Ino make_folder(Store& store, Ino parent, std::string_view name);

}  // namespace ebla::kit
