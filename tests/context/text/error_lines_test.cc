#include "context/text/error_lines.h"

#include <gtest/gtest.h>

#include "tests/context/support.h"

namespace ebla::context {
namespace {

TEST(ErrorLines, ErrorsAreSeen) {
  for (const char* line :
       {"main.cc:3:5: error: expected ';'", "\x1b[01;31m\x1b[Kerror: \x1b[m\x1b[Kno such file",
        "E: ERROR", "[ERROR] could not connect", "FAILED tests/test_x.py::test_y",
        "fatal: not a git repository", "panic: runtime error: index out of range",
        "thread 'main' panicked at src/main.rs:2:5:", "Traceback (most recent call last):",
        "ValueError: bad literal", "error[E0308]: mismatched types", "{\"error\":\"no key\"}",
        "Errors: 3"}) {
    EXPECT_EQ(error_tier(line), ErrorTier::error) << line;
  }
}

TEST(ErrorLines, MentionsComeSecond) {
  for (const char* line : {"3 errors found", "1 test failed", "make: *** [all] Error 2",
                           "the request failed with code 7"}) {
    EXPECT_EQ(error_tier(line), ErrorTier::mention) << line;
  }
}

TEST(ErrorLines, HarmlessLinesAreNot) {
  for (const char* line : {"0 errors, 0 failed",
                           "no error",
                           "No errors",
                           "errors: 0",
                           "failed=0",
                           "\"error\": null",
                           "/usr/include/error.h",
                           "libgpg-error0 1.46",
                           "on_error",
                           "error_count",
                           "terror",
                           "errorless",
                           "default",
                           "fatalities",
                           "panics",
                           "unfailed",
                           "mirror",
                           "without errors",
                           "error=false",
                           ""}) {
    EXPECT_EQ(error_tier(line), ErrorTier::none) << line;
  }
}

TEST(ErrorLines, FindsAWordAtEveryOffset) {
  for (const char* word : {"error", "FAILED", "Fatal", "panic", "Traceback"}) {
    for (size_t before = 0; before < 70; ++before) {
      const std::string text = std::string(before, ' ') + word + std::string(40, ' ');
      ASSERT_EQ(find_error_word(text, 0), before) << word;
      ASSERT_EQ(find_error_word(text.substr(0, before + std::string(word).size()), 0), before);
      ASSERT_EQ(find_error_word(text, before + 1), std::string::npos);
    }
  }
}

TEST(ErrorLines, WordsBehindWhatAPreviewShowsDoNotCount) {
  EXPECT_EQ(error_tier(std::string(2000, 'x') + " error: late"), ErrorTier::none);
  EXPECT_EQ(error_tier(std::string(9000, 'x') + " error: later"), ErrorTier::none);
}

}  // namespace
}  // namespace ebla::context
