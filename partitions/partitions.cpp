#include "partitions/partitions.hpp"

#include "partitions/continuous.hpp"
#include "partitions/dirichlet.hpp"
#include "partitions/dirichlet_balanced.hpp"
#include "partitions/dirichlet_capped.hpp"
#include "partitions/dirichlet_sizes.hpp"
#include "partitions/from_file.hpp"
#include "partitions/given_sizes.hpp"
#include "partitions/iid.hpp"
#include "partitions/inner_dirichlet.hpp"
#include "partitions/interpolated.hpp"
#include "partitions/label_distribution.hpp"
#include "partitions/label_quantity.hpp"
#include "partitions/natural.hpp"
#include "partitions/natural_grouped.hpp"
#include "partitions/outside_rows.hpp"
#include "partitions/own_rows.hpp"
#include "partitions/pathological.hpp"
#include "partitions/shards.hpp"

namespace fedstride {

PartFamily& PartitionPart::family() {
  static PartFamily family = [] {
    PartFamily all("partition", "assignment of rows to clients", Question::clients, Shown::first);
    add_parts<PartitionPart, Pathological, LabelQuantity, Iid, Interpolated, Shards, Dirichlet, DirichletCapped,
              DirichletBalanced, DirichletSizes, DirichletBoth, InnerDirichlet, GivenSizes, LabelDistribution, Continuous,
              Natural, NaturalGrouped, FromFile, OwnRows, OutsideRows>(all);
    return all;
  }();
  return family;
}

ClientRows assign(const Partitioner& partitioner, const PartitionInput& input) {
  partitioner.part().check();
  return partitioner->assign(input);
}

}  // namespace fedstride
