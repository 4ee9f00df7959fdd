#include "dp/noise/pca.hpp"

#include <Eigen/Eigenvalues>
#include <cmath>
#include <numbers>

#include "core/family.hpp"

namespace fedstride {

Eigen::MatrixXd sum_of_outer_products(RowVisitor rows, int d, std::uint64_t& nonfinite) {
  // The scale is rounded down by more than the errors of norm and division, about d 2^-53.
  constexpr double kMargin = 1e-10;
  constexpr Eigen::Index kBlock = 256;  // rows multiplied at once; fixed, so the sum is the same everywhere
  Eigen::MatrixXd sum = Eigen::MatrixXd::Zero(d, d);
  Eigen::MatrixXd block = Eigen::MatrixXd::Zero(d, kBlock);
  Eigen::Index filled = 0;
  const auto flush = [&] {
    block.rightCols(kBlock - filled).setZero();
    sum.selfadjointView<Eigen::Lower>().rankUpdate(block);
    filled = 0;
  };
  rows([&](std::span<const float> row) {
    if (row.size() != static_cast<std::size_t>(d))
      throw failure("a row has " + std::to_string(row.size()) + " components; it must have " + std::to_string(d));
    double square = 0;
    for (const float value : row) square += static_cast<double>(value) * static_cast<double>(value);
    if (!std::isfinite(square)) {
      ++nonfinite;
      return;
    }
    if (square == 0) return;
    const double scale = (1 - kMargin) / std::sqrt(square);
    for (std::size_t i = 0; i < row.size(); ++i)
      block(static_cast<Eigen::Index>(i), filled) = scale * static_cast<double>(row[i]);
    if (++filled == kBlock) flush();
  });
  if (filled > 0) flush();
  return sum.selfadjointView<Eigen::Lower>();
}

void add_symmetric_noise(Eigen::MatrixXd& matrix, const NoiseGrid& grid, const RandomSource& source, const Address& address) {
  std::uint64_t first = 0;
  for (Eigen::Index j = 0; j < matrix.cols(); ++j) {
    const auto size = static_cast<std::size_t>(j + 1);
    const std::span<double> column(matrix.col(j).data(), size);
    release_on_grid(grid, source, address, first, column, 1, column);
    matrix.row(j).head(j) = matrix.col(j).head(j).transpose();
    first += size;
  }
}

Components private_components(RowVisitor rows, int d, int k, double sigma, const RandomSource& source, Address address) {
  check_value("components", {.low = 1, .high = static_cast<double>(d)}, k);
  check_value("noise multiplier of the components", kPositive, sigma);
  Components components;
  // The number of rows may be private, so what rounding is charged is that of a constant number.
  constexpr std::uint64_t kMostRows = std::uint64_t{1} << 22;
  std::uint64_t count = 0;
  const auto counted = [&](RowSink sink) {
    rows([&](std::span<const float> row) {
      if (++count > kMostRows) throw usage_error("private components of more than " + std::to_string(kMostRows) + " rows");
      sink(row);
    });
  };
  Eigen::MatrixXd sum = sum_of_outer_products(counted, d, components.nonfinite);
  const NoiseGrid grid = noise_grid(1 + accumulation_error(kMostRows), sigma, static_cast<double>(d) * (d + 1) / 2);
  add_symmetric_noise(sum, grid, source, address);
  const Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> solver(sum);
  if (solver.info() != Eigen::Success) throw failure("the eigenvectors of private PCA did not converge");
  // Eigenvalues are ascending; a direction and its opposite are equivalent, so the entry of largest magnitude is made positive.
  components.directions = solver.eigenvectors().rightCols(k).rowwise().reverse().cast<float>();
  for (auto direction : components.directions.colwise()) {
    Eigen::Index at = 0;
    direction.cwiseAbs().maxCoeff(&at);
    if (direction(at) < 0) direction = -direction;
  }
  return components;
}

Releases components_release(double sigma, Neighbours neighbours) {
  const double factor = neighbours == Neighbours::replace_one ? std::numbers::sqrt2 : 1;
  return {.sampling = Sampling::full, .neighbours = neighbours, .rate = 1, .noise_multiplier = factor * sigma};
}

}  // namespace fedstride
