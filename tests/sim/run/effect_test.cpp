// Takes 25 s of processor time: every setting of every part is changed, and a run made of it.
#include <doctest/doctest.h>

#include <cmath>
#include <filesystem>
#include <set>

#include "core/error.hpp"
#include "core/text.hpp"
#include "sim/settings/rules.hpp"
#include "tests/sim/run/csv_runs.hpp"
#include "tests/support/other_values.hpp"

namespace fedstride::test::effect_test {
namespace {

/// What readers of a run get: its numbers, apart from hashes and durations, and its notes.
struct Outcome {
  std::map<std::string, double> numbers = {};
  std::set<std::string> texts = {};

  void add(const std::string& name, const Json& value) {
    const bool is_time = name.ends_with("seconds") && !name.ends_with("virtual_seconds");
    if (name.ends_with("hash") || is_time || name.ends_with("per_second") || name.ends_with("memory_bytes") ||
        name.ends_with("this_session"))
      return;
    if (value.is_number()) numbers[name] = value.get<double>();
    if (value.is_string()) texts.insert(name + " " + value.get<std::string>());
    if (!value.is_structured()) return;
    for (const auto& [key, part] : value.items()) add(name + "." + key, part);
  }
};

bool differ(const Outcome& a, const Outcome& b) {
  // Below this, numbers may differ because other settings make other noise.
  constexpr double kNoise = 1e-4;
  if (a.texts != b.texts || a.numbers.size() != b.numbers.size()) return true;
  return std::ranges::any_of(a.numbers, [&](const auto& one) {
    const auto other = b.numbers.find(one.first);
    return other == b.numbers.end() || std::isnan(one.second) != std::isnan(other->second) ||
           std::abs(one.second - other->second) > kNoise * (1e-3 + std::abs(one.second));
  });
}

Settings with(Settings settings, std::string_view key, const SettingValue& value) {
  settings[std::string(key)] = {value};
  return settings;
}

/// Runs these settings; nullopt if they are refused.
std::optional<Outcome> outcome_of(const TemporaryFolder& folder, const Settings& settings) {
  const std::string out = folder / "run";
  std::filesystem::remove_all(out);
  Outcome outcome;
  try {
    start(with(settings, "out", out));
  } catch (const Error&) {
    return std::nullopt;
  }
  std::size_t round = 0;
  for (const Json& line : lines(out + "/rounds.jsonl")) outcome.add("round " + std::to_string(++round), line);
  outcome.add("summary", Json::parse(read_file(out + "/summary.json")));
  return outcome;
}

/// A place where a setting is tried: the settings of a run, and the family whose part has it ("run": the run itself).
struct Base {
  std::string name;
  std::string family;
  Settings settings;
};

struct Found {
  std::vector<std::string> silent = {};   ///< changed nothing, and nothing said so
  std::vector<std::string> refused = {};  ///< bases that these data do not suit
  std::set<std::string> unread = {};      ///< refused, since another setting leaves them without effect
  std::size_t tried = 0;
};

struct Owner {
  std::span<const SettingInfo> settings;
  void* object;
};
Owner owner_in(Configuration& configuration, const std::string& family) {
  for (ChosenPart* chosen : chosen_parts(configuration))
    if (chosen->family().key() == family) return {chosen->part().settings(), chosen->part().object()};
  return {settings_of<Configuration>(), &configuration};
}

/// Returns settings under which a setting is read that is not under these; empty if no single one does it.
Settings where_read(const Settings& settings, const std::string& family, const SettingInfo& info) {
  Configuration configuration = resolve(settings);
  const Owner owner = owner_in(configuration, family);
  for (const SettingInfo& other : owner.settings)
    for (const SettingValue& value : other_values(other, other.get(owner.object), "")) {
      const SettingValue kept = other.get(owner.object);
      other.set(owner.object, value);
      const bool is_read = info.is_read(owner.object);
      other.set(owner.object, kept);
      if (is_read) return with(settings, other.name, value);
    }
  return {};
}

/// Settings that may be given without effect, and why.
const std::map<std::string_view, std::string_view> kExempt = {
    {"public-test", "a fact about the data, which files state for runs with and without privacy"},
    {"encoding", "matters only for text beyond ASCII, which these tables lack"},
    {"error-norm", "matters only for weights above 1 in magnitude, which these runs do not reach"},
};

void try_setting(const TemporaryFolder& folder, const Base& base, const SettingInfo& info, Found& found) {
  Settings settings = base.settings;
  Configuration configuration = resolve(settings);
  const std::vector<SettingValue> values =
      other_values(info, info.get(owner_in(configuration, base.family).object), folder / "test.csv");
  if (!info.is_read(owner_in(configuration, base.family).object)) {
    for (const SettingValue& value : values)
      CHECK_THROWS_AS_MESSAGE(resolve(with(settings, info.name, value)), RefusedByRule, info.name);
    found.unread.emplace(info.name);
    settings = where_read(settings, base.family, info);
  }
  const auto before = settings.empty() ? std::nullopt : outcome_of(folder, settings);
  if (!before) return;  // no run of these data reads it
  ++found.tried;
  std::vector<std::string> same;
  for (const SettingValue& value : values) {
    const auto after = outcome_of(folder, with(settings, info.name, value));
    if (!after && info.kind != SettingKind::choice) continue;
    if (!after || differ(*before, *after)) return;
    same.push_back(value_text(value));
  }
  if (!same.empty()) found.silent.push_back(base.name + ": " + std::string(info.name) + " " + joined(same));
}

std::vector<Base> bases(const TemporaryFolder& folder) {
  const Settings base =
      settings_for(folder, "run",
                   "optimizer = 'sgd'\nlearning-rate = 0.1\nbatch = 5\nclients = 7\nrounds = 4\nthreads = 1\n"
                   "model = 'dense 32 | relu | dense classes'\n"
                   "partition = 'dirichlet'\nalpha = 0.5\nlocal-epochs = 2\nclient-test = 0.25\nclient-column = 'user'\n");
  const std::string dp = "noise-multiplier = 1e-5\n";
  std::vector<Base> all;
  const auto add = [&](const std::string& name, const std::string& family, const std::string& more) {
    Settings settings = base;
    for (const auto& [key, setting] : parse_settings(more, "base")) settings[key] = setting;
    if (settings.contains("partition") && value_text(settings.at("partition").value) != "dirichlet") settings.erase("alpha");
    if (value_text(settings.at("optimizer").value) != "sgd") settings.erase("learning-rate");
    if (settings.contains("user-column")) settings.erase("client-column");
    all.push_back({name, family, std::move(settings)});
  };
  add("run", "run", "");
  add("dp example", "run", "dp = 'example'\n" + dp);
  add("dp client", "run", "dp = 'client'\n" + dp);
  add("dp both", "run", "dp = 'both'\nclient-noise-multiplier = 1e-5\n" + dp);
  add("devices", "run", "devices = 'lognormal'\n");
  add("secure", "run", "secure-aggregation = 'ring'\n");
  const Configuration configuration;
  for (const ChosenPart* chosen : chosen_parts(configuration)) {
    const std::string key(chosen->family().key());
    for (const auto& part : chosen->family().parts()) {
      const std::string name(part->name());
      std::string more = key + " = '" + name + "'\n";
      if (key == "dp" && name != "none") more += dp;
      if (key == "dp" && name == "both") more += "client-noise-multiplier = 1e-5\n";
      if (key == "mode" || key == "availability") more += "devices = 'lognormal'\n";
      if (part->find("buffer") != nullptr) more += "buffer = 1\n";
      if (part->find("concurrency") != nullptr) more += "concurrency = 7\nrounds = 40\n";
      if (part->find("day-seconds") != nullptr) more += "day-seconds = 0.01\n";
      if (part->find("there-seconds") != nullptr) more += "there-seconds = 0.01\naway-seconds = 0.01\n";
      if (part->find("kappa") != nullptr) more += "rounds = 60\n";  // with few steps, max-tolerance bounds the tolerance
      if (part->find("sizes") != nullptr) more += "sizes = 'linear'\n";
      if (name == "natural" || name == "natural-grouped") more += "clients = 0\n";
      if (part->find("user-column") != nullptr) more += "user-column = 'user'\n";
      if (part->find("attackers") != nullptr) more += "attackers = 1\n";
      if (part->find("cohort-size") != nullptr) more += "cohort-size = 2\n";
      if (part->find("cohort-rate") != nullptr) more += "cohort-rate = 0.7\n";
      add(key + " " + name, key, more);
    }
  }
  return all;
}

}  // namespace

TEST_CASE("every setting has an effect, or is refused, or a note names it") {
  const TemporaryFolder folder;
  write_data(folder, true);
  Found found;
  for (const Base& base : bases(folder)) {
    if (!outcome_of(folder, base.settings)) {
      found.refused.push_back(base.name);
      continue;
    }
    Configuration configuration = resolve(base.settings);
    for (const SettingInfo& info : owner_in(configuration, base.family).settings)
      if ((info.shapes == Shapes::model || info.shapes == Shapes::reports) && !kExempt.contains(info.name))
        try_setting(folder, base, info, found);
  }
  CHECK(found.tried > 400);
  CHECK(found.unread.size() > 25);
  CHECK(joined(found.refused) ==
        "partition label-distribution, partition file, partition own, partition outside, feature-skew rotation, feature-skew "
        "color, attack backdoor, cohort trace, devices table, availability table");
  CHECK_MESSAGE(found.silent.empty(), joined(found.silent, "\n"));
  CHECK(kExempt.size() <= 8);
}

}  // namespace fedstride::test::effect_test
