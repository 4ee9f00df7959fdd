// fedstride partition: the examples of docs/partitions.md, as they stand there, and what it says about who holds what.
#include <doctest/doctest.h>

#include <cmath>
#include <set>

#include "core/files.hpp"
#include "core/text.hpp"
#include "partitions/partitions.hpp"
#include "tests/cli/program.hpp"
#include "tests/support/json.hpp"

namespace fedstride::test::partition_test {
namespace {

/// A table of 600 rows in ten classes.
std::string ten_classes(const TemporaryFolder& folder) {
  std::string text;
  for (int row = 0; row < 600; ++row)
    text += std::to_string(row) + "," + std::to_string(row * 7 % 13) + "," + std::to_string(row % 10) + "\n";
  write_file(folder.path() / "train.csv", text);
  write_file(folder.path() / "test.csv", text);
  return folder.path().string();
}

Words partition(const TemporaryFolder& folder, const Words& more) {
  Words words{"partition", "--dataset", "csv", "--data-dir", ten_classes(folder)};
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("every partition but 'own' and 'outside' has an example in docs/partitions.md, and each of them runs") {
  const TemporaryFolder folder;
  std::string mixes;
  for (int client = 0; client < 2; ++client) mixes += client == 0 ? "1,1,1,1,1,0,0,0,0,0\n" : "0,0,0,0,1,2,2,2,2,2\n";
  write_file(folder.path() / "mixes.csv", mixes);
  REQUIRE(run_program(partition(folder, {"--partition", "sizes", "--sizes", "100,300,50", "--clients", "3", "--manifest",
                                         folder / "rows.json"}))
              .code == 0);
  std::set<std::string> shown;
  const std::string document = read_file(FEDSTRIDE_SOURCE_DIR "/docs/partitions.md");
  for (const auto line : split(document, '\n')) {
    if (!line.starts_with("fedstride partition --partition ")) continue;
    CAPTURE(line);
    const auto pieces = split(line, ' ');
    Words words;
    for (std::size_t i = 2; i < pieces.size(); ++i) {
      const std::string word(pieces[i]);
      words.push_back(word.ends_with(".csv") || word.ends_with(".json") ? folder / word : word);
    }
    shown.insert(words.at(1));
    const Outcome outcome = run_program(partition(folder, words));
    CHECK_MESSAGE(outcome.code == 0, outcome.err);
    CHECK(has(outcome.out, "Gini coefficient"));
    CHECK(has(outcome.out, "\nearth mover's distance of a client's labels to all: mean "));
  }
  for (const auto& name : PartitionPart::family().names())
    if (name != "own" && name != "outside") CHECK_MESSAGE(shown.contains(name), name);
}

TEST_CASE("numbers stand under the heat map and in the JSON, with a note on rows that nobody holds") {
  const TemporaryFolder folder;
  const Words words = partition(folder, {"--partition", "sizes", "--sizes", "100,300,50", "--clients", "3"});
  const Outcome text = run_program(words);
  CHECK(has(text.out, "rows a client: least 50, median 100, most 300; Gini coefficient 0.370\n"));
  CHECK(has(text.out, "bits, mean over clients; of all rows 3."));
  CHECK(has(text.out, "note: partition sizes deals out 450 of 600 training rows; the others are not used\n"));
  Words as_json = words;
  as_json.push_back("--json");
  const Json json = parse_json(run_program(as_json).out);
  CHECK(json.at("unused") == 150);
  CHECK(json.at("statistics").at("rows") == 450);
  CHECK(json.at("statistics").at("median") == 100);
  const double entropy = json.at("statistics").at("mean_label_entropy_bits");
  CHECK(entropy > 3);
  CHECK(entropy < std::log2(10.0));
}

TEST_CASE("the property of a continuous partition is a column, and one that is none is refused") {
  const TemporaryFolder folder;
  const Json json = parse_json(run_program(partition(folder, {"--partition", "continuous", "--property", "0", "--strictness", "1",
                                                              "--clients", "2", "--json"}))
                                   .out);
  CHECK(json.at("clients").at(0).front() == 0);
  CHECK(json.at("clients").at(0).back() == 299);
  const Outcome outcome = run_program(partition(folder, {"--partition", "continuous", "--property", "2"}));
  CHECK(outcome.code == 2);
  CHECK(has(outcome.err, "property is '2'; for data set 'csv' valid is mean, or the number of a column from 0 to 1"));
}

TEST_CASE("parameters of a data set are a part of its name") {
  const Json json =
      parse_json(run_program({"partition", "--dataset", "synthetic-li:0.5,0.5,4", "--partition", "iid", "--json"}).out);
  CHECK(json.at("statistics").at("rows").get<int>() > 180);
  const Outcome outcome = run_program({"partition", "--dataset", "synthetic-li:0.5,x"});
  CHECK(outcome.code == 2);
  CHECK(has(outcome.err, "valid is synthetic-li:ALPHA,BETA,CLIENTS,SEED"));
}

}  // namespace fedstride::test::partition_test
