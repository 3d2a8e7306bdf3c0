#include "context/item/doors.h"

#include <gtest/gtest.h>

namespace ebla::context {
namespace {

TEST(Doors, NothingDeclaredMeansShellOrCli) {
  EXPECT_TRUE(doors_of(std::nullopt, true)->shell);
  EXPECT_FALSE(doors_of(std::nullopt, true)->cli);
  EXPECT_TRUE(doors_of(std::nullopt, false)->cli);
  EXPECT_FALSE(doors_of(std::nullopt, false)->shell);
}

TEST(Doors, DeclaredOnesAlone) {
  EXPECT_TRUE(doors_of("{}", true)->none());
  const auto doors = doors_of(R"({"read":"read_file","grep":"grep","shell":false})", true);
  ASSERT_TRUE(doors);
  EXPECT_FALSE(doors->shell);
  EXPECT_EQ(doors->read_tool, "read_file");
  EXPECT_EQ(doors->grep_tool, "grep");
  EXPECT_TRUE(doors_of(R"({"shell":true,"cli":true,"read":null})", false)->cli);
}

TEST(Doors, OthersAreRefusedWithTheReason) {
  for (const char* json : {"[]", "5", "", "{", R"({"shel":true})", R"({"shell":1})",
                           R"({"read":true})", R"({"read":""})", R"({"cli":"yes"})"}) {
    const auto doors = doors_of(json, true);
    ASSERT_FALSE(doors) << json;
    EXPECT_EQ(doors.error().code, Code::invalid_params);
    EXPECT_NE(doors.error().text.find("shell and cli"), std::string::npos);
  }
  EXPECT_FALSE(doors_of("{\"grep\":\"" + std::string(257, 'x') + "\"}", true));
}

TEST(Location, HostPaths) {
  EXPECT_EQ((Location{"/mnt/e", "/"}.host_path("/large_tool_results/x")),
            "/mnt/e/large_tool_results/x");
  EXPECT_EQ((Location{"/results", "/large_tool_results"}.host_path("/large_tool_results/x")),
            "/results/x");
  EXPECT_EQ((Location{"/results", "/large_tool_results"}.host_path("/large_tool_results")),
            "/results");
  EXPECT_EQ((Location{"", "/"}.host_path("/large_tool_results/x")), "/large_tool_results/x");
}

}  // namespace
}  // namespace ebla::context
