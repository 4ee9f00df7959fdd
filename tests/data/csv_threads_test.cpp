// A table read ahead on several threads is the table read record by record, or gives the same error.
#include <doctest/doctest.h>

#include <cmath>
#include <string>

#include "core/random.hpp"
#include "data/files/readers.hpp"
#include "tests/data/files.hpp"

namespace fedstride::test::csv_threads_test {
namespace {

/// A table of numbers whose lines are now and then otherwise: quotes, line breaks within them, blanks, words, errors.
std::string table(RandomStream& random, std::uint64_t oddities, const std::string& end) {
  const auto number = [&] {
    const std::string whole = std::to_string(random.below(2000)), sign = random.below(4) == 0 ? "-" : "";
    return sign + whole + (random.below(3) == 0 ? "" : "." + std::to_string(random.below(100)));
  };
  const std::string odd[] = {"\"1.5\"", "\"1\n2\"", "NA",  "",    "word", "1,2", "\xc3\xa9",
                             "1e60",    "1\r2",     " 7 ", "\"3", "+4",   "nan"};
  std::string text = random.below(2) == 0 ? "a,b,c,who,y" + end : "";
  for (std::uint64_t row = 0, rows = 20 + random.below(300); row < rows; ++row) {
    if (oddities > 0 && random.below(oddities) == 0) text += end;
    for (int column = 0; column < 5; ++column) {
      const bool is_odd = oddities > 0 && random.below(5 * oddities) == 0;
      text += is_odd        ? odd[random.below(std::size(odd))]
              : column == 3 ? "user" + std::to_string(random.below(4))
              : column == 4 ? std::to_string(random.below(3))
                            : number();
      text += column < 4 ? "," : end;
    }
  }
  if (random.below(4) == 0) text.resize(text.size() - end.size());
  return text;
}

struct Outcome {
  std::string error = {};
  std::vector<float> features = {};
  std::vector<Label> labels = {};
  std::vector<std::uint32_t> clients = {};
  std::vector<std::string> told = {};
  std::vector<std::pair<std::string, double>> offsets = {};
  bool operator==(const Outcome&) const = default;
};

Outcome read(const std::filesystem::path& path, const ReadSettings& settings, TableThreads threads) {
  Assembly both("the file", "the file", settings);
  try {
    read_csv(std::vector{TableFile{path}}, settings, both, false, threads);
    DataPair pair = both.finish(false);
    Outcome outcome{.features = {pair.train.features.begin(), pair.train.features.end()},
                    .labels = {pair.train.labels.begin(), pair.train.labels.end()},
                    .clients = {pair.train.clients.begin(), pair.train.clients.end()},
                    .told = pair.notes};
    for (float& value : outcome.features)
      if (std::isnan(value)) value = -1e30F;  // equals itself
    for (const std::string& name : pair.train.client_names) outcome.told.push_back(name);
    for (const NamedOffset& one : both.shared.offsets) outcome.offsets.push_back({one.column, one.offset});
    return outcome;
  } catch (const Error& error) {
    return {.error = error.what()};
  }
}

}  // namespace

TEST_CASE("a table is the same on any number of threads, and so are its errors with their lines") {
  const TemporaryFolder folder;
  RandomStream random(11, {Purpose::test});
  int good = 0, bad = 0;
  for (int turn = 0; turn < 600; ++turn) {
    const std::uint64_t often[] = {0, 1000, 300, 30};
    const std::string end = random.below(3) == 0 ? "\r\n" : "\n";
    const std::string text = table(random, often[random.below(4)], end);
    const std::filesystem::path path = write(folder / "t.csv", text);
    ReadSettings settings;
    settings.header = text.starts_with("a,") ? Header::yes : Header::no;
    settings.client_column = random.below(2) == 0 ? "4" : "";
    settings.drop_columns = settings.client_column.empty() ? "4" : "";
    const Missing rules[] = {Missing::error, Missing::drop, Missing::mean};
    settings.missing = rules[random.below(3)];
    settings.offsets = random.below(4) == 0 ? "2=100" : "";
    const Outcome alone = read(path, settings, {.count = 1});
    for (const std::size_t bytes : {40UL, 1000UL, 100000UL}) {
      CAPTURE(text);
      const Outcome together = read(path, settings, {.count = 3, .bytes = bytes});
      CHECK(together.error == alone.error);
      const bool same = together == alone;
      CHECK(same);
    }
    ++(alone.error.empty() ? good : bad);
  }
  CHECK(good > 100);
  CHECK(bad > 100);
}

}  // namespace fedstride::test::csv_threads_test
