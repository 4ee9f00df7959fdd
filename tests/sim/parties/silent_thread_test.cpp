// A coordinator whose network thread hangs: neither prober nor service manager takes it for alive.
#include <doctest/doctest.h>

#include "sim/parties/serve.hpp"
#include "tests/sim/run/csv_runs.hpp"
#include "tests/support/service_manager.hpp"
#include "tests/support/sockets.hpp"

namespace fedstride::test::silent_thread_test {
namespace {

bool eventually(const auto& condition) {
  for (int i = 0; i < 6000; ++i) {
    if (condition()) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return false;
}

}  // namespace

TEST_CASE("while the network thread hangs, /healthz says so and the watchdog is not fed") {
  const TemporaryFolder folder;
  write_data(folder);
  const ServiceManager manager(folder / "notify");
  REQUIRE(manager.is_there());
  std::atomic<bool> hangs{false}, is_hanging{false}, stop{false};
  std::atomic<int> at{0}, page{0};
  ServeOptions options;
  options.listen = {"127.0.0.1", 0};
  options.status = Endpoint{"127.0.0.1", 0};
  options.heartbeat = 0.1;
  // The fault of a stranger is logged by the network thread.
  options.log = [&](const std::string& line) {
    if (line.find("did not send a fedstride frame") == line.npos) return;
    is_hanging = true;
    while (hangs) std::this_thread::sleep_for(std::chrono::milliseconds(5));
  };
  options.listening = [&](std::uint16_t port, std::optional<std::uint16_t> status_port) {
    page = status_port.value_or(0);
    at = port;
  };
  const Settings settings = settings_for(folder, "out", "");
  RunObserver observer;
  observer.stop = &stop;
  std::jthread coordinator([&] { serve(resolve(settings), settings, options, observer); });
  struct End {  // before the thread is joined, also if a check fails
    std::atomic<bool>&hangs, &stop;
    ~End() { hangs = false, stop = true; }
  } const end{hangs, stop};
  REQUIRE(eventually([&] { return at > 0; }));
  const auto health = [&] {
    const Socket socket = calling(static_cast<std::uint16_t>(page));
    send_all(socket.get(), "GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n");
    const std::string all = receive(socket.get(), 1 << 16);
    return all.substr(std::min(all.size(), all.rfind("\r\n\r\n") + 4));
  };
  CHECK(health() == "ok\n");
  CHECK(eventually([&] { return manager.next() == "WATCHDOG=1"; }));

  hangs = true;
  const Socket stranger = calling(static_cast<std::uint16_t>(at));
  REQUIRE(send_all(stranger.get(), std::string(32, 'x')));
  REQUIRE(eventually([&] { return is_hanging.load(); }));
  CHECK(eventually([&] { return health() == "network-thread-silent\n"; }));
  while (!manager.next().empty()) continue;
  std::this_thread::sleep_for(std::chrono::milliseconds(2500));
  CHECK(manager.next().empty());

  hangs = false;
  CHECK(eventually([&] { return health() == "ok\n"; }));
  CHECK(eventually([&] { return manager.next() == "WATCHDOG=1"; }));
}

}  // namespace fedstride::test::silent_thread_test
