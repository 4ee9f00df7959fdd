#include <doctest/doctest.h>

#include <chrono>
#include <set>
#include <thread>

#include "core/files.hpp"
#include "core/text.hpp"
#include "tests/cli/program.hpp"

namespace fedstride::test::sweep_kill_test {

namespace fs = std::filesystem;

namespace {

Words sweeping(const TemporaryFolder& folder, const std::string& out) {
  return {"sweep", folder / "tiny.toml", "--out", folder / out, "--jobs", "2", "--quiet"};
}

std::size_t finished_rounds(const std::string& sweep) {
  std::size_t rounds = 0;
  std::error_code error;
  for (fs::directory_iterator cell(fs::path(sweep) / "cells", error), end; !error && cell != end; cell.increment(error))
    if (const fs::path file = cell->path() / "rounds.jsonl"; fs::exists(file, error))
      rounds += line_count(fedstride::read_file(file));
  return rounds;
}

// Fields of a line of CSV, quotes left on them.
std::vector<std::string> fields(const std::string& line) {
  std::vector<std::string> result(1);
  bool quoted = false;
  for (const char c : line) {
    quoted = quoted != (c == '"');
    if (c == ',' && !quoted)
      result.emplace_back();
    else
      result.back() += c;
  }
  return result;
}

// Every table without the columns that a second run does not repeat.
std::string lasting_tables(const std::string& sweep) {
  std::string text;
  for (const auto& entry : std::set<fs::path>(fs::directory_iterator(sweep), fs::directory_iterator())) {
    if (entry.extension() != ".csv") continue;
    text += entry.filename().string() + '\n';
    const std::string table = fedstride::read_file(entry);
    std::vector<std::string> names;
    for (const auto line : fedstride::split(table, '\n')) {
      const auto row = fields(std::string(line));
      if (names.empty()) names = row;
      for (std::size_t i = 0; i < row.size() && i < names.size(); ++i)
        if (!names[i].ends_with("seconds") && names[i] != "examples_per_second" && names[i] != "peak_memory_bytes")
          text += row[i] + ';';
      text += '\n';
    }
  }
  return text;
}

}  // namespace

TEST_CASE("a sweep killed at ten moments inside its cells ends with the tables of an unbroken one") {
  const TemporaryFolder folder;
  write_table(folder / "data", 600);
  std::ofstream(folder / "tiny.toml") << "data = '" << (folder / "data")
                                      << "'\nmodel = 'logistic'\nclients = 3\nrounds = 150\nlocal-epochs = 30\n"
                                         "[sweep]\noptimizer = ['adadp', 'sgd']\nseed = [1, 2]\n";
  fedstride::RandomStream random(5, {.purpose = fedstride::Purpose::test});
  const std::string out = folder / "out";
  for (int session = 0; session < 10; ++session) {
    const TemporaryFolder output;
    const std::size_t before = finished_rounds(out);
    const Process process(sweeping(folder, "out"), output);
    // One to three rounds on, then anywhere in a round, in its evaluation or in the writing of its checkpoint. There are
    // many more rounds than ten such kills take, however fast the machine.
    const std::size_t wanted = before + 1 + random.below(3);
    for (int i = 0; i < 60'000 && finished_rounds(out) < wanted; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    std::this_thread::sleep_for(std::chrono::microseconds(random.below(6'000)));
    process.signal(SIGKILL);
    REQUIRE(process.wait() == -SIGKILL);
  }
  CHECK(!fs::exists(folder / "out/cells.csv"));
  const Outcome last = run_program(sweeping(folder, "out"));
  CHECK(last.code == 0);
  CHECK(last.err == "");
  REQUIRE(run_program(sweeping(folder, "whole")).code == 0);
  const std::string expected = lasting_tables(folder / "whole");
  CHECK(line_count(expected) > 100);
  CHECK(lasting_tables(out) == expected);
  for (const auto& entry : fs::recursive_directory_iterator(out)) CHECK(!fedstride::is_temporary(entry.path()));
}

}  // namespace fedstride::test::sweep_kill_test
