// Neighbouring data sets and federations, with next to no noise: what is released moves by what is accounted, and no more. Over every
// reader, partition and cohort, so that a new one is tested without being named.
#include "sim/settings/neighbours.hpp"
#include "sim/run/fleets.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <filesystem>
#include <limits>
#include <set>

#include "core/error.hpp"
#include "core/files.hpp"
#include "nn/safetensors.hpp"
#include "partitions/partitions.hpp"
#include "server/cohorts.hpp"
#include "sim/fleet/in_process_fleet.hpp"
#include "sim/run/run.hpp"
#include "tests/data/npz_files.hpp"
#include "tests/data/python_files.hpp"
#include "tests/sim/run/csv_runs.hpp"
#include "tests/support/bounds.hpp"
#include "tests/support/refusal.hpp"

namespace fedstride::test::neighbours_test {
namespace {

namespace fs = std::filesystem;

constexpr double kSlack = 2e-3;        // of rounding weights and of the noise, 1e-6
constexpr std::size_t kFeatures = 64;  // a picture of 8x8

/// Rows of three classes, as every form of file can hold them: numbers from 0 to 255.
struct Rows {
  std::vector<std::vector<int>> x;
  std::vector<int> y;
  std::vector<int> client;
  bool has_extreme = false;  ///< the last row, or row 3
  std::size_t extreme = 0;

  std::size_t size() const { return y.size(); }
};

Rows ordinary(std::size_t count) {
  Rows rows;
  for (std::size_t i = 0; i < count; ++i) {
    RandomStream random(5, {.purpose = Purpose::test, .row = static_cast<std::uint32_t>(i)});
    std::vector<int> x(kFeatures);
    const int label = static_cast<int>(i % 3);
    for (std::size_t k = 0; k < kFeatures; ++k)
      x[k] = static_cast<int>(random.below(60)) + (static_cast<int>(k % 3) == label ? 90 : 30);
    rows.x.push_back(std::move(x));
    rows.y.push_back(label);
    rows.client.push_back(static_cast<int>(i * 3 / count));
  }
  return rows;
}

/// A record as unlike the others as the form can hold: numbers at their limits, a label that no class has.
void make_extreme(Rows& rows, std::size_t row) {
  for (std::size_t k = 0; k < kFeatures; ++k) rows.x[row][k] = k % 2 == 0 ? 255 : 0;
  rows.y[row] = 7;
  rows.has_extreme = true;
  rows.extreme = row;
}

Rows replaced(Rows rows) {
  make_extreme(rows, 3);
  return rows;
}

Rows appended(Rows rows) {
  rows.x.push_back(rows.x.front());
  rows.y.push_back(0);
  rows.client.push_back(rows.client.back());
  make_extreme(rows, rows.size() - 1);
  return rows;
}

/// A number of a row as text: of the extreme record also ones that are not finite, or far outside the range.
std::string number_text_of(const Rows& rows, std::size_t row, std::size_t k, bool may_be_nan) {
  if (!rows.has_extreme || row != rows.extreme) return std::to_string(rows.x[row][k]) + ".5";
  if (k == 0) return may_be_nan ? "nan" : "1e30";
  return k == 1 ? "-1e30" : rows.x[row][k] > 0 ? "1e9" : "-1e9";
}

std::string bytes_of_pixels(const Rows& rows) {
  std::string bytes;
  for (const auto& x : rows.x)
    for (const int value : x) bytes += static_cast<char>(value);
  return bytes;
}

std::string labels_of(const Rows& rows) {
  std::string bytes;
  for (const int label : rows.y) bytes += static_cast<char>(label);
  return bytes;
}

/// Writes the rows in one form into a folder, and says how they are read.
using Writer = std::string (*)(const Rows& rows, const fs::path& folder);

std::string as_csv(const Rows& rows, const fs::path& folder) {
  std::string text;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    for (std::size_t k = 0; k < kFeatures; ++k) text += number_text_of(rows, i, k, true) + ",";
    text += std::to_string(rows.y[i]) + "\n";
  }
  write(folder / "train.csv", text);
  return "header = 'no'\nrange = '0,255'\n";
}

std::string as_words(const Rows& rows, const fs::path& folder) {
  constexpr const char* kNames[] = {"ape", "bee", "cat"};
  std::string text;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    for (std::size_t k = 0; k < kFeatures; ++k) text += number_text_of(rows, i, k, true) + ",";
    text += std::string(rows.y[i] < 3 ? kNames[rows.y[i]] : "aardvark") + "\n";
  }
  write(folder / "train.csv", text);
  return "header = 'no'\nrange = '0,255'\nclass-names = 'ape,bee,cat'\nclasses = 0\n";
}

