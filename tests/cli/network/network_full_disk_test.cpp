#include "tests/cli/network/federation.hpp"

namespace fedstride::test::network_full_disk_test {

TEST_CASE("a client with a full disk leaves with one line, and can rejoin when there is space") {
  // A client's Adam state is twice the size of the model: far more than 20 kB, while everything else fits.
  const Federation federation(
      {"--model", "dense 2000 | relu | dense classes", "--optimizer", "adam", "--client-state", "keep", "--rounds", "3"});
  const Party coordinator = federation.serve();
  std::vector<Party> clients;
  for (const int client : {0, 1}) clients.push_back(federation.join(client));
  const Party full(federation.join_words(2), 20'000);
  CHECK(full.wait() == 1);
  const std::string last = full.err().substr(full.err().find("fedstride: "));
  CHECK_MESSAGE(names(last, {federation.client_folder(2) + "/memory", "File too large"}), last);
  CHECK(coordinator.says("client 2", "left"));
  CHECK(rounds_of(federation.out()).empty());
  clients.push_back(federation.join(2));
  CHECK(coordinator.wait() == 0);
  for (const Party& client : clients) CHECK(client.wait() == 0);
  federation.check_undisturbed();
}

TEST_CASE("a coordinator with a full disk stops with one line, and resumes with its clients when there is space") {
  const Federation federation({"--optimizer", "adadp", "--rounds", "60"});
  const auto clients = federation.join_all();
  {
    const Party full = federation.serve({}, 20'000);
    CHECK(full.wait() == 1);
    const std::string last = full.err().substr(full.err().find("fedstride: "));
    CHECK_MESSAGE(names(last, {federation.out() + "/rounds.jsonl", "File too large"}), last);
  }
  const std::size_t done = rounds_of(federation.out()).size();
  CHECK(done > 0);
  CHECK(done < 60);
  const Party coordinator = federation.serve();
  CHECK(coordinator.wait() == 0);
  for (const Party& client : clients) CHECK(client.wait() == 0);
  federation.check_undisturbed();
}

}  // namespace fedstride::test::network_full_disk_test
