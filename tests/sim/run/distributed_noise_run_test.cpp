// Runs whose clients add the noise: the same bits with masks and without, on any number of threads, and after a stop; statements and the
// ledger count the noise that is guaranteed; what cannot be is refused.
#include <doctest/doctest.h>

#include "core/error.hpp"
#include "core/files.hpp"
#include "core/json.hpp"
#include "core/text.hpp"
#include "dp/ledger/audit.hpp"
#include "server/failures.hpp"
#include "sim/run/ledger_terms.hpp"
#include "sim/run/run.hpp"
#include "sim/settings/rules.hpp"
#include "tests/sim/run/csv_runs.hpp"
#include "tests/support/folder.hpp"
#include "tests/support/json.hpp"
#include "tests/support/refusal.hpp"

namespace fedstride::test::distributed_noise_run_test {
namespace {

// A folder with a small table, in which runs are.
struct Runs : TemporaryFolder {
  Runs() { write_data(*this); }
};

Settings settings_of(const TemporaryFolder& folder, const std::string& name, const std::string& toml) {
  return settings_for(
      folder, name,
      "optimizer = 'sgd'\nquiet = true\ndp = 'client'\nclip = 0.5\nclient-noise = 'distributed'\npartition = 'iid'\n" + toml);
}

Json summary_of(const TemporaryFolder& folder, const std::string& name) {
  return parse_json(read_file(folder.path() / name / "summary.json"));
}

Json run_of(const std::string& toml, const TemporaryFolder& folder, const std::string& name) {
  start(settings_of(folder, name, toml));
  return summary_of(folder, name);
}

Audit audit_of(const TemporaryFolder& folder, const std::string& name) {
  return audit_ledger(folder.path() / name / "ledger.jsonl", {}, {}, false);
}

double epsilon_of(const Json& summary) { return summary.at("privacy").at(0).at("epsilon").get<double>(); }

std::string assumptions_of(const Json& summary) { return summary.at("privacy").at(0).at("assumptions").dump(); }

}  // namespace

TEST_CASE("one hash: masks and the ring alone, one thread and two, and a run that was resumed; both laws, a given grid") {
  for (const std::string more :
       {"", "noise-law = 'discrete-gaussian'\n", "secure-grid = '1,2^-12,64'\nneighbours = 'replace-one'\n",
        "clip-per = 'layer'\n", "server-optimizer = 'fedexp'\n"}) {
    CAPTURE(more);
    const Runs folder;
    const std::string toml =
        more + "clients = 6\nnoise-multiplier = 0.5\nrounds = 3\nsecure-leaving = 0.02\nsecure-dropouts = 0.3\n";
    const auto hash = [&](const std::string& extra, const std::string& name) {
      return run_of(toml + extra, folder, name).at("model_hash").get<std::string>();
    };
    const std::string ring = hash("secure-aggregation = 'ring'\nthreads = 1\n", "ring");
    CHECK(hash("secure-aggregation = 'ring'\nthreads = 2\n", "two") == ring);
    CHECK(summary_of(folder, "ring").at("notes").dump().find("secure aggregation") != std::string::npos);
    const Audit audit = audit_of(folder, "two");
    CHECK(audit.failures.empty());
    CHECK(epsilon_of(summary_of(folder, "two")) == audit.statements.at(0).statement.epsilon);
    // A run of two rounds, continued.
    Settings shorter = settings_of(folder, "on", toml + "secure-aggregation = 'ring'\n");
    shorter["rounds"] = {std::int64_t{2}};
    run(resolve(shorter), shorter);
    resume((folder.path() / "on").string(), {{"rounds", {std::int64_t{3}}}});
    CHECK(summary_of(folder, "on").at("model_hash").get<std::string>() == ring);
  }
}

TEST_CASE("the protocol's masks change nothing") {
  // Noise is drawn for the settings, of which secure-aggregation is one: compared at the accumulator (secure_sum_test.cpp).
  const Runs folder;
  const Json real = run_of("clients = 5\nnoise-multiplier = 0.3\nrounds = 2\nsecure-aggregation = 'real'\n", folder, "real");
  CHECK(real.at("secure_aggregation").get<std::string>() == "real");
  CHECK(audit_of(folder, "real").failures.empty());
}

TEST_CASE("twenty of a hundred may drop out at mu 1: 4.377 becomes 4.983, in statement, ledger and audit") {
  const std::string common =
      "clients = 100\nrounds = 1\nnoise-law = 'discrete-gaussian'\nsecure-aggregation = 'ring'\nsecure-colluders = 0.0\n"
      "secure-dropouts = 0.2\nsecure-grid = '0.5,2^-30,64'\n";
  const Runs folder;
  // A client's noise has the same deviation, 1/10 of the clip, in both.
  const Json all = run_of(common + "minimum-survivors = 100\nnoise-multiplier = 1.0\n", folder, "all");
  const Json fewer =
      run_of(common + "minimum-survivors = 80\nnoise-multiplier = 0.8944271909999159\nsecure-leaving = 0.03\n", folder, "fewer");
  CHECK(epsilon_of(all) == doctest::Approx(4.377).epsilon(2e-4));
  CHECK(epsilon_of(fewer) == doctest::Approx(4.983).epsilon(2e-4));
  CHECK(fewer.at("failed_updates_this_session").get<int>() > 5);
  CHECK(epsilon_of(fewer) == audit_of(folder, "fewer").statements.at(0).statement.epsilon);
  CHECK(audit_of(folder, "fewer").failures.empty());
  const LedgerReading reading = read_ledger(folder.path() / "fewer" / "ledger.jsonl");
  const LedgerStatement& promised = *reading.book.header().at(Level::client);
  CHECK(promised.each.law == kLaw<DiscreteGaussianLaw>);
  CHECK(promised.each.shares.count == 80);
  CHECK(promised.survivors == 80);
  CHECK(promised.colluders == 0);
  CHECK(assumptions_of(fewer).find("knows its own share: epsilon 5.0") != std::string::npos);
  // More than twenty drop out: nothing is released, and the run ends.
  const std::string toml = common + "minimum-survivors = 100\nnoise-multiplier = 1.0\nsecure-leaving = 0.03\n";
  CHECK_FAILURE(run_of(toml, folder, "few"), "round 1", "100");
  CHECK(audit_of(folder, "few").failures.empty());
}

TEST_CASE("colluders: their shares do not count, and readers of the model who took no part see more noise") {
  const Runs folder;
  const std::string common =
      "clients = 20\nrounds = 2\nsecure-aggregation = 'ring'\nsecure-dropouts = 0.1\nnoise-multiplier = 1.0\n";
  const Json none = run_of(common + "secure-colluders = 0.0\n", folder, "none");
  const Json some = run_of(common + "secure-colluders = 0.2\n", folder, "some");
  // The noise grows with colluders, so that epsilon is the same.
  CHECK(epsilon_of(some) == doctest::Approx(epsilon_of(none)).epsilon(1e-3));
  CHECK(read_file(folder.path() / "none" / "ledger.jsonl").find("\"count\":18") != std::string::npos);
  CHECK(read_file(folder.path() / "some" / "ledger.jsonl").find("\"count\":14") != std::string::npos);
  CHECK(assumptions_of(some).find("readers of the models who took no part") != std::string::npos);
  CHECK(some.at("privacy").at(0).at("accountant").get<std::string>() == "rdp");
}

TEST_CASE("noise is calibrated for a budget, which is kept; the ledger is compared with the settings") {
  const Runs folder;
  const std::string toml = "clients = 20\nrounds = 3\nepsilon = 20\nsecure-aggregation = 'ring'\n";
  for (const std::string law : {"skellam", "discrete-gaussian"}) {
    const Json summary = run_of(toml + "noise-law = '" + law + "'\n", folder, law);
    CHECK(epsilon_of(summary) <= 20);
    CHECK(epsilon_of(summary) > 19);
    CHECK(audit_of(folder, law).failures.empty());
  }
  const auto compared = [&](const std::string& other) {
    return compare_with_settings(folder.path() / "skellam" / "ledger.jsonl", {},
                                 resolve(settings_of(folder, "skellam", toml + other)))
        .contradictions;
  };
  CHECK(compared("").empty());
  CHECK(names(compared("noise-law = 'discrete-gaussian'\n").at(0), {"noise-law", "skellam", "discrete-gaussian"}));
  CHECK(names(compared("minimum-survivors = 17\n").at(0), {"minimum-survivors", "17", "16"}));
}

TEST_CASE("what cannot be is refused in one line with the value needed") {
  const Runs folder;
  const auto refused = [&](const std::string& toml) {
    const Settings settings = settings_of(folder, "nothing", "clients = 20\nnoise-multiplier = 1.0\n" + toml);
    return error_of_kind(Error::Kind::usage, [&] { run(resolve(settings), settings); });
  };
  const std::string ring = "secure-aggregation = 'ring'\n";
  CHECK(names(refused(""), {"client-noise", "'distributed'", "secure-aggregation", "ring"}));
  CHECK(names(refused(ring + "weights = 'examples'"), {"weights", "'examples'", "equal"}));
  CHECK(names(refused(ring + "cohort = 'poisson'"), {"cohort", "'poisson'", "client-noise"}));
  CHECK(names(refused(ring + "neighbours = 'add-remove'"), {"neighbours", "'add-remove'", "absent"}));
  CHECK(names(refused(ring + "aggregation = 'median'"), {"aggregation", "'median'"}));
  CHECK(names(refused(ring + "accountant = 'tight'"), {"tight", "skellam", "rdp"}));
  CHECK(names(refused(ring + "accountant = 'zcdp'"), {"zcdp", "rdp"}));
  CHECK(names(refused(ring + "minimum-survivors = 21"), {"minimum-survivors", "21", "20"}));
  CHECK(names(refused(ring + "minimum-survivors = 5"), {"minimum-survivors", "5", "12"}));
  CHECK(names(refused(ring + "secure-grid = '0.25,2^-12,32'"), {"secure-grid", "0.25", "0.5"}));
  CHECK(names(refused(ring + "secure-grid = '1,2^-28,32'"), {"secure-grid", "32 bits", "bits"}));
  CHECK(names(refused(ring + "secure-grid = '1,2^-3,32'\nnoise-law = 'discrete-gaussian'"), {"noise-law", "2 steps", "2^-4"}));
  CHECK(names(refused(ring + "secure-grid = '1,2^-30,64'"), {"noise-law", "46340", "step"}));
  const auto network = [&](const std::string& toml) {
    check_rules(resolve(settings_of(folder, "nothing", "clients = 20\nnoise-multiplier = 1.0\n" + toml)), RuleScope::network);
  };
  CHECK_USAGE_ERROR(network(ring), "secure-aggregation", "'ring'", "'real'");
  network("secure-aggregation = 'real'\n");
}

}  // namespace fedstride::test::distributed_noise_run_test
