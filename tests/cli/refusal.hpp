#pragma once

#include <doctest/doctest.h>

#include "tests/cli/copied_program.hpp"
#include "tests/support/refusal.hpp"

namespace fedstride::test {

/// A command line that must be refused. '@' in a word means the test's folder. A row that starts with a flag is a valid
/// `fedstride run` (federation) with that flag added.
struct Refusal {
  Words words;
  int code;
  Words names;  ///< keys, values and names in the one line on standard error (test::names)
};

inline std::string placed(std::string text, const TemporaryFolder& folder) {
  for (std::size_t at = text.find('@'); at != std::string::npos; at = text.find('@', at + 1))
    text.replace(at, 1, folder.path().string());
  return text;
}

/// Checks the exit code, the one line on standard error, and that no file was made, changed or removed.
inline void check_refused(const Refusal& row, const TemporaryFolder& folder) {
  Words words = row.words;
  std::string shown;
  for (auto& word : words) {
    shown += " '" + word + "'";
    word = placed(word, folder);
  }
  const bool is_run = !words.empty() && words.front().starts_with("--");
  CAPTURE(shown);
  const auto before = contents(folder.path());
  const Outcome outcome = run_copy(is_run ? federation(folder, words) : words);
  CHECK(outcome.code == row.code);
  CHECK(line_count(outcome.err) == 1);
  CHECK(outcome.err.starts_with("fedstride: "));
  INFO("standard error: ", outcome.err);
  Words parts = row.names;
  for (auto& part : parts) part = placed(part, folder);
  CHECK(names(outcome.err, parts));
  CHECK(outcome.err.find("terminate called") == std::string::npos);
  CHECK(contents(folder.path()) == before);
}

}  // namespace fedstride::test
