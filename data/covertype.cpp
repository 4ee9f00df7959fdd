#include "data/covertype.hpp"

#include "data/data_folder.hpp"
#include "data/table.hpp"

namespace fedstride {

DataPair load_covertype(const std::filesystem::path& folder) {
  Dataset all = read_table(plain_or_gzipped(folder, "covtype.data"), {.columns = 54, .first_label = 1, .classes = 7});
  all.class_names = {"spruce/fir", "lodgepole pine", "ponderosa pine", "cottonwood/willow", "aspen", "Douglas-fir", "krummholz"};
  // Means and deviations of the ten measured columns as covtype.info publishes them with the data; the 44 others are 0 or 1.
  all.mean = {2959.36F, 155.65F, 14.10F, 269.43F, 46.42F, 2350.15F, 212.15F, 223.32F, 142.53F, 1980.29F};
  all.deviation = {279.98F, 111.91F, 7.49F, 212.55F, 58.30F, 1559.25F, 26.77F, 19.77F, 38.27F, 1324.19F};
  all.mean.resize(54, 0);
  all.deviation.resize(54, 1);
  return {std::move(all), {}, {}};
}

}  // namespace fedstride
