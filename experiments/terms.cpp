#include "experiments/terms.hpp"

#include "core/hash.hpp"
#include "experiments/setup.hpp"

namespace fedstride {

std::string experiment_digest(const Setup& setup) {
  return Hash().text(lasting_settings(setup)).text(setup.data.hash).text(setup.partition_hash).hex();
}

std::string rows_hash(std::span<const Row> rows) { return Hash().values(rows).hex(); }

}  // namespace fedstride
