#include "data/datasets.hpp"

#include <algorithm>
#include <array>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "core/error.hpp"
#include "core/hash.hpp"
#include "core/text.hpp"
#include "data/cifar.hpp"
#include "data/synthetic.hpp"

namespace fedstride {
namespace {

namespace fs = std::filesystem;

DataPair synthetic(const DataOptions&) {
  DataPair pair{make_synthetic(SyntheticPart::train, kSyntheticTrainRows),
                make_synthetic(SyntheticPart::test, kSyntheticTestRows), {}};
  pair.train.mean = {0.5F, 0.5F, 0.5F};
  pair.train.deviation = {0.16F, 0.16F, 0.16F};
  return pair;
}

DataPair cifar10(const DataOptions& options) {
  const fs::path folder = find_dataset(options, "cifar10", "data_batch_1.bin", {"cifar-10-batches-bin"});
  std::vector<fs::path> train;
  for (int i = 1; i <= 5; ++i) train.push_back(folder / ("data_batch_" + std::to_string(i) + ".bin"));
  const std::vector<fs::path> test{folder / "test_batch.bin"};
  const CifarFormat format{.label_bytes = 1, .label_at = 0, .classes = 10};
  DataPair pair{read_cifar(train, format), read_cifar(test, format), {}};
  pair.train.class_names = {"airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck"};
  // Client 1 has cars and trucks, 2 planes and ships, 3 cats and dogs, 4 birds and frogs, 5 deer and horses.
  pair.train.class_order = {1, 9, 0, 8, 3, 5, 2, 6, 4, 7};
  pair.train.mean = {0.4914F, 0.4822F, 0.4465F};
  pair.train.deviation = {0.2023F, 0.1994F, 0.2010F};
  return pair;
}

constexpr std::array kSources{
    DatasetSource{"synthetic", "built in: ten figures in five look-alike pairs, 32x32 RGB, 10000 + 2000 pictures", "",
                  synthetic},
    DatasetSource{"cifar10", "CIFAR-10, binary version: 32x32 RGB photographs in ten classes",
                  "data_batch_1.bin ... data_batch_5.bin, test_batch.bin", cifar10},
};

/// What the parts share is said once, by the training part.
void finish(DataPair& pair, std::string_view name) {
  Dataset& train = pair.train;
  Dataset& test = pair.test;
  if (train.shape != test.shape)
    throw failure("data set '" + std::string(name) + "': training examples are " + train.shape.text() +
                  ", test examples " + test.shape.text());
  train.name = test.name = name;
  train.classes = test.classes = std::max(train.classes, test.classes);
  if (train.class_order.empty()) {
    train.class_order.resize(static_cast<std::size_t>(train.classes));
    std::iota(train.class_order.begin(), train.class_order.end(), 0);
  }
  test.class_names = train.class_names;
  test.class_order = train.class_order;
  test.mean = train.mean;
  test.deviation = train.deviation;
  pair.hash = content_hash(train, test);
}

}  // namespace

std::span<const DatasetSource> dataset_sources() { return kSources; }

const DatasetSource& dataset_source(std::string_view name) {
  std::vector<std::string> names;
  for (const auto& source : kSources) {
    if (source.name == name) return source;
    names.emplace_back(source.name);
  }
  throw usage_error(unknown_name("dataset", name, names));
}

DataPair load_dataset(std::string_view name, const DataOptions& options) {
  DataPair pair = dataset_source(name).load(options);
  finish(pair, name);
  return pair;
}

std::string content_hash(const Dataset& train, const Dataset& test) {
  Hash hash;
  for (const Dataset* part : {&train, &test}) {
    hash.text(part->shape.text()).value(static_cast<std::int32_t>(part->classes));
    hash.value(static_cast<std::uint64_t>(part->size()));
    hash.values(std::span<const Label>(part->labels));
    hash.values(std::span<const std::uint8_t>(part->pixels));
    hash.values(std::span<const float>(part->features));
  }
  return hash.hex();
}

}  // namespace fedstride
