#pragma once

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "core/files.hpp"
#include "core/random.hpp"
#include "tests/support/folder.hpp"
#include "tests/support/process.hpp"
#include "tests/support/sanitized.hpp"

namespace fedstride::test {

using Words = std::vector<std::string>;

struct Outcome {
  int code = 0;
  std::string out;
  std::string err;
};

inline Outcome run_program(const Words& arguments) {
  const TemporaryFolder folder;
  const Process process(arguments, folder);
  const int code = process.wait();
  return {code, process.out(), process.err()};
}

/// train.csv and test.csv: three classes of a user's own data, small enough for the sanitized program.
inline void write_table(const std::filesystem::path& folder, int train_rows = 180, int test_rows = 60) {
  std::filesystem::create_directories(folder);
  std::ofstream train(folder / "train.csv");
  std::ofstream test(folder / "test.csv");
  for (int row = 0; row < train_rows + test_rows; ++row) {
    RandomStream random(9, {.purpose = Purpose::test, .row = static_cast<std::uint32_t>(row)});
    const int label = row % 3;
    auto& file = row < train_rows ? train : test;
    for (int column = 0; column < 3; ++column) file << random.normal() * 0.7 + (column == label ? 2 : 0) << ',';
    file << label << '\n';
  }
}

/// The words and then `more`, whose flags come instead of those of the same name, which have one value each; --dataset comes
/// instead of --data, too.
inline Words with_flags(Words words, const Words& more) {
  for (const std::string& flag : more) {
    const std::string name = flag.substr(0, flag.find('='));
    const auto found = std::ranges::find(words, name == "--dataset" ? "--data" : name);
    if (flag.starts_with("--") && found != words.end()) words.erase(found, found + 2);
  }
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

/// `fedstride run` on the table in folder/data, results in folder/out; what `more` says comes instead.
inline Words federation(const TemporaryFolder& folder, const Words& more) {
  Words arguments{"run",      "--data", folder / "data", "--model", "logistic", "--clients",   "3",
                  "--rounds", "2",      "--threads",     "1",       "--out",    folder / "out"};
  const auto has = [&](const std::string& flag) { return std::ranges::find(more, flag) != more.end(); };
  if (!has("--config") && !has("--method")) arguments.insert(arguments.end(), {"--optimizer", "adadp"});
  // Under dp nothing is read off the rows: what the table is must be named.
  if ((has("--dp") || has("dp-sgd") || has("dp-fedavg")) && !has("--dataset") && !has("--classes"))
    arguments.insert(arguments.end(),
                     {"--classes", "3", "--mean", "0.67", "--deviation", "1.2", "--public-test", "--header", "no"});
  return with_flags(std::move(arguments), more);
}

/// Every file below a folder, with its contents, and every folder.
inline std::map<std::string, std::string> contents(const std::filesystem::path& folder) {
  std::map<std::string, std::string> files;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder))
    files[entry.path().string()] = entry.is_regular_file() ? read_file(entry.path()) : "";
  return files;
}

inline std::size_t line_count(const std::string& text) { return static_cast<std::size_t>(std::ranges::count(text, '\n')); }

}  // namespace fedstride::test
