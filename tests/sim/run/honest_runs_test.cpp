// Honest runs at every level of privacy, by every cohort, sampling, mechanism and place of noise, without naming any: what canaries
// show is never above what the ledger charges, and the audit of their folders passes.
#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>

#include "core/error.hpp"
#include "core/files.hpp"
#include "server/cohorts.hpp"
#include "sim/run/fleets.hpp"
#include "sim/run/ledger_terms.hpp"
#include "sim/run/measure.hpp"
#include "sim/run/run_records.hpp"
#include "tests/sim/run/csv_runs.hpp"
#include "tests/support/sanitized.hpp"

namespace fedstride::test::honest_runs_test {
namespace {

namespace fs = std::filesystem;

// 18 users of ten rows, dealt out to six clients; six rounds: two cycles of three bins.
void write_users(const TemporaryFolder& folder) {
  std::ofstream train(folder / "train.csv");
  train << "who,a,b,c,kind\n";
  for (int row = 0; row < 180; ++row) {
    RandomStream random(9, {.purpose = Purpose::test, .row = static_cast<std::uint32_t>(row)});
    train << 'u' << row / 10;
    for (int column = 0; column < 3; ++column) train << ',' << random.normal() * 0.5 + (column == row % 3 ? 2 : 0);
    train << ',' << row % 3 << '\n';
  }
  std::ofstream(folder / "trace.csv") << "client,from,to\n0,1,6\n1,1,6\n2,3,6\n3,1,4\n4,1,6\n5,1,6\n";
}

std::string base_text(const TemporaryFolder& folder) {
  return "data = '" + (folder / "train.csv") + "'\nlabel = 'kind'\nclient-column = 'who'\npartition = 'iid'\nclients = 6\n" +
         "rounds = 6\nclasses = 3\nheader = 'yes'\nmean = '0.67'\ndeviation = '1.2'\nmodel = 'dense 40 | relu | dense "
         "classes'\nbatch = 15\n"
         "optimizer = 'sgd'\nlearning-rate = 0.05\nthreads = 1\n";
}

/// Values with which settings suit so small a federation, and others that choices need beside them; whoever adds a part need not add any.
std::map<std::string, std::string> suited(const TemporaryFolder& folder) {
  return {
      {"cohort-size", "3"}, {"cohort-rate", "0.5"}, {"cohort-bins", "3"},        {"trace", "'" + (folder / "trace.csv") + "'"},
      {"clip", "0.3"},      {"client-clip", "0.3"}, {"noise-multiplier", "0.5"}, {"client-noise-multiplier", "0.5"}};
}
const std::map<std::string, std::string> kBeside{
    {"client-noise distributed", "secure-aggregation = 'ring'\n"},
    {"noise-law", "client-noise = 'distributed'\nsecure-aggregation = 'ring'\n"},
    {"noise-mechanism", "minimum-separation = 2\n"},
    {"evaluate private", "evaluate-noise = 3.0\n"},
    {"normalize private", "normalize-noise = 3.0\nmean = ''\ndeviation = ''\nrange = '-3,3'\n"},
};

void add(Settings& settings, const std::string& text) {
  for (const auto& [key, setting] : parse_settings(text, "test")) settings[key] = setting;
}

/// Chooses a part, with the values that suit.
void choose(Settings& settings, std::string_view family, const Part& part, const std::map<std::string, std::string>& values) {
  add(settings, std::string(family) + " = '" + std::string(part.name()) + "'\n");
  for (const SettingInfo& info : part.settings())
    if (const auto value = values.find(std::string(info.name)); value != values.end())
      add(settings, value->first + " = " + value->second + "\n");
}

struct Case {
  std::string name;
  Settings settings;
  std::size_t rarity = 0;  ///< 0: a level and a cohort; 1: and a choice of privacy, by all clients; 2: any other choice
};

/// Each choice of these settings but the default, which `owner` has; not how data are read and what is printed.
std::vector<Case> with_choices(const Case& base, std::size_t rarity, std::span<const SettingInfo> infos, const void* owner) {
  std::vector<Case> cases;
  for (const SettingInfo& info : infos)
    for (const std::string_view choice : info.choices) {
      if (!shapes_rounds(info.shapes) || is_about_reading(info.name) || info.get(owner) == SettingValue(std::string(choice)))
        continue;
      const std::string name(info.name), words = name + " " + std::string(choice);
      Case one{base.name + ", " + words, base.settings, rarity};
      for (const std::string& key : {name, words})
        if (const auto beside = kBeside.find(key); beside != kBeside.end()) add(one.settings, beside->second);
      add(one.settings, name + " = '" + std::string(choice) + "'\n");
      cases.push_back(std::move(one));
    }
  return cases;
}

/// Every level with every cohort and every choice of how its lots and noise are made, and of how rounds are.
std::vector<Case> all_cases(const TemporaryFolder& folder) {
  const auto values = suited(folder);
  const Configuration defaults;
  std::vector<Case> cases;
  const auto append = [&](std::vector<Case> more) { std::ranges::move(more, std::back_inserter(cases)); };
  for (const auto& level : PrivacyPart::family().parts())
    for (const auto& cohort : CohortPart::family().parts()) {
      const bool is_usual = cohort == CohortPart::family().parts().front();
      Case one{std::string(level->name()) + ", cohort " + std::string(cohort->name()), {}};
      add(one.settings, base_text(folder));
      choose(one.settings, "dp", *level, values);
      choose(one.settings, "cohort", *cohort, values);
      cases.push_back(one);
      append(with_choices(one, is_usual ? 1 : 2, level->settings(), level->object()));
      if (is_usual) append(with_choices(one, 2, settings_of<Configuration>(), &defaults));
    }
  return cases;
}

/// True for all common cases, and for some of the rarest: the choices of privacy by all clients, in the long test all other choices.
bool is_taken(const Case& one, std::vector<std::size_t>& seen) {
  const std::size_t rarest = every_check() ? 2 : 1;
  const std::size_t number = seen.at(one.rarity)++;
  return one.rarity <= rarest && number % (one.rarity == rarest ? (every_check() ? 3 : 4) * kOneOf : kOneOf) == 0;
}

Audit audit_of(const fs::path& run) {
  const fs::path ledger = run / "ledger.jsonl";
  const Configuration settings = resolve(read_settings((run / "config.toml").string()));
  const std::string key = fs::exists(run / "secret.key") ? read_file(run / "secret.key") : std::string();
  const RunRecords records(run);
  Audit audit = audit_ledger(ledger, records.marks(), key, false);
  records.compare(ledger, key, settings, audit);
  const auto& contradictions = compare_with_settings(ledger, key, settings).contradictions;
  audit.failures.insert(audit.failures.end(), contradictions.begin(), contradictions.end());
  return audit;
}

/// True if these settings are refused, by a rule, a reader or the lack of a bound.
bool is_refused(const Settings& settings) {
  try {
    const Configuration configuration = resolve(settings);
    require_fleet(configuration, {in_process_fleet});
    prepare(configuration);
    return !is_private(configuration);
  } catch (const Error& error) {
    if (error.kind() != Error::Kind::usage) throw;
    return true;
  }
}

struct Counts {
  int refused = 0, unmeasured = 0, measured = 0;
  int silent = 0;  ///< levels of which nothing was released with canaries: their client was never drawn
};

/// False if the run is of a kind that is not measured. The bounds hold together with this confidence, so that no honest run of the few
/// hundred here is accused by chance, whatever their seeds.
bool is_measured(const Settings& settings, Counts& counts) {
  try {
    const Measurement found = measure_privacy(resolve(settings), {.canaries = 200, .confidence = 0.9999});
    for (const MeasuredLevel& level : found.levels) {
      CHECK_MESSAGE(level.contradiction.empty(), level.contradiction);
      counts.silent += level.releases == 0 ? 1 : 0;
      for (const LowerBound& bound : level.bounds) CHECK(bound.epsilon <= level.ledger.epsilon);
    }
    return true;
  } catch (const Error& error) {
    CHECK(std::string(error.what()).starts_with("privacy measure: "));
    return false;
  }
}

}  // namespace

TEST_CASE("no honest run is accused by its canaries or fails its audit, at any level, by any cohort and any noise") {
  const TemporaryFolder folder;
  write_users(folder);
  Counts counts;
  std::set<std::string> levels;
  std::vector<std::size_t> seen(3);  // by rarity
  for (Case& one : all_cases(folder)) {
    if (!is_taken(one, seen)) continue;
    CAPTURE(one.name);
    if (is_refused(one.settings)) {
      ++counts.refused;
      continue;
    }
    const std::string out = folder / "run";
    one.settings["out"] = {out, true};
    add(one.settings, "seed = " + std::to_string(counts.measured + 1) + "\n");
    start(one.settings);
    CHECK(audit_of(out).failures == std::vector<std::string>());
    fs::remove_all(out);
    ++(is_measured(one.settings, counts) ? counts.measured : counts.unmeasured);
    levels.insert(one.name.substr(0, one.name.find(',')));
  }
  MESSAGE(counts.measured << " runs measured, " << counts.unmeasured << " of kinds that are not, " << counts.refused
                          << " refused");
  if (is_sanitized()) return;
  CHECK(counts.measured >= (every_check() ? 150 : 30));
  CHECK(counts.unmeasured >= 10);
  CHECK(counts.silent * 10 <= counts.measured);
  CHECK(levels.size() + 1 == PrivacyPart::family().parts().size());  // all but none
}

}  // namespace fedstride::test::honest_runs_test
