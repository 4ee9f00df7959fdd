#pragma once

#include <Eigen/Core>
#include <cstdint>
#include <span>

#include "core/function_ref.hpp"
#include "core/random.hpp"
#include "dp/accountants/mechanism.hpp"
#include "dp/noise/grid_noise.hpp"

namespace fedstride {

/// A visitor passes every row in turn to the sink.
using RowSink = function_ref<void(std::span<const float>)>;
using RowVisitor = function_ref<void(RowSink)>;

/// The directions onto which rows are projected.
struct Components {
  Eigen::MatrixXf directions;   ///< d x k, orthonormal columns, most important first
  std::uint64_t nonfinite = 0;  ///< rows omitted because they have a non-finite value; no guarantee covers this count
};

/// The sum of x x^T, not centered, over rows of length d scaled to unit norm; zero rows add nothing, and non-finite rows are only
/// counted, in `nonfinite`. Rounding keeps the norm of each contribution at 1 or below. Throws Error (failure) for a row of
/// another length.
Eigen::MatrixXd sum_of_outer_products(RowVisitor rows, int d, std::uint64_t& nonfinite);

/// Adds noise to the diagonal and the upper triangle, column by column, and mirrors it to the lower triangle.
void add_symmetric_noise(Eigen::MatrixXd& matrix, const NoiseGrid& grid, const RandomSource& source, const Address& address);

/// Principal components by private PCA (Abadi et al. 2016, section 4; after Dwork et al. 2014): the eigenvectors of the k largest
/// eigenvalues of the noisy sum. sigma is the noise multiplier for sensitivity 1, the largest change when one row is added or
/// removed; 0 < k <= d. The sum is not divided by the number of rows, which is private.
Components private_components(RowVisitor rows, int d, int k, double sigma, const RandomSource& source, Address address);

/// The privacy cost of the components: one release that includes every row. Replacing one row moves the sum by sqrt(2), not by
/// the 2 that replace-one assumes for a clipped sum, so under replace-one the multiplier is entered as sqrt(2) sigma.
Releases components_release(double sigma, Neighbours neighbours);

}  // namespace fedstride
