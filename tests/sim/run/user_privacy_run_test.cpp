// Runs that protect users inside clients: what the ledger charges, what is chosen and said, same bits, what is refused.
#include <doctest/doctest.h>

#include <fstream>

#include "core/error.hpp"
#include "core/files.hpp"
#include "dp/ledger/audit.hpp"
#include "sim/prepare/setup.hpp"
#include "sim/run/ledger_terms.hpp"
#include "tests/data/npz_files.hpp"
#include "tests/sim/run/csv_runs.hpp"
#include "tests/support/refusal.hpp"

namespace fedstride::test::user_privacy_run_test {
namespace {

// 12 users of 5 to 16 rows; three classes that one column each tells.
void write_users(const TemporaryFolder& folder) {
  std::ofstream train(folder / "train.csv");
  train << "who,a,b,c,kind\n";
  int row = 0;
  for (int user = 0; user < 12; ++user)
    for (int i = 0; i < 5 + user; ++i, ++row) {
      RandomStream random(9, {.purpose = Purpose::test, .row = static_cast<std::uint32_t>(row)});
      train << 'u' << user;
      for (int column = 0; column < 3; ++column) train << ',' << random.normal() * 0.5 + (column == row % 3 ? 2 : 0);
      train << ',' << row % 3 << '\n';
    }
}

const std::string kUsers = "dp = 'user'\nuser-column = 'who'\nnoise-multiplier = 1\nsampling-rate = 0.5\noptimizer = 'sgd'\n";
const std::string kExamples = kUsers + "user-sampling = 'examples'\nuser-examples = 2\n";

Settings settings_of(const TemporaryFolder& folder, const std::string& out, const std::string& more,
                     const std::string& last = "") {
  Settings settings = parse_settings(
      "data = '" + folder.path().string() + "'\nlabel = 'kind'\npartition = 'natural-grouped'\nnatural-per-client = 4\n" +
          "model = 'dense 8 | relu | dense classes'\nlearning-rate = 0.1\nrounds = 3\nclasses = 3\nmean = '0.67'\n"
          "deviation = '1.2'\nthreads = 2\nout = '" +
          (folder / out) + "'\n",
      "test");
  for (const std::string& some : {more, last})
    for (const auto& [key, setting] : parse_settings(some, "more")) settings[key] = setting;
  return settings;
}

LedgerReading ledger_of(const std::string& folder) {
  LedgerReading reading = read_ledger(folder + "/ledger.jsonl");
  CHECK(audit_book(reading.book, true).failures.empty());
  CHECK(reading.book.header().at(Level::example)->users);
  return reading;
}

}  // namespace

// Charles et al. 2024: two rows a user, rate 1/2, noise 1; by quadrature of the mixture of Gaussians.
TEST_CASE("the ledger charges a user's examples by their mixture, and a user drawn whole as one record") {
  const TemporaryFolder folder;
  write_users(folder);
  const RunSummary by_examples = start(settings_of(folder, "a", kExamples));
  Spending spent = ledger_of(folder / "a").book.spent(0);
  REQUIRE(spent.size() == 1);
  CHECK(spent[0] == Releases{.neighbours = Neighbours::zero_out, .rate = 0.5, .noise_multiplier = 1, .count = 6, .rows = 2});
  CHECK(by_examples.privacy.at(0).accountant == "rdp");
  CHECK(by_examples.privacy[0].epsilon == Rdp{}.epsilon(spent, 1e-5).value);
  CHECK(statement_text(by_examples.privacy[0]).find("user level, every user of a client") == 0);
  CHECK(statement_text(by_examples.privacy[0]).find("at most 2 examples of a user are used") != std::string::npos);
  spent[0].count = 1;
  CHECK(Tight{}.delta(spent, 0.5).value == doctest::Approx(0.246475).epsilon(1e-5));
  CHECK(Tight{}.delta(spent, 1).value == doctest::Approx(0.166033).epsilon(1e-5));

  const RunSummary whole = start(settings_of(folder, "b", kUsers));
  spent = ledger_of(folder / "b").book.spent(0);
  CHECK(spent == Spending{{.neighbours = Neighbours::zero_out, .rate = 0.5, .noise_multiplier = 1, .count = 6}});
  CHECK(whole.privacy.at(0).accountant == "tight");
  CHECK(whole.privacy[0].epsilon < by_examples.privacy[0].epsilon / 1.5);
  CHECK(statement_text(whole.privacy[0]).find("a user contributes once to a lot") != std::string::npos);
  // All rows of a user at once: one Gaussian release of twice the distance.
  start(settings_of(folder, "c", kExamples, "sampling-rate = 1.0\nrounds = 1\n"));
  spent = ledger_of(folder / "c").book.spent(0);
  CHECK(Tight{}.delta(spent, 1).value ==
        doctest::Approx(Tight{}.delta(Spending{{.sampling = Sampling::full, .noise_multiplier = 0.5}}, 1).value));
}

TEST_CASE("runs for users have the same bits on any threads and after a kill") {
  const TemporaryFolder folder;
  write_users(folder);
  for (const auto& [name, more] :
       {std::pair{std::string("examples"), kExamples}, {std::string("users"), kUsers + "weight-decay = 0.01\n"}}) {
    CAPTURE(name);
    start(settings_of(folder, name + "-a", more + "rounds = 4\n"));
    start(settings_of(folder, name + "-b", more + "rounds = 2\nthreads = 1\n"));
    resume(folder / (name + "-b"), {{"rounds", {std::int64_t{4}}}});
    CHECK(hashes(folder / (name + "-a")) == hashes(folder / (name + "-b")));
    CHECK(ledger_of(folder / (name + "-a")).book.spent(1) == ledger_of(folder / (name + "-b")).book.spent(1));
    const auto comparison = compare_with_settings(folder / (name + "-a/ledger.jsonl"), "",
                                                  resolve(settings_of(folder, name + "-a", more + "rounds = 4\n")));
    CHECK_MESSAGE(comparison.contradictions.empty(), joined(comparison.contradictions));
    const auto other =
        compare_with_settings(folder / (name + "-a/ledger.jsonl"), "",
                              resolve(settings_of(folder, name + "-a", kExamples, "user-examples = 7\nrounds = 4\n")));
    CHECK_FALSE(other.contradictions.empty());
  }
}

TEST_CASE("what lots are made of is chosen from public sizes, and said; noise is calibrated for it") {
  const TemporaryFolder folder;
  write_users(folder);
  const std::string budget =
      "dp = 'user'\nuser-column = 'who'\nepsilon = 3\nsampling-rate = 0.25\noptimizer = 'sgd'\nrounds = 2\n";
  const RunSummary chosen = start(settings_of(folder, "a", budget + "user-examples = 3\n"));
  CHECK(chosen.privacy.at(0).epsilon <= 3);
  CHECK(chosen.privacy[0].epsilon > 2.97);
  const std::string ledger = read_file(folder / "a/ledger.jsonl");
  // What is charged is what was said, and it has the smaller of the two deviations.
  const bool by_examples = ledger.find("lots of examples, at most 3 a user (user-sampling auto): at the same") != ledger.npos;
  CHECK(by_examples != (ledger.find("lots of users (user-sampling auto): at the same") != ledger.npos));
  CHECK(by_examples == (ledger.find("\"rows\":3") != ledger.npos));
  const auto deviation_from = [&](std::size_t at) { return std::stod(ledger.substr(ledger.find("deviation ", at) + 10)); };
  const std::size_t said = ledger.find("(user-sampling auto)");
  CHECK(deviation_from(said) < deviation_from(ledger.find("on that of", said)));
  start(settings_of(folder, "one", budget));
  CHECK(read_file(folder / "one/ledger.jsonl").find("lots of users (user-sampling auto), who bring") != std::string::npos);
  const RunSummary forced = start(settings_of(folder, "b", budget + "user-sampling = 'examples'\nuser-examples = 2\n"));
  CHECK(forced.privacy.at(0).epsilon <= 3);
  CHECK(forced.privacy[0].epsilon > 2.97);
  CHECK(read_file(folder / "b/ledger.jsonl").find("\"rows\":2") != std::string::npos);
}

TEST_CASE("users are refused where nothing says who they are, or a release would count rows") {
  const TemporaryFolder folder;
  write_users(folder);
  const auto refused = [&](const std::string& more) { return resolve(settings_of(folder, "x", more)); };
  CHECK_USAGE_ERROR(refused(kUsers + "evaluate = 'private'\nevaluate-noise = 3\n"), "evaluate", "dp 'user'");
  CHECK_USAGE_ERROR(refused(kUsers + "sampling = 'shuffle'\n"), "sampling", "dp 'user'");
  CHECK_USAGE_ERROR(resolve(settings_for(folder, "y", kUsers + "dataset = 'synthetic'\n")), "user-column", "synthetic");
  const TemporaryFolder nameless;
  write_data(nameless);
  CHECK_USAGE_ERROR(start(settings_for(nameless, "z", "dp = 'user'\nnoise-multiplier = 1\noptimizer = 'sgd'\n")), "name no users",
                    "--user-column");
}

TEST_CASE("users have a column beside the clients': each client's lots are of its users") {
  const TemporaryFolder folder;
  std::ofstream table(folder / "train.csv");
  table << "site,who,a,b,kind\n";
  for (int row = 0; row < 90; ++row)
    table << "site" << row / 30 << ",u" << row / 3 % 10 << ',' << row % 7 << ',' << row % 5 << ',' << row % 3 << '\n';
  table.close();
  const std::string text = "data = '" + (folder / "train.csv") +
                           "'\nlabel = 'kind'\nclasses = 3\nmean = 'a=3,b=2'\ndeviation = '2'\nmodel = 'dense classes'\n"
                           "client-column = 'site'\npartition = 'natural'\nrounds = 2\nlearning-rate = 0.1\n" +
                           kUsers + "user-sampling = 'users'\n";
  const Setup setup = prepare(resolve(parse_settings(text, "test")));
  CHECK(setup.clients.row_counts.size() == 3);
  REQUIRE(setup.privacy.sizes.size() == 3);
  for (const LotSizes& size : setup.privacy.sizes) {
    CHECK(size.units == 10);  // not the 25 or so rows that are not held out
    CHECK(size.rows > 20);
  }
  const RunSummary summary = start(parse_settings(text + "out = '" + (folder / "run") + "'\n", "test"));
  CHECK(summary.privacy.at(0).epsilon > 0);
}

// 42 users of two rows, seven in each of six clients.
TEST_CASE("an archive that names users and clients is not dealt out by users unless that is said") {
  const TemporaryFolder folder;
  std::vector<float> x;
  std::vector<std::int64_t> y, who, client;
  for (int row = 0; row < 84; ++row) {
    x.insert(x.end(), {static_cast<float>(row % 3), static_cast<float>(row % 5), 0.5F});
    y.push_back(row % 3);
    who.push_back(row / 2);
    client.push_back(row / 14);
  }
  write_file(folder / "train.npz", npz_bytes({{"x", npy_bytes("<f4", "(84, 3)", bytes_of(x))},
                                              {"y", npy_bytes("<i8", "(84,)", bytes_of(y))},
                                              {"who", npy_bytes("<i8", "(84,)", bytes_of(who))},
                                              {"client", npy_bytes("<i8", "(84,)", bytes_of(client))}}));
  const auto prepared = [&](const std::string& more) {
    return prepare(resolve(parse_settings("data = '" + (folder / "train.npz") + "'\nclasses = 3\nmean = '1'\ndeviation = '1'\n" +
                                              "model = 'dense classes'\n" + more,
                                          "test")));
  };
  for (const std::string partition : {"natural", "natural-grouped"})
    CHECK_USAGE_ERROR(prepared(kUsers + "partition = '" + partition + "'\n"), "user-column is 'who'", "train.npz", "'client'",
                      "client-column 'who'", "--partition file");
  CHECK(prepared("partition = 'natural'\n").clients.row_counts.size() == 6);
  CHECK(prepared(kUsers + "partition = 'natural'\nclient-column = 'who'\n").clients.row_counts.size() == 42);
  const Setup dealt = prepared(kUsers + "partition = 'iid'\nclients = 6\n");
  CHECK(dealt.clients.row_counts.size() == 6);
  CHECK(dealt.data.train.client_names.size() == 42);
  // Every client would be one user: that is said, too, or it is client-level privacy that was meant.
  const std::string natural = "dp = 'user'\nnoise-multiplier = 1\noptimizer = 'sgd'\npartition = 'natural'\n";
  CHECK_USAGE_ERROR(prepared(natural), "dp", "'user'", "partition 'natural'", "--user-column");
  CHECK(prepared(natural + "user-column = 'client'\n").clients.row_counts.size() == 6);
}

}  // namespace fedstride::test::user_privacy_run_test
