#include "data/datasets.hpp"

#include <string>
#include <utility>

#include "data/built_in.hpp"
#include "data/files/readers.hpp"
#include "data/heart.hpp"

namespace fedstride {
namespace {

namespace fs = std::filesystem;

/// Facts that a data set's authors publish, or users agree on, in addition to the files.
struct Published {
  std::vector<float> mean = {};
  std::vector<float> deviation = {};
  std::vector<std::string> class_names = {};
  std::vector<int> class_order = {};
};

/// Reads the files of a published data set.
DataPair published_in(const fs::path& folder, const ReadSettings& settings, Published known, auto read) {
  const std::string name = "'" + folder.string() + "'";
  Assembly both(name, name, settings);
  read(both);
  DataPair pair = both.finish(false);
  pair.train.mean = std::move(known.mean);
  pair.train.deviation = std::move(known.deviation);
  pair.train.class_names = std::move(known.class_names);
  pair.train.class_order = std::move(known.class_order);
  pair.notes.clear();
  pair.facts.clear();
  return pair;
}

DataPair load_cifar(const fs::path& folder, const std::vector<std::string>& train, const std::string& test, int classes,
                    std::size_t label_bytes, Published known = {}) {
  known.mean = {0.4914F, 0.4822F, 0.4465F};
  known.deviation = {0.2023F, 0.1994F, 0.2010F};
  return published_in(folder, {.classes = classes}, std::move(known), [&](Assembly& both) {
    for (const std::string& file : train) read_cifar_file(folder / file, both, false, label_bytes);
    read_cifar_file(folder / test, both, true, label_bytes);
  });
}

DataPair load_cifar10(const fs::path& folder) {
  std::vector<std::string> train;
  for (int i = 1; i <= 5; ++i) train.push_back("data_batch_" + std::to_string(i) + ".bin");
  // Five clients with two classes each have cars and trucks, planes and ships, cats and dogs, birds and frogs, deer and horses.
  return load_cifar(folder, train, "test_batch.bin", 10, 1,
                    {.class_names = {"airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck"},
                     .class_order = {1, 9, 0, 8, 3, 5, 2, 6, 4, 7}});
}

DataPair load_cifar100(const fs::path& folder) { return load_cifar(folder, {"train.bin"}, "test.bin", 100, 2); }

DataPair load_idx(const fs::path& folder, Published known) {
  return published_in(folder, {.classes = 10}, std::move(known), [&](Assembly& both) {
    for (const bool test : {false, true}) {
      const std::string part = test ? "t10k" : "train";
      read_idx_files(plain_or_gzipped(folder, part + "-images-idx3-ubyte"), plain_or_gzipped(folder, part + "-labels-idx1-ubyte"),
                     both, test);
    }
  });
}

DataPair load_mnist(const fs::path& folder) { return load_idx(folder, {.mean = {0.1307F}, .deviation = {0.3081F}}); }

DataPair load_fashion_mnist(const fs::path& folder) {
  return load_idx(folder, {.mean = {0.2860F},
                           .deviation = {0.3530F},
                           .class_names = {"T-shirt", "trouser", "pullover", "dress", "coat", "sandal", "shirt", "sneaker", "bag",
                                           "ankle boot"}});
}

DataPair load_covertype(const fs::path& folder) {
  constexpr std::size_t kColumns = 54;
  // Means and standard deviations of the ten measured columns, as published in covtype.info; the other 44 columns are 0 or 1.
  Published known{.mean = {2959.36F, 155.65F, 14.10F, 269.43F, 46.42F, 2350.15F, 212.15F, 223.32F, 142.53F, 1980.29F},
                  .deviation = {279.98F, 111.91F, 7.49F, 212.55F, 58.30F, 1559.25F, 26.77F, 19.77F, 38.27F, 1324.19F},
                  .class_names = {"spruce/fir", "lodgepole pine", "ponderosa pine", "cottonwood/willow", "aspen", "Douglas-fir",
                                  "krummholz"}};
  known.mean.resize(kColumns, 0);
  known.deviation.resize(kColumns, 1);
  const ReadSettings settings{.targets = TargetsAre::classes, .class_names = "1,2,3,4,5,6,7"};
  return published_in(folder, settings, std::move(known), [&](Assembly& both) {
    both.shared.columns = kColumns + 1;
    read_csv(std::vector{TableFile{plain_or_gzipped(folder, "covtype.data")}}, settings, both, false);
  });
}

using Load = DataPair (*)(const fs::path& folder);

DatasetSource published(const DataPlace& place, std::string_view summary, std::string_view files, Load load,
                        bool has_public_test = true) {
  return {.name = place.name,
          .summary = summary,
          .files = files,
          .place = place,
          .is_published = true,
          .has_public_test = has_public_test,
          .load = load};
}

}  // namespace

std::vector<DatasetSource> shipped_datasets() {
  DatasetSource synthetic_li =
      published({.name = "synthetic-li", .file = ""},
                "built in: synthetic(alpha, beta) of Li et al., 60 features, ten classes, natural clients; "
                "synthetic-li:ALPHA,BETA,CLIENTS,SEED",
                "none", nullptr);
  synthetic_li.make = [](std::string_view parameters) { return make_synthetic_li(parameters); };
  return {
      published({.name = "synthetic", .file = ""},
                "built in: ten shapes in five look-alike pairs, 32x32 RGB, 10000 + 2000 images", "none", load_synthetic),
      synthetic_li,
      published({.name = "fcube", .file = ""},
                "built in: FCUBE of NIID-Bench, points in a cube in two classes, four natural clients", "none", load_fcube),
      published({"cifar10", "data_batch_1.bin", {"cifar-10-batches-bin", "cifar-10"}},
                "CIFAR-10, binary version: 32x32 RGB photographs in ten classes",
                "data_batch_1.bin to data_batch_5.bin, test_batch.bin", load_cifar10),
      published({"cifar100", "train.bin", {"cifar-100-binary", "cifar-100"}},
                "CIFAR-100, binary version: 32x32 RGB photographs, the 100 fine labels", "train.bin, test.bin", load_cifar100),
      published({"mnist", "train-images-idx3-ubyte", {"MNIST/raw"}}, "MNIST: 28x28 grayscale handwritten digits",
                "{train,t10k}-images-idx3-ubyte, {train,t10k}-labels-idx1-ubyte; each gzipped or not", load_mnist),
      published({"fashion-mnist", "train-images-idx3-ubyte", {"FashionMNIST/raw"}, "/usr/share/datasets/fashion-mnist"},
                "Fashion-MNIST: 28x28 grayscale images of clothing in ten classes",
                "as for mnist; files of Debian's dataset-fashion-mnist are found automatically", load_fashion_mnist),
      published({"covertype", "covtype.data"},
                "UCI Covertype: 54 columns, seven forest types; a sixth of the rows is held out for testing",
                "covtype.data, gzipped or not", load_covertype, false),
      published(
          {"heart", "processed.cleveland.data"},
          "UCI Heart Disease, four hospitals (Janosi, Steinbrunn, Pfisterer, Detrano 1988; CC BY 4.0): 13 columns, ill or not",
          "processed.{cleveland,hungarian,switzerland,va}.data; each gzipped or not", load_heart),
      {.name = kOwnFile,
       .summary = "your own data: --data FILE or FOLDER, in any format in docs/data.md",
       .files = "NumPy .npz, CSV, TensorFlow Federated HDF5, LEAF JSON, idx, CIFAR binary, folder of images",
       .place = {.name = kOwnFile, .file = ""},
       .read = load_own_files},
  };
}

}  // namespace fedstride
