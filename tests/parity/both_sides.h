// The same work on a mount of a store on disk and in a folder of the native file system. One mount
// serves all tests of a program; each works in folders of its own.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "tests/kit/mounted_child.h"
#include "tests/kit/temp_dir.h"

namespace ebla::kit {

class BothSides : public ::testing::Test {
 protected:
  static void SetUpTestSuite();
  static void TearDownTestSuite();
  // Makes the two folders, or skips the test.
  void SetUp() override;
  void TearDown() override;

  const std::string& mounted() const { return mounted_; }
  const std::string& native() const { return native_; }

  // Names, kinds, modes, owners, link counts, sizes, targets and contents of all that a folder
  // holds.
  static std::string tree_of(const std::string& folder);
  // Runs a shell script in both; outputs, exit statuses and trees must be equal.
  void expect_same(const std::string& script);

 private:
  static std::unique_ptr<TempDir> folder;
  static std::unique_ptr<MountedChild> child;
  std::string mounted_;
  std::string native_;
};

}  // namespace ebla::kit
