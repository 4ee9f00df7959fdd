#include "core/text.hpp"
#include "tests/cli/network/federation.hpp"
#include "tests/support/sockets.hpp"

// Runs docs/hospitals.md, its blocks as one script in one folder.

namespace fedstride::test::hospitals_test {
namespace {

std::string script() {
  const std::string page = read_file(FEDSTRIDE_SOURCE_DIR "/docs/hospitals.md");
  std::string all = "set -eu\n";
  bool inside = false, in_background = false;
  std::string command;
  for (const auto line : split(page, '\n')) {
    if (line.starts_with("```")) {
      if (inside && in_background) all += "for job in $(jobs -p); do wait $job; done\n";
      inside = line.starts_with("```sh");
      in_background = line.ends_with(" &");
      continue;
    }
    if (!inside) continue;
    command += std::string(line) + "\n";
    if (line.ends_with("\\")) continue;
    command.pop_back();
    all += std::exchange(command, {}) + (in_background ? " &\n" : "\n");
  }
  const std::string address = "127.0.0.1:7000", free = "127.0.0.1:" + std::to_string(port_of(listening(0).get()));
  for (auto at = all.find(address); at != all.npos; at = all.find(address, at + free.size()))
    all.replace(at, address.size(), free);
  return all;
}

}  // namespace

TEST_CASE("docs/hospitals.md, run as written: four tables, patients, four processes with TLS, tests and predictions") {
  const TemporaryFolder folder;
  REQUIRE(
      std::system(("/usr/bin/python3 '" FEDSTRIDE_SOURCE_DIR "/examples/data/hospitals_csv.py' '" + folder.path().string() + "'")
                      .c_str()) == 0);
  std::filesystem::create_directories(folder / "bin");
  std::filesystem::create_symlink(FEDSTRIDE_PROGRAM, folder / "bin/fedstride");
  write_file(folder / "all.sh", script());
  const int code =
      std::system(("cd '" + folder.path().string() + "' && PATH=\"$PWD/bin:$PATH\" timeout 300 bash all.sh >log 2>&1").c_str());
  const std::string log = read_file(folder / "log");
  REQUIRE_MESSAGE(code == 0, log);
  const Json summary = Json::parse(read_file(folder / "federation/summary.json"));
  CHECK(summary["rounds"] == 10);
  CHECK(summary["test_accuracy"] > 0.6);
  const double epsilon = summary["privacy"][0]["epsilon"];
  CHECK(epsilon > 2.5);
  CHECK(epsilon <= 3);
  std::string last;
  const std::string rounds = read_file(folder / "federation/rounds.jsonl");
  for (const auto line : split(rounds, '\n'))
    if (!line.empty()) last = line;
  CHECK(Json::parse(last)["test_auc"] > 0.6);
  // A line for each visit, and no patient's number.
  const std::string visits = read_file(folder / "new/pecs.csv"), predictions = read_file(folder / "predictions.csv");
  CHECK(std::ranges::count(visits, '\n') == std::ranges::count(predictions, '\n'));
  CHECK(predictions.find("yes") != predictions.npos);
  CHECK(log.find("auc") != log.npos);
  // The rosters say how many patients there are, not who.
  CHECK(
      Json::parse(read_file(folder / "roster.jsonl").substr(0, read_file(folder / "roster.jsonl").find('\n')))["users"].size() ==
      3);
}

}  // namespace fedstride::test::hospitals_test
