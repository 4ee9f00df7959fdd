// Every part of a federation with every level of privacy: either it may run, or it is refused in one line, as the table in
// docs/privacy.md says.
#include <doctest/doctest.h>

#include <map>

#include "core/error.hpp"
#include "core/files.hpp"
#include "core/text.hpp"
#include "tests/run/csv_runs.hpp"

namespace fedstride::test::privacy_pairs_test {
namespace {

constexpr std::string_view kLevels[] = {"example", "client", "both"};

/// The table's words behind "part": by part, "yes" or "refused" for each level.
std::map<std::string, std::vector<std::string>> table() {
  std::map<std::string, std::vector<std::string>> rows;
  const std::string document = read_file(FEDSTRIDE_SOURCE_DIR "/docs/privacy.md");
  const auto begin = document.find("| part | `example` | `client` | `both` |");
  REQUIRE(begin != document.npos);
  int skipped = 0;
  for (const std::string_view line : split(std::string_view(document).substr(begin), '\n')) {
    if (!line.starts_with("|")) break;
    if (++skipped <= 2) continue;
    std::vector<std::string> cells;
    for (std::string_view cell : split(line.substr(1, line.size() - 2), '|')) {
      while (cell.starts_with(' ')) cell.remove_prefix(1);
      while (cell.ends_with(' ')) cell.remove_suffix(1);
      std::string text(cell);
      std::erase(text, '`');
      cells.push_back(text);
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

TEST_CASE("every part with every level of privacy is allowed or refused as the document says") {
  const TemporaryFolder folder;
  write_data(folder);
  auto said = table();
  const Configuration configuration;
  for (const ChosenPart* chosen : chosen_parts(configuration)) {
    const std::string key(chosen->family().key());
    if (key == "partition" || key == "dp" || key == "optimizer") continue;
    for (const auto& part : chosen->family().parts()) {
      const std::string name(part->name());
      std::vector<std::pair<std::string, Settings>> cases{{name, {}}};
      if (name == "scaffold") cases = {{name, {}}, {"scaffold-option one", {{"scaffold-option", {"one", true}}}}};
      if (name == "backdoor" || name == "rotation" || name == "colour" || name == "trace") continue;  // need pictures, a file
      for (const auto& [words, more] : cases) {
        const auto row = said.find(key + " " + words);
        CAPTURE(key + " " + words);
        REQUIRE(row != said.end());
        for (std::size_t level = 0; level < 3; ++level) {
          CAPTURE(kLevels[level]);
          Settings settings =
              settings_for(folder, "x", "optimizer = 'sgd'\nclients = 20\nbatch = 4\nnoise-multiplier = 1\nclip = 1\n");
          if (kLevels[level] == "both") settings["client-noise-multiplier"] = {"1", true};
          if (kLevels[level] == "both") settings["client-clip"] = {"1", true};
          settings["dp"] = {std::string(kLevels[level]), true};
          settings[key] = {name, true};
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
  for (const auto& [part, levels] : said) CHECK_MESSAGE(false, part);  // the table names a part that is none
}

}  // namespace fedstride::test::privacy_pairs_test
