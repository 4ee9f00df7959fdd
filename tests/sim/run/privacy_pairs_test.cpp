// Every part of a federation with every level of privacy: either it may run, or it is refused in one line, as the table in
// docs/privacy.md says, which is printed from the rules.
#include <doctest/doctest.h>

#include <algorithm>
#include <functional>
#include <map>

#include "core/error.hpp"
#include "core/files.hpp"
#include "core/text.hpp"
#include "sim/prepare/setup.hpp"
#include "sim/settings/rules.hpp"
#include "tests/sim/run/csv_runs.hpp"

namespace fedstride::test::privacy_pairs_test {
namespace {

constexpr std::string_view kLevels[] = {"example", "client", "both"};

constexpr std::string_view kHead = "| part | `example` | `client` | `both` |\n|---|---|---|---|\n";

std::string document() { return read_file(FEDSTRIDE_SOURCE_DIR "/docs/privacy.md"); }

/// The configuration of a level, in which the part under test decides whether it is valid.
Settings level_settings(std::string_view level) {
  Settings settings = parse_settings("optimizer = 'sgd'\nclients = 20\nbatch = 4\nnoise-multiplier = 1\nclip = 1\n", "level");
  if (level == "both") settings["client-noise-multiplier"] = settings["client-clip"] = {"1", true};
  settings["dp"] = {std::string(level), true};
  return settings;
}

/// "| yes | refused | refused |"
std::string answers(const std::function<void(Configuration&)>& choose) {
  std::string text = "|";
  for (const std::string_view level : kLevels) {
    Configuration configuration = resolve(level_settings(level));
    choose(configuration);
    text += refusal(configuration) ? " refused |" : " yes |";
  }
  return text;
}

/// The rows of a family: parts of the same answers are one, and a setting of names that changes a part's answers is one of its own.
std::string rows_of(std::size_t family) {
  std::vector<std::pair<std::string, std::string>> rows;  // names, answers
  const auto add = [&](const std::string& name, const std::string& said) {
    const auto known = std::ranges::find(rows, said, &std::pair<std::string, std::string>::second);
    if (known == rows.end())
      rows.emplace_back(name, said);
    else
      known->first += ", " + name;
  };
  Configuration defaults;
  const PartFamily& parts = chosen_parts(defaults)[family]->family();
  for (const auto& part : parts.parts()) {
    const auto choose = [&](Configuration& configuration) {
      chosen_parts(configuration)[family]->choose(part->name());
      if (parts.key() == "mode" || parts.key() == "availability") configuration.devices = EqualDevices{};
      configuration.deadline = parts.key() == "availability" ? 1 : 0;
    };
    const std::string usual = answers(choose);
    add(std::string(part->name()), usual);
    for (const SettingInfo& info : part->settings())
      for (const std::string_view value : info.choices) {
        const std::string other = answers([&](Configuration& configuration) {
          choose(configuration);
          chosen_parts(configuration)[family]->part().set(info, std::string(value));
        });
        if (other != usual) add(std::string(info.name) + " " + std::string(value), other);
      }
  }
  std::string text;
  for (const auto& [names, said] : rows) text += "| `" + std::string(parts.key()) + "` " + names + " " + said + "\n";
  return text;
}

bool is_in_table(std::string_view key) { return key != "partition" && key != "dp"; }

/// The table's words behind "part": by part, "yes" or "refused" for each level.
std::map<std::string, std::vector<std::string>> table() {
  std::map<std::string, std::vector<std::string>> rows;
  const std::string text = document();
  const auto begin = text.find(kHead);
  REQUIRE(begin != text.npos);
  int skipped = 0;
  for (const std::string_view line : split(std::string_view(text).substr(begin), '\n')) {
    if (!line.starts_with("|")) break;
    if (++skipped <= 2) continue;
    std::vector<std::string> cells;
    for (std::string_view cell : split(line.substr(1, line.size() - 2), '|')) {
      while (cell.starts_with(' ')) cell.remove_prefix(1);
      while (cell.ends_with(' ')) cell.remove_suffix(1);
      std::erase(cells.emplace_back(cell), '`');
    }
    REQUIRE(cells.size() == 4);
    const std::string family = cells[0].substr(0, cells[0].find(' '));
    for (std::string_view name : split(std::string_view(cells[0]).substr(family.size() + 1), ',')) {
      if (name.starts_with(' ')) name.remove_prefix(1);
      rows[family + " " + std::string(name)] = {cells[1], cells[2], cells[3]};
    }
  }
  return rows;
}

}  // namespace

TEST_CASE("the document's table of parts allowed under privacy is that of the rules") {
  std::string printed(kHead);
  const Configuration defaults;
  for (std::size_t family = 0; family < chosen_parts(defaults).size(); ++family)
    if (is_in_table(chosen_parts(defaults)[family]->family().key())) printed += rows_of(family);
  const std::string text = document();
  for (const std::string_view row : split(printed, '\n'))
    CHECK_MESSAGE(text.find(row) != text.npos, "docs/privacy.md must have the row ", std::string(row));
  CHECK(text.find(printed + "\n") != text.npos);  // in this order, and no others
}

TEST_CASE("every part with every level of privacy is allowed or refused as the document says") {
  const TemporaryFolder folder;
  write_data(folder);
  auto said = table();
  const Configuration configuration;
  for (const ChosenPart* chosen : chosen_parts(configuration)) {
    const std::string key(chosen->family().key());
    if (!is_in_table(key)) continue;
    for (const auto& part : chosen->family().parts()) {
      const std::string name(part->name());
      std::vector<std::pair<std::string, Settings>> cases{{name, {}}};
      if (name == "scaffold") cases = {{name, {}}, {"scaffold-option one", {{"scaffold-option", {"one", true}}}}};
      if (name == "backdoor" || name == "rotation" || name == "color" || name == "trace" ||
          name == "table") {  // need pictures, a file
        said.erase(key + " " + name);
        continue;
      }
      for (const auto& [words, more] : cases) {
        const auto row = said.find(key + " " + words);
        CAPTURE(key + " " + words);
        REQUIRE(row != said.end());
        for (std::size_t level = 0; level < 3; ++level) {
          CAPTURE(kLevels[level]);
          Settings settings = settings_for(folder, "x");
          for (const auto& [setting, value] : level_settings(kLevels[level])) settings[setting] = value;
          settings[key] = {name, true};
          if (key == "mode" || key == "availability") settings["devices"] = {std::string("equal"), true};
          for (const auto& [setting, value] : more) settings[setting] = value;
          std::string error;
          try {
            prepare(resolve(settings));
          } catch (const Error& refused) {
            error = refused.what();
            CHECK(refused.kind() == Error::Kind::usage);
          }
          CHECK_MESSAGE(error.empty() == (row->second[level] == "yes"), error);
          CHECK(error.find('\n') == error.npos);
        }
        said.erase(row);
      }
    }
  }
  for (const auto& [part, levels] : said) CHECK_MESSAGE(false, part);  // the table names an unknown part
}

}  // namespace fedstride::test::privacy_pairs_test