/// Words, gaps and numbers: of the extreme record a word that has no column, and a gap in every column of numbers.
std::string as_csv_of_categories(const Rows& rows, const fs::path& folder, const std::string& missing) {
  constexpr const char* kCities[] = {"Rome", "Oslo", "Bern"};
  std::string text = "city,";
  for (std::size_t k = 0; k < kFeatures; ++k) text += "x" + std::to_string(k) + ",";
  text += "y\n";
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const bool is_extreme = rows.has_extreme && i == rows.extreme;
    text += std::string(is_extreme ? "Atlantis" : i % 7 == 0 ? "" : kCities[i % 3]) + ",";
    for (std::size_t k = 0; k < kFeatures; ++k)
      text += (is_extreme || (i + k) % 11 == 0 ? "NA" : number_text_of(rows, i, k, true)) + ",";
    text += std::to_string(rows.y[i]) + "\n";
  }
  write(folder / "train.csv", text);
  return "range = '0,255'\ncategories = 'city=Oslo,Rome,Bern'\nlabel = 'y'\nmissing = '" + missing + "'\n";
}
std::string as_csv_with_means(const Rows& rows, const fs::path& folder) { return as_csv_of_categories(rows, folder, "auto"); }
std::string as_csv_with_zeros(const Rows& rows, const fs::path& folder) { return as_csv_of_categories(rows, folder, "zero"); }
std::string as_csv_with_marks(const Rows& rows, const fs::path& folder) {
  return as_csv_of_categories(rows, folder, "indicator");
}

/// One-hot labels; of the extreme record a list that is none.
std::string as_npz_one_hot(const Rows& rows, const fs::path& folder) {
  std::vector<float> x;
  std::vector<float> y;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const bool is_extreme = rows.has_extreme && i == rows.extreme;
    for (std::size_t k = 0; k < kFeatures; ++k) x.push_back(std::stof(number_text_of(rows, i, k, true)));
    for (int c = 0; c < 3; ++c) y.push_back(is_extreme ? (c == 1 ? NAN : -1e30F) : rows.y[i] == c ? 1 : 0);
  }
  const std::string count = std::to_string(rows.size());
  write(folder / "train.npz", npz_bytes({{"inputs", npy_bytes("<f4", "(" + count + ", 64)", bytes_of(x))},
                                         {"answers", npy_bytes("<f4", "(" + count + ", 3)", bytes_of(y))}}));
  return "range = '0,255'\ninputs = 'inputs'\nlabel = 'answers'\ntargets = 'classes'\n";
}

std::string as_npz_numbers(const Rows& rows, const fs::path& folder) {
  std::vector<float> x;
  for (std::size_t i = 0; i < rows.size(); ++i)
    for (std::size_t k = 0; k < kFeatures; ++k) x.push_back(std::stof(number_text_of(rows, i, k, true)));
  const std::vector<std::int64_t> y(rows.y.begin(), rows.y.end());
  const std::string count = std::to_string(rows.size());
  write(folder / "train.npz", npz_bytes({{"x", npy_bytes("<f4", "(" + count + ", 64)", bytes_of(x))},
                                         {"y", npy_bytes("<i8", "(" + count + ",)", bytes_of(y))}}));
  return "range = '0,255'\n";
}

std::string as_npz_pictures(const Rows& rows, const fs::path& folder) {
  const std::vector<std::int64_t> y(rows.y.begin(), rows.y.end());
  const std::string count = std::to_string(rows.size());
  write(folder / "train.npz", npz_bytes({{"x", npy_bytes("|u1", "(" + count + ", 8, 8)", bytes_of_pixels(rows))},
                                         {"y", npy_bytes("<i8", "(" + count + ",)", bytes_of(y))}}));
  return "";
}

