#include "sim/net/service_manager.hpp"

#include <doctest/doctest.h>
#include <unistd.h>

#include "tests/support/folder.hpp"
#include "tests/support/service_manager.hpp"

namespace fedstride::test::service_manager_test {

TEST_CASE("a service manager hears each state, by a path or an abstract name") {
  const TemporaryFolder folder;
  for (const std::string& name : {folder / "notify", "@fedstride-test-" + std::to_string(getpid())}) {
    CAPTURE(name);
    const ServiceManager manager(name);
    REQUIRE(manager.is_there());
    notify_service_manager("READY=1");
    notify_service_manager("STOPPING=1");
    CHECK(manager.next() == "READY=1");
    CHECK(manager.next() == "STOPPING=1");
    CHECK(manager.next().empty());
  }
}

TEST_CASE("without a service manager, or with a name that cannot be one, nothing happens") {
  notify_service_manager("READY=1");
  for (const std::string& name : {std::string(), std::string("@"), std::string("relative"), std::string(200, '/')}) {
    ::setenv("NOTIFY_SOCKET", name.c_str(), 1);
    notify_service_manager("READY=1");
  }
  ::unsetenv("NOTIFY_SOCKET");
}

}  // namespace fedstride::test::service_manager_test
