// A run on ranks is bit-identical to the run in one process, for every part in the registries, without naming any: in turn on 3, 1, 2
// or 5 ranks, with FEDSTRIDE_EVERY_CHECK on 3 and one more; with sanitizers a quarter of them, on 3.
#include <doctest/doctest.h>

#include <cstdio>
#include <cstdlib>
#include <map>

#include "core/files.hpp"
#include "core/hash.hpp"
#include "core/text.hpp"
#include "sim/mpi/mpi_fleet.hpp"
#include "sim/run/run.hpp"
#include "tests/sim/mpi/mpirun.hpp"
#include "tests/support/bounds.hpp"

namespace fedstride::test::conformance_test {
namespace {

constexpr int kMaxRanks = 5;

Setting text(const std::string& value) { return {value, true}; }

struct Case {
  std::string name;
  Settings settings;
  std::vector<std::string> rounds = {};  ///< the results of each round in one process, as text
};

std::string number(double value) {
  char digits[40];
  std::snprintf(digits, sizeof digits, "%a", value);
  return digits;
}

std::string round_text(const RoundRecord& record) {
  std::string all = record.model_hash + " " + number(record.totals.sums.loss);
  for (const auto& evaluation : {record.test, record.validation})
    if (evaluation) all += " " + number(evaluation->loss) + " " + number(evaluation->accuracy);
  for (const ClientReport& client : record.clients)
    all += "\n" + std::to_string(client.client) + " " + std::to_string(client.examples) + " " + std::to_string(client.steps) +
           " " + number(client.loss) + " " + number(client.learning_rate) + " " + std::to_string(client.personal_correct) + " " +
           number(client.personal_loss) + " " + client.failure;
  return all;
}

RunObserver kept_in(std::vector<std::string>& rounds) {
  RunObserver observer;
  observer.round = [&](const RoundRecord& record) { rounds.push_back(round_text(record)); };
  return observer;
}

/// Every part of every family with each of its choices, if it can run on its own on these data; privacy with each kind
/// of cohort. `refused` receives the names of the parts that cannot.
std::vector<Case> all_cases(const Settings& base, const std::string& manifest, Words& refused) {
  std::vector<Case> cases;
  const auto settings_of = [&](const PartFamily& family, const Part& part) {
    Settings settings{{std::string(family.key()), text(std::string(part.name()))}};
    if (family.key() == "mode" || family.key() == "availability") settings["devices"] = text("lognormal");
    for (const SettingInfo& setting : part.settings()) {
      // Noise must be given, and a file must exist.
      if (setting.name.ends_with("noise-multiplier")) settings[std::string(setting.name)] = text("0.7");
      if (setting.valid.place == Place::file) settings[std::string(setting.name)] = text(manifest);
      if (setting.name == "distribution-file") settings["distribution-file"] = text(manifest + ".mixes");
      if (setting.name == "least-rows") settings["least-rows"] = text("0");  // there are few rows
      if (setting.name == "sizes") settings["sizes"] = text("3,4,5,6,7,8,9,10,11,12,13,14");
    }
    return settings;
  };
  const auto add = [&](const std::string& name, Settings settings) {
    settings.insert(base.begin(), base.end());
    try {
      prepare(resolve(settings));
    } catch (const Error&) {
      return false;
    }
    cases.push_back({name, std::move(settings)});
    return true;
  };
  const auto variants = [&](const PartFamily& family, const Part& part) {
    std::map<std::string, Settings> all{{std::string(part.name()), settings_of(family, part)}};
    for (const SettingInfo& setting : part.settings()) {
      if (setting.name.find("accountant") != setting.name.npos) continue;  // used only by rank 0's ledger
      for (const auto& choice : setting.choices) {
        Settings settings = settings_of(family, part);
        settings[std::string(setting.name)] = text(std::string(choice));
        all.emplace(std::string(part.name()) + ", " + std::string(setting.name) + " " + std::string(choice), settings);
      }
    }
    return all;
  };
  const Configuration configuration;
  const auto cohorts = configuration.cohort.family().parts();
  for (const ChosenPart* chosen : chosen_parts(configuration)) {
    const PartFamily& family = chosen->family();
    for (const auto& part : family.parts()) {
      bool runs = false;
      for (auto& [name, settings] : variants(family, *part)) {
        runs |= add(name, settings);
        if (family.key() == "optimizer") {
          settings["client-state"] = text("keep");
          add(name + ", states kept", settings);
        }
        if (family.key() != "dp" || part->settings().empty()) continue;
        for (const auto& cohort : cohorts)
          for (auto& [which, more] : variants(configuration.cohort.family(), *cohort)) {
            more.insert(settings.begin(), settings.end());
            add(name + ", cohort " + which, more);
          }
      }
      if (!runs) refused.push_back(std::string(family.key()) + " " + std::string(part->name()));
    }
  }
  return cases;
}

}  // namespace

TEST_CASE("every part gives the same bits on any number of ranks as in one process") {
  FEDSTRIDE_NEEDS_MPIRUN();
  const Outcome outcome = inside(kMaxRanks, "inside: conformance");
  CHECK_MESSAGE(outcome.code == 0, outcome.out << outcome.err);
  MESSAGE(outcome.out);
}

TEST_CASE("inside: conformance" * doctest::skip()) {
  const auto all = Ranks::join();
  const MpiJob job;
  const TemporaryFolder folder;
  std::vector<Case> cases;
  std::string go;
  if (all->rank() == 0) {
    write_table(folder / "data");
    const Settings base{{"data", text(folder / "data")},
                        {"model", text("dense 3 | relu | dense classes")},
                        {"clients", text("12")},
                        {"client-test", text("0.2")},
                        {"rounds", text("3")},
                        {"threads", text("1")},
                        {"validation-fraction", text("0.1")},
                        {"batch", text("5")},
                        {"classes", text("3")},
                        {"header", text("no")},
                        {"mean", text("0.67")},
                        {"deviation", text("1.2")}};
    Settings first = base;
    first["client-test"] = text("0");  // its manifest lists all rows
    first["out"] = text(folder / "first");
    run(resolve(first), first);
    std::string mixes;
    for (int client = 0; client < 12; ++client) mixes += "1," + std::to_string(client) + ",2\n";
    write_file(folder / "first/partition.json.mixes", mixes);
    Words refused;
    cases = all_cases(base, folder / "first/partition.json", refused);
    // These data name no clients, and no process of a job has rows that clients bring.
    CHECK(joined(refused) ==
          "partition natural, partition natural-grouped, partition own, partition outside, feature-skew rotation, feature-skew "
          "color, attack backdoor, cohort trace, dp user, devices table, availability table");
    std::size_t at = 0;
    if (kOneOf > 1) std::erase_if(cases, [&](const Case&) { return at++ % 4 != 0; });
    for (std::size_t i = 0; i < cases.size(); ++i) {
      Settings settings = cases[i].settings;
      settings["out"] = text(folder / ("alone-" + std::to_string(i)));
      run(resolve(settings), settings, kept_in(cases[i].rounds));
    }
    MESSAGE(cases.size() << " configurations");
  }
  const std::vector<int> tried = kOneOf > 1 ? std::vector<int>{3} : std::vector<int>{3, 1, 2, kMaxRanks};
  for (const int ranks : tried) {
    all->broadcast(go, 1);  // waits without occupying the processor
    const auto group = all->split(all->rank() < ranks ? 0 : 1);
    if (all->rank() >= ranks) continue;
    if (all->rank() > 0) {
      work_for_rank_0(*group, job);
      continue;
    }
    const DismissOnExit end(*group);
    const bool each_on_3 = std::getenv("FEDSTRIDE_EVERY_CHECK") != nullptr;
    const std::size_t turns = tried.size() - 1;
    for (std::size_t i = 0; i < cases.size(); ++i) {
      const bool wanted = each_on_3 ? ranks == tried.front() || ranks == tried[1 + i % turns] : ranks == tried[i % tried.size()];
      if (!wanted) continue;
      CAPTURE(ranks);
      CAPTURE(cases[i].name);
      Settings settings = cases[i].settings;
      settings["out"] = text(folder / ("ranks-" + std::to_string(ranks) + "-" + std::to_string(i)));
      std::vector<std::string> rounds;
      run(resolve(settings), settings, kept_in(rounds), mpi_fleet(*group, job));
      CHECK(rounds == cases[i].rounds);
    }
  }
}

TEST_CASE("a run resumes with the same bits on another number of ranks: states, and noise from a secret key") {
  FEDSTRIDE_NEEDS_MPIRUN();
  const Outcome outcome = inside(kMaxRanks, "inside: going on");
  CHECK_MESSAGE(outcome.code == 0, outcome.out << outcome.err);
}

TEST_CASE("inside: going on" * doctest::skip()) {
  const auto all = Ranks::join();
  const MpiJob job;
  const TemporaryFolder folder;
  Words kinds{"kept", "client", "example", "beside"};
  for (const std::string& rule : bounds_on_updates()) kinds.push_back(rule);
  for (const std::string& rule : bounds_on_lots()) kinds.push_back(rule + "-lots");
  const auto continued = [&](const std::string& out, const std::string& rounds, const FleetMaker& fleet) {
    std::vector<std::string> found;
    resume(out, {{"rounds", text(rounds)}}, kept_in(found), fleet);
    return found;
  };
  std::map<std::string, std::vector<std::string>> expected;
  if (all->rank() == 0) {
    write_table(folder / "data");
    Settings base{{"data", text(folder / "data")},
                  {"model", text("logistic")},
                  {"clients", text("6")},
                  {"rounds", text("1")},
                  {"threads", text("1")}};
    std::map<std::string, Settings> more;
    more["kept"] = {{"optimizer", text("adam")}, {"client-state", text("keep")}};
    for (const char* level : {"client", "example"})
      more[level] = {{"dp", text(level)},
                     {"classes", text("3")},
                     {"header", text("no")},
                     {"mean", text("0.67")},
                     {"deviation", text("1.2")},
                     {"noise-multiplier", text("0.5")},
                     {"randomness", text("secret")},
                     {"optimizer", text("adam")},
                     {"client-state", text("keep")}};
    more["beside"] = more["client"];  // numbers go with the clipped updates
    more["beside"]["optimizer"] = text("pooled");
    more["beside"]["server-optimizer"] = text("restore");
    more["beside"].erase("client-state");
    for (const std::string& rule : bounds_on_updates()) {
      more[rule] = more["client"];
      more[rule + "-lots"] = more["example"];
      more[rule]["clip-rule"] = more[rule + "-lots"]["clip-rule"] = text(rule);
    }
    for (const std::string& kind : kinds) {
      Settings settings = base;
      settings.insert(more[kind].begin(), more[kind].end());
      settings["out"] = text(folder / kind);
      run(resolve(settings), settings);
      std::filesystem::copy(folder / kind, folder / (kind + "-alone"), std::filesystem::copy_options::recursive);
      expected[kind] = continued(folder / (kind + "-alone"), "5", {in_process_fleet});
      REQUIRE(expected[kind].size() == 4);
    }
  }
  std::string go;
  int rounds = 2;
  for (const int ranks : {3, 1, 5, 2}) {
    all->broadcast(go, 1);
    const auto group = all->split(all->rank() < ranks ? 0 : 1);
    if (all->rank() > 0 && all->rank() < ranks) work_for_rank_0(*group, job);
    if (all->rank() > 0) continue;
    const DismissOnExit end(*group);
    for (const std::string& kind : kinds) {
      CAPTURE(ranks);
      CAPTURE(kind);
      const auto found = continued(folder / kind, std::to_string(rounds), mpi_fleet(*group, job));
      CHECK(found == std::vector<std::string>{expected[kind][static_cast<std::size_t>(rounds - 2)]});
    }
    ++rounds;
  }
}

}  // namespace fedstride::test::conformance_test
