#include <filesystem>

#include "tests/cli/network/federation.hpp"

namespace fedstride::test::network_partition_file_test {
namespace {

/// Rows assigned by a file that only the coordinator has.
void check_told(const std::string& partition, const std::string& contents, const Words& more) {
  const TemporaryFolder place;
  const std::string file = place / "partition.json", away = place / "away.json";
  write_file(file, contents);
  Words settings{"--rounds", "3", "--partition", partition, partition == "file" ? "--partition-file" : "--distribution-file",
                 file};
  settings.insert(settings.end(), more.begin(), more.end());
  const Federation federation(settings);
  const Party coordinator = federation.serve();
  std::filesystem::rename(file, away);
  const auto clients = federation.join_all();
  CHECK(coordinator.wait() == 0);
  for (const Party& client : clients) CHECK(client.wait() == 0);
  std::filesystem::rename(away, file);
  federation.check_undisturbed();
}

void check_told(const Words& more) {
  std::string lists[3];
  for (int row = 0; row < 180; ++row) {
    std::string& list = lists[row % 7 < 4 ? 0 : row % 7 < 6 ? 1 : 2];
    list += (list.empty() ? "" : ",") + std::to_string(row);
  }
  check_told("file", "{\"clients\": [[" + lists[0] + "],[" + lists[1] + "],[" + lists[2] + "]]}", more);
}

}  // namespace

TEST_CASE("only the coordinator needs the partition file; the model is that of a run with it") {
  check_told({"--optimizer", "adadp"});
}

TEST_CASE("the same for a file of label distributions, with feature noise that depends on the client's number") {
  check_told("label-distribution", "0.8,0.1,0.1\n0.2,0.6,0.2\n0.3,0.3,0.4\n",
             {"--optimizer", "sgd", "--feature-skew", "noise", "--noise-level", "0.5", "--client-test", "0.2", "--personal",
              "fine-tune"});
}

TEST_CASE("the same under privacy, with noise calibrated for clients of every size") {
  check_told(
      {"--optimizer", "sgd", "--dp", "example", "--epsilon", "5", "--clip", "0.5", "--batch", "6", "--randomness", "seeded"});
}

TEST_CASE("the same for the rows on which clients test their personal models") {
  check_told({"--optimizer", "sgd", "--client-test", "0.2", "--personal", "ditto"});
}

TEST_CASE("a client refuses impossible row assignments in one line") {
  const TemporaryFolder place;
  std::string rows = "0";
  for (int row = 1; row < 180; ++row) rows += "," + std::to_string(row);
  write_file(place / "partition.json", "{\"clients\": [[" + rows + "]]}");
  const Federation federation(
      {"--rounds", "2", "--optimizer", "sgd", "--partition", "file", "--partition-file", place / "partition.json"}, 1);
  const Party coordinator = federation.serve();
  const Introduction known = introduce(federation, 0);
  CHECK(known.welcome.rows.size() == 180);
  CHECK(known.welcome.row_counts == std::vector<std::uint64_t>{180});
  const auto refused = [&](auto change, const auto&... parts) {
    Welcome welcome = known.welcome;
    change(welcome);
    const Socket listener = listening(0);
    const Party client = federation.join(0, port_of(listener.get()));
    const Peer peer(Socket(accept(listener.get(), nullptr, nullptr)));
    CHECK(peer.hear<Hello>());
    peer.say(welcome);
    CHECK(client.wait() == 1);
    CHECK(client.says(parts...));
  };
  refused([](Welcome& w) { w.rows[5] = 180; }, "client 0", "row 180", "179");
  refused([](Welcome& w) { w.rows[5] = 7; }, "client 0", "row 7");
  refused([](Welcome& w) { w.rows.pop_back(); }, "client 0", "179 rows", "180");
  refused([](Welcome& w) { w.row_counts = {179}; }, "client 0", "180 rows", "179");
  refused([](Welcome& w) { w.rows.clear(), w.row_counts = {0}; }, "client 0", "0 rows");
  refused([](Welcome& w) { w.row_counts.push_back(3); }, "2 clients", "1");
}

}  // namespace fedstride::test::network_partition_file_test