std::string as_npz_with_keys(const Rows& rows, const fs::path& folder) {
  const std::vector<std::int64_t> y(rows.y.begin(), rows.y.end());
  const std::string count = std::to_string(rows.size());
  write(folder / "train.npz", npz_bytes({{"x", npy_bytes("|u1", "(" + count + ", 8, 8)", bytes_of_pixels(rows))},
                                         {"y", npy_bytes("<i8", "(" + count + ",)", bytes_of(y))},
                                         {"classes", npy_bytes("<i8", "()", bytes_of(std::vector<std::int64_t>{3}))},
                                         {"mean", npy_bytes("<f4", "(1,)", bytes_of(std::vector<float>{0.3F}))},
                                         {"deviation", npy_bytes("<f4", "(1,)", bytes_of(std::vector<float>{0.2F}))}}));
  return "classes = 0\n";
}

std::string as_idx(const Rows& rows, const fs::path& folder) {
  const std::string count{'\0', '\0', static_cast<char>(rows.size() >> 8), static_cast<char>(rows.size())};
  const std::string eight("\0\0\0\x08", 4);
  write(folder / "train-images-idx3-ubyte", std::string("\0\0\x08\x03", 4) + count + eight + eight + bytes_of_pixels(rows));
  write(folder / "train-labels-idx1-ubyte", std::string("\0\0\x08\x01", 4) + count + labels_of(rows));
  return "";
}

std::string as_cifar(const Rows& rows, const fs::path& folder) {
  std::string bytes;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    bytes += static_cast<char>(rows.y[i]);
    for (std::size_t k = 0; k < 3072; ++k) bytes += static_cast<char>(rows.x[i][k % kFeatures]);
  }
  write(folder / "train.bin", bytes);
  return "";
}

std::string as_leaf(const Rows& rows, const fs::path& folder) {
  std::string text = "{\"user_data\": {";
  for (int client = 0; client < 3; ++client) {
    std::string x;
    std::string y;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      if (rows.client[i] != client) continue;
      x += x.empty() ? "[" : ", [";
      for (std::size_t k = 0; k < kFeatures; ++k) x += (k == 0 ? "" : ", ") + number_text_of(rows, i, k, false);
      x += "]";
      y += (y.empty() ? "" : ", ") + std::to_string(rows.y[i]);
    }
    text +=
        std::string(client == 0 ? "" : ", ") + "\"u" + std::to_string(client) + "\": {\"x\": [" + x + "], \"y\": [" + y + "]}";
  }
  write(folder / "train.json", text + "}}");
  return "range = '0,255'\n";
}

std::string as_hdf5(const Rows& rows, const fs::path& folder) {
  const std::string python = python_with_h5py();
  if (python.empty()) return "no h5py";
  std::string lines = "import sys, h5py, numpy as np\nwith h5py.File(sys.argv[1], 'w') as file:\n";
  for (int client = 0; client < 3; ++client) {
    std::string x;
    std::string y;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      if (rows.client[i] != client) continue;
      for (std::size_t k = 0; k < kFeatures; ++k) x += "float('" + number_text_of(rows, i, k, true) + "'),";
      y += std::to_string(rows.y[i]) + ",";
    }
    const std::string group = "  file['examples/u" + std::to_string(client) + "/";
    lines += group + "pixels'] = np.array([" + x + "], dtype=np.float32).reshape(-1, 8, 8)\n";
    lines += group + "label'] = np.array([" + y + "], dtype=np.int32)\n";
  }
  write(folder / "make.py", lines);
  REQUIRE(run_python(python, (folder / "make.py").string(), "'" + (folder / "train.h5").string() + "'"));
  fs::remove(folder / "make.py");
  return "range = '0,255'\n";
}

std::string as_plain_hdf5(const Rows& rows, const fs::path& folder) {
  const std::string python = python_with_h5py();
  if (python.empty()) return "no h5py";
  std::string x;
  std::string y;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    for (std::size_t k = 0; k < kFeatures; ++k) x += "float('" + number_text_of(rows, i, k, true) + "'),";
    y += std::to_string(rows.y[i]) + ",";
  }
  write(folder / "make.py",
        "import sys, h5py, numpy as np\nwith h5py.File(sys.argv[1], 'w') as file:\n"
        "  file['x'] = np.array([" +
            x + "], dtype=np.float32).reshape(-1, 64)\n  file['y'] = np.array([" + y + "])\n");
  REQUIRE(run_python(python, (folder / "make.py").string(), "'" + (folder / "train.h5").string() + "'"));
  fs::remove(folder / "make.py");
  return "range = '0,255'\n";
}

