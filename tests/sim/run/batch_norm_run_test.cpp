// Batch normalization in a federation: statistics averaged by the law of total variance, local, or frozen.
#include <doctest/doctest.h>

#include <cmath>
#include <fstream>

#include "nn/safetensors.hpp"
#include "sim/run/run.hpp"
#include "tests/sim/run/csv_runs.hpp"
#include "tests/support/refusal.hpp"

namespace fedstride::test::batch_norm_run_test {
namespace {

const char* const kModel = "dense 4 nobias | batchnorm | relu | dense classes";

/// Three clients' tables, of different sizes and with different means.
struct Clients {
  TemporaryFolder folder;
  std::vector<int> rows{12, 20, 40};

  Clients() {
    for (std::size_t client = 0; client < rows.size(); ++client) {
      std::ofstream file(folder / (std::to_string(client) + ".csv"));
      for (int row = 0; row < rows[client]; ++row) {
        RandomStream random(
            3, {.purpose = Purpose::test, .client = static_cast<std::uint32_t>(client), .row = static_cast<Row>(row)});
        for (int column = 0; column < 3; ++column) file << random.normal() + 2.0 * static_cast<double>(client) << ',';
        file << row % 2 << '\n';
      }
    }
    std::ofstream(folder / "test.csv") << "0,0,0,0\n1,1,1,1\n";
  }
  std::string file(std::size_t client) const { return folder / (std::to_string(client) + ".csv"); }

