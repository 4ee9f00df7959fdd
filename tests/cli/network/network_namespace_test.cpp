#include <fcntl.h>
#include <sched.h>

#include "tests/cli/network/federation.hpp"
#include "tests/support/skip.hpp"

namespace fedstride::test::network_namespace_test {
namespace {

bool shell(const std::string& command) { return std::system((command + " >/dev/null 2>&1").c_str()) == 0; }

/// Two network namespaces connected by a cable.
class Cable {
 public:
  Cable() {
    made_ = shell("ip netns add " + left_) && shell("ip netns add " + right_) &&
            shell("ip link add " + left_ + " type veth peer name " + right_) &&
            shell("ip link set " + left_ + " netns " + left_) && shell("ip link set " + right_ + " netns " + right_) &&
            shell("ip -n " + left_ + " address add 10.213.7.1/24 dev " + left_) &&
            shell("ip -n " + right_ + " address add 10.213.7.2/24 dev " + right_) &&
            shell("ip -n " + left_ + " link set " + left_ + " up") && plug(true);
  }
  ~Cable() {
    shell("ip netns del " + left_);
    shell("ip netns del " + right_);
  }
  Cable(const Cable&) = delete;
  Cable& operator=(const Cable&) = delete;

  bool made() const { return made_; }
  bool plug(bool in) const { return shell("ip -n " + right_ + " link set " + right_ + (in ? " up" : " down")); }
  /// From now on, packets in both directions are delayed and some are lost.
  bool worsen() const {
    const auto worsened = [](const std::string& end) {
      return shell("tc -n " + end + " qdisc add dev " + end + " root netem delay 10ms 5ms loss 3%");
    };
    return worsened(left_) && worsened(right_);
  }
  const std::string& left() const { return left_; }
  const std::string& right() const { return right_; }

 private:
  std::string left_ = "fsl" + std::to_string(getpid());
  std::string right_ = "fsr" + std::to_string(getpid());
  bool made_ = false;
};

/// During its lifetime, processes started by this thread are in that namespace.
class Inside {
 public:
  explicit Inside(const std::string& name) {
    const int there = open(("/run/netns/" + name).c_str(), O_RDONLY | O_CLOEXEC);
    if (setns(there, CLONE_NEWNET) != 0) std::abort();
    close(there);
  }
  ~Inside() {
    if (setns(home_, CLONE_NEWNET) != 0) std::abort();
    close(home_);
  }
  Inside(const Inside&) = delete;
  Inside& operator=(const Inside&) = delete;

 private:
  int home_ = open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC);
};

/// Coordinator at one end, clients at the other; the cable is unplugged for longer than the silence limit.
void check_federation(const Cable& cable, int rounds) {
  Federation federation({"--optimizer", "adadp", "--rounds", std::to_string(rounds)});
  federation.use_certificates();
  const std::string address = "10.213.7.1:" + std::to_string(federation.port());
  const Party coordinator = [&] {
    const Inside left(cable.left());
    Words words = federation.serve_words({"--heartbeat", "0.3"});
    *(std::ranges::find(words, "--listen") + 1) = address;
    return Party(words);
  }();
  REQUIRE(coordinator.says("listening at"));
  std::vector<Party> clients;
  for (int client = 0; client < federation.clients(); ++client) {
    const Inside right(cable.right());
    clients.push_back(federation.join_with(client, {"--connect", address}));
  }
  REQUIRE(federation.reaches(2));
  REQUIRE(cable.plug(false));
  CHECK(coordinator.says("silent for 1.2 s"));
  for (const Party& client : clients) CHECK(client.says("silent for 1.2 s"));
  CHECK(rounds_of(federation.out()).size() < static_cast<std::size_t>(rounds));
  REQUIRE(cable.plug(true));
  CHECK(coordinator.wait() == 0);
  for (const Party& client : clients) CHECK(client.wait() == 0);
  federation.check_undisturbed();
}

}  // namespace

TEST_CASE("a cable unplugged for longer than the silence limit leaves every round's model unchanged") {
  const Cable cable;
  if (!cable.made()) FEDSTRIDE_SKIP("network namespaces cannot be made here (root with ip can)");
  check_federation(cable, 150);
}

TEST_CASE("so does a cable with delay and packet loss") {
  const Cable cable;
  if (!cable.made() || !cable.worsen())
    FEDSTRIDE_SKIP("network namespaces with delay and loss cannot be made here (root with ip, tc and netem can)");
  check_federation(cable, 30);
}

}  // namespace fedstride::test::network_namespace_test
