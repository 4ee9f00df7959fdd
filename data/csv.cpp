#include "data/csv.hpp"

#include "data/data_folder.hpp"
#include "data/table.hpp"

namespace fedstride {

DataPair load_csv(const std::filesystem::path& folder) {
  if (std::error_code ignored; std::filesystem::is_regular_file(folder, ignored)) return {read_table(folder, {}), {}, {}};
  Dataset train = read_table(plain_or_gzipped(folder, "train.csv"), {});
  if (!has_file(folder, "test.csv")) return {std::move(train), {}, {}};
  const TableFormat same{.columns = static_cast<int>(train.shape.size())};
  return {std::move(train), read_table(plain_or_gzipped(folder, "test.csv"), same), {}};
}

}  // namespace fedstride
