#include "data/csv.hpp"

#include "data/data_folder.hpp"
#include "data/split.hpp"
#include "data/table.hpp"

namespace fedstride {
namespace {

DataPair read(const std::filesystem::path& folder) {
  if (std::error_code ignored; std::filesystem::is_regular_file(folder, ignored)) {
    auto [train, test] = split_test_part(read_table(folder, {}));
    return {std::move(train), std::move(test), {}};
  }
  Dataset train = read_table(plain_or_gzipped(folder, "train.csv"), {});
  if (!has_file(folder, "test.csv")) {
    auto [kept, test] = split_test_part(std::move(train));
    return {std::move(kept), std::move(test), {}};
  }
  const TableFormat same{.columns = static_cast<int>(train.shape.size())};
  return {std::move(train), read_table(plain_or_gzipped(folder, "test.csv"), same), {}};
}

}  // namespace

DataPair load_csv(const std::filesystem::path& folder) {
  DataPair pair = read(folder);
  standardise(pair.train);
  return pair;
}

}  // namespace fedstride
