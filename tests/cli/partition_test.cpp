// fedstride partition: the examples of docs/partitions.md, as they stand there, and what it says about who holds what.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <string_view>

#include "core/files.hpp"
#include "core/text.hpp"
#include "partitions/partitions.hpp"
#include "tests/cli/program.hpp"
#include "tests/support/json.hpp"
#include "tests/support/refusal.hpp"

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
  return with_flags({"partition", "--data", ten_classes(folder)}, more);
}

/// The pieces of a text that stand between backquotes.
Words code_in(std::string_view text) {
  Words found;
  const auto pieces = split(text, '`');
  for (std::size_t i = 1; i < pieces.size(); i += 2) found.emplace_back(pieces[i]);
  return found;
}

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("every partition but 'own' and 'outside' has example flags in the table of docs/partitions.md, and each of them runs") {
  const TemporaryFolder folder;
  std::string mixes;
  for (int client = 0; client < 2; ++client) mixes += client == 0 ? "1,1,1,1,1,0,0,0,0,0\n" : "0,0,0,0,1,2,2,2,2,2\n";
  write_file(folder.path() / "mixes.csv", mixes);
  REQUIRE(run_program(partition(folder, {"--partition", "sizes", "--sizes", "100,300,50", "--clients", "3", "--manifest",
                                         folder / "rows.json"}))
              .code == 0);
  const auto names = PartitionPart::family().names();
  std::set<std::string> shown;
  const std::string document = read_file(FEDSTRIDE_SOURCE_DIR "/docs/partitions.md");
  for (const auto line : split(document, '\n')) {
    const auto cells = split(line, '|');  // nothing, names, who holds what, flags, source
    if (!line.starts_with("| `") || cells.size() < 5) continue;
    auto examples = code_in(cells[3]);
    if (examples.empty()) examples.emplace_back();
    for (const std::string& name : code_in(cells[1])) {
      if (name == "own" || name == "outside" || std::ranges::find(names, name) == names.end()) continue;
      for (const std::string& example : examples) {
        CAPTURE(name);
        CAPTURE(example);
        Words words{"--partition", name};
        for (const auto piece : split(example, ' ')) {
          const std::string word(piece);
          if (!word.empty()) words.push_back(word.ends_with(".csv") || word.ends_with(".json") ? folder / word : word);
        }
        const Outcome outcome = run_program(partition(folder, words));
        CHECK_MESSAGE(outcome.code == 0, outcome.err);
        CHECK(has(outcome.out, "Gini coefficient"));
        CHECK(has(outcome.out, "\nearth mover's distance"));
      }
      shown.insert(name);
    }
  }
  for (const auto& name : names)
    if (name != "own" && name != "outside")
      CHECK_MESSAGE(shown.contains(name), "the table of docs/partitions.md has no row for `", name, "`");
}

TEST_CASE("numbers stand under the heat map and in the JSON, with a note on rows that nobody holds") {
  const TemporaryFolder folder;
  const Words words = partition(folder, {"--partition", "sizes", "--sizes", "100,300,50", "--clients", "3"});
  const Outcome text = run_program(words);
  const auto line_with = [&](const std::string& word) {
    const auto at = text.out.find(word), begin = text.out.rfind('\n', at) + 1;
    return at == std::string::npos ? std::string() : text.out.substr(begin, text.out.find('\n', at) - begin);
  };
  CHECK(names(line_with("Gini coefficient"), {"50", "100", "300", "0.370"}));
  CHECK(line_with(" bits").find(" 3.") != std::string::npos);
  CHECK(names(line_with("note: partition"), {"sizes", "450", "600"}));
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
  CHECK(names(outcome.err, {"property", "'2'", "'file'", "mean", "0", "1"}));
}

TEST_CASE(
    "a partition by classes is refused where there are none, with those that fit; the default deals at random and says so") {
  const TemporaryFolder folder;
  std::string values = "a,b,price\n";
  for (int row = 0; row < 60; ++row) values += std::to_string(row % 7) + ".5,2," + std::to_string(row) + ".25\n";
  write_file(folder.path() / "values.csv", values);
  for (const Words& data :
       {Words{"--data", folder / "values.csv"}, Words{"--data", folder / "values.csv", "--label", "b,price"}}) {
    const auto dealt = [&](const Words& more) {
      Words words{"partition", "--clients", "4"};
      words.insert(words.end(), data.begin(), data.end());
      words.insert(words.end(), more.begin(), more.end());
      return run_program(words);
    };
    for (const auto& part : PartitionPart::family().parts()) {
      if (static_cast<const PartitionPart&>(*part).dealing() != Dealing::labels) continue;
      CAPTURE(part->name());
      const Outcome outcome = dealt({"--partition", std::string(part->name())});
      CHECK(outcome.code == 2);
      CHECK(names(outcome.err, {"partition", part->name(), "values", "not classes", "iid", "dirichlet-sizes"}));
    }
    const Outcome standard = dealt({});
    CHECK(standard.code == 0);
    CHECK(std::ranges::any_of(split(standard.out, '\n'), [](std::string_view line) {
      return names(line, {"note: partition auto", "values", "random rows", "--partition"});
    }));
    CHECK(dealt({"--classes-per-client", "2"}).code == 2);
    CHECK(dealt({"--partition", "dirichlet-sizes"}).code == 0);
  }
}

TEST_CASE("parameters of a data set are a part of its name") {
  const Json json =
      parse_json(run_program({"partition", "--dataset", "synthetic-li:0.5,0.5,4", "--partition", "iid", "--json"}).out);
  CHECK(json.at("statistics").at("rows").get<int>() > 180);
  const Outcome outcome = run_program({"partition", "--dataset", "synthetic-li:0.5,x"});
  CHECK(outcome.code == 2);
  CHECK(names(outcome.err, {"synthetic-li:ALPHA,BETA,CLIENTS,SEED"}));
}

}  // namespace fedstride::test::partition_test
