#include <doctest/doctest.h>

#include <sys/stat.h>

#include <filesystem>
#include <set>

#include "core/files.hpp"
#include "core/secret_key.hpp"
#include "core/text.hpp"
#include "dp/ledger/ledger.hpp"
#include "dp/ledger/ledger_file.hpp"
#include "tests/sim/parties/loopback.hpp"
#include "tests/support/bounds.hpp"
#include "tests/support/json.hpp"
#include "tests/support/refusal.hpp"

namespace fedstride::test::network_run_test {

namespace fs = std::filesystem;

TEST_CASE("a federation over connections gives the bits of the run in one process, for every optimizer") {
  const test::TemporaryFolder folder;
  write_data(folder);
  const std::string certificates = folder / "certificates";
  make_certificates(certificates, {.clients = 3});
  for (const std::string optimizer : {"adadp", "sgd", "adam"}) {
    CAPTURE(optimizer);
    const std::string kept = optimizer == "sgd" ? "" : "client-state = 'keep'\n";  // which has no state
    const std::string more = "rounds = 4\noptimizer = '" + optimizer + "'\n" + kept;
    start(settings_for(folder, "run-" + optimizer, more));
    const Loopback result =
        over_loopback(folder, "net-" + optimizer, more, {.certificates = optimizer == "adadp" ? certificates : ""});
    CHECK(hashes(folder / ("net-" + optimizer)) == hashes(folder / ("run-" + optimizer)));
    for (const MemberOutcome& client : result.clients) {
      CHECK(client.finished);
      CHECK(client.rounds == 4);
      CHECK(client.answered == 4);
      CHECK(client.model_hash == hashes(folder / ("run-" + optimizer)).back());
    }
    CHECK(result.log.find("client 2 (127.0.0.1:") != std::string::npos);
  }
}

TEST_CASE("clients that normalize their own inputs give the bits of the run in one process") {
  const test::TemporaryFolder folder;
  for (const char* part : {"train.csv", "test.csv"}) {
    std::ofstream file(folder / part);
    file << "who,a,b,kind\n";
    for (int row = 0; row < 60; ++row)
      file << "n" << row % 3 << ',' << row * (1 + row % 3) << ',' << row * row % 7 << ',' << row % 5 % 3 << '\n';
  }
  const std::string more =
      "client-column = 'who'\nlabel = 'kind'\npartition = 'natural'\nnormalize = 'client'\noptimizer = 'sgd'\nrounds = 2\n";
  start(settings_for(folder, "run", more));
  over_loopback(folder, "net", more);
  CHECK(hashes(folder / "net") == hashes(folder / "run"));
  Settings by_rows = settings_for(folder, "by-rows", more);
  by_rows["normalize"] = parse_settings("normalize = 'rows'\n", "test").at("normalize");
  start(by_rows);
  CHECK(hashes(folder / "by-rows") != hashes(folder / "run"));
}

TEST_CASE("sampled cohorts and private federations have the bits of the run in one process, with the seeded source") {
  const test::TemporaryFolder folder;
  write_data(folder);
  std::map<std::string, std::string> kinds{
      {"momentum", "optimizer = 'sgd'\nserver-optimizer = 'momentum'\n"},
      {"cohort", "cohort = 'fixed'\ncohort-size = 2\noptimizer = 'sgd'\n"},
      {"steps", "local-steps = 7\noptimizer = 'sgd'\n"},
      {"clipped", "optimizer = 'sgd'\nlearning-rate = 0.1\nmax-update-norm = 0.2\nover-norm = 'clip'\n"},
      {"example", "dp = 'example'\nnoise-multiplier = 1.2\nclip = 0.5\nbatch = 6\noptimizer = 'adadp'\n"},
      {"correlated",
       "dp = 'client'\nnoise-mechanism = 'blt'\nminimum-separation = 2\nnoise-multiplier = 1.5\nclip = 0.2\noptimizer = 'sgd'\n"},
      {"buffered",
       "dp = 'client'\nnoise-mechanism = 'blt'\nminimum-separation = 2\nnoise-multiplier = 1.5\nclip = 0.2\noptimizer = 'sgd'\n"
       "devices = 'lognormal'\nmode = 'fedbuff'\nconcurrency = 2\nbuffer = 1\n"},
      {"local", "dp = 'client'\nclient-noise = 'local'\nnoise-multiplier = 1.5\nclip = 0.2\noptimizer = 'sgd'\n"}};
  for (const std::string& rule : bounds_on_updates())
    kinds[rule] = "dp = 'client'\nclip-rule = '" + rule + "'\nnoise-multiplier = 1.5\nclip = 0.2\noptimizer = 'sgd'\n";
  for (const std::string& rule : bounds_on_lots())
    kinds[rule + "-lots"] =
        "dp = 'example'\nclip-rule = '" + rule + "'\nnoise-multiplier = 1.2\nclip = 0.05\nbatch = 6\noptimizer = 'sgd'\n";
  for (const auto& [name, more] : kinds) {
    CAPTURE(name);
    const std::string all = more + "rounds = 3\nrandomness = 'seeded'\n";
    start(settings_for(folder, "run-" + name, all));
    over_loopback(folder, "net-" + name, all);
    CHECK(hashes(folder / ("net-" + name)) == hashes(folder / ("run-" + name)));
  }
}

TEST_CASE(
    "a client's own ledger of a buffered run with a separation charges its tasks as if they were in the costliest versions") {
  const test::TemporaryFolder folder;
  write_data(folder);
  over_loopback(
      folder, "net",
      "dp = 'client'\nnoise-mechanism = 'blt'\nminimum-separation = 2\nnoise-multiplier = 1.5\nclip = 0.2\nrounds = 5\n"
      "optimizer = 'sgd'\nrandomness = 'seeded'\ndevices = 'lognormal'\nmode = 'fedbuff'\nconcurrency = 2\nbuffer = 1\n");
  const Spending whole = read_ledger(folder / "net/ledger.jsonl").book.spent_by_update();
  REQUIRE(whole.size() == 1);
  std::uint64_t all = 0, most = 0;
  for (ClientId client = 0; client < 3; ++client) {
    const LedgerReading own = read_ledger(folder / ("net.clients/" + std::to_string(client)) + "/ledger.jsonl");
    CHECK(own.book.header().at(Level::client)->own_tasks);
    CHECK(own.book.problems().empty());
    const Spending spent = own.book.spent_by_update();
    if (spent.empty()) continue;
    REQUIRE(spent.size() == 1);
    CHECK(spent[0].rounds == 5);
    CHECK(spent[0].most == own.book.rounds());
    all += spent[0].most;
    most = std::max(most, spent[0].most);
  }
  CHECK(all == 5);
  CHECK(whole[0].most == most);
  CHECK(whole[0].rounds == 5);
}

TEST_CASE("a bound on updates refuses or clips the same updates over connections as in one process") {
  const test::TemporaryFolder folder;
  write_data(folder);
  const std::string open = "optimizer = 'sgd'\nlearning-rate = 0.1\nrounds = 3\npartition = 'pathological'\n";
  start(settings_for(folder, "open", open));
  std::vector<double> norms;
  for (const Json& line : lines(folder / "open/rounds.jsonl"))
    for (const Json& client : line["clients"]) norms.push_back(client["update_norm"]);
  std::ranges::sort(norms);
  REQUIRE(norms.front() < norms.back());
  const double bound = (norms.front() + norms.back()) / 2;
  std::vector<std::string> models{hashes(folder / "open").back()};
  for (const std::string rule : {"refuse", "clip"}) {
    CAPTURE(rule);
    const std::string more = open + "max-update-norm = " + number_text(bound) + "\nover-norm = '" + rule + "'\n";
    start(settings_for(folder, "run-" + rule, more));
    const Loopback result = over_loopback(folder, "net-" + rule, more);
    CHECK(hashes(folder / ("net-" + rule)) == hashes(folder / ("run-" + rule)));
    CHECK(result.log.find("max-update-norm") != std::string::npos);
    std::size_t failed = 0;
    for (const Json& line : lines(folder / ("net-" + rule) + "/rounds.jsonl"))
      failed += line["failed_clients"].get<std::size_t>();
    CHECK((failed > 0) == (rule == "refuse"));
    models.push_back(hashes(folder / ("net-" + rule)).back());
  }
  CHECK(std::set(models.begin(), models.end()).size() == 3);
  start(settings_for(folder, "wide", open + "max-update-norm = 1e9\n"));
  CHECK(hashes(folder / "wide").back() == models.front());
  CHECK_USAGE_ERROR(start(settings_for(folder, "both", "dp = 'client'\nnoise-multiplier = 1\nmax-update-norm = 1.0\n")),
                    "max-update-norm", "1", "dp", "client", "clip");
}

TEST_CASE("a client keeps its own key and its own ledger, which agrees with the coordinator's") {
  const test::TemporaryFolder folder;
  write_data(folder);
  over_loopback(folder, "net", "dp = 'example'\nnoise-multiplier = 1.2\nclip = 0.5\nbatch = 6\noptimizer = 'sgd'\nrounds = 3\n");
  CHECK(read_settings(folder / "net/config.toml").at("randomness").value == decltype(Setting::value)(std::string("secret")));
  const auto reading = [](const fs::path& run) {
    const SecretKey key = load_or_create_key(run / "secret.key");
    return read_ledger(run / "ledger.jsonl", {}, {reinterpret_cast<const char*>(key.data()), key.size()});
  };
  const auto whole = reading(folder / "net");
  for (ClientId client = 0; client < 3; ++client) {
    const fs::path own = folder / ("net.clients/" + std::to_string(client));
    const auto ledger = reading(own);
    const Spending spent = ledger.book.spent(client);
    REQUIRE(spent.size() == 1);
    const Spending counted = whole.book.spent(client);
    REQUIRE(counted.size() == 1);
    CHECK(spent[0].count == 30);  // 60 rows, lots of 6, three rounds
    CHECK(counted[0].count == 30);
    CHECK(spent[0].noise_multiplier == counted[0].noise_multiplier);
    struct stat status {};
    REQUIRE(::stat((own / "secret.key").c_str(), &status) == 0);
    CHECK((status.st_mode & 0777) == 0600);
  }
  CHECK(read_file(folder / "net.clients/0/secret.key") != read_file(folder / "net.clients/1/secret.key"));
}

TEST_CASE("a client that has lost its memory or key no longer takes part, and its ledger is unchanged") {
  const test::TemporaryFolder folder;
  write_data(folder);
  const std::string more = "dp = 'example'\nnoise-multiplier = 1.2\nclip = 0.5\nbatch = 6\noptimizer = 'sgd'\nrounds = ";
  over_loopback(folder, "net", more + "2\n");
  const fs::path client = folder / "net.clients/1";
  const std::string ledger = read_file(client / "ledger.jsonl");
  const std::string key = read_file(client / "secret.key");
  const std::string memory = read_file(client / "memory");
  fs::remove(client / "memory");
  CHECK_FAILURE(over_loopback(folder, "net", more + "3\n"), (client / "ledger.jsonl").string());
  CHECK(read_file(client / "ledger.jsonl") == ledger);
  CHECK(read_file(client / "secret.key") == key);
  write_file(client / "memory", memory);
  fs::remove(client / "secret.key");
  CHECK_FAILURE(over_loopback(folder, "net", more + "3\n"), (client / "secret.key").string());
  CHECK_FALSE(fs::exists(client / "secret.key"));
  write_file(client / "secret.key", key);
  fs::permissions(client / "secret.key", fs::perms::owner_read | fs::perms::owner_write);
  CHECK(over_loopback(folder, "net", more + "3\n").summary.rounds == 3);
}

TEST_CASE("a stopped coordinator continues with the clients' kept state, also to more rounds") {
  const test::TemporaryFolder folder;
  write_data(folder);
  const std::string more = "optimizer = 'adadp'\nclient-state = 'keep'\n";
  start(settings_for(folder, "run", more + "rounds = 6\n"));
  const Loopback first = over_loopback(folder, "net", more + "rounds = 4\n", {.rounds_of_a_session = 2});
  CHECK(first.summary.interrupted);
  CHECK(hashes(folder / "net").size() == 2);
  over_loopback(folder, "net", more + "rounds = 4\n");
  over_loopback(folder, "net", more + "rounds = 6\n");
  CHECK(hashes(folder / "net") == hashes(folder / "run"));
  CHECK_USAGE_ERROR(over_loopback(folder, "net", "optimizer = 'sgd'\nrounds = 6\n"), "out", folder / "net");
}

TEST_CASE("a round with more different releases than a report can hold is refused at the start") {
  const test::TemporaryFolder folder;
  write_data(folder);
  const std::string many =
      "dp = 'example'\nnoise-multiplier = 1\nbatch = 1\nlocal-epochs = 2000\nrounds = 1\noptimizer = 'sgd'\n";
  CHECK_USAGE_ERROR(over_loopback(folder, "net", many + "noise-schedule = 'dynamic'\nnoise-decay = 0.99999\n"), "local-epochs",
                    "2000", "60");
}

}  // namespace fedstride::test::network_run_test
