#include "data/datasets.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "core/error.hpp"
#include "core/hash.hpp"
#include "core/key_file.hpp"
#include "core/text.hpp"
#include "data/cifar.hpp"
#include "data/covertype.hpp"
#include "data/fcube.hpp"
#include "data/files/own_file.hpp"
#include "data/idx.hpp"
#include "data/split.hpp"
#include "data/synthetic.hpp"
#include "data/synthetic_li.hpp"
#include "data/table.hpp"

namespace fedstride {
namespace {

template <FileForm kForm>
DataPair load_form(const std::filesystem::path& folder, ReadSettings settings, bool own_rows) {
  settings.format = kForm;
  return load_own_files(folder, settings, own_rows);
}

std::vector<DatasetSource>& registry() {
  static std::vector<DatasetSource> sources{
      DatasetSource{.name = "synthetic",
                    .summary = "built in: ten figures in five look-alike pairs, 32x32 RGB, 10000 + 2000 pictures",
                    .files = "none",
                    .place = {},
                    .load = load_synthetic},
      DatasetSource{.name = "synthetic-li",
                    .summary = "built in: synthetic(alpha, beta) of Li et al., 60 numbers, ten classes, natural clients; "
                               "synthetic-li:ALPHA,BETA,CLIENTS,SEED",
                    .files = "none",
                    .place = {},
                    .load = {},
                    .make = [](std::string_view parameters) { return make_synthetic_li(parameters); }},
      DatasetSource{.name = "fcube",
                    .summary = "built in: FCUBE of NIID-Bench, points of a cube in two classes, four natural clients",
                    .files = "none",
                    .place = {},
                    .load = load_fcube},
      DatasetSource{.name = "cifar10",
                    .summary = "CIFAR-10, binary version: 32x32 RGB photographs in ten classes",
                    .files = "data_batch_1.bin to data_batch_5.bin, test_batch.bin",
                    .place = {"cifar10", "data_batch_1.bin", {"cifar-10-batches-bin", "cifar-10"}},
                    .load = load_cifar10},
      DatasetSource{.name = "cifar100",
                    .summary = "CIFAR-100, binary version: 32x32 RGB photographs, the 100 fine labels",
                    .files = "train.bin, test.bin",
                    .place = {"cifar100", "train.bin", {"cifar-100-binary", "cifar-100"}},
                    .load = load_cifar100},
      DatasetSource{.name = "mnist",
                    .summary = "MNIST: 28x28 grey handwritten digits",
                    .files = "{train,t10k}-images-idx3-ubyte, {train,t10k}-labels-idx1-ubyte; each gzipped or not",
                    .place = {"mnist", "train-images-idx3-ubyte", {"MNIST/raw"}},
                    .load = load_mnist},
      DatasetSource{
          .name = "fashion-mnist",
          .summary = "Fashion-MNIST: 28x28 grey pictures of clothes in ten classes",
          .files = "as mnist; found without a flag where Debian's dataset-fashion-mnist puts them",
          .place = {"fashion-mnist", "train-images-idx3-ubyte", {"FashionMNIST/raw"}, "/usr/share/datasets/fashion-mnist"},
          .load = load_fashion_mnist},
      DatasetSource{.name = "covertype",
                    .summary = "UCI covertype: 54 columns, seven kinds of forest; a sixth of the rows is the test part",
                    .files = "covtype.data, gzipped or not",
                    .place = {"covertype", "covtype.data"},
                    .load = load_covertype},
      DatasetSource{.name = kOwnFile,
                    .summary = "your own data: --data FILE or FOLDER, in any of the forms of docs/data.md",
                    .files = "NumPy .npz, HDF5 as TensorFlow Federated has it, LEAF's JSON, CSV, idx, CIFAR's binary form",
                    .place = {.name = kOwnFile, .file = "", .is_own = true},
                    .read = load_own_files},
      DatasetSource{.name = "csv",
                    .summary = "your own table: numbers, the label last or named by --label; see docs/data.md",
                    .files = "train.csv and perhaps test.csv, gzipped or not; or --data-dir names one file",
                    .place = {.name = "csv", .file = "train.csv", .is_own = true},
                    .read = load_form<FileForm::csv>},
      DatasetSource{.name = "cifar-binary",
                    .summary = "your own 32x32 RGB pictures: a label byte and 3072 pixels (R, G, B planes) a record",
                    .files = "train.bin and perhaps test.bin",
                    .place = {.name = "cifar-binary", .file = "train.bin", .is_own = true},
                    .read = load_form<FileForm::cifar>},
  };
  return sources;
}

DataPair read_source(const DatasetSource& source, const DataOptions& options, bool own_rows) {
  if (source.name == kOwnFile && options.brought) return options.brought(options.read);
  const std::filesystem::path folder = dataset_folder(source, options);
  if (source.read) return source.read(folder, options.read, own_rows);
  return source.load(folder);
}

void hold_out_test_part(DataPair& pair) {
  const std::size_t all = pair.train.size();
  std::vector<std::size_t> rows(pair.train.client_names.size());
  for (const std::uint32_t client : pair.train.clients) ++rows[client];
  const bool by_client = std::ranges::any_of(rows, [](std::size_t count) { return count >= 6; });
  std::tie(pair.train, pair.test) = split_test_part(std::move(pair.train));
  pair.notes.push_back("no test part in the file: " + std::to_string(pair.test.size()) + " of its " + counted(all, "row") +
                       (by_client ? ", a sixth of each client's," : ", a sixth,") +
                       " are held out as test rows, the same in every run");
}

/// Copies the properties that both parts share from the training part to the test part.
void finish(DataPair& pair, std::string_view name) {
  Dataset& train = pair.train;
  Dataset& test = pair.test;
  if (train.shape != test.shape)
    throw failure("data set '" + std::string(name) + "': training examples are " + train.shape.text() + ", test examples " +
                  test.shape.text());
  train.name = test.name = name;
  if (train.targets == Targets::classes && train.classes < 2 && test.classes < 2)
    throw failure("data set '" + std::string(name) + "': every label is 0; there must be at least two classes");
  train.classes = test.classes = std::max(train.classes, test.classes);
  if (train.class_order.empty()) {
    train.class_order.resize(static_cast<std::size_t>(train.label_classes()));
    std::iota(train.class_order.begin(), train.class_order.end(), 0);
  }
  test.class_names = train.class_names;
  test.class_order = train.class_order;
  test.mean = train.mean;
  test.deviation = train.deviation;
  pair.hash = content_hash(train, test);
}

}  // namespace

std::span<const DatasetSource> dataset_sources() { return registry(); }

void add_dataset(DatasetSource source) {
  const std::string what = "dataset '" + std::string(source.name) + "'";
  if (source.name.empty() || (!source.load && !source.make && !source.read))
    throw usage_error(what + " cannot be added; it needs a name and a function that loads it");
  for (const DatasetSource& other : registry())
    if (other.name == source.name) throw usage_error(what + " is there already; each data set needs a name of its own");
  registry().push_back(std::move(source));
}

const DatasetSource& dataset_source(std::string_view name) {
  std::vector<std::string> names;
  const std::string_view base = name.substr(0, name.find(':'));
  for (const auto& source : registry()) {
    if (source.name == name || (source.name == base && source.make)) return source;
    if (source.name == base)
      throw usage_error("dataset is '" + std::string(name) + "'; '" + std::string(base) +
                        "' has no parameters, only its name is valid");
    names.emplace_back(source.name);
  }
  throw usage_error(unknown_name("dataset", name, names));
}

std::filesystem::path dataset_folder(const DatasetSource& source, const DataOptions& options) {
  if (source.name == kOwnFile) {
    if (options.data.empty())
      throw usage_error("data set 'file' needs --data FILE, or a folder; docs/data.md has the forms of files");
    return options.data;
  }
  return source.place.file.empty() ? std::filesystem::path() : find_dataset(options, source.place);
}

DataPair load_dataset(std::string_view name, const DataOptions& options) {
  const DatasetSource& source = dataset_source(name);
  DataPair pair =
      source.make ? source.make(name.substr(std::min(name.size(), source.name.size() + 1))) : read_source(source, options, false);
  if (pair.test.size() == 0) hold_out_test_part(pair);
  if (pair.train.mean.empty()) standardise(pair.train);
  finish(pair, name);
  return pair;
}

DataPair load_own_rows(std::string_view name, const DataOptions& options) {
  const DatasetSource& source = dataset_source(name);
  if (source.place.file.empty() && !source.read)
    throw usage_error("dataset is '" + std::string(name) +
                      "', which is built in and the same for every client; rows of one's own "
                      "are in files, as of csv, cifar-binary or --data");
  DataPair pair = read_source(source, options, true);
  pair.train.name = name;
  pair.test = {};
  pair.hash = content_hash(pair.train, pair.test);
  return pair;
}

std::string told_hash(std::string_view name, const DataOptions& options, const std::string& hash) {
  std::filesystem::path path = std::filesystem::absolute(dataset_folder(dataset_source(name), options)).lexically_normal();
  std::error_code error;
  if (std::filesystem::is_directory(path, error))
    path /= "roster.key";
  else
    path += ".roster.key";  // --data-dir may name the table itself
  return keyed_hash(load_or_create_key(path), "fedstride: rows of " + hash);
}

DataForm form_of(const Dataset& data) { return {data.form(), data.mean, data.deviation}; }

namespace {

/// Refuses rows whose answers or tokens do not belong to a form of the same kind. `set` begins the error.
void check_answers(const Dataset& rows, const ExampleForm& form, const std::string& set) {
  constexpr int kMaxClasses = 1 + std::numeric_limits<Label>::max();
  const bool labelled = form.targets == Targets::classes || form.targets == Targets::positions;
  if (labelled && (form.outputs < 2 || form.outputs > kMaxClasses))
    throw failure(set + "the experiment has " + std::to_string(form.outputs) + " classes; 2 to " + std::to_string(kMaxClasses) +
                  " are possible");
  if (!labelled && form.outputs != rows.classes)
    throw failure(set + "its examples have " + std::to_string(rows.classes) + " " + std::string(choice_name(form.targets)) +
                  ", the experiment's " + std::to_string(form.outputs));
  const auto check_below = [&](const auto& numbers, int limit, const std::string& what) {
    int largest = 0;
    for (const auto number : numbers)
      if (form.targets != Targets::positions || number != kNoLabel) largest = std::max<int>(largest, number);
    if (largest >= limit)
      throw failure(set + what + " " + std::to_string(largest) + " is out of range; the experiment has the " + what + "s 0 to " +
                    std::to_string(limit - 1));
  };
  if (form.targets == Targets::classes) check_below(rows.labels, form.outputs, "label");
  if (form.targets == Targets::positions) check_below(rows.position_labels, form.outputs, "label");
  if (form.vocabulary > 0) check_below(rows.tokens, form.vocabulary, "token");
}

}  // namespace

void fit(Dataset& rows, const DataForm& form) {
  const std::string set = "data set '" + rows.name + "': ";
  const ExampleForm& wanted = form.examples;
  if (rows.shape != wanted.shape)
    throw failure(set + "its examples are " + rows.shape.text() + ", the experiment's " + wanted.shape.text());
  if (static_cast<std::size_t>(wanted.targets) >= kChoiceNames<Targets>.size())
    throw failure(set + "the experiment has answers of kind " + std::to_string(static_cast<int>(wanted.targets)) +
                  ", which is unknown; valid: 0 to " + std::to_string(kChoiceNames<Targets>.size() - 1));
  if (rows.targets != wanted.targets || (rows.vocabulary > 0) != (wanted.vocabulary > 0))
    throw failure(set + "it has " + rows.form().text() + "; the experiment has " + wanted.text());
  check_answers(rows, wanted, set);
  // Examples are normalised by channel, which of a table is a column; tokens are not.
  const auto places = static_cast<std::size_t>(wanted.vocabulary > 0 ? 0 : rows.shape.channels);
  bool good = form.mean.size() == places && form.deviation.size() == places;
  for (std::size_t i = 0; good && i < places; ++i) {
    const float scale = 1 / form.deviation[i];
    good =
        form.deviation[i] > 0 && std::isnormal(form.deviation[i]) && std::isnormal(scale) && std::isfinite(form.mean[i] * scale);
  }
  if (!good)
    throw failure(set + "the experiment's mean and deviation are not " + std::to_string(places) +
                  " finite numbers each, deviations above 0, mean / deviation finite");
  rows.classes = wanted.outputs;
  rows.vocabulary = wanted.vocabulary;
  rows.mean = form.mean;
  rows.deviation = form.deviation;
}

std::string content_hash(const Dataset& train, const Dataset& test) {
  Hash hash;
  for (const Dataset* part : {&train, &test}) {
    hash.text(part->shape.text()).value(static_cast<std::int32_t>(part->classes));
    hash.value(static_cast<std::uint64_t>(part->size()));
    hash.values(std::span<const Label>(part->labels));
    hash.values(std::span<const std::uint8_t>(part->pixels));
    hash.values(std::span<const float>(part->features));
    if (part->targets == Targets::classes && part->vocabulary == 0 && part->clients.empty()) continue;
    hash.text(choice_name(part->targets)).value(static_cast<std::int32_t>(part->vocabulary));
    hash.values(std::span<const std::uint16_t>(part->tokens)).values(std::span<const Label>(part->position_labels));
    hash.values(std::span<const float>(part->values)).values(std::span<const std::uint32_t>(part->clients));
    for (const std::string& name : part->client_names) hash.text(name);
  }
  return hash.hex();
}

}  // namespace fedstride
