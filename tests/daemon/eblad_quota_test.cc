// Limits of store, files and sessions, as programs on a mount and clients of the socket meet them.
#include "tests/daemon/eblad_fixture.h"

namespace ebla::daemon {
namespace {

class EbladQuotaTest : public EbladFixture {
 protected:
  Eblad::Setup limited(std::vector<std::string> limits) const {
    Eblad::Setup setup = mounted();
    setup.arguments.insert(setup.arguments.end(), limits.begin(), limits.end());
    return setup;
  }
  // What a program says that writes so many bytes; empty when it could.
  std::string write(const std::string& name, int bytes) const {
    return kit::shell("head -c " + std::to_string(bytes) + " /dev/zero > " + mount_ + "/" + name)
        .output;
  }
};

TEST_F(EbladQuotaTest, ProgramsGetTheErrnoThatTheyKnow) {
  EBLA_NEED_DEVICE();
  Eblad eblad(
      limited({"--file-limit", "100K", "--session-limit", "150000", "--session-files", "5"}));
  ASSERT_TRUE(eblad.ready()) << eblad.log();
  Client client(socket_);
  const std::string folder =
      text_of(client.must("session.open", R"({"key":"s"})"), "folder").substr(1) + "/";
  EXPECT_EQ(write("free", 102'400), "");
  EXPECT_NE(write("free", 102'401).find("File too large"), std::string::npos);
  EXPECT_EQ(write(folder + "a", 100'000), "");
  EXPECT_NE(write(folder + "b", 60'000).find("Disk quota exceeded"), std::string::npos);
  // b is there, with what it got.
  EXPECT_EQ(kit::shell("rm " + mount_ + "/" + folder + "b && touch " + mount_ + "/" + folder +
                       "b " + mount_ + "/" + folder + "c")
                .output,
            "");
  EXPECT_NE(kit::shell("touch " + mount_ + "/" + folder + "d").output.find("Disk quota exceeded"),
            std::string::npos);
  const CallAnswer evicted =
      client.call("evict", evict_params("x", R"(,"session":"s")"), {kit::prose(90'000)});
  EXPECT_EQ(evicted.error, "no_space");
  EXPECT_NE(evicted.text.find("--session-"), std::string::npos) << evicted.text;
  const CallAnswer written =
      client.call("fs.write", R"({"path":"/free2","content":{"$blob":0}})", {kit::prose(110'000)});
  EXPECT_EQ(written.error, "too_large") << written.text;
  const Json limits = *client.must("stats", "{}").find("limits");
  EXPECT_EQ(number_of(limits, "file_bytes"), 102'400u);
  EXPECT_EQ(number_of(limits, "session_bytes"), 150'000u);
  EXPECT_EQ(number_of(limits, "store_bytes"), 0u);
  EXPECT_EQ(eblad.stop(), kExitOk);
}

TEST_F(EbladQuotaTest, AMountIsAsLargeAsItsStoreMayBe) {
  EBLA_NEED_DEVICE();
  Eblad eblad(limited({"--store-limit", "20M"}));
  ASSERT_TRUE(eblad.ready()) << eblad.log();
  EXPECT_EQ(kit::shell("df --output=size -B1M " + mount_ + " | tail -n 1 | tr -d ' '").output,
            "20\n");
  const std::string said = write("large", 40'000'000);
  EXPECT_NE(said.find("No space left on device"), std::string::npos) << said;
  EXPECT_EQ(kit::shell("rm " + mount_ + "/large").output, "");
  EXPECT_EQ(eblad.stop(), kExitOk);
}

TEST_F(EbladQuotaTest, SizesThatAreNone) {
  for (const char* size : {"", "x", "1.5G", "-1", "1KB", "2000T", "99999999999999999999"}) {
    Eblad::Setup setup = unmounted();
    setup.arguments.insert(setup.arguments.end(), {"--store-limit", size});
    Eblad eblad(setup);
    EXPECT_FALSE(eblad.ready()) << size;
    EXPECT_EQ(eblad.wait(), kExitBadConfiguration) << eblad.log();
    EXPECT_NE(eblad.log().find("0 to 1024T"), std::string::npos) << eblad.log();
  }
}

}  // namespace
}  // namespace ebla::daemon
