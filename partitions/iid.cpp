#include "partitions/iid.hpp"

#include "partitions/dealing.hpp"

namespace fedstride {

ClientRows Iid::assign(const PartitionInput& input) const {
  check_input(input);
  return ClientRows::even(shuffled_rows(input), static_cast<std::size_t>(input.clients));
}

}  // namespace fedstride
