// A run whose updates nobody sees ends in the model of one that sees them, and its folder has nothing of a single client.
#include <doctest/doctest.h>

#include "core/error.hpp"
#include "core/files.hpp"
#include "core/json.hpp"
#include "core/text.hpp"
#include "server/failures.hpp"
#include "sim/prepare/noise_shares.hpp"
#include "sim/settings/configuration.hpp"
#include "tests/sim/run/csv_runs.hpp"
#include "tests/support/refusal.hpp"

namespace fedstride::test::secure_run_test {
namespace {

Settings secure_settings(const TemporaryFolder& folder, const std::string& name, const std::string& toml) {
  Settings settings = settings_for(folder, name, "clients = 5\nrounds = 3\nquiet = true\n");
  for (const auto& [key, setting] : parse_settings(toml, "test")) settings[key] = setting;
  return settings;
}

Json summary_of(const std::string& toml, const TemporaryFolder& folder, const std::string& name) {
  start(secure_settings(folder, name, toml));
  return parse_json(read_file(folder.path() / name / "summary.json"));
}

}  // namespace

TEST_CASE("the model is that of a run without it: pooled statistics, control variates, noise and drawn cohorts included") {
  for (const std::string toml :
       {"optimizer = 'adadp'", "optimizer = 'pooled'", "optimizer = 'sgd'\nlocal-objective = 'scaffold'\nweights = 'examples'",
        "optimizer = 'sgd'\ndp = 'client'\nnoise-multiplier = 1.0", "optimizer = 'pooled'\ndp = 'client'\nnoise-multiplier = 1.0",
        "optimizer = 'sgd'\ncohort = 'fixed'\ncohort-size = 4", "optimizer = 'sgd'\ndp = 'example'\nnoise-multiplier = 1.0",
        "optimizer = 'sgd'\nserver-optimizer = 'adam'", "optimizer = 'pooled'\nserver-optimizer = 'restore'",
        "optimizer = 'sgd'\nlocal-objective = 'scaffold'\nserver-optimizer = 'fedexp'"}) {
    CAPTURE(toml);
    const TemporaryFolder folder;
    write_data(folder);
    const bool is_private = toml.find("dp =") != toml.npos;  // their noise is drawn for the settings
    const std::string hash = summary_of(toml, folder, "plain").at("model_hash").get<std::string>();
    const std::string masked =
        summary_of(toml + "\nsecure-aggregation = 'real'", folder, "real").at("model_hash").get<std::string>();
    CHECK((is_private || masked == hash));
    const Json ring = summary_of(toml + "\nsecure-aggregation = 'ring'", folder, "ring");
    CHECK((is_private || ring.at("model_hash").get<std::string>() == hash));
    CHECK(ring.at("secure_aggregation").get<std::string>() == "ring");
  }
}

TEST_CASE("lines of rounds have sums, and of a client what the coordinator's roster has") {
  const TemporaryFolder folder;
  write_data(folder);
  const Json plain = summary_of("optimizer = 'adadp'", folder, "plain");
  const Json summary = summary_of("optimizer = 'adadp'\nsecure-aggregation = 'real'", folder, "real");
  CHECK(summary.at("secure_aggregation").get<std::string>() == "real");
  CHECK_FALSE(plain.contains("secure_aggregation"));
  CHECK(summary.at("examples").get<std::uint64_t>() == plain.at("examples").get<std::uint64_t>());
  const auto line = [&](const char* run) {
    const std::string text = read_file(folder.path() / run / "rounds.jsonl");
    return parse_json(split(text, '\n')[1]);
  };
  const Json secure = line("real"), open = line("plain");
  CHECK(secure.at("train_loss").get<double>() == doctest::Approx(open.at("train_loss").get<double>()));
  CHECK(secure.at("participants").get<int>() == 5);
  CHECK(secure.at("steps").get<int>() > 0);
  for (const Json& client : secure.at("clients")) CHECK(client.size() == 2);
}

TEST_CASE("drop-outs: rings and masks agree; a round with too few changes nothing, and the run can be resumed") {
  const TemporaryFolder folder;
  write_data(folder);
  const auto settings = [&](const std::string& mode, const char* name) {
    return secure_settings(folder, name,
                           "optimizer = 'sgd'\nserver-optimizer = 'restore'\nclients = 9\nrounds = 4\nsecure-leaving = "
                           "0.05\nsecure-dropouts = 0.4\nseed = 5\n"
                           "secure-aggregation = '" +
                               mode + "'\n");
  };
  const Settings ring = settings("ring", "ring"), real = settings("real", "real");
  const RunSummary one = start(ring), other = start(real);
  CHECK(one.failures > 0);
  CHECK(one.failures == other.failures);
  const auto hash = [&](const char* name) {
    return parse_json(read_file(folder.path() / name / "summary.json")).at("model_hash").get<std::string>();
  };
  CHECK(hash("ring") == hash("real"));

  Settings few = settings("real", "few");
  few["secure-leaving"] = {0.3};
  CHECK_FAILURE(start(few), "round 1", "secure aggregation", "nothing is revealed");
}

TEST_CASE("what would read single updates, or could wrap, is refused by name") {
  const TemporaryFolder folder;
  write_data(folder);
  const auto refused = [&](const std::string& toml) {
    const Settings settings = secure_settings(folder, "x", "secure-aggregation = 'ring'\noptimizer = 'sgd'\n" + toml + "\n");
    return error_of_kind(Error::Kind::usage, [&] { start(settings); });
  };
  CHECK(names(refused("aggregation = 'median'"), {"aggregation", "'median'", "secure-aggregation 'ring'"}));
  CHECK(names(refused("local-objective = 'fair'"), {"local-objective", "'fair'", "secure-aggregation 'ring'"}));
  CHECK(names(refused("max-update-norm = 1.0"), {"max-update-norm", "secure-aggregation 'ring'"}));
  CHECK(names(refused("personal = 'fine-tune'"), {"personal", "secure-aggregation 'ring'"}));
  CHECK(names(refused("secure-grid = '1,2^-20,32'\ndp = 'client'\nnoise-multiplier = 1.0"), {"secure-grid", "dp 'client'"}));
  CHECK(names(refused("secure-grid = '1,2^-30,32'"), {"secure-grid", "32 bits"}));
  CHECK(names(refused("secure-grid = '1,2'"), {"secure-grid", "'1,2'"}));
  CHECK(names(refused("secure-colluders = 0.9"), {"secure-aggregation", "4 colluders"}));
}

}  // namespace fedstride::test::secure_run_test
