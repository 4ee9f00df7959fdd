#pragma once

#include <fstream>
#include <string>
#include <vector>

#include "core/random.hpp"
#include "sim/prepare/setup.hpp"
#include "sim/run/run.hpp"
#include "sim/settings/configuration.hpp"
#include "tests/support/folder.hpp"
#include "tests/support/json.hpp"

namespace fedstride::test {

// Three well separated classes in a CSV file; small enough for the sanitized build. With `has_users`, there is a header, and a
// column names twenty users.
inline void write_data(const TemporaryFolder& folder, bool has_users = false) {
  std::ofstream train(folder / "train.csv");
  std::ofstream test(folder / "test.csv");
  if (has_users)
    for (std::ofstream* file : {&train, &test}) *file << "a,b,c,user,label\n";
  for (int row = 0; row < 240; ++row) {
    RandomStream random(9, {.purpose = Purpose::test, .row = static_cast<std::uint32_t>(row)});
    const int label = row % 3;
    auto& file = row < 180 ? train : test;
    for (int column = 0; column < 3; ++column) file << random.normal() * 0.7 + (column == label ? 2 : 0) << ',';
    if (has_users) file << 'u' << row % 20 << ',';
    file << label << '\n';
  }
}

inline Settings settings_for(const TemporaryFolder& folder, const std::string& out, const std::string& more = "") {
  Settings settings =
      parse_settings("data = '" + folder.path().string() +
                         "'\nmodel = 'dense 8 | relu | dense classes'\noptimizer = 'adadp'\nclients = 3\nrounds = 6\n"
                         // Named, so that the same settings go with and without privacy.
                         "classes = 3\nmean = '0.67'\ndeviation = '1.2'\npublic-test = true\nheader = 'no'\n"
                         "threads = 2\nout = '" +
                         (folder / out) + "'\n",
                     "test");
  const Settings others = parse_settings(more, "test");
  if (others.contains("dataset"))
    for (const char* of_tables : {"data", "header"}) settings.erase(of_tables);
  if (others.contains("user-column") || others.contains("client-column")) settings["header"] = {std::string("yes")};
  for (const auto& [key, setting] : others) settings[key] = setting;
  return settings;
}

inline RunSummary start(const Settings& settings, const RunObserver& observer = {}) {
  return run(resolve(settings), settings, observer);
}

inline std::vector<Json> lines(const std::string& path) {
  std::vector<Json> result;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) result.push_back(Json::parse(line));
  return result;
}

inline std::vector<std::string> hashes(const std::string& folder) {
  std::vector<std::string> result;
  for (const auto& line : lines(folder + "/rounds.jsonl")) result.push_back(line["model_hash"]);
  return result;
}

}  // namespace fedstride::test
