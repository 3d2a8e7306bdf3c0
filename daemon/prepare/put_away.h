// Carries out plans for items: the store first, then the list. Nothing leaves the list that is not
// committed.
#pragma once

#include <functional>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "context/plan/plan.h"
#include "daemon/prepare/work.h"

namespace ebla::daemon {

// All commits of one step are begun together and waited for once. An item whose replacement would
// not halve it is kept, for good. When the store fails, what it did take is applied and the work is
// degraded. In a dry run nothing is stored, and the list changes as it would.
void put_away(Work& work, std::span<const context::ItemPlan> plans);

// Puts away what `plan` says, and asks again until it has no more: a plan reckons with what
// replacements usually cost.
void carry_out(Work& work, const std::function<std::vector<context::ItemPlan>()>& plan);

// Media of the first `cut` messages become files; the list is not changed. The link text of each,
// by message index and part. False: the store failed, the work is degraded.
using MediaLinks = std::map<std::pair<size_t, size_t>, std::string>;
bool file_media(Work& work, size_t cut, MediaLinks& links);

}  // namespace ebla::daemon
