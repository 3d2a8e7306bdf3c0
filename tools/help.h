// Help texts, made from the verb table.
#pragma once

#include <string>

#include "tools/verb.h"

namespace ebla::tools {

std::string overview();
std::string help_of(const Verb& verb);

}  // namespace ebla::tools