struct Form {
  std::string name;
  Writer write;
  bool names_clients = false;
};
const std::vector<Form> kForms{{"csv", as_csv},
                               {"csv of words", as_words},
                               {"csv of categories and gaps", as_csv_with_means},
                               {"csv of categories, zeros for gaps", as_csv_with_zeros},
                               {"csv of categories, marked gaps", as_csv_with_marks},
                               {"npz of one-hot labels", as_npz_one_hot},
                               {"plain hdf5", as_plain_hdf5},
                               {"npz of numbers", as_npz_numbers},
                               {"npz of pictures", as_npz_pictures},
                               {"npz with keys", as_npz_with_keys},
                               {"idx", as_idx},
                               {"cifar", as_cifar},
                               {"leaf", as_leaf, true},
                               {"hdf5", as_hdf5, true}};

const std::string kPrivate =
    "dp = 'example'\nclip = 1\nnoise-multiplier = 1e-6\nsampling-rate = 1\noptimizer = 'sgd'\nlearning-rate = 1\nrounds = 1\n"
    "model = 'dense classes'\nthreads = 1\nclasses = 3\nweights = 'examples'\n";

Settings settings_of(const std::vector<std::string>& texts) {
  Settings settings;
  for (const std::string& text : texts)
    for (const auto& [key, setting] : parse_settings(text, "test")) settings[key] = setting;
  return settings;
}

/// The release of one round, times the public constant that divided it: the sum of the clients' sums.
struct Released {
  std::vector<double> sum;
  std::set<std::string> published;  ///< the lines of its files that are public by docs/privacy.md
  Json summary;
};

Released released(Settings settings, const FleetMaker& fleet = {in_process_fleet}) {
  const TemporaryFolder folder;
  settings["out"] = {folder / "run", true};
  const Setup setup = prepare(resolve(settings));
  run(resolve(settings), settings, {}, fleet);
  const SafeTensors file = read_safetensors(fs::path(folder / "run") / "model.safetensors");
  const Vector after = exact(setup.model, file);
  const bool by_client = setup.privacy.client.has_value();
  const double factor = by_client ? setup.rules.sum.denominator : static_cast<double>(setup.clients.rows.row_count());
  Released result;
  for (std::size_t i = 0; i < after.size(); ++i)
    result.sum.push_back(factor * (static_cast<double>(setup.initial[i]) - static_cast<double>(after[i])));
  result.summary = Json::parse(read_file(fs::path(folder / "run") / "summary.json"));
  return result;
}

double distance(const Released& a, const Released& b) {
  REQUIRE(a.sum.size() == b.sum.size());  // a model's shape follows from no row
  double square = 0;
  for (std::size_t i = 0; i < a.sum.size(); ++i) square += (a.sum[i] - b.sum[i]) * (a.sum[i] - b.sum[i]);
  return std::sqrt(square);
}

/// The public fields of summary.json of a publishable run, without the sizes, which are public by assumption.
Json public_fields(Json summary) {
  for (const char* released : {"model_hash", "test_accuracy", "test_loss", "ledger_head", "training_rows", "test_rows"})
    summary.erase(released);
  return summary;
}

/// The fleet of a federation in which these rows contribute nothing: their inputs are not finite, and so are their gradients.
FleetMaker without(std::function<std::vector<Row>(const Setup&)> rows) {
  return {[rows](const FleetTask& task) {
    struct Held {
      Held(Dataset own, const FleetTask& of)
          : data(std::move(own)), fleet(of.setup.model, data, of.setup.training, of.setup.clients.rows, of.threads) {}
      Dataset data;
      InProcessFleet fleet;
    };
    Dataset data = task.setup.data.train;
    const std::size_t size = data.shape.size();
    for (const Row row : rows(task.setup))
      for (std::size_t k = 0; k < size; ++k) data.features[row * size + k] = std::numeric_limits<float>::quiet_NaN();
    const auto held = std::make_shared<Held>(std::move(data), task);
    return std::shared_ptr<Fleet>(held, &held->fleet);
  }};
}

