#include <doctest/doctest.h>

#include "core/files.hpp"
#include "core/text.hpp"
#include "data/datasets.hpp"
#include "dp/ledger/ledger.hpp"
#include "dp/ledger/ledger_file.hpp"
#include "partitions/own_rows.hpp"
#include "tests/sim/parties/loopback.hpp"
#include "tests/support/json.hpp"
#include "tests/support/refusal.hpp"

namespace fedstride::test::own_rows_test {

namespace fs = std::filesystem;

namespace {

/// The coordinator's table, its rows divided into the tables of three clients (30, 60 and 90 rows), and the assignment in two forms: by
/// row numbers, and by a roster.
struct OwnRowsFederation {
  test::TemporaryFolder folder;
  std::string roster;

  OwnRowsFederation() {
    test::write_data(folder);
    const std::string text = read_file(folder / "train.csv");
    std::string tables[3];
    std::string numbers[3];
    int row = 0;
    for (const auto line : split(text, '\n')) {
      if (line.empty()) continue;
      const std::size_t client = row % 6 == 0 ? 0 : row % 6 < 3 ? 1 : 2;
      tables[client] += std::string(line) + '\n';
      numbers[client] += (numbers[client].empty() ? "" : ",") + std::to_string(row);
      ++row;
    }
    std::string lines;
    for (ClientId client = 0; client < 3; ++client) {
      fs::create_directory(data(client));
      write_file(data(client) + "/train.csv", tables[client]);
      const DataOptions place{.data = data(client)};
      const DataPair own = load_own_rows("file", place);
      lines += roster_line(client, {own.train.size(), told_hash("file", place, own.hash)}) + '\n';
    }
    write_file(folder / "roster.jsonl", lines);
    write_file(folder / "partition.json", "{\"clients\": [[" + numbers[0] + "],[" + numbers[1] + "],[" + numbers[2] + "]]}");
    roster = "partition = 'own'\nroster = '" + (folder / "roster.jsonl") + "'\n";
  }
  std::string by_number() const { return "partition = 'file'\npartition-file = '" + (folder / "partition.json") + "'\n"; }
  std::string data(ClientId client) const { return folder / ("own-" + std::to_string(client)); }
  Loopback run(const std::string& out, const std::string& more, int rounds_of_a_session = 0) const {
    return over_loopback(folder, out, roster + more,
                         {.rounds_of_a_session = rounds_of_a_session, .data = [this](ClientId client) { return data(client); }});
  }
};

}  // namespace

TEST_CASE("rows that clients bring give the bits of a run that has them all, resumed or not") {
  const OwnRowsFederation federation;
  for (const std::string optimizer : {"adadp", "sgd"}) {
    CAPTURE(optimizer);
    const std::string kept = optimizer == "sgd" ? "" : "client-state = 'keep'\n";  // which has no state
    const std::string more = "rounds = 4\noptimizer = '" + optimizer + "'\n" + kept;
    start(settings_for(federation.folder, "run-" + optimizer, federation.by_number() + more));
    const Loopback first = federation.run("net-" + optimizer, more, 2);
    CHECK(first.summary.interrupted);
    const Loopback whole = federation.run("net-" + optimizer, more);
    CHECK(whole.summary.rounds == 4);
    CHECK(hashes(federation.folder / ("net-" + optimizer)) == hashes(federation.folder / ("run-" + optimizer)));
    CHECK_FALSE(fs::exists(federation.folder / ("net-" + optimizer + "/partition.json")));
    const auto summary = Json::parse(read_file(federation.folder / ("net-" + optimizer + "/summary.json")));
    CHECK(summary["training_rows"] == 180);
    for (const auto& line : test::lines(federation.folder / ("net-" + optimizer + "/rounds.jsonl")))
      CHECK(line["clients"][2]["rows"] == 90);
  }
}

TEST_CASE("all clients use the noise calibrated for all sizes, although none knows the others' sizes") {
  const OwnRowsFederation federation;
  const Loopback result = federation.run(
      "net", "dp = 'example'\nepsilon = 4\nclip = 0.5\nbatch = 6\noptimizer = 'adadp'\nrounds = 3\nrandomness = 'seeded'\n");
  CHECK(result.summary.rounds == 3);
  CHECK(result.summary.failures == 0);
  const auto book = [](const std::string& run) { return read_ledger(run + "/ledger.jsonl", {}, {}).book; };
  const auto whole = book(federation.folder / "net");
  for (ClientId client = 0; client < 3; ++client) {
    const Spending counted = whole.spent(client);
    const Spending own = book(federation.folder / ("net.clients/" + std::to_string(client))).spent(client);
    REQUIRE(own.size() == 1);
    REQUIRE(counted.size() == 1);
    CHECK(own[0].noise_multiplier == counted[0].noise_multiplier);
    CHECK(own[0].noise_multiplier == whole.spent(0)[0].noise_multiplier);
    CHECK(own[0].rate == counted[0].rate);
    CHECK(own[0].count == counted[0].count);
  }
  CHECK(whole.spent(0)[0].rate > whole.spent(2)[0].rate);
}

TEST_CASE("the accountant is valid for clients of every size, and is sent to them") {
  const OwnRowsFederation federation;
  // A lot of 30 is all of client 0's rows: for that client only, every accountant would be valid.
  const Loopback result = federation.run("net",
                                         "dp = 'example'\nnoise-multiplier = 2\nclip = 0.5\nbatch = 30\noptimizer = 'sgd'\n"
                                         "sampling = 'without-replacement'\nneighbours = 'replace-one'\nrounds = 2\n"
                                         "randomness = 'seeded'\n");
  CHECK(result.summary.rounds == 2);
  for (const std::string who : {"net", "net.clients/0", "net.clients/2"}) {
    CAPTURE(who);
    CHECK(read_file(federation.folder / (who + "/ledger.jsonl")).find("\"accountant\":\"rdp\"") != std::string::npos);
  }
}

TEST_CASE("the roster's contents matter and its path does not; duplicate rows are noted") {
  const OwnRowsFederation federation;
  const auto prepared = [&](const std::string& roster) {
    return prepare(
        resolve(settings_for(federation.folder, "net", "optimizer = 'sgd'\npartition = 'own'\nroster = '" + roster + "'\n")),
        FirstWeights::drawn, RowsAre::with_clients);
  };
  const std::string lines = read_file(federation.folder / "roster.jsonl");
  write_file(federation.folder / "same.jsonl", lines);
  const Setup here = prepared(federation.folder / "roster.jsonl");
  CHECK(here.clients.row_counts == std::vector<std::uint64_t>{30, 60, 90});
  CHECK(identity(prepared(federation.folder / "same.jsonl")) == identity(here));
  const std::string first = lines.substr(0, lines.find('\n'));
  std::string twice = first + '\n' + first + '\n' + first;
  twice.replace(twice.find("\"client\": 0", first.size()), 11, "\"client\": 1");
  twice.replace(twice.rfind("\"client\": 0"), 11, "\"client\": 2");
  write_file(federation.folder / "twice.jsonl", twice);
  const Setup other = prepared(federation.folder / "twice.jsonl");
  CHECK(identity(other) != identity(here));
  REQUIRE(other.notes.size() == here.notes.size() + 2);
  CHECK(names(other.notes[here.notes.size()], {"0", "1", "same rows"}));
  CHECK(names(other.notes.back(), {"0", "2", "same rows"}));
}

TEST_CASE("client-level privacy works with rows that clients bring, with central or local noise") {
  const OwnRowsFederation federation;
  for (const std::string where : {"central", "local"}) {
    const Loopback result = federation.run("net-" + where, "dp = 'client'\nepsilon = 8\nclip = 0.2\nclient-noise = '" + where +
                                                               "'\noptimizer = 'sgd'\nrounds = 2\n");
    CHECK(result.summary.rounds == 2);
    CHECK(result.summary.failures == 0);
  }
}

TEST_CASE("rows that clients bring are valid for serve only, and cannot be limited") {
  const OwnRowsFederation federation;
  CHECK_USAGE_ERROR(start(settings_for(federation.folder, "run", federation.roster)), "partition", "own", "fedstride serve");
  CHECK_FALSE(fs::exists(federation.folder / "run"));
  CHECK_USAGE_ERROR(federation.run("net", "limit-per-client = 5\n"), "limit-per-client", "5", "partition", "own");
  CHECK_USAGE_ERROR(federation.run("net", "clients = 4\n"), "clients", "4", federation.folder / "roster.jsonl", "3");
  CHECK_FALSE(fs::exists(federation.folder / "net"));
}

}  // namespace fedstride::test::own_rows_test
