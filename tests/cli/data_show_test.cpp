// Data that people bring, by the commands they type: examples/data makes the files.
#include <doctest/doctest.h>

#include <cstdlib>
#include <fstream>

#include "tests/cli/program.hpp"
#include "tests/support/json.hpp"
#include "tests/support/refusal.hpp"
#include "tests/support/skip.hpp"

namespace fedstride::test::data_show_test {
namespace {

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

/// Runs an example's script; false without a Python that has what it needs.
bool make(const std::string& script, const std::string& place) {
  for (const char* name : {"/usr/bin/python3", "python3"})
    if (std::system((std::string(name) + " -c 'import numpy, h5py' >/dev/null 2>&1").c_str()) == 0) {
      REQUIRE(std::system(
                  (std::string(name) + " '" FEDSTRIDE_SOURCE_DIR "/examples/data/" + script + "' '" + place + "'").c_str()) == 0);
      return true;
    }
  return false;
}

const char* kNoH5py = "no Python with numpy and h5py (Debian: python3-h5py)";

Outcome trained(const TemporaryFolder& folder, const std::string& data, const Words& more) {
  return run_program(with_flags({"run", "--data", data, "--model", "logistic", "--optimizer", "sgd", "--learning-rate", "0.02",
                                 "--rounds", "2", "--json", "--out", folder / "run"},
                                more));
}

void check_trained(const Outcome& run) {
  CAPTURE(run.err);
  REQUIRE(run.code == 0);
  CHECK(Json::parse(run.out)["finished"] == true);
}

}  // namespace

TEST_CASE("data show says shape, classes, clients and what was guessed, and writes a sheet") {
  const TemporaryFolder folder;
  if (!make("pictures_npz.py", folder / "p.npz")) FEDSTRIDE_SKIP(kNoH5py);
  const Outcome shown = run_program({"data", "show", folder / "p.npz", "--png", folder / "sheet.png"});
  CHECK(shown.code == 0);
  CHECK(has(shown.out, "600 training rows"));
  CHECK(has(shown.out, "120 test rows"));
  CHECK(has(shown.out, "12x12x1, 4 classes"));
  CHECK(has(shown.out, "clients: 20"));
  CHECK(read_file(folder / "sheet.png").starts_with("\x89PNG"));
  const Json json = Json::parse(run_program({"data", "show", folder / "p.npz", "--json"}).out);
  CHECK(json["training_rows"] == 600);
  CHECK(json["clients"].size() == 20);
  CHECK(json["clients"][0]["name"] == "0");
  const Outcome none = run_program({"data", "show"});
  CHECK(none.code == 2);
  CHECK(names(none.err, {"--dataset"}));
  CHECK(names(run_program({"data", "show", folder / "p.npz", "--label", "z"}).err, {folder / "p.npz", "'z'"}));
}

TEST_CASE("writers from HDF5 and users from LEAF's JSON train with one command each") {
  const TemporaryFolder folder;
  if (!make("writers_hdf5.py", folder / "writers")) FEDSTRIDE_SKIP(kNoH5py);
  const Outcome run = trained(folder, folder / "writers", {"--partition", "natural", "--cohort", "fixed", "--cohort-size", "5"});
  check_trained(run);
  const Outcome each = run_program({"evaluate", folder / "run", "--per-client", "--json"});
  CHECK(Json::parse(each.out)["global"]["clients"].size() == 12);
  const TemporaryFolder other;
  make("leaf_json.py", other / "users");
  check_trained(trained(other, other / "users", {"--partition", "natural"}));
}

TEST_CASE("prices in a table, idx and CIFAR's form train with one command each") {
  const TemporaryFolder folder;
  if (!make("houses_csv.py", folder / "houses.csv")) FEDSTRIDE_SKIP(kNoH5py);
  check_trained(trained(folder, folder / "houses.csv",
                        {"--label", "price", "--client-column", "town", "--partition", "natural", "--model", "dense classes"}));
  for (const char* script : {"pictures_idx.py", "pictures_cifar.py"}) {
    const TemporaryFolder other;
    make(script, other / "data");
    check_trained(trained(other, other / "data", {}));
  }
}

TEST_CASE("a model is evaluated on another file, read as is said") {
  const TemporaryFolder folder;
  std::string table = "town,price,rooms\n";
  for (int row = 0; row < 24; ++row)
    table += std::string(row % 2 == 0 ? "a," : "b,") + std::to_string(row * 10.5) + "," + std::to_string(row) + "\n";
  std::ofstream(folder / "houses.csv") << table;
  const Words reading{"--label", "price", "--client-column", "town"};
  Words more = reading;
  more.insert(more.end(), {"--model", "dense outputs", "--partition", "natural"});
  check_trained(trained(folder, folder / "houses.csv", more));
  const auto evaluated = [&](const std::string& model, const Words& others) {
    Words words{"evaluate", model, "--data", folder / "houses.csv", "--json"};
    words.insert(words.end(), others.begin(), others.end());
    return run_program(words);
  };
  const Outcome of_run = evaluated(folder / "run", {});
  CHECK(of_run.code == 0);
  const Outcome of_file = evaluated(folder / "run/model.safetensors", reading);
  CHECK(of_file.code == 0);
  CHECK(of_file.out == of_run.out);
  CHECK(has(evaluated(folder / "run/model.safetensors", {}).out, "\"examples\": 24"));  // by the file's schema, without clients
  CHECK(has(evaluated(folder / "run", {"--label", "rent"}).err, "rent"));
  CHECK(has(evaluated(folder / "run", {"--label", "price", "--per-client"}).err, "--per-client"));
  const Outcome other = run_program({"evaluate", folder / "run", "--dataset", "synthetic", "--label", "price"});
  CHECK(other.code == 2);
  CHECK(names(other.err, {"'synthetic'"}));
}

TEST_CASE("texts of LEAF and of TensorFlow Federated are read") {
  const TemporaryFolder folder;
  if (!make("speeches_leaf.py", folder / "s.json")) FEDSTRIDE_SKIP(kNoH5py);
  CHECK(has(run_program({"data", "show", folder / "s.json"}).out, "80 tokens of 81, 81 classes"));
  make("speeches_hdf5.py", folder / "lines");
  CHECK(has(run_program({"data", "show", folder / "lines"}).out, "80 tokens of 90, 90 classes"));
  CHECK(has(run_program({"data", "show", folder / "lines/sentences"}).out, "20 tokens of "));
}

}  // namespace fedstride::test::data_show_test
