#include "tests/cli/network/federation.hpp"

namespace fedstride::test::network_full_disk_test {

TEST_CASE("a client whose disk is full leaves in one line, and takes part again when there is room") {
  // A client's state of Adam is twice the model: far more than 20 kB, which all else fits in.
  const Federation federation(
      {"--model", "dense 2000 | relu | dense classes", "--optimizer", "adam", "--client-state", "keep", "--rounds", "3"});
  const Party coordinator = federation.serve();
  std::vector<Party> clients;
  for (const int client : {0, 1}) clients.push_back(federation.join(client));
  const Party full(federation.join_words(2), 20'000);
  CHECK(full.wait() == 1);
  const std::string last = full.err().substr(full.err().find("fedstride: "));
  CHECK(last == "fedstride: cannot write '" + federation.client_folder(2) + "/memory': File too large\n");
  CHECK(coordinator.says("it left: it cannot go on; its own log says why"));
  CHECK(rounds_of(federation.out()).empty());
  clients.push_back(federation.join(2));
  CHECK(coordinator.wait() == 0);
  for (const Party& client : clients) CHECK(client.wait() == 0);
  federation.check_undisturbed();
}

TEST_CASE("a coordinator whose disk is full stops in one line, and goes on with its clients when there is room") {
  const Federation federation({"--optimizer", "adadp", "--rounds", "60"});
  const auto clients = federation.join_all();
  {
    const Party full = federation.serve({}, 20'000);
    CHECK(full.wait() == 1);
    const std::string last = full.err().substr(full.err().find("fedstride: "));
    CHECK(last == "fedstride: cannot write '" + federation.out() + "/rounds.jsonl': File too large\n");
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
