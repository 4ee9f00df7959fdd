#include "data/official.hpp"

#include <algorithm>
#include <array>
#include <fstream>
#include <vector>

#include "core/error.hpp"
#include "core/files.hpp"
#include "core/hash.hpp"
#include "core/text.hpp"
#include "data/datasets.hpp"
#include "data/input_file.hpp"

namespace fedstride {
namespace {

constexpr std::array kCifar10Files{
    OfficialFile{"data_batch_1.bin", "cee916563c9f80d84e3cc88e17fdc0941787f1244f00a67874d45b261883ada5"},
    OfficialFile{"data_batch_2.bin", "a591ca11fa1708a91ee40f54b3da4784ccd871ecf2137de63f51ada8b3fa57ed"},
    OfficialFile{"data_batch_3.bin", "bbe8596564c0f86427f876058170b84dac6670ddf06d79402899d93ceea26f67"},
    OfficialFile{"data_batch_4.bin", "014e562d6e23c72197cc727519169a60359f5eccd8945ad5a09d710285ff4e48"},
    OfficialFile{"data_batch_5.bin", "755304fc0b379caeae8c14f0dac912fbc7d6cd469eb67a1029a08a39453a9add"},
    OfficialFile{"test_batch.bin", "8e2eb146ae340b09e24670f29cabc6326dba54da8789dab6768acf480273f65b"},
};
constexpr std::array kCifar10Downloads{OfficialDownload{"https://www.cs.toronto.edu/~kriz/cifar-10-binary.tar.gz",
                                                        "cifar-10-binary.tar.gz",
                                                        "c4a38c50a1bc5f3a1c5537f2155ab9d68f9f25eb1ed8d9ddda3db29a59bca1dd"}};

constexpr std::array kCifar100Files{
    OfficialFile{"train.bin", "f31298fc616915fa142368359df1c4ca2ae984d6915ca468b998a5ec6aeebf29"},
    OfficialFile{"test.bin", "d8b1e6b7b3bee4020055f0699b111f60b1af1e262aeb93a0b659061746f8224a"},
};
constexpr std::array kCifar100Downloads{OfficialDownload{"https://www.cs.toronto.edu/~kriz/cifar-100-binary.tar.gz",
                                                         "cifar-100-binary.tar.gz",
                                                         "58a81ae192c23a4be8b1804d68e518ed807d710a4eb253b1f2a199162a40d8ec"}};

constexpr std::array kMnistFiles{
    OfficialFile{"train-images-idx3-ubyte", "ba891046e6505d7aadcbbe25680a0738ad16aec93bde7f9b65e87a2fc25776db"},
    OfficialFile{"train-labels-idx1-ubyte", "65a50cbbf4e906d70832878ad85ccda5333a97f0f4c3dd2ef09a8a9eef7101c5"},
    OfficialFile{"t10k-images-idx3-ubyte", "0fa7898d509279e482958e8ce81c8e77db3f2f8254e26661ceb7762c4d494ce7"},
    OfficialFile{"t10k-labels-idx1-ubyte", "ff7bcfd416de33731a308c3f266cc351222c34898ecbeaf847f06e48f7ec33f2"},
};
constexpr std::array kMnistDownloads{
    OfficialDownload{"https://ossci-datasets.s3.amazonaws.com/mnist/train-images-idx3-ubyte.gz", "train-images-idx3-ubyte.gz",
                     "440fcabf73cc546fa21475e81ea370265605f56be210a4024d2ca8f203523609"},
    OfficialDownload{"https://ossci-datasets.s3.amazonaws.com/mnist/train-labels-idx1-ubyte.gz", "train-labels-idx1-ubyte.gz",
                     "3552534a0a558bbed6aed32b30c495cca23d567ec52cac8be1a0730e8010255c"},
    OfficialDownload{"https://ossci-datasets.s3.amazonaws.com/mnist/t10k-images-idx3-ubyte.gz", "t10k-images-idx3-ubyte.gz",
                     "8d422c7b0a1c1c79245a5bcf07fe86e33eeafee792b84584aec276f5a2dbc4e6"},
    OfficialDownload{"https://ossci-datasets.s3.amazonaws.com/mnist/t10k-labels-idx1-ubyte.gz", "t10k-labels-idx1-ubyte.gz",
                     "f7ae60f92e00ec6debd23a6088c31dbd2371eca3ffa0defaefb259924204aec6"},
};

constexpr std::array kFashionFiles{
    OfficialFile{"train-images-idx3-ubyte", "c59f468a2f672dc815687fe0f83887768d799fd8a3f3276145d20f83aa44d888"},
    OfficialFile{"train-labels-idx1-ubyte", "bad3541b69d912435c50bb6ba87bec294ff4f6a2e1246121d8633921760443d9"},
    OfficialFile{"t10k-images-idx3-ubyte", "5b4141f0afbad91edebe8549f8fcffe087ea10ca49f1dbef5c9a5cd8815ce37b"},
    OfficialFile{"t10k-labels-idx1-ubyte", "0402a96d92fd2663957122ceb108a494c5af83dab82d92729df917d7dec38c34"},
};
constexpr std::array kFashionDownloads{
    OfficialDownload{"http://fashion-mnist.s3-website.eu-central-1.amazonaws.com/train-images-idx3-ubyte.gz",
                     "train-images-idx3-ubyte.gz", "3aede38d61863908ad78613f6a32ed271626dd12800ba2636569512369268a84"},
    OfficialDownload{"http://fashion-mnist.s3-website.eu-central-1.amazonaws.com/train-labels-idx1-ubyte.gz",
                     "train-labels-idx1-ubyte.gz", "a04f17134ac03560a47e3764e11b92fc97de4d1bfaf8ba1a3aa29af54cc90845"},
    OfficialDownload{"http://fashion-mnist.s3-website.eu-central-1.amazonaws.com/t10k-images-idx3-ubyte.gz",
                     "t10k-images-idx3-ubyte.gz", "346e55b948d973a97e58d2351dde16a484bd415d4595297633bb08f03db6a073"},
    OfficialDownload{"http://fashion-mnist.s3-website.eu-central-1.amazonaws.com/t10k-labels-idx1-ubyte.gz",
                     "t10k-labels-idx1-ubyte.gz", "67da17c76eaffca5446c3361aaab5c3cd6d1c2608764d35dfb1850b086bf8dd5"},
};

constexpr std::array kCovertypeFiles{
    OfficialFile{"covtype.data.gz", "614360d0257557dd1792834a85a1cdebfadc3c4f30b011d56afee7ffb5b15771", false}};
constexpr std::array kCovertypeDownloads{
    OfficialDownload{"https://archive.ics.uci.edu/ml/machine-learning-databases/covtype/covtype.data.gz", "covtype.data.gz",
                     "614360d0257557dd1792834a85a1cdebfadc3c4f30b011d56afee7ffb5b15771"}};

constexpr std::array kHeartFiles{
    OfficialFile{"processed.cleveland.data", "a74b7efa387bc9d108d7d0115d831fe9b414b29ae7124f331b622b4efa0427c8"},
    OfficialFile{"processed.hungarian.data", "d1ad108f785768cd3d7e82dc522e6f5a61eea93cccfb3a46ee8076f73fc3d796"},
    OfficialFile{"processed.switzerland.data", "834a405ccf5b66ab4056bb77794adc8df0b7125186454c0a1d002d33c6c3b314"},
    OfficialFile{"processed.va.data", "e7c93d8d0d2acdadfa4c5e8de768e2191e7f618b952e29623f1f0d5949ff6b8f"},
};
constexpr std::array kHeartDownloads{
    OfficialDownload{"https://archive.ics.uci.edu/ml/machine-learning-databases/heart-disease/processed.cleveland.data",
                     kHeartFiles[0].name, kHeartFiles[0].sha256},
    OfficialDownload{"https://archive.ics.uci.edu/ml/machine-learning-databases/heart-disease/processed.hungarian.data",
                     kHeartFiles[1].name, kHeartFiles[1].sha256},
    OfficialDownload{"https://archive.ics.uci.edu/ml/machine-learning-databases/heart-disease/processed.switzerland.data",
                     kHeartFiles[2].name, kHeartFiles[2].sha256},
    OfficialDownload{"https://archive.ics.uci.edu/ml/machine-learning-databases/heart-disease/processed.va.data",
                     kHeartFiles[3].name, kHeartFiles[3].sha256},
};

constexpr std::array kSets{
    OfficialSet{"cifar10", kCifar10Files, kCifar10Downloads, true},
    OfficialSet{"cifar100", kCifar100Files, kCifar100Downloads, true},
    OfficialSet{"mnist", kMnistFiles, kMnistDownloads},
    OfficialSet{"fashion-mnist", kFashionFiles, kFashionDownloads},
    OfficialSet{"covertype", kCovertypeFiles, kCovertypeDownloads},
    OfficialSet{"heart", kHeartFiles, kHeartDownloads},
};

/// SHA-256 of a file's contents, unpacked if gzipped.
std::string contents_sha256(const std::filesystem::path& path) {
  InputFile file(path);
  Hash hash;
  std::vector<std::uint8_t> buffer(std::size_t{1} << 18);
  while (const std::size_t count = file.read(buffer)) hash.bytes(buffer.data(), count);
  return hash.hex();
}

/// SHA-256 of a file of the set, computed from its unpacked contents or from the file itself, as the set defines it.
std::string sha256_of(const OfficialFile& file, const std::filesystem::path& folder) {
  return file.of_contents ? contents_sha256(plain_or_gzipped(folder, file.name)) : file_sha256(folder / file.name);
}

}  // namespace

const OfficialSet* official_set(std::string_view name) {
  for (const auto& set : kSets)
    if (set.name == name) return &set;
  return nullptr;
}

bool is_official(const OfficialSet& set, const std::filesystem::path& folder) {
  return std::ranges::all_of(
      set.files, [&](const OfficialFile& file) { return has_file(folder, file.name) && sha256_of(file, folder) == file.sha256; });
}

std::vector<std::filesystem::path> unofficial_files(const OfficialSet& set, const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> found;
  for (const auto& file : set.files)
    if (has_file(folder, file.name) && sha256_of(file, folder) != file.sha256)
      found.push_back(plain_or_gzipped(folder, file.name));
  return found;
}

std::string verify_dataset(std::string_view name, const DataOptions& options) {
  const DataPair pair = load_dataset(name, options);
  const OfficialSet* set = official_set(name);
  const std::filesystem::path folder = dataset_folder(dataset_source(name), options);
  std::vector<std::string> unofficial;
  if (set != nullptr)
    for (const auto& file : unofficial_files(*set, folder)) unofficial.push_back(file.filename().string());
  const std::string others = joined(unofficial);
  const bool official = set != nullptr && others.empty();  // the data set was read, so no file is missing
  const std::size_t records = pair.train.size() + pair.test.size();
  return std::string(name == "synthetic" ? "built in"
                     : official          ? "official"
                                         : "readable, not official") +
         ", " + counted(records, "record") + " (" + std::to_string(pair.train.size()) + " training, " +
         std::to_string(pair.test.size()) + " test)" +
         (others.empty()
              ? ""
              : "; not as published: " + others + "; to replace: fedstride data get " + std::string(name) + " --replace");
}

}  // namespace fedstride