std::string error_of_settings(const Settings& settings) {
  return error_of_kind(Error::Kind::usage, [&] { prepare(resolve(settings)); });
}

/// Sixty rows of a table, with the columns that every partition needs, in a folder.
void write_table(const TemporaryFolder& folder, const Rows& rows) {
  std::string text = "who,";
  for (std::size_t k = 0; k < kFeatures; ++k) text += "x" + std::to_string(k) + ",";
  text += "label\n";
  for (std::size_t i = 0; i < rows.size(); ++i) {
    text += "c" + std::to_string(rows.client[i]) + ",";
    for (std::size_t k = 0; k < kFeatures; ++k) text += number_text_of(rows, i, k, true) + ",";
    text += std::to_string(rows.y[i]) + "\n";
  }
  write(fs::path(folder / "train.csv"), text);
}

std::string table_settings(const TemporaryFolder& folder) {
  return "data = '" + (folder / "train.csv") + "'\nlabel = 'label'\nclient-column = 'who'\nrange = '0,255'\n";
}

/// The settings by which a partition is dealt, some of which need a file; empty: it is for clients elsewhere.
std::string partition_settings(const std::string& name, const TemporaryFolder& folder, std::size_t rows) {
  const std::string common = "partition = '" + name + "'\n";
  if (name == "own" || name == "outside") return "";
  if (name == "file" || name == "label-distribution") {
    const bool manifest = name == "file";
    std::string lists;
    for (int client = 0; client < 3; ++client) {
      lists += client == 0 ? "[" : ", [";
      if (manifest)
        for (std::size_t row = static_cast<std::size_t>(client); row < rows; row += 3)
          lists += (row == static_cast<std::size_t>(client) ? "" : ", ") + std::to_string(row);
      else
        lists += client == 0 ? "0.5, 0.25, 0.25" : client == 1 ? "0.25, 0.5, 0.25" : "0.25, 0.25, 0.5";
      lists += "]";
    }
    const std::string path = folder / (name + ".json");
    write(path, manifest ? "{\"clients\": [" + lists + "]}" : "[" + lists + "]");
    return common + (manifest ? "partition-file = '" : "distribution-file = '") + path + "'\nclients = 3\n";
  }
  if (name == "natural") return common;
  if (name == "natural-grouped") return common + "natural-per-client = 2\n";
  if (name == "sizes") return common + "sizes = '10,12,14'\nclients = 3\n";
  if (name == "continuous") return common + "property = '0'\nclients = 3\n";
  return common + "clients = 3\n";
}

}  // namespace

TEST_CASE("every reader: replacing or adding a record moves the clipped sum by what is accounted, and nothing public") {
  for (const Form& form : kForms) {
    CAPTURE(form.name);
    const Rows rows = ordinary(60);
    const std::string clients = form.names_clients ? "partition = 'natural'\n" : "partition = 'iid'\nclients = 1\n";
    std::vector<Released> sums;
    std::vector<Json> publics;
    bool skipped = false;
    for (const Rows& set : {rows, replaced(rows), appended(rows)}) {
      const TemporaryFolder folder;
      fs::create_directories(folder / "data");
      const std::string how = form.write(set, fs::path(folder / "data"));
      if ((skipped = how == "no h5py")) break;
      const Settings settings = settings_of({"data = '" + (folder / "data") + "'\n", kPrivate, clients, how});
      sums.push_back(released(settings));
      publics.push_back(public_fields(released(settings_of({"data = '" + (folder / "data") + "'\n", kPrivate, clients, how,
                                                            "publishable = true\nrandomness = 'secret'\nnoise-multiplier = 2\n"}))
                                          .summary));
    }
    if (skipped) continue;
    CHECK(distance(sums[0], sums[1]) <= 2 + kSlack);
    CHECK(distance(sums[0], sums[1]) > 0.1);  // the record counts at all
    // The sixth that is held out, as nothing names a test part, is drawn row by row: a record more is there or not, and moves no other.
    CHECK(distance(sums[0], sums[2]) <= 1 + kSlack);
    CHECK(publics[0] == publics[1]);
    // A record more changes nothing but the sizes that follow from how many there are, which every statement calls public.
    Json more = publics[2];
    for (Json* one : {&publics[0], &more}) one->erase("privacy");
    CHECK(publics[0] == more);
  }
}

