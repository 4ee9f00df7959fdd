#include "experiments/terms.hpp"

#include "core/hash.hpp"
#include "experiments/setup.hpp"

namespace fedstride {

std::string settings_for_clients(const Setup& setup) { return lasting_settings(setup); }

std::string experiment_digest(const Setup& setup) {
  return Hash().text(settings_for_clients(setup)).text(setup.data.hash).text(setup.partition_hash).hex();
}

std::string rows_hash(std::span<const Row> rows) { return Hash().values(rows).hex(); }

}  // namespace fedstride
