// Whole runs on sequences and on targets that are not classes.
#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "core/error.hpp"
#include "core/files.hpp"
#include "sim/prepare/setup.hpp"
#include "sim/run/evaluate.hpp"
#include "tests/data/npz_files.hpp"
#include "tests/sim/run/csv_runs.hpp"
#include "tests/support/refusal.hpp"

namespace fedstride::test::sequence_runs_test {
namespace {

/// Rows of seven tokens that count up, each client from an offset of its own; the answer at a position is the next token, and
/// every fourth answer does not count. `flags` instead says of a row whether it begins below four, and whether it is odd.
void write_sequences(const std::string& path, bool flags) {
  constexpr int kRows = 90, kLength = 7, kTokens = 9;
  std::vector<std::int32_t> x, next;
  std::vector<std::int64_t> client;
  std::vector<std::uint8_t> both;
  for (int row = 0; row < kRows; ++row) {
    client.push_back(row % 3);
    const int first = (row * (1 + row % 3)) % kTokens;
    for (int t = 0; t < kLength; ++t) {
      x.push_back((first + t) % kTokens);
      next.push_back((row + t) % 4 == 0 ? -1 : (first + t + 1) % kTokens);
    }
    both.push_back(first < 4 ? 1 : 0);
    both.push_back(static_cast<std::uint8_t>(first % 2));
  }
  const std::string rows = std::to_string(kRows), shape = "(" + rows + ", " + std::to_string(kLength) + ")";
  write_file(
      path,
      npz_bytes({{"x", npy_bytes("<i4", shape, bytes_of(x))},
                 {"y", flags ? npy_bytes("|u1", "(" + rows + ", 2)", bytes_of(both)) : npy_bytes("<i4", shape, bytes_of(next))},
                 {"client", npy_bytes("<i8", "(" + rows + ",)", bytes_of(client))}}));
}

Settings settings_of(const std::string& data, const std::string& model, const std::string& out, const std::string& more = "") {
  Settings settings =
      parse_settings("data = '" + data + "'\nmodel = '" + model +
                         "'\npartition = 'natural'\noptimizer = 'sgd'\nlearning-rate = 0.5\nbatch = 5\nrounds = 4\n"
                         "threads = 2\nout = '" +
                         out + "'\n",
                     "test");
  for (const auto& [key, setting] : parse_settings(more, "test")) settings[key] = setting;
  return settings;
}

double last_of(const std::string& folder, const std::string& field) {
  return lines(folder + "/rounds.jsonl").back()[field].get<double>();
}

}  // namespace

TEST_CASE("models of sequences train by natural clients: the same bits on one thread, on three and resumed") {
  const TemporaryFolder folder;
  write_sequences(folder / "s.npz", false);
  for (const std::string model :
       {"embedding 6 | lstm 12 | dense classes", "embedding 6 | gru 12 | dropout 0.1 | dense classes",
        "embedding 8 | positions | residual { layernorm | attention 2 } | residual { layernorm | dense 16 | gelu | dense 8 } | "
        "dense classes"}) {
    CAPTURE(model);
    const std::string a = folder / ("a" + std::to_string(model.size())), b = folder / ("b" + std::to_string(model.size()));
    start(settings_of(folder / "s.npz", model, a, "threads = 1\n"));
    start(settings_of(folder / "s.npz", model, b, "threads = 3\nrounds = 2\n"));
    resume(b, parse_settings("rounds = 4\n", "test"));
    CHECK(hashes(a) == hashes(b));
    CHECK(last_of(a, "test_accuracy") > 0.5);  // one of nine by chance
    CHECK(lines(a + "/rounds.jsonl").back()["clients"][0]["accuracy"].is_null());
    const ModelEvaluation read = evaluate_file(a, "", {}, false, 1);
    CHECK(read.evaluation.accuracy == last_of(a, "test_accuracy"));
  }
}

TEST_CASE("private steps of sequences are the same bits on one thread and on three") {
  const TemporaryFolder folder;
  write_sequences(folder / "s.npz", false);
  const std::string more =
      "dp = 'example'\nnoise-multiplier = 1\nclip = 1\nsampling-rate = 0.2\nrandomness = 'seeded'\nrounds = 2\nclasses = "
      "9\nvocabulary = 9\n";
  const std::string model = "embedding 6 | lstm 12 | dense classes";
  start(settings_of(folder / "s.npz", model, folder / "a", more + "threads = 1\n"));
  start(settings_of(folder / "s.npz", model, folder / "b", more + "threads = 3\n"));
  CHECK(hashes(folder / "a") == hashes(folder / "b"));
}

TEST_CASE("multi-label targets can be trained, and their accuracy is a share of all labels") {
  const TemporaryFolder folder;
  write_sequences(folder / "s.npz", true);
  const std::string model = "embedding 6 | lstm 12 | last | dense outputs";
  start(settings_of(folder / "s.npz", model, folder / "a", "rounds = 8\n"));
  CHECK(last_of(folder / "a", "test_accuracy") > 0.8);
}

TEST_CASE("settings that need classes are refused for other targets") {
  const TemporaryFolder folder;
  write_sequences(folder / "s.npz", false);
  const auto refused = [&](const std::string& more) {
    return prepare(resolve(settings_of(folder / "s.npz", "embedding 6 | dense classes", folder / "x", more)));
  };
  CHECK_USAGE_ERROR(refused("attack = 'label-flip'\nattackers = 1\n"), "attack", "label-flip", "file", "positions");
  CHECK_USAGE_ERROR(refused("augment = 'crop-flip'\n"), "augment", "crop-flip", "file", "none");
  CHECK_USAGE_ERROR(refused("feature-skew = 'noise'\n"), "feature-skew", "noise", "file");
}

}  // namespace fedstride::test::sequence_runs_test
