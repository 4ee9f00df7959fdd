#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <vector>

#include "client/compression/bits.hpp"
#include "client/compression/compressor.hpp"
#include "client/compression/halves.hpp"
#include "core/random.hpp"

namespace fedstride {

/// Factorizes an n x m matrix M: writes an n x rank P whose columns are orthonormal or 0, then the m x rank M^T P, all row-major.
/// Takes three steps of subspace iteration from Gaussian draws. The result is bit-identical on every machine.
void factorize(const float* matrix, std::size_t n, std::size_t m, std::size_t rank, RandomStream& random, float* factors);
/// Writes the product P (M^T P)^T to `matrix`.
void multiply_factors(const float* factors, std::size_t n, std::size_t m, std::size_t rank, float* matrix);

struct PowerSgdSettings {
  int rank = 4;
  static constexpr auto kFields =
      fields(Field{"up-rank", &PowerSgdSettings::rank, "rank of the matrices sent", Valid{.low = 1, .high = 1024}});
};

/// PowerSGD (Vogels, Karimireddy & Jaggi 2019, Algorithm 1) for each client separately. For an n x m tensor M, P is an
/// orthonormal basis of M Q after three steps of subspace iteration from a Q drawn at the address; P P^T M is sent as P and
/// M^T P. The paper takes one step from the last round's Q and sums over workers twice, first P, then Q. Here, a client trains in
/// few rounds, and a round has only one sum. Biased: error^2 = |M|^2 - |P^T M|^2, near the error of the best matrix of this rank.
/// Takes 32 r (n + m) bits per tensor; tensors with at most r (n + m) numbers, such as vectors, are sent as floats.
struct PowerSgd final : PartBase<UpCompressor, PowerSgd, PowerSgdSettings> {
  static constexpr std::string_view kName = "power-sgd";
  static constexpr std::string_view kSummary = "a low-rank approximation of each tensor (Vogels et al. 2019); biased";

  std::uint64_t most_bytes(std::size_t d) const override { return 4 * std::uint64_t{d}; }
  std::uint64_t most_bytes_with(std::span<const CodedMatrix> matrices, std::size_t d) const override {
    std::uint64_t numbers = d;
    for (const CodedMatrix& matrix : matrices)
      if (is_worth_it(matrix)) numbers -= matrix.rows * matrix.columns - factors(matrix);
    return 4 * numbers;
  }
  void encode(std::span<const float> numbers, const CodeAddress& address, std::string& code) const override {
    RandomStream random = address.own();
    code.reserve(code.size() + most_bytes_with(address.matrices, numbers.size()));
    std::vector<float> both;
    for_each_piece(address.matrices, numbers.size(), [&](std::size_t first, std::size_t count, const CodedMatrix* matrix) {
      std::span<const float> piece = numbers.subspan(first, count);
      if (matrix != nullptr) {
        both.resize(factors(*matrix));
        factorize(piece.data(), matrix->rows, matrix->columns, static_cast<std::size_t>(this->rank), random, both.data());
        piece = both;
      }
      code.append(reinterpret_cast<const char*>(piece.data()), piece.size_bytes());
    });
  }
  bool decode(std::string_view code, const CodeAddress& address, std::span<float> numbers) const override {
    if (code.size() != most_bytes_with(address.matrices, numbers.size())) return false;
    std::vector<float> both;
    for_each_piece(address.matrices, numbers.size(), [&](std::size_t first, std::size_t count, const CodedMatrix* matrix) {
      if (matrix == nullptr) {
        std::memcpy(numbers.data() + first, code.data(), 4 * count);
        code.remove_prefix(4 * count);
        return;
      }
      both.resize(factors(*matrix));
      std::memcpy(both.data(), code.data(), 4 * both.size());
      code.remove_prefix(4 * both.size());
      multiply_factors(both.data(), matrix->rows, matrix->columns, static_cast<std::size_t>(this->rank), numbers.data() + first);
    });
    return all_finite(numbers);
  }

 private:
  std::size_t factors(const CodedMatrix& matrix) const {
    return static_cast<std::size_t>(this->rank) * (matrix.rows + matrix.columns);
  }
  bool is_worth_it(const CodedMatrix& matrix) const { return factors(matrix) < matrix.rows * matrix.columns; }
  // Calls each(first, count, matrix) for the coded matrices and, with a null matrix, for the gaps between them.
  void for_each_piece(std::span<const CodedMatrix> matrices, std::size_t d, auto&& each) const {
    std::size_t done = 0;
    for (const CodedMatrix& matrix : matrices) {
      if (!is_worth_it(matrix)) continue;
      if (done < matrix.first) each(done, matrix.first - done, nullptr);
      each(matrix.first, matrix.rows * matrix.columns, &matrix);
      done = matrix.first + matrix.rows * matrix.columns;
    }
    if (done < d) each(done, d - done, nullptr);
  }
};

}  // namespace fedstride
