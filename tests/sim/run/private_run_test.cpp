#include <doctest/doctest.h>

#include <sys/stat.h>

#include <cmath>
#include <filesystem>

#include "core/error.hpp"
#include "core/files.hpp"
#include "dp/ledger/audit.hpp"
#include "sim/run/fleets.hpp"
#include "sim/run/run_privacy.hpp"
#include "tests/sim/run/csv_runs.hpp"
#include "tests/support/json.hpp"
#include "tests/support/refusal.hpp"

namespace fedstride::test::private_run_test {

namespace fs = std::filesystem;

namespace {

const std::string kExample = "dp = 'example'\nnoise-multiplier = 1.2\nclip = 0.5\nbatch = 6\noptimizer = 'sgd'\n";
const std::string kClient = "dp = 'client'\nnoise-multiplier = 1.5\nclip = 0.2\noptimizer = 'sgd'\nlearning-rate = 0.1\n";

LedgerReading ledger_of(const std::string& run) { return read_ledger(fs::path(run) / "ledger.jsonl"); }

std::uint64_t count(const Spending& spending) {
  std::uint64_t total = 0;
  for (const auto& releases : spending) total += releases.count;
  return total;
}

}  // namespace

TEST_CASE("under privacy a round in which all clients fail is released and charged, and only then ends the run") {
  const test::TemporaryFolder folder;
  write_data(folder);
  const FleetMaker failing =
      outside_fleet([](const Task&, std::span<const ClientId> clients, const std::function<OutsideTask(ClientId)>&,
                       const std::function<void(OutsideAnswer)>& answer) {
        for (const ClientId client : clients) answer({.client = client, .failure = "its disk is full"});
      });
  const auto begin = [&](const std::string& out, const std::string& more) {
    const Settings settings = settings_for(folder, out, kClient + "rounds = 3\ncode = 'train=failing 1'\n" + more);
    return run(resolve(settings), settings, {}, failing);
  };
  const auto charged = [&](const std::string& run) { return count(ledger_of(run).book.spent_by_update()); };
  CHECK_FAILURE(begin("a", ""), "3 of 3", "round 1", "client 0", folder / "a");
  const auto rounds = lines(folder / "a/rounds.jsonl");
  REQUIRE(rounds.size() == 1);
  CHECK(rounds[0]["failed_clients"] == 3);
  CHECK(charged(folder / "a") == 1);
  CHECK(audit_book(ledger_of(folder / "a").book, true).failures.empty());
  // The next session goes on with the next round: no noise is released twice.
  resume(folder / "a", {{"accept-failures", {std::string("all"), true}}}, {}, failing);
  CHECK(charged(folder / "a") == 3);
  const auto models = hashes(folder / "a");
  CHECK(models[0] == rounds[0]["model_hash"]);
  CHECK(std::ranges::adjacent_find(models) == models.end());  // noise moves the model in every round
  // That a run ended would be published: it goes on instead, and its files do not say why.
  const RunSummary summary = begin("b", "publishable = true\nrandomness = 'secret'\n");
  CHECK(summary.rounds == 3);
  CHECK(summary.failures == 9);
  const std::string published = read_file(folder / "b/summary.json") + read_file(folder / "b/rounds.jsonl");
  CHECK(published.find("disk") == published.npos);
}

TEST_CASE("every release of a private run is in its ledger, and epsilon grows from round to round") {
  const test::TemporaryFolder folder;
  write_data(folder);
  const RunSummary summary = start(settings_for(folder, "a", kExample + "rounds = 4\n"));
  CHECK(summary.halted.empty());
  const auto reading = ledger_of(folder / "a");
  // 60 rows a client, lots of 6: ten releases a round.
  for (ClientId client = 0; client < 3; ++client) {
    const Spending spent = reading.book.spent(client);
    CHECK(count(spent) == 40);
    CHECK(spent[0].rate == doctest::Approx(0.1));
    CHECK(spent[0].noise_multiplier == 1.2);
  }
  double before = 0;
  for (const auto& line : lines(folder / "a/rounds.jsonl")) {
    const double epsilon = line["example_privacy"]["epsilon"];
    CHECK(epsilon > before);
    before = epsilon;
    CHECK(line["clients"][0]["releases"] == 10);
    CHECK(line["not_covered"].dump().find("clients.loss") != std::string::npos);
  }
  REQUIRE(summary.privacy.size() == 1);
  CHECK(summary.privacy[0].epsilon == doctest::Approx(before));
  const Spending by_hand{{.rate = 0.1, .noise_multiplier = 1.2, .count = 40}};
  CHECK(summary.privacy[0].epsilon ==
        doctest::Approx(epsilon_by(make_part<Accountant>("accountant", "tight"), by_hand, 1e-5).value));
  const Json final = Json::parse(read_file(folder / "a/summary.json"));
  CHECK(final["ledger_lines"] == reading.mark.lines);
  CHECK(final["ledger_head"] == reading.mark.head);
  CHECK(final["privacy"][0]["epsilon"] == doctest::Approx(before));
  CHECK(audit_book(reading.book, true).failures.empty());
}

TEST_CASE("a private run has the same bits on one thread and on several, for every optimizer and sampling") {
  const test::TemporaryFolder folder;
  write_data(folder);
  int run = 0;
  for (const std::string optimizer :
       {"sgd", "adadp", "heavy-ball", "ema", "adam", "adambc", "delta-sgd", "dog", "prodigy", "schedule-free"})
    for (const std::string sampling : {"poisson", "shuffle", "without-replacement"}) {
      CAPTURE(optimizer);
      CAPTURE(sampling);
      const std::string more = "dp = 'example'\nnoise-multiplier = 2\nbatch = 6\nrounds = 2\noptimizer = '" + optimizer +
                               "'\nsampling = '" + sampling + "'\npartition = 'iid'\nneighbours = 'replace-one'\n";
      const std::string name = std::to_string(run++);
      start(settings_for(folder, "one" + name, more + "threads = 1\n"));
      start(settings_for(folder, "more" + name, more + "threads = 4\n"));
      CHECK(hashes(folder / ("one" + name)) == hashes(folder / ("more" + name)));
    }
}

TEST_CASE("an interrupted private run that started from other weights is resumed with the same noise") {
  const test::TemporaryFolder folder;
  write_data(folder);
  start(settings_for(folder, "first", "rounds = 1\n"));
  const std::string from = kExample + "init = '" + (folder / "first/model.safetensors") + "'\n";
  start(settings_for(folder, "whole", from + "rounds = 3\n"));
  start(settings_for(folder, "broken", from + "rounds = 1\n"));
  Settings more;
  more["rounds"] = {std::int64_t{3}};
  resume(folder / "broken", more);
  CHECK(hashes(folder / "broken") == hashes(folder / "whole"));
}

TEST_CASE("an interrupted private run is resumed with the same bits and counts nothing twice") {
  const test::TemporaryFolder folder;
  write_data(folder);
  for (const std::string& level : {kExample, kClient}) {
    const std::string name = level == kExample ? "example" : "client";
    start(settings_for(folder, name + "-whole", level + "rounds = 5\n"));
    start(settings_for(folder, name, level + "rounds = 2\n"));
    // A kill between the reservation of round 3 and its end: the ledger knows more than the checkpoint.
    Settings more;
    more["rounds"] = {std::int64_t{3}};
    fs::copy(folder / name, folder / (name + "-old"));
    resume(folder / name, more);
    fs::copy_file(folder / (name + "/ledger.jsonl"), folder / (name + "-old/ledger.jsonl"), fs::copy_options::overwrite_existing);
    more["rounds"] = {std::int64_t{5}};
    resume(folder / (name + "-old"), more);
    CHECK(hashes(folder / (name + "-old")) == hashes(folder / (name + "-whole")));
    const auto whole = ledger_of(folder / (name + "-whole"));
    const auto broken = ledger_of(folder / (name + "-old"));
    CHECK(count(broken.book.spent(1)) == count(whole.book.spent(1)));
    CHECK(count(broken.book.spent_by_update()) == count(whole.book.spent_by_update()));
    CHECK(audit_book(broken.book, false).failures.empty());
  }
}

TEST_CASE("a truncated or edited ledger is refused when the run is resumed") {
  const test::TemporaryFolder folder;
  write_data(folder);
  start(settings_for(folder, "a", kExample + "rounds = 2\n"));
  const std::string path = folder / "a/ledger.jsonl";
  const std::string ledger = read_file(path);
  Settings more;
  more["rounds"] = {std::int64_t{3}};
  write_file(path, ledger.substr(0, ledger.find("\n") + 1));
  CHECK_FAILURE(resume(folder / "a", more), path, "1 lines");
  std::string edited = ledger;
  edited.replace(edited.find("1.2"), 3, "9.2");
  write_file(path, edited);
  CHECK_FAILURE(resume(folder / "a", more), path);
  fs::remove(path);
  CHECK_FAILURE(resume(folder / "a", more), path);
  write_file(path, ledger);
  CHECK(resume(folder / "a", more).rounds == 3);
}

TEST_CASE("a run halts, saved and explained, before the step that would exceed its budget") {
  const test::TemporaryFolder folder;
  write_data(folder);
  const RunSummary example = start(settings_for(folder, "a", kExample + "epsilon = 3\nrounds = 100\n"));
  CHECK(names(example.halted, {"epsilon", "3", "delta", "1e-05"}));
  CHECK(example.rounds < 100);
  CHECK(example.privacy.at(0).epsilon <= 3);
  // One more release would have passed it.
  Spending spent = ledger_of(folder / "a").book.spent(0);
  CHECK(count(spent) % 10 != 0);  // in the middle of a round
  spent[0].count += 1;
  CHECK(epsilon_by(make_part<Accountant>("accountant", "tight"), spent, 1e-5).value > 3);
  CHECK(Json::parse(read_file(folder / "a/summary.json"))["halted"].is_string());
  // A run whose budget is spent does not continue.
  Settings more;
  more["rounds"] = {std::int64_t{200}};
  const RunSummary again = resume(folder / "a", more);
  CHECK(again.rounds == example.rounds);
  CHECK_FALSE(again.halted.empty());

  const RunSummary client = start(settings_for(folder, "b", kClient + "epsilon = 20\nrounds = 100\n"));
  CHECK(names(client.halted, {"epsilon", "20", "delta", "1e-05"}));
  CHECK(client.privacy.at(0).epsilon <= 20);
}

TEST_CASE("how many rounds a budget covers is known before the first one") {
  const test::TemporaryFolder folder;
  write_data(folder);
  int runs = 0;
  const auto expect_known = [&](const std::string& text) {
    CAPTURE(text);
    const Settings settings = settings_for(folder, "k" + std::to_string(runs++), text);
    const double known = rounds_within_budget(prepare(resolve(settings)));
    CHECK(known == start(settings).rounds);
    return known;
  };
  CHECK(expect_known(kExample + "rounds = 4\n") == 4);
  CHECK(expect_known(kExample + "epsilon = 3\nrounds = 2\n") == 2);
  const double sgd = expect_known(kExample + "epsilon = 3\nrounds = 100\n");
  CHECK(sgd > 2);
  CHECK(sgd < 100);
  CHECK(expect_known(kExample + "epsilon = 3\nrounds = 100\nlocal-epochs = 2\n") < sgd);
  // The clients' sizes differ: the last one that still has a step left counts.
  const std::string uneven = "dp = 'example'\nnoise-multiplier = 1.2\nbatch = 6\npartition = 'dirichlet'\nrounds = 100\n";
  CHECK(expect_known(uneven + "optimizer = 'adadp'\nepsilon = 4\n") < 100);
  CHECK(expect_known(uneven + "optimizer = 'sgd'\nsampling = 'shuffle'\nepsilon = 20\n") < 100);
  CHECK(expect_known("dp = 'example'\nepsilon = 2\ntarget-epochs = 2\nclip-schedule = 'linear'\nbatch = 6\n"
                     "optimizer = 'sgd'\nrounds = 100\n") > 2);
  CHECK(expect_known(kClient + "epsilon = 20\nrounds = 100\n") < 100);
}

TEST_CASE("a budget without a noise multiplier calibrates the noise for the planned steps") {
  const test::TemporaryFolder folder;
  write_data(folder);
  const RunSummary example = start(settings_for(
      folder, "a", "dp = 'example'\nepsilon = 4\nbatch = 6\noptimizer = 'adadp'\nrounds = 5\npartition = 'dirichlet'\n"));
  CHECK(example.rounds == 5);
  CHECK(example.halted.empty());
  CHECK(example.privacy.at(0).epsilon <= 4);
  CHECK(example.privacy.at(0).epsilon > 3.95);  // of the client that spends most
  const RunSummary client = start(settings_for(folder, "b", "dp = 'client'\nepsilon = 4\noptimizer = 'sgd'\nrounds = 5\n"));
  CHECK(client.privacy.at(0).epsilon <= 4);
  CHECK(client.privacy.at(0).epsilon > 3.95);
  Settings more;
  more["rounds"] = {std::int64_t{6}};
  CHECK_FAILURE(resume(folder / "b", more), folder / "b", "rounds");
}

TEST_CASE("a delta that is not below one by the number of protected records is said") {
  const test::TemporaryFolder folder;
  write_data(folder);  // 180 training rows
  const auto says = [&](const std::string& out, const std::string& settings, std::initializer_list<std::string_view> words) {
    start(settings_for(folder, out, settings + "rounds = 1\n"));
    const auto notes = parse_json(read_file(folder / (out + "/summary.json"))).at("notes").get<std::vector<std::string>>();
    return std::ranges::any_of(notes, [&](const std::string& note) { return names(note, words); });
  };
  CHECK(says("a", kExample + "delta = 0.00556\n", {"delta 0.00556", "1/180", "examples"}));
  CHECK_FALSE(says("b", kExample + "delta = 0.0055\n", {"delta", "not below"}));
  CHECK(says("c", kClient + "delta = 0.34\n", {"delta 0.34", "1/3", "clients"}));
  CHECK_FALSE(says("d", kClient + "delta = 0.33\n", {"delta", "not below"}));
}

TEST_CASE("examples and clients are protected together by two statements") {
  const test::TemporaryFolder folder;
  write_data(folder);
  const RunSummary summary =
      start(settings_for(folder, "a",
                         "dp = 'both'\nnoise-multiplier = 2\nclient-noise-multiplier = 3\nclient-clip = 0.3\nbatch = 6\n"
                         "optimizer = 'adadp'\ncohort = 'poisson'\ncohort-rate = 0.5\nclient-delta = 0.001\nrounds = 6\n"));
  REQUIRE(summary.privacy.size() == 2);
  CHECK(summary.privacy[0].level == Level::example);
  CHECK(summary.privacy[1].level == Level::client);
  CHECK(summary.privacy[1].delta == 0.001);
  const auto reading = ledger_of(folder / "a");
  CHECK(count(reading.book.spent_by_update()) == 6);  // independent of the cohorts
  CHECK(reading.book.spent_by_update()[0].rate == 0.5);
  std::uint64_t releases = 0;
  for (ClientId client = 0; client < 3; ++client) releases += count(reading.book.spent(client));
  CHECK(releases == 3 * 6 * 10);  // as if each were in every round: what was charged must not tell who was drawn
  CHECK(audit_book(reading.book, true).failures.empty());
}

TEST_CASE("noise at the coordinator, on integers or at each client is accounted differently") {
  const test::TemporaryFolder folder;
  write_data(folder);
  double epsilon[3] = {};
  int i = 0;
  for (const std::string where : {"central", "discrete", "local"}) {
    const RunSummary summary = start(settings_for(folder, where, kClient + "client-noise = '" + where + "'\nrounds = 3\n"));
    epsilon[i++] = summary.privacy.at(0).epsilon;
  }
  CHECK(epsilon[0] == epsilon[1]);
  CHECK(epsilon[2] > 1.5 * epsilon[0]);  // replaced by any other: twice the sensitivity
  CHECK(hashes(folder / "central") != hashes(folder / "discrete"));
}

TEST_CASE("clients keep their weights only if the sensitivity includes them") {
  const test::TemporaryFolder folder;
  write_data(folder);
  const std::string unequal = kClient + "partition = 'dirichlet'\nalpha = 0.3\nrounds = 2\n";
  start(settings_for(folder, "equal", unequal));
  start(settings_for(folder, "by-size", unequal + "weights = 'examples'\n"));
  CHECK(ledger_of(folder / "equal").book.header().at(Level::client)->largest_weight == 1);
  const auto by_size = ledger_of(folder / "by-size");
  CHECK(by_size.book.header().at(Level::client)->largest_weight > 60);
  CHECK(audit_book(by_size.book, false).failures.empty());
}

TEST_CASE("shuffled lots are accounted without amplification, with the papers' number also reported and labeled") {
  const test::TemporaryFolder folder;
  write_data(folder);
  const RunSummary summary = start(settings_for(folder, "a", kExample + "sampling = 'shuffle'\nrounds = 3\n"));
  const auto& statement = summary.privacy.at(0);
  // Three epochs: three full releases.
  const Spending full{{.sampling = Sampling::full, .noise_multiplier = 1.2, .count = 3}};
  CHECK(statement.epsilon == doctest::Approx(epsilon_by(make_part<Accountant>("accountant", "tight"), full, 1e-5).value));
  REQUIRE(statement.as_in_papers.has_value());
  CHECK(*statement.as_in_papers < statement.epsilon);
  CHECK(statement_text(statement).find("Poisson") != std::string::npos);
}

TEST_CASE("publishable results leave out what no guarantee covers") {
  const test::TemporaryFolder folder;
  write_data(folder);
  start(settings_for(folder, "a", kClient + "publishable = true\nrandomness = 'secret'\nrounds = 2\n"));
  for (const auto& line : lines(folder / "a/rounds.jsonl")) {
    CHECK(line.contains("test_accuracy"));
    CHECK(line.contains("client_privacy"));
    for (const char* key : {"train_loss", "clients", "worst_client_accuracy", "examples"}) CHECK_FALSE(line.contains(key));
  }
  CHECK_FALSE(fs::exists(folder / "a/partition.json"));
}

TEST_CASE("with secret randomness the key stays in the folder, readable by its owner only, and a resumed run has the same bits") {
  const test::TemporaryFolder folder;
  write_data(folder);
  const std::string secret = kExample + "randomness = 'secret'\n";
  start(settings_for(folder, "a", secret + "rounds = 2\n"));
  struct stat status {};
  REQUIRE(stat((folder / "a/secret.key").c_str(), &status) == 0);
  CHECK((status.st_mode & 0777) == 0600);
  for (const auto& entry : fs::directory_iterator(folder / "a"))
    if (entry.path().filename() != "secret.key") {
      const std::string key = read_file(folder / "a/secret.key");
      CHECK(read_file(entry.path()).find(key) == std::string::npos);
    }
  fs::copy(folder / "a", folder / "b");
  Settings more;
  more["rounds"] = {std::int64_t{4}};
  resume(folder / "a", more);
  resume(folder / "b", more);
  CHECK(hashes(folder / "a") == hashes(folder / "b"));
  start(settings_for(folder, "c", secret + "rounds = 4\n"));
  CHECK(hashes(folder / "a") != hashes(folder / "c"));  // another key
  // Without the key, the chain cannot be continued.
  CHECK_THROWS_AS(read_ledger(folder / "a/ledger.jsonl"), Error);
}

TEST_CASE("configurations never share noise, whatever else they share") {
  const test::TemporaryFolder folder;
  write_data(folder);
  // The same run but for a setting that does not touch the first round's training.
  start(settings_for(folder, "a", kExample + "rounds = 1\nserver-learning-rate = 1\n"));
  start(settings_for(folder, "b", kExample + "rounds = 1\nserver-learning-rate = 1.0000001\n"));
  CHECK(hashes(folder / "a") != hashes(folder / "b"));
}

TEST_CASE("private components are charged once, before the first round") {
  const test::TemporaryFolder folder;
  write_data(folder);
  const std::string more =
      "clients = 1\npartition = 'iid'\ndp = 'example'\nnoise-multiplier = 2\nbatch = 18\n"
      "private-components = 2\ncomponents-noise = 4\noptimizer = 'sgd'\n";
  start(settings_for(folder, "a", more + "rounds = 2\n"));
  const auto reading = ledger_of(folder / "a");
  const Spending spent = reading.book.spent(0);
  REQUIRE(spent.size() == 2);
  CHECK(spent[0].sampling == Sampling::full);
  CHECK(spent[0].noise_multiplier == 4);
  CHECK(spent[0].count == 1);
  CHECK(spent[1].count == 20);
  Settings rounds;
  rounds["rounds"] = {std::int64_t{4}};
  resume(folder / "a", rounds);
  CHECK(ledger_of(folder / "a").book.spent(0)[0].count == 1);
  start(settings_for(folder, "whole", more + "rounds = 4\n"));
  CHECK(hashes(folder / "a") == hashes(folder / "whole"));
}

TEST_CASE("a run says before its first round that the noise is longer than all changes together, and only then") {
  const TemporaryFolder folder;
  write_data(folder);
  const auto noted = [&](const std::string& more) {
    const Setup setup = prepare(resolve(settings_for(folder, "x", "dp = 'client'\nclip = 2.0\noptimizer = 'sgd'\n" + more)));
    return std::ranges::any_of(setup.notes,
                               [](const std::string& note) { return note.find("the noise of a round has norm") == 0; });
  };
  CHECK(noted("noise-multiplier = 100.0\n"));
  CHECK_FALSE(noted("noise-multiplier = 0.01\n"));
}

}  // namespace fedstride::test::private_run_test