TEST_CASE("every split: adding a row moves no other row, so that sums move by one clip") {
  const Rows rows = ordinary(120);
  for (const std::string split : {"", "validation-fraction = 0.3\n"})
    for (const bool has_clients : {false, true}) {
      CAPTURE(split);
      CAPTURE(has_clients);
      std::vector<Released> sums;
      for (const Rows& set : {rows, appended(rows)}) {
        const TemporaryFolder folder;
        write_table(folder, set);
        sums.push_back(
            released(settings_of({kPrivate, table_settings(folder),
                                  has_clients ? "partition = 'natural'\n" : "partition = 'iid'\nclients = 1\n", split})));
      }
      CHECK(distance(sums[0], sums[1]) <= 1 + kSlack);
    }
}

TEST_CASE("every partition at example level has the neighbors that it allows, and the sum moves by no more than is accounted") {
  const TemporaryFolder folder;
  const Rows rows = ordinary(60);
  write_table(folder, rows);
  const Row chosen = 5;
  int tested = 0;
  for (const auto& part : PartitionPart::family().parts()) {
    const std::string name(part->name());
    CAPTURE(name);
    const std::string dealt = partition_settings(name, folder, 60);
    if (dealt.empty()) continue;
    const auto with = [&](const std::string& more) { return settings_of({kPrivate, table_settings(folder), dealt, more}); };
    Setup setup = prepare(resolve(with("")));
    const bool given = setup.configuration.partition->dealing() == Dealing::given;
    CHECK(setup.privacy.example->neighbours == (given ? Neighbours::add_remove : Neighbours::zero_out));
    CHECK(error_of_settings(with("neighbours = 'add-remove'\n")).empty() == given);
    // Zero-out: the record contributes nothing, and every size is as before.
    const Released all = released(with("neighbours = 'zero-out'\n"));
    std::vector<Row> held(setup.clients.rows.all_rows().begin(), setup.clients.rows.all_rows().end());
    const Row row = std::ranges::find(held, chosen) != held.end() ? chosen : held.front();
    const Released less =
        released(with("neighbours = 'zero-out'\n"), without([row](const Setup&) { return std::vector<Row>{row}; }));
    CHECK(distance(all, less) <= 1 + kSlack);
    CHECK(distance(all, less) > 0.01);
    // Replace-one, where it is allowed: another record in its place, label and all.
    const Dealing dealing = setup.configuration.partition->dealing();
    const bool replaceable = dealing == Dealing::given || dealing == Dealing::counts;
    const std::string refused = error_of_settings(with("neighbours = 'replace-one'\n"));
    CHECK(refused.empty() == replaceable);
    if (replaceable) {
      Rows other = rows;
      make_extreme(other, row);
      const TemporaryFolder second;
      write_table(second, other);
      const std::string dealt_again = partition_settings(name, second, 60);
      const Released moved =
          released(settings_of({kPrivate, table_settings(second), dealt_again, "neighbours = 'replace-one'\n"}));
      CHECK(distance(all, moved) <= 2 + kSlack);
    }
    // Client level: a client that contributes nothing, all others holding what they hold.
    Settings by_client = with("dp = 'client'\nclip = 0.01\nnoise-multiplier = 1e-6\nweights = 'equal'\n");
    by_client.erase("sampling-rate");
    const Released everybody = released(by_client);
    const Released others = released(by_client, without([](const Setup& one) {
                                       return std::vector<Row>(one.clients.rows[0].begin(), one.clients.rows[0].end());
                                     }));
    CHECK(distance(everybody, others) <= 0.01 * (1 + kSlack));
    CHECK(distance(everybody, others) > 0.001);
    // Add-remove: one row more.
    if (given) {
      const TemporaryFolder second;
      write_table(second, appended(rows));
      const Released moved = released(settings_of({kPrivate, table_settings(second), partition_settings(name, second, 61)}));
      CHECK(distance(all, moved) <= 1 + kSlack);
    }
    ++tested;
  }
  CHECK(tested >= 17);
}

