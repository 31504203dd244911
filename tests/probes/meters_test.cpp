// Addresses of meters on the network. What they answer, and what goes wrong with them: system.meters.
#include <gtest/gtest.h>

#include "probes/meters/http_client.hpp"

namespace dvfs_plan {
namespace {

TEST(HttpPlace, IsReadWithItsParts) {
  HttpPlace place;
  ASSERT_TRUE(parse_http_place("http://192.168.1.20", place));
  EXPECT_FALSE(place.tls);
  EXPECT_EQ(place.host + "|" + place.port + "|" + place.path, "192.168.1.20|80|");
  ASSERT_TRUE(parse_http_place("https://bmc.example/redfish/v1/Chassis/1/", place));
  EXPECT_TRUE(place.tls);
  EXPECT_EQ(place.host + "|" + place.port + "|" + place.path, "bmc.example|443|/redfish/v1/Chassis/1");
  ASSERT_TRUE(parse_http_place("https://[fe80::1]:8443/x", place));
  EXPECT_EQ(place.host + "|" + place.port + "|" + place.path, "fe80::1|8443|/x");
  ASSERT_TRUE(parse_http_place("http://[::1]", place));
  EXPECT_EQ(place.host + "|" + place.port, "::1|80");
}

TEST(HttpPlace, IsRefusedWhereItIsNone) {
  HttpPlace place;
  for (const char* const text :
       {"", "192.168.1.20", "ftp://x", "http://", "http://:80", "http://x:", "http://x:port",
        "http://x:123456", "http://user:password@x", "http://x/?a=b", "http://x y", "http://x\r\nHost: y"})
    EXPECT_FALSE(parse_http_place(text, place)) << text;
}

}  // namespace
}  // namespace dvfs_plan
