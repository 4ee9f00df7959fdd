#include "data/covertype.hpp"

#include "data/data_folder.hpp"
#include "data/table.hpp"

namespace fedstride {

DataPair load_covertype(const std::filesystem::path& folder) {
  Dataset all = read_table(plain_or_gzipped(folder, "covtype.data"), {.columns = 54, .first_label = 1, .classes = 7});
  all.class_names = {"spruce/fir", "lodgepole pine", "ponderosa pine", "cottonwood/willow", "aspen", "Douglas-fir", "krummholz"};
  return {std::move(all), {}, {}};
}

}  // namespace fedstride