TEST_CASE("lots of a fixed size, limits and client tests have no add-remove neighbors") {
  const TemporaryFolder folder;
  write_table(folder, ordinary(60));
  const auto neighbours = [&](const std::string& more) {
    return prepare(resolve(settings_of({kPrivate, table_settings(folder), "partition = 'natural'\n", more})))
        .privacy.example->neighbours;
  };
  CHECK(neighbours("") == Neighbours::add_remove);
  CHECK(neighbours("sampling = 'shuffle'\nsampling-rate = 0\nbatch = 5\n") == Neighbours::zero_out);
  CHECK(neighbours("sampling = 'without-replacement'\nsampling-rate = 0\nbatch = 5\n") == Neighbours::replace_one);
  CHECK(neighbours("limit-per-client = 10\n") == Neighbours::zero_out);
  CHECK(neighbours("client-test = 0.2\n") == Neighbours::zero_out);
  for (const std::string more : {"sampling = 'shuffle'\nsampling-rate = 0\nbatch = 5\n", "limit-per-client = 10\n",
                                 "client-test = 0.2\n", "partition = 'iid'\nclients = 2\n"})
    CHECK_USAGE_ERROR(prepare(resolve(settings_of(
                          {kPrivate, table_settings(folder), "partition = 'natural'\nneighbours = 'add-remove'\n", more}))),
                      "neighbours", "add-remove");
}

TEST_CASE(
    "every cohort and every place of the noise: a client that contributes nothing moves the sum by its clip, and no other "
    "client") {
  const TemporaryFolder folder;
  write_table(folder, ordinary(60));
  write(fs::path(folder / "trace.csv"), "client,from,to\n0,1,9\n1,1,9\n2,1,9\n");
  int tested = 0;
  for (const auto& part : CohortPart::family().parts()) {
    const std::string name(part->name());
    if (name == "power-of-choice") continue;  // refused under privacy (privacy_pairs_test)
    for (const std::string noise : {"central", "discrete", "local"}) {
      CAPTURE(name);
      CAPTURE(noise);
      std::string cohort = "cohort = '" + name + "'\n";
      for (const SettingInfo& info : part->settings()) {
        if (info.name == "cohort-size") cohort += "cohort-size = 2\n";
        if (info.name == "cohort-rate") cohort += "cohort-rate = 0.7\n";
        if (info.name == "trace") cohort += "trace = '" + (folder / "trace.csv") + "'\nat-most = 2\n";
      }
      const std::string federation =
          "dp = 'client'\nclip = 0.01\nnoise-multiplier = 1e-6\npartition = 'natural'\nweights = 'equal'\n"
          "accept-failures = 'all'\n";  // a round may ask nobody but the client whose rows are not numbers
      Settings settings = settings_of({kPrivate, table_settings(folder), federation, cohort, "client-noise = '" + noise + "'\n"});
      settings.erase("sampling-rate");
      const Setup setup = prepare(resolve(settings));
      const Neighbours expected = noise == "local"                               ? Neighbours::replace_one
                                  : setup.configuration.cohort->is_independent() ? Neighbours::add_remove
                                                                                 : Neighbours::zero_out;
      CHECK(setup.privacy.client->neighbours == expected);
      Settings named = settings;
      named["neighbours"] = {std::string("add-remove"), false};
      CHECK(error_of_settings(named).empty() == (noise == "local" || setup.configuration.cohort->is_independent()));
      const Released all = released(settings);
      for (ClientId client = 0; client < 3; ++client) {
        const Released less =
            released(settings, without([client](const Setup& one) {
                       return std::vector<Row>(one.clients.rows[client].begin(), one.clients.rows[client].end());
                     }));
        CHECK(distance(all, less) <= 0.01 * (1 + kSlack));
      }
      ++tested;
    }
  }
  CHECK(tested == 3 * (static_cast<int>(CohortPart::family().parts().size()) - 1));
}

