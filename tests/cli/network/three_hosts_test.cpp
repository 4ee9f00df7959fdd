#include <future>
#include <map>

#include "core/text.hpp"
#include "tests/cli/network/federation.hpp"
#include "tests/support/skip.hpp"

// Runs docs/three-hosts.md: each block on its host, a network namespace with its own folder.

namespace fedstride::test::three_hosts_test {
namespace {

bool shell_does(const std::string& command) { return std::system((command + " >/dev/null 2>&1").c_str()) == 0; }

struct Block {
  std::string host;
  bool in_background = false;
  std::string commands;
};

/// The blocks "```sh HOST" of the page, in order.
std::vector<Block> blocks() {
  std::vector<Block> all;
  bool inside = false;
  const std::string page = read_file(FEDSTRIDE_SOURCE_DIR "/docs/three-hosts.md");
  for (const auto line : split(page, '\n')) {
    if (line.starts_with("```sh ")) {
      const bool in_background = line.ends_with(" &");
      all.push_back({std::string(line.substr(6, line.size() - 6 - (in_background ? 2 : 0))), in_background, {}});
      inside = true;
    } else if (line == "```") {
      inside = false;
    } else if (inside) {
      all.back().commands += std::string(line) + "\n";
    }
  }
  return all;
}

/// The coordinator's namespace with a cable to each of the others.
class Hosts {
 public:
  Hosts() {
    made_ = shell_does("ip netns add " + space("coordinator.example"));
    int number = 8;
    for (const std::string host : {"north.example", "south.example"}) {
      const std::string end = space(host), middle = space("coordinator.example");
      const std::string near = "fsc" + std::to_string(getpid()) + std::to_string(number),
                        net = "10.213." + std::to_string(number);
      made_ = made_ && shell_does("ip netns add " + end) && shell_does("ip link add " + near + " type veth peer name " + end) &&
              shell_does("ip link set " + near + " netns " + middle) && shell_does("ip link set " + end + " netns " + end) &&
              shell_does("ip -n " + middle + " address add " + net + ".1/24 dev " + near) &&
              shell_does("ip -n " + end + " address add " + net + ".2/24 dev " + end) &&
              shell_does("ip -n " + middle + " link set " + near + " up") &&
              shell_does("ip -n " + end + " link set " + end + " up");
      coordinator_seen_from_[host] = net + ".1";
      ++number;
    }
    for (const std::string host : {"coordinator.example", "north.example", "south.example"})
      std::filesystem::create_directories(home(host));
    std::filesystem::create_directories(root_ / "bin");
    std::filesystem::create_symlink(FEDSTRIDE_PROGRAM, root_ / "bin/fedstride");
    // Replaces a copy over the network by a local one: HOST:PATH is PATH in that host's folder.
    write_file(root_ / "bin/scp",
               "#!/bin/sh\nfor last; do :; done\nto=\"" + root_.path().string() +
                   "/${last%%:*}/${last#*:}\"\nwhile [ $# -gt 1 ]; do cp \"$1\" \"$to\" || exit 1; shift; done\n");
    std::filesystem::permissions(root_ / "bin/scp", std::filesystem::perms::owner_exec, std::filesystem::perm_options::add);
  }
  ~Hosts() {
    for (const std::string host : {"coordinator.example", "north.example", "south.example"})
      shell_does("ip netns del " + space(host));
  }
  Hosts(const Hosts&) = delete;
  Hosts& operator=(const Hosts&) = delete;

  bool made() const { return made_; }
  std::string home(const std::string& host) const { return root_ / host; }
  std::string coordinator_seen_from(const std::string& host) const { return coordinator_seen_from_.at(host); }

  /// The command line that runs commands on a host. There is no name service: the coordinator's name is replaced by its address.
  std::string on(const std::string& host, const std::string& commands, const std::string& name) const {
    std::string text = "set -eu\ncd '" + home(host) + "'\nPATH='" + (root_ / "bin") + "':$PATH\n" + commands;
    const std::string called = "--connect coordinator.example:";
    if (const auto at = text.find(called); at != text.npos)
      text.replace(at, called.size(), "--connect " + coordinator_seen_from(host) + ":");
    const std::string script = root_ / (name + ".sh");
    write_file(script, text);
    return "timeout 300 nsenter --net=/run/netns/" + space(host) + " bash '" + script + "' >'" + (root_ / (name + ".log")) +
           "' 2>&1";
  }
  std::string log(const std::string& name) const {
    const std::string file = root_ / (name + ".log");
    return std::filesystem::exists(file) ? read_file(file) : std::string();
  }

 private:
  static std::string space(const std::string& host) { return "fs" + host.substr(0, 1) + std::to_string(getpid()); }

