#pragma once

#include <cstdint>
#include <filesystem>
#include <string_view>

#include "data/dataset.hpp"

namespace fedstride {

// The data sets that are generated, not read.

/// The parts of the built-in set; the number is the `client` of its draws.
enum class SyntheticPart : std::uint32_t { train = 0, test = 1 };

inline constexpr std::size_t kSyntheticTrainRows = 10'000;
inline constexpr std::size_t kSyntheticTestRows = 2'000;

/// The built-in set: 32x32 RGB pictures in ten classes that come as five look-alike pairs (2k and 2k+1). Both classes of a pair
/// have the same colors, sizes, places and contrasts and differ only in the figure's form; the figure is brighter than the ground
/// as often as darker, so no linear model can separate a pair's classes. Integer arithmetic only, row r drawn at (synthetic_data,
/// client = part, row = r): the same bytes everywhere, and a shorter set is a prefix of a longer one. Classes are balanced: row r
/// has label r mod 10.
Dataset make_synthetic(SyntheticPart part, std::size_t rows);

DataPair load_synthetic(const std::filesystem::path& folder);

/// The parameters of synthetic(alpha, beta).
struct SyntheticLi {
  double alpha = 1;  ///< variance of the mean of a client's labeling model: how much the models differ
  double beta = 1;   ///< variance of the mean of a client's inputs: how much the inputs differ
  int clients = 30;
  std::uint64_t seed = 0;
};

/// synthetic(alpha, beta) of Li et al. 2020 (FedProx, section 5.1 and appendix): 60 features, ten classes, client k's examples
///   y = argmax softmax(W_k x + b_k),  W_k in R^(10 x 60) and b_k in R^10 with entries ~ N(u_k, 1), u_k ~ N(0, alpha),
/// x ~ N(v_k, Sigma), Sigma diagonal, Sigma_jj = j^-1.2 (j from 1), v_k's entries ~ N(B_k, 1), B_k ~ N(0, beta), where the second
/// parameter of N is a variance. (The authors' code uses alpha and beta as standard deviations: the same for their 0 and 1.) A
/// client has floor(exp(4 + 2 z)) + 50 examples, z standard normal, of which the last tenth, rounded up, is the test part, as in
/// their code. Rows are in order of clients; Dataset::clients has each row's client. Inputs are not normalized. Client k is drawn
/// at (synthetic_data, round 1, client k) of the seed: adding clients does not change the others.
DataPair make_synthetic_li(const SyntheticLi& parameters);

/// The same for "ALPHA,BETA,CLIENTS,SEED", with any number missing at the end. Throws Error (usage) for other texts,
/// alpha or beta not from 0 to 1e6, clients not from 1 to 10,000, or a seed that is not a whole number.
DataPair make_synthetic_li(std::string_view arguments);

inline constexpr std::size_t kFcubeTrainRows = 4'000;
inline constexpr std::size_t kFcubeTestRows = 1'000;

/// FCUBE (Li, Diao, Chen & He 2022, NIID-Bench): points of the cube (-1, 1)^3 with three features in two classes, 0
/// where x1 > 0 and 1 where x1 < 0. Each of four clients holds points of two octants symmetric about the origin, uniform and
/// equally many in each: both classes, and features unlike any other client's. Where x1 > 0, client k has x2 > 0 for k = 0, 1 and
/// x3 > 0 for k = 0, 2. Row r belongs to client r mod 4 and class (r / 4) mod 2. Only integer arithmetic and powers of two: the
/// same bytes everywhere. Inputs are not normalized.
DataPair load_fcube(const std::filesystem::path& folder);

}  // namespace fedstride
