// Every part of every family of a federation, without naming any: the same bits on 1, 2 and 8 threads, and when a run is
// stopped and resumed.
#include <doctest/doctest.h>

#include "core/error.hpp"
#include "core/text.hpp"
#include "sim/prepare/setup.hpp"
#include "sim/run/run.hpp"
#include "sim/settings/configuration.hpp"
#include "tests/sim/run/csv_runs.hpp"

namespace fedstride::test::every_part_test {
namespace {

struct Case {
  std::string name;
  Settings settings;
};

/// A case for every part, with each choice among names that it has. `refused` gets those that these data or clients do not suit.
std::vector<Case> every_part(const Settings& base, std::vector<std::string>& refused) {
  std::vector<Case> cases;
  const Configuration configuration;
  for (const ChosenPart* chosen : chosen_parts(configuration)) {
    const std::string key(chosen->family().key());
    if (key == "partition" || key == "dp" || key == "optimizer") continue;  // these have tests of their own
    for (const auto& part : chosen->family().parts()) {
      const std::string name = key + " " + std::string(part->name());
      std::vector<Case> own{{name, base}};
      for (const SettingInfo& setting : part->settings())
        for (const auto& choice : setting.choices) {
          own.push_back({name + ", " + std::string(setting.name) + " " + std::string(choice), base});
          own.back().settings[std::string(setting.name)] = {std::string(choice), true};
        }
      for (Case& one : own) {
        one.settings[key] = {std::string(part->name()), true};
        if (key == "mode" || key == "availability") one.settings["devices"] = {std::string("lognormal"), true};
        if (part->find("buffer") != nullptr) one.settings["buffer"] = {std::string("4"), true};
        if (part->find("staleness-cap") != nullptr) one.settings["staleness-cap"] = {std::string("2"), true};
        try {
          prepare(resolve(one.settings));
          cases.push_back(std::move(one));
        } catch (const Error&) {
          refused.push_back(one.name);
        }
      }
    }
  }
  return cases;
}

// Everything that a round leaves: its model, and how the clients' own models fare.
std::vector<std::string> rounds_of(const std::string& folder) {
  std::vector<std::string> rounds;
  for (const Json& line : lines(folder + "/rounds.jsonl")) {
    rounds.push_back(line["model_hash"]);
    for (const auto& [name, value] : line.items())
      if (name.starts_with("personal")) rounds.back() += " " + value.dump();
    for (const Json& client : line["clients"]) rounds.back() += " " + client.value("personal_loss", Json()).dump();
  }
  return rounds;
}

Settings with(Settings settings, const std::string& key, const std::string& value) {
  settings[key] = {value, true};
  return settings;
}

}  // namespace

TEST_CASE("every part gives the same bits on 1, 2 and 8 threads, and when stopped after a round and resumed") {
  const TemporaryFolder folder;
  write_data(folder);
  const Settings base = settings_for(folder, "x",
                                     "optimizer = 'sgd'\nlearning-rate = 0.1\nbatch = 5\nclients = 10\nrounds = 3\n"
                                     "partition = 'dirichlet'\nalpha = 2.0\nclient-test = 0.2\n");
  std::vector<std::string> refused;
  const auto cases = every_part(base, refused);
  CHECK(joined(refused) ==
        "feature-skew rotation, feature-skew color, feature-skew color, color permute, feature-skew color, color tint, "
        "attack backdoor, cohort trace, devices table, availability day-night, when-away deadline, "
        "availability markov, when-away deadline, availability table, availability table, when-away lost, availability table, "
        "when-away deadline, availability table, when-away resume");
  CHECK(cases.size() > 20);
  std::size_t run_number = 0;
  for (const Case& one : cases) {
    CAPTURE(one.name);
    const std::string at = folder / std::to_string(++run_number);
    for (const char* threads : {"1", "2", "8"}) start(with(with(one.settings, "threads", threads), "out", at + "-" + threads));
    REQUIRE(rounds_of(at + "-1").size() == 3);
    CHECK(rounds_of(at + "-2") == rounds_of(at + "-1"));
    CHECK(rounds_of(at + "-8") == rounds_of(at + "-1"));
    std::atomic<bool> stop{false};
    RunObserver observer;
    observer.stop = &stop;
    observer.round = [&](const RoundRecord& record) { stop = record.round == 1; };
    REQUIRE(start(with(one.settings, "out", at + "-broken"), observer).interrupted);
    resume(at + "-broken", {{"threads", {"1", true}}});
    CHECK(rounds_of(at + "-broken") == rounds_of(at + "-1"));
  }
}

}  // namespace fedstride::test::every_part_test
