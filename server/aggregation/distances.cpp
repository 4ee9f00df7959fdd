#include "server/aggregation/distances.hpp"

// GCC 12 reports uninitialized variables in its own AVX-512 headers, which Eigen's products use.
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif
#include <Eigen/Core>
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic pop
#endif

#include <algorithm>
#include <array>
#include <utility>

namespace fedstride {
namespace {

/// The number of changes along one side of a tile of the matrix; each tile is one piece of work.
constexpr std::size_t kTileSide = 64;
/// The number of coordinates in one float product; products are added in double. Small enough that Eigen never splits a sum,
/// which it would do according to the processor's cache sizes.
constexpr std::size_t kCoordinatesPerProduct = 128;
/// The number of coordinates at which a tile's changes fit in cache.
constexpr std::size_t kCoordinatesPerVisit = 1024;
/// A distance below this share of |a|^2 + |b|^2 is computed from differences. The products' sums are off by at most 128 x 2^-24
/// of |a|^2 + |b|^2 + 2 |ab|, which is 1e-3 of any distance above this share.
constexpr double kCancelled = 0x1p-6;

/// The changes along one side of a tile, relative to the center, at up to kCoordinatesPerProduct coordinates; one column each.
class CenteredChanges {
 public:
  CenteredChanges(const Changes& changes, const Vector& center, std::size_t first)
      : changes_(std::span(changes).subspan(first, std::min(kTileSide, changes.size() - first))),
        center_(center),
        values_(kCoordinatesPerProduct, changes_.size()),
        squares_(Eigen::VectorXd::Zero(static_cast<Eigen::Index>(changes_.size()))) {}

  auto loaded() const { return values_.topRows(count_); }

  void load(std::size_t first, std::size_t count) {
    const auto rows = static_cast<Eigen::Index>(count);
    count_ = rows;
    const Eigen::Map<const Eigen::VectorXf> center(center_.data() + first, rows);
    for (std::size_t k = 0; k < changes_.size(); ++k)
      values_.col(static_cast<Eigen::Index>(k)).head(rows) =
          Eigen::Map<const Eigen::VectorXf>(changes_[k].data() + first, rows) - center;
    squares_ += loaded().colwise().squaredNorm().transpose().cast<double>();
  }
  const Eigen::VectorXd& squares() const { return squares_; }  ///< the changes' squared norms so far
  std::size_t size() const { return changes_.size(); }

 private:
  std::span<const std::span<const float>> changes_;
  const Vector& center_;
  Eigen::MatrixXf values_;
  Eigen::VectorXd squares_;
  Eigen::Index count_ = 0;
};

}  // namespace

double squared_distance(std::span<const float> a, std::span<const float> b) {
  std::array<double, 16> sums{};
  const std::size_t whole = a.size() / sums.size() * sums.size();
  const auto square = [&](std::size_t i) {
    const double difference = static_cast<double>(a[i]) - static_cast<double>(b[i]);
    return difference * difference;
  };
  for (std::size_t i = 0; i < whole; i += sums.size())
    for (std::size_t j = 0; j < sums.size(); ++j) sums[j] += square(i + j);
  for (std::size_t i = whole; i < a.size(); ++i) sums[i - whole] += square(i);
  double sum = 0;
  for (const double part : sums) sum += part;
  return sum;
}

SquaredDistances::SquaredDistances(const Changes& changes, ForEachPiece for_each_piece)
    : size_(changes.size()), values_(size_ * size_) {
  const Vector center = coordinate_median(changes, for_each_piece);
  std::vector<std::pair<std::size_t, std::size_t>> tiles;
  for (std::size_t row = 0; row < size_; row += kTileSide)
    for (std::size_t column = row; column < size_; column += kTileSide) tiles.emplace_back(row, column);
  in_pieces(tiles.size(), for_each_piece,
            [&](std::size_t piece) { measure(changes, center, tiles[piece].first, tiles[piece].second); });
}

void SquaredDistances::measure(const Changes& changes, const Vector& center, std::size_t first_row, std::size_t first_column) {
  CenteredChanges rows(changes, center, first_row);
  CenteredChanges columns(changes, center, first_column);
  Eigen::MatrixXf product(rows.size(), columns.size());
  Eigen::MatrixXd gram = Eigen::MatrixXd::Zero(product.rows(), product.cols());
  for (std::size_t first = 0; first < center.size(); first += kCoordinatesPerProduct) {
    const std::size_t count = std::min(kCoordinatesPerProduct, center.size() - first);
    rows.load(first, count);
    columns.load(first, count);
    product.noalias() = rows.loaded().transpose() * columns.loaded();
    gram += product.cast<double>();
  }

  std::vector<std::pair<std::size_t, std::size_t>> cancelled;
  const auto set = [&](std::size_t i, std::size_t j, double value) { values_[i * size_ + j] = values_[j * size_ + i] = value; };
  for (std::size_t r = 0; r < rows.size(); ++r) {
    for (std::size_t c = 0; c < columns.size(); ++c) {
      const std::size_t i = first_row + r;
      const std::size_t j = first_column + c;
      if (i >= j) continue;  // already set, or the diagonal
      const auto at = [](std::size_t index) { return static_cast<Eigen::Index>(index); };
      const double squares = rows.squares()[at(r)] + columns.squares()[at(c)];
      const double distance = squares - 2 * gram(at(r), at(c));
      const bool is_cancelled = distance < kCancelled * squares;
      if (is_cancelled) cancelled.emplace_back(i, j);
      set(i, j, is_cancelled ? 0 : distance);
    }
  }
  for (std::size_t first = 0; first < center.size() && !cancelled.empty(); first += kCoordinatesPerVisit) {
    const std::size_t count = std::min(kCoordinatesPerVisit, center.size() - first);
    for (const auto& [i, j] : cancelled)
      set(i, j, (*this)(i, j) + squared_distance(changes[i].subspan(first, count), changes[j].subspan(first, count)));
  }
}

}  // namespace fedstride