  TemporaryFolder root_;
  bool made_ = false;
  std::map<std::string, std::string> coordinator_seen_from_;
};

}  // namespace

TEST_CASE("docs/three-hosts.md, run as written in three network namespaces, produces a model") {
  const Hosts hosts;
  if (!hosts.made() || !shell_does("command -v nsenter"))
    FEDSTRIDE_SKIP("network namespaces cannot be made here (root with ip and nsenter can)");
  write_table(hosts.home("coordinator.example") + "/public", 90, 60);
  write_table(hosts.home("north.example") + "/rows", 60, 0);
  write_table(hosts.home("south.example") + "/rows", 120, 0);
  for (const std::string host : {"north.example", "south.example"}) std::filesystem::remove(hosts.home(host) + "/rows/test.csv");

  std::vector<std::pair<std::string, std::future<int>>> running;
  int number = 0;
  for (const Block& block : blocks()) {
    const std::string name = std::to_string(number++) + "-" + block.host;
    const std::string command = hosts.on(block.host, block.commands, name);
    if (block.in_background) {
      running.emplace_back(name, std::async(std::launch::async, [command] { return std::system(command.c_str()); }));
      if (block.host != "coordinator.example") continue;
      REQUIRE(eventually([&] { return hosts.log(name).find("status page") != std::string::npos; }));
      // The page requires the token from another machine.
      const auto page = [&](const std::string& header) {
        const std::string ask = "exec 3<>/dev/tcp/" + hosts.coordinator_seen_from("north.example") +
                                "/7001\nprintf 'GET /status HTTP/1.1\\r\\nHost: x\\r\\n" + header + "\\r\\n' >&3\ncat <&3\n";
        CHECK(std::system(hosts.on("north.example", ask, "page").c_str()) == 0);
        return hosts.log("page");
      };
      CHECK(page("").starts_with("HTTP/1.1 401 "));
      const std::string token(trimmed(read_file(hosts.home("coordinator.example") + "/status.token")));
      CHECK(page("Authorization: Bearer " + token + "\\r\\n").starts_with("HTTP/1.1 200 "));
    } else {
      const int code = std::system(command.c_str());
      REQUIRE_MESSAGE(code == 0, block.commands << hosts.log(name));
    }
  }
  CHECK(running.size() == 3);
  for (auto& one : running) {
    const int ended = one.second.get();
    CHECK_MESSAGE(ended == 0, one.first << ": " << hosts.log(one.first));
  }
  const std::string out = hosts.home("coordinator.example") + "/federation";
  CHECK(rounds_of(out).size() == 5);
  CHECK(std::filesystem::exists(out + "/model.safetensors"));
  // Keys have stayed where they were made.
  for (const auto& file : contents(hosts.home("coordinator.example")))
    if (file.second.find("PRIVATE KEY") != std::string::npos)
      CHECK_MESSAGE((file.first.ends_with("/authority.key") || file.first.ends_with("/coordinator.key")), file.first);
  CHECK(std::filesystem::exists(hosts.home("north.example") + "/mine/client-0.key"));
}

TEST_CASE("the units of examples/systemd pass systemd-analyze") {
  if (!shell_does("command -v systemd-analyze")) FEDSTRIDE_SKIP("there is no systemd-analyze here");
  const TemporaryFolder folder;
  for (const std::string unit : {"fedstride-coordinator.service", "fedstride-client@.service"}) {
    std::string text = read_file(FEDSTRIDE_SOURCE_DIR "/examples/systemd/" + unit);
    const std::string program = "/usr/bin/fedstride";
    for (auto at = text.find(program); at != text.npos; at = text.find(program))
      text.replace(at, program.size(), FEDSTRIDE_PROGRAM);
    const std::string file = folder / (unit == "fedstride-client@.service" ? "fedstride-client@3.service" : unit);
    write_file(file, text);
    const int code = std::system(
        ("systemd-analyze verify --man=no --recursive-errors=no '" + file + "' >'" + (folder / "said") + "' 2>&1").c_str());
    const std::string said = read_file(folder / "said");
    CHECK_MESSAGE(code == 0, said);
    CHECK_MESSAGE(said.empty(), said);
    // Every flag in it exists in the program.
    const auto from = text.find("ExecStart=");
    const std::string command = text.find(" serve ", from) != text.npos ? "serve" : "join";
    const std::string help = run_program({command, "--help"}).out;
    std::string line = text.substr(from, text.find("\nExec", from + 1) - from);
    line = line.substr(0, line.find("\nRestart"));
    for (const auto word : split(line, ' '))
      if (trimmed(word).starts_with("--")) CHECK_MESSAGE(help.find(std::string(trimmed(word)) + " ") != std::string::npos, word);
  }
}

}  // namespace fedstride::test::three_hosts_test
