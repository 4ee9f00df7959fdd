#include "data/covertype.hpp"

#include "data/data_folder.hpp"
#include "data/split.hpp"
#include "data/table.hpp"

namespace fedstride {

DataPair load_covertype(const std::filesystem::path& folder) {
  auto [train, test] = split_test_part(
      read_table(plain_or_gzipped(folder, "covtype.data"), {.columns = 54, .first_label = 1, .classes = 7}));
  train.class_names = {"spruce/fir", "lodgepole pine", "ponderosa pine", "cottonwood/willow",
                       "aspen",      "Douglas-fir",    "krummholz"};
  standardise(train);
  return {std::move(train), std::move(test), {}};
}

}  // namespace fedstride
