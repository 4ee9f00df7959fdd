#include "sim/settings/methods.hpp"

#include <doctest/doctest.h>

#include <map>
#include <set>
#include <string>

#include "sim/settings/configuration.hpp"
#include "tests/support/refusal.hpp"

namespace fedstride::test::methods_test {
namespace {

Settings settings_of(const std::string& toml) { return parse_settings(toml, "test.toml"); }
Configuration from(const std::string& toml) { return resolve(settings_of(toml)); }
std::string text_of(const Configuration& configuration, const std::string& key) {
  return value_text(settings_of(write_settings(configuration, {})).at(key).value);
}

/// What the papers define: the local steps' optimizer, the clients' objective, what the server makes of their models.
struct Definition {
  std::string optimizer, objective, aggregation, server;
  std::map<std::string, std::string> more = {};
};
const std::map<std::string, Definition> kDefinitions = {
    {"default", {"pooled", "plain", "mean", "restore"}},
    {"fedavg", {"sgd", "plain", "mean", "average", {{"weights", "auto"}, {"dp", "none"}}}},
    {"fedprox", {"sgd", "prox", "mean", "average"}},
    {"scaffold", {"sgd", "scaffold", "mean", "average"}},
    {"fedavgm", {"sgd", "plain", "mean", "momentum"}},
    {"fedadam", {"sgd", "plain", "mean", "adam"}},
    {"fedyogi", {"sgd", "plain", "mean", "yogi"}},
    {"fedadagrad", {"sgd", "plain", "mean", "adagrad"}},
    {"fedbn", {"sgd", "plain", "mean", "average", {{"personal", "local-layers"}, {"local-layers", "batchnorm"}}}},
    {"fednova", {"sgd", "nova", "mean", "average"}},
    {"feddyn", {"sgd", "dyn", "mean", "average"}},
    {"dp-fedavg",
     {"sgd",
      "plain",
      "mean",
      "average",
      {{"dp", "client"},
       {"clip-rule", "fixed"},
       {"client-noise", "central"},
       {"cohort", "poisson"},
       {"weights", "equal"},
       {"server-schedule", "constant"}}}},
    {"dp-sgd",
     {"sgd",
      "plain",
      "mean",
      "average",
      {{"dp", "example"},
       {"clip-rule", "fixed"},
       {"sampling", "poisson"},
       {"clip-schedule", "constant"},
       {"noise-schedule", "constant"}}}},
};

}  // namespace

TEST_CASE("each method resolves to the pieces of its paper, which config.toml shows") {
  std::set<std::string> names;
  for (const KnownName& method : known_methods()) {
    CAPTURE(method.name);
    names.insert(method.name);
    const Definition& definition = kDefinitions.at(method.name);
    const bool is_private = definition.more.contains("clip-rule");
    const Configuration configuration = from("method = '" + method.name + "'\n" + (is_private ? "noise-multiplier = 1.0\n" : ""));
    CHECK(configuration.optimizer.name() == definition.optimizer);
    CHECK(configuration.objective.name() == definition.objective);
    CHECK(configuration.aggregation.name() == definition.aggregation);
    CHECK(configuration.server.name() == definition.server);
    CHECK(configuration.personal.name() == (definition.more.contains("personal") ? "local-layers" : "none"));
    CHECK(configuration.mode.name() == "sync");
    for (const auto& [key, value] : definition.more) CHECK(text_of(configuration, key) == value);
    // The file of a run repeats it, and is the same run as one whose settings were named one by one.
    const std::string file = write_settings(configuration, {});
    CHECK(file.find("method") == file.npos);
    CHECK(write_settings(from(file), {}) == file);
  }
  CHECK(names.size() == kDefinitions.size());
  CHECK(identity_settings(from("method = 'fedadam'")) == identity_settings(from("optimizer = 'sgd'\nserver-optimizer = 'adam'")));
}

TEST_CASE("a setting that contradicts the method is refused, one that completes it is not") {
  CHECK_USAGE_ERROR(from("method = 'fedavg'\nserver-optimizer = 'restore'"), "'fedavg'", "server-optimizer average", "'restore'");
  CHECK_USAGE_ERROR(from("method = 'dp-sgd'\nnoise-multiplier = 1.0\ndp = 'client'"), "'dp-sgd'", "dp example", "'client'");
  CHECK_USAGE_ERROR(from("method = 'default'\noptimizer = 'sgd'"), "'default'", "optimizer auto", "'sgd'");
  CHECK_USAGE_ERROR(from("method = 'fedavgm2'"), "method", "'fedavgm2'", "'fedavgm'");
  CHECK(text_of(from("method = 'fedprox'\nmu = 0.5\noptimizer = 'sgd'"), "mu") == "0.5");
  CHECK(from("method = ''").optimizer.name() == "pooled");
}

TEST_CASE("a method on the command line replaces what a file chose, but nothing else on the command line") {
  Settings settings = settings_of("optimizer = 'adadp'\ntolerance = 0.3\nserver-optimizer = 'adam'\nbatch = 7\n");
  settings["method"] = {std::string("fedavg"), true};
  const Configuration configuration = resolve(settings);
  CHECK(configuration.optimizer.name() == "sgd");
  CHECK(configuration.server.name() == "average");
  CHECK(configuration.batch == 7);
  settings["optimizer"].from_command_line = true;
  CHECK_USAGE_ERROR(resolve(settings), "'fedavg'", "optimizer sgd", "'adadp'");
}

}  // namespace fedstride::test::methods_test
