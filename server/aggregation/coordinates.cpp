#include "server/aggregation/coordinates.hpp"

#include <algorithm>

#include "core/floating_point.hpp"

namespace fedstride {
namespace {

constexpr std::size_t kCoordinatesPerPiece = 4096;
static_assert(kCoordinatesPerPiece % SortedColumns::kWidth == 0);

/// Calls stretch(first, end) for consecutive ranges of coordinates, one per piece.
void in_stretches(std::size_t size, ForEachPiece for_each_piece, function_ref<void(std::size_t, std::size_t)> stretch) {
  in_pieces((size + kCoordinatesPerPiece - 1) / kCoordinatesPerPiece, for_each_piece, [&](std::size_t piece) {
    const std::size_t first = piece * kCoordinatesPerPiece;
    stretch(first, std::min(first + kCoordinatesPerPiece, size));
  });
}

/// Puts the smaller values in `low` and the larger in `high`; branch-free, so it vectorizes.
void compare_exchange(float* __restrict low, float* __restrict high) {
  for (std::size_t i = 0; i < SortedColumns::kWidth; ++i) {
    const float a = low[i];
    const float b = high[i];
    low[i] = a < b ? a : b;
    high[i] = a < b ? b : a;
  }
}

}  // namespace

Changes changes_of(const OpenUpdates& updates) {
  Changes changes;
  for (const auto& update : updates.all()) changes.push_back(update.change);
  return changes;
}

std::vector<double> shares_of(const OpenUpdates& updates) {
  std::vector<double> shares;
  double sum = 0;
  for (const auto& update : updates.all()) sum += shares.emplace_back(static_cast<double>(update.weight));
  for (double& share : shares) share /= sum;
  return shares;
}

void in_pieces(std::size_t count, ForEachPiece for_each_piece, function_ref<void(std::size_t)> piece) {
  for_each_piece(static_cast<int>(count), [&](int i) {
    const FloatingPointMode mode;
    piece(static_cast<std::size_t>(i));
  });
}

Vector linear_combination(const Changes& changes, std::span<const double> factors, ForEachPiece for_each_piece) {
  Vector result(changes.front().size());
  in_stretches(result.size(), for_each_piece, [&](std::size_t first, std::size_t end) {
    std::array<double, kCoordinatesPerPiece> sums{};
    for (std::size_t k = 0; k < changes.size(); ++k) {
      if (factors[k] == 0) continue;
      const float* values = changes[k].data() + first;
      for (std::size_t i = 0; i < end - first; ++i) sums[i] += factors[k] * static_cast<double>(values[i]);
    }
    for (std::size_t i = first; i < end; ++i) result[i] = static_cast<float>(sums[i - first]);
  });
  return result;
}

void SortedColumns::load(const Changes& changes, std::size_t first) {
  float* row = values_.data();
  for (const auto change : changes) {
    const std::size_t count = std::min(kWidth, change.size() - first);
    std::copy_n(change.data() + first, count, row);
    std::fill(row + count, row + kWidth, 0.0F);
    row += kWidth;
  }
  sort();
}

// Batcher's merge exchange, a sorting network for any number of rows (Knuth, The Art of Computer Programming 5.2.2, Algorithm M).
// Its comparisons do not depend on the values, so every lane sorts one column. It takes about n (log2 n)^2 / 4
// comparisons.
void SortedColumns::sort() {
  if (size_ < 2) return;
  std::size_t top = 1;
  while (top * 2 < size_) top *= 2;
  for (std::size_t p = top; p > 0; p /= 2) {
    std::size_t q = top;
    std::size_t r = 0;
    std::size_t distance = p;
    for (;;) {
      for (std::size_t i = 0; i + distance < size_; ++i)
        if ((i & p) == r) compare_exchange(values_.data() + i * kWidth, values_.data() + (i + distance) * kWidth);
      if (q == p) break;
      distance = q - p;
      q /= 2;
      r = p;
    }
  }
}

Vector from_sorted_columns(const Changes& changes, ForEachPiece for_each_piece,
                           function_ref<void(const SortedColumns&, SortedColumns::Row&)> combine) {
  Vector result(changes.front().size());
  in_stretches(result.size(), for_each_piece, [&](std::size_t first, std::size_t end) {
    SortedColumns columns(changes.size());
    for (; first < end; first += SortedColumns::kWidth) {
      columns.load(changes, first);
      SortedColumns::Row row;
      combine(columns, row);
      for (std::size_t i = 0; i < std::min(SortedColumns::kWidth, end - first); ++i)
        result[first + i] = static_cast<float>(row[i]);
    }
  });
  return result;
}

Vector coordinate_median(const Changes& changes, ForEachPiece for_each_piece) {
  return from_sorted_columns(changes, for_each_piece, [](const SortedColumns& columns, SortedColumns::Row& row) {
    const float* low = columns[(columns.size() - 1) / 2];
    const float* high = columns[columns.size() / 2];
    for (std::size_t i = 0; i < row.size(); ++i) row[i] = (static_cast<double>(low[i]) + static_cast<double>(high[i])) / 2;
  });
}

}  // namespace fedstride
