// Coding sessions as agents really have them, for the tests of summaries.
#pragma once

#include "tests/context/summary/talk.h"

namespace ebla::context::test {

// A failing test is found and repaired, then a second request; a plan, a long build log put away.
Talk english_session();
// The same kind of work in Chinese.
Talk chinese_session();

}  // namespace ebla::context::test
