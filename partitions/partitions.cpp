#include "partitions/partitions.hpp"

namespace fedstride {
namespace {

template <class... Parts>
constexpr bool all_are_partitions(const std::variant<Parts...>*) {
  return (Partition<Parts> && ...);
}
static_assert(all_are_partitions(static_cast<const Partitioner*>(nullptr)));

}  // namespace

Assignment assign(const Partitioner& partitioner, const PartitionInput& input) {
  return std::visit(
      [&]<class Part>(const Part& part) {
        for_each_field<Part>([&](const auto& field) { check_field(field, part.*field.member); });
        return part.assign(input);
      },
      partitioner);
}

}  // namespace fedstride
