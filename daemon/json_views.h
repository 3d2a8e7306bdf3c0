// Values that several replies show, in one form.
#pragma once

#include <string_view>

#include "daemon/services.h"
#include "schema/base/json.h"

namespace ebla::daemon {

void write_mount(JsonWriter& out, const fs::MountInfo& mount);
void write_mounts(JsonWriter& out, const MountView& mounts);  // an array
void write_memory(JsonWriter& out);                           // of this process, an object
std::string_view kind_name(NodeKind kind);

}  // namespace ebla::daemon