TEST_CASE(
    "every bound, far below and far above the norms: a record or a client moves the sum by no more than it, another by twice "
    "that") {
  const Rows rows = ordinary(60);
  for (const std::string& rule : bounds_on_updates())
    for (const double bound : {0.5, 50.0}) {
      CAPTURE(rule);
      CAPTURE(bound);
      const bool reaches = bound < 1 || bound_named(rule)->scales();
      const std::string level = "partition = 'natural'\nclip-rule = '" + rule + "'\nclip = " + std::to_string(bound) + "\n";
      if (bound_named(rule)->is_for_lots()) {
        std::vector<Released> sums;
        for (const Rows& set : {rows, appended(rows), replaced(rows)}) {
          const TemporaryFolder folder;
          write_table(folder, set);
          sums.push_back(released(settings_of({kPrivate, table_settings(folder), level})));
        }
        CHECK(distance(sums[0], sums[1]) <= bound * (1 + kSlack));
        CHECK(distance(sums[0], sums[2]) <= 2 * bound * (1 + kSlack));
      }
      const TemporaryFolder folder;
      write_table(folder, rows);
      if (bound_named(rule)->is_for_lots()) {
        const Settings settings = settings_of({kPrivate, table_settings(folder), level, "neighbours = 'zero-out'\n"});
        const double moved = distance(
            released(settings),
            released(settings, without([](const Setup& one) { return std::vector<Row>{one.clients.rows.all_rows().front()}; })));
        CHECK(moved <= bound * (1 + kSlack));
        if (reaches) CHECK(moved > 0.95 * bound);
      }
      Settings settings =
          settings_of({kPrivate, table_settings(folder), level, "dp = 'client'\nnoise-multiplier = 1e-6\nweights = 'equal'\n"});
      settings.erase("sampling-rate");
      const Released all = released(settings);
      const Released less = released(settings, without([](const Setup& one) {
                                       return std::vector<Row>(one.clients.rows[0].begin(), one.clients.rows[0].end());
                                     }));
      CHECK(distance(all, less) <= bound * (1 + kSlack));
      if (reaches) CHECK(distance(all, less) > 0.95 * bound);
    }
}

TEST_CASE("a cohort is declared independent exactly if it draws each client independently of the others") {
  const TemporaryFolder folder;
  write(fs::path(folder / "trace.csv"), "client,from,to\n0,1,99\n1,1,99\n2,1,99\n3,1,99\n4,1,99\n5,1,99\n");
  for (const auto& part : CohortPart::family().parts()) {
    const std::string name(part->name());
    if (name == "trace") continue;  // by a file
    CAPTURE(name);
    Cohort cohort;
    cohort.choose(name);
    for (const SettingInfo& info : cohort.part().settings())
      if (info.name == "cohort-size") info.assign(cohort.part().object(), SettingValue(std::int64_t{2}));
    const std::vector<double> losses{1, 2, 3, 4, 5, 6};
    const std::vector<std::uint64_t> six(6, 10);
    const std::vector<std::uint64_t> five(5, 10);
    const RandomSource source(std::uint64_t{3});
    bool moves = false;
    for (std::uint32_t round = 1; round <= 60; ++round) {
      std::vector<ClientId> with = cohort->sample({.round = round, .rows = six, .source = source, .losses = losses});
      std::erase(with, ClientId{5});
      moves = moves || with != cohort->sample({.round = round, .rows = five, .source = source, .losses = losses});
    }
    CHECK(moves == !cohort->is_independent());
  }
}

TEST_CASE("add-remove at client level: adding a client moves the sum by its clip if every client takes part") {
  Rows rows = ordinary(60);
  std::vector<Released> sums;
  for (const int clients : {3, 2}) {
    Rows some;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      if (rows.client[i] >= clients) continue;
      some.x.push_back(rows.x[i]);
      some.y.push_back(rows.y[i]);
      some.client.push_back(rows.client[i]);
    }
    const TemporaryFolder folder;
    write_table(folder, some);
    Settings settings =
        settings_of({kPrivate, table_settings(folder),
                     "dp = 'client'\nclip = 0.01\nnoise-multiplier = 1e-6\npartition = 'natural'\nweights = 'equal'\n"});
    settings.erase("sampling-rate");
    sums.push_back(released(settings));
  }
  CHECK(distance(sums[0], sums[1]) <= 0.01 * (1 + kSlack));
  CHECK(distance(sums[0], sums[1]) > 0.001);
}

}  // namespace fedstride::test::neighbours_test
