#pragma once

#include <cstdint>
#include <filesystem>
#include <string_view>

#include "data/dataset.hpp"

namespace fedstride {

// Data sets that are generated rather than read.

/// The parts of the built-in set; a part's value serves as `client` in the addresses at which it is drawn.
enum class SyntheticPart : std::uint32_t { train = 0, test = 1 };

inline constexpr std::size_t kSyntheticTrainRows = 10'000;
inline constexpr std::size_t kSyntheticTestRows = 2'000;

/// The built-in set: 32x32 RGB images in ten classes that come as five look-alike pairs (2k and 2k+1). Both classes of a pair
/// have the same colors, sizes, positions and contrasts and differ only in the figure's shape; the figure is brighter than the
/// background as often as it is darker, so no linear model can separate a pair's classes. Only integer arithmetic is used, and
/// row r is drawn at (synthetic_data, client = part, row = r), so the bytes are the same everywhere and a shorter set is a prefix
/// of a longer one. Classes are balanced: row r has label r mod 10.
Dataset make_synthetic(SyntheticPart part, std::size_t rows);

DataPair load_synthetic(const std::filesystem::path& folder);

/// The parameters of synthetic(alpha, beta).
struct SyntheticLi {
  double alpha = 1;  ///< variance of the means of the clients' labeling models: how much the models differ
  double beta = 1;   ///< variance of the means of the clients' inputs: how much the inputs differ
  int clients = 30;
  std::uint64_t seed = 0;
};

/// synthetic(alpha, beta) of Li et al. 2020 (FedProx, section 5.1 and appendix): 60 features, ten classes; for client k,
///   y = argmax softmax(W_k x + b_k),  W_k in R^(10 x 60) and b_k in R^10 with entries ~ N(u_k, 1), u_k ~ N(0, alpha),
/// x ~ N(v_k, Sigma), Sigma diagonal, Sigma_jj = j^-1.2 (j from 1), v_k's entries ~ N(B_k, 1), B_k ~ N(0, beta), where the second
/// parameter of N is a variance. (The authors' code uses alpha and beta as standard deviations, which is the same for their
/// values, 0 and 1.) A client has floor(exp(4 + 2 z)) + 50 examples, where z is standard normal; the last tenth, rounded up, is
/// the test part, as in their code. Rows are ordered by client; Dataset::clients has each row's client. Inputs are not
/// normalized. Client k is drawn at (synthetic_data, round 1, client k) of the seed, so adding clients does not change the
/// others.
DataPair make_synthetic_li(const SyntheticLi& parameters);

/// Parses "ALPHA,BETA,CLIENTS,SEED"; trailing numbers may be omitted. Throws Error (usage) unless the string has this form, alpha
/// and beta are from 0 to 1e6, clients is from 1 to 10,000, and the seed is a whole number.
DataPair make_synthetic_li(std::string_view arguments);

inline constexpr std::size_t kFcubeTrainRows = 4'000;
inline constexpr std::size_t kFcubeTestRows = 1'000;

/// FCUBE (Li, Diao, Chen & He 2022, NIID-Bench): points in the cube (-1, 1)^3, three features each, in class 0 where x1 > 0 and
/// class 1 where x1 < 0. Each of four clients holds points drawn uniformly from two octants symmetric about the origin, equally
/// many from each. Each client thus has both classes, but no two clients share an octant. Where x1 > 0, client k has x2 > 0 for
/// k = 0, 1 and x3 > 0 for k = 0, 2. Row r belongs to client r mod 4 and class (r / 4) mod 2. Only integer arithmetic and powers
/// of two are used, so the bytes are the same everywhere. Inputs are not normalized.
DataPair load_fcube(const std::filesystem::path& folder);

}  // namespace fedstride
