// Writes the files of a collected store into a folder of the host. Private to this folder.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "schema/base/result.h"
#include "schema/salvage.h"
#include "schema/sqlite/database.h"
#include "schema/sqlite/rescue/page_file.h"

namespace ebla::sqlite {

// `db` is sound but for its contents, and its chunks say where they lie in `pages` (collect.h).
// `tree` is a folder that is there. Fills files, folders, bytes and damaged of the report.
Result<void> export_tree(PageFile& pages, Database& db, int tree, SalvageReport& report,
                         const std::function<void(const std::string& line)>& lost,
                         const std::function<void(uint64_t files)>& progress);

}  // namespace ebla::sqlite