  /// A run of these clients; without them, of all.
  Settings settings(const std::string& out, const std::string& more, std::optional<std::size_t> only = std::nullopt) const {
    const std::string data = only ? file(*only) : file(0) + "," + file(1) + "," + file(2);
    Settings settings =
        parse_settings("data = '" + data + "'\ntest-data = '" + (folder / "test.csv") +
                           "'\nheader = 'no'\nclasses = 2\nmean = '0'\ndeviation = '1'\n" + "model = '" + kModel +
                           "'\noptimizer = 'sgd'\nlearning-rate = 0.1\nbatch = 64\nlocal-epochs = 2\nrounds = 1\nthreads = 2\n" +
                           "server-optimizer = 'average'\nout = '" + (folder / out) + "'\n" +
                           (only ? "partition = 'iid'\nclients = 1\n" : "client-column = 'file'\npartition = 'natural'\n"),
                       "test");
    for (const auto& [key, setting] : parse_settings(more, "test")) settings[key] = setting;
    return settings;
  }
  Vector model(const std::string& out) const {
    const SafeTensors file = read_safetensors(folder / (out + "/model.safetensors"));
    return exact(model_of(file), file);
  }
};

Model the_model() { return Model::parse(kModel, {1, 1, 3}, 2); }

}  // namespace

TEST_CASE("clients' statistics average to those of all their batches, whatever the server optimizer does with the weights") {
  const Clients clients;
  start(clients.settings("all", ""));
  const RunningStatistics at = the_model().running_statistics().front();
  std::vector<double> means(at.size), squares(at.size);
  for (std::size_t client = 0; client < 3; ++client) {
    const std::string out = "only" + std::to_string(client);
    start(clients.settings(out, "", client));
    const Vector own = clients.model(out);
    for (std::size_t i = 0; i < at.size; ++i) {
      const double share = clients.rows[client] / 72.0, mean = own[at.mean + i];
      means[i] += share * mean;
      squares[i] += share * (own[at.variance + i] + mean * mean);
    }
  }
  const Vector all = clients.model("all");
  for (std::size_t i = 0; i < at.size; ++i) {
    CHECK(all[at.mean + i] == doctest::Approx(means[i]).epsilon(1e-6));
    CHECK(all[at.variance + i] == doctest::Approx(squares[i] - means[i] * means[i]).epsilon(1e-6));
  }
  for (const std::string server : {"adam", "momentum", "yogi", "restore"}) {
    CAPTURE(server);
    start(clients.settings(server, "server-optimizer = '" + server + "'\n"));
    const Vector model = clients.model(server);
    CHECK(std::equal(all.begin() + static_cast<std::ptrdiff_t>(at.mean),
                     all.begin() + static_cast<std::ptrdiff_t>(at.mean + at.size),
                     model.begin() + static_cast<std::ptrdiff_t>(at.mean)));
    for (std::size_t i = 0; i < at.size; ++i) CHECK(model[at.variance + i] == all[at.variance + i]);
  }
  // Many rounds of Adam, as in reports of negative variances.
  start(clients.settings("long", "server-optimizer = 'adam'\nrounds = 60\n"));
  for (std::size_t i = 0; i < at.size; ++i) CHECK(clients.model("long")[at.variance + i] > 0);
}

TEST_CASE("neither decay nor a proximal pull nor momentum moves statistics; an undone step leaves them") {
  const Clients clients;
  const RunningStatistics at = the_model().running_statistics().front();
  start(clients.settings("plain", "local-epochs = 1\n"));
  const Vector plain = clients.model("plain");
  for (const std::string more : {"weight-decay = 5.0\n", "local-objective = 'prox'\nmu = 3.0\n", "learning-rate = 1e-3\n",
                                 "optimizer = 'heavy-ball'\n", "secure-aggregation = 'ring'\n"}) {
    CAPTURE(more);
    std::filesystem::remove_all(clients.folder / "other");
    start(clients.settings("other", "local-epochs = 1\n" + more));
    const Vector other = clients.model("other");
    for (std::size_t i = 0; i < at.size; ++i) {
      CHECK(other[at.mean + i] == doctest::Approx(plain[at.mean + i]).epsilon(1e-4));
      CHECK(other[at.variance + i] == doctest::Approx(plain[at.variance + i]).epsilon(1e-4));
    }
  }
  start(clients.settings("undone", "optimizer = 'adadp'\nbatch = 5\nlearning-rate = 1e6\ntolerance = 1e-9\n"));
  CHECK(Json::parse(read_file(clients.folder / "undone/summary.json"))["idle_rounds"] == 1);
  CHECK(clients.model("undone")[at.mean] == 0);
  CHECK(clients.model("undone")[at.variance] == 1);
}

TEST_CASE("FedBN: scale, shift and statistics stay with each client") {
  const Clients clients;
  start(clients.settings("bn", "method = 'fedbn'\nlearning-rate = 0.1\nrounds = 3\nclient-test = 0.25\n"));
  const Model model = the_model();
  const Vector trained = clients.model("bn"), first = drawn_weights(resolve(clients.settings("x", "")), model);
  for (const Parameter& parameter : model.parameters()) {
    CAPTURE(parameter.name);
    const bool is_local = parameter.name.starts_with("bn");
    CHECK((trained[parameter.offset] == first[parameter.offset]) == is_local);
  }
  CHECK(lines(clients.folder / "bn/rounds.jsonl").back().contains("personal_accuracy"));
  CHECK_USAGE_ERROR(prepare(resolve(clients.settings("y", "method = 'fedbn'\nmodel = 'dense classes'\n"))), "local-layers",
                    "batchnorm");
}

TEST_CASE("frozen statistics are those of the first weights") {
  const Clients clients;
  start(clients.settings("first", ""));
  start(clients.settings("fixed", "init = '" + (clients.folder / "first/model.safetensors") + "'\nfreeze = 'bn1'\nrounds = 2\n"));
  const Vector before = clients.model("first"), after = clients.model("fixed");
  const Model model = the_model();
  for (const Parameter& parameter : model.parameters())
    CHECK((after[parameter.offset] == before[parameter.offset]) == parameter.name.starts_with("bn"));
}

TEST_CASE("threads change no bit; a killed run has the bits of the whole one") {
  const Clients clients;
  const std::string more = "optimizer = 'adadp'\nbatch = 5\nrounds = 4\n";
  start(clients.settings("one", more + "threads = 1\n"));
  RunObserver observer;
  observer.pause_after = 2;
  start(clients.settings("parts", more + "threads = 4\n"), observer);
  resume(clients.folder / "parts", {});
  CHECK(hashes(clients.folder / "parts") == hashes(clients.folder / "one"));
}

TEST_CASE("what statistics do not go through is refused by name") {
  const Clients clients;
  const auto refused = [&](const std::string& more) { prepare(resolve(clients.settings("x", more))); };
  CHECK_USAGE_ERROR(refused("dp = 'example'\nclip = 1\nnoise-multiplier = 1\npublic-test = true\n"), "mixes the examples");
  CHECK_USAGE_ERROR(refused("local-objective = 'scaffold'\n"), "local-objective", "scaffold", "groupnorm");
  CHECK_USAGE_ERROR(refused("local-objective = 'nova'\n"), "local-objective", "nova");
  CHECK_USAGE_ERROR(refused("compress-up = 'qsgd'\n"), "compress-up", "qsgd");
  CHECK_USAGE_ERROR(refused("compress-down = 'qsgd'\n"), "compress-down", "qsgd");
  CHECK_USAGE_ERROR(refused("mode = 'fedbuff'\nconcurrency = 2\nbuffer = 2\ndevices = 'uniform'\n"), "mode", "fedbuff");
  start(clients.settings("client", "dp = 'client'\nclip = 1\nnoise-multiplier = 0.5\npublic-test = true\nrounds = 5\n"));
  const RunningStatistics at = the_model().running_statistics().front();
  for (std::size_t i = 0; i < at.size; ++i) CHECK(clients.model("client")[at.variance + i] >= 0);
}

}  // namespace fedstride::test::batch_norm_run_test
