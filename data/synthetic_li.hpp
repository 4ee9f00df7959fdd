#pragma once

#include <cstdint>
#include <string_view>

#include "data/dataset.hpp"

namespace fedstride {

/// The parameters of synthetic(alpha, beta).
struct SyntheticLi {
  double alpha = 1;  ///< variance of the mean of a client's own labelling model: how much the models differ
  double beta = 1;   ///< variance of the mean of a client's inputs: how much the inputs differ
  int clients = 30;
  std::uint64_t seed = 0;
};

/// synthetic(alpha, beta) of Li et al. 2020 (FedProx, section 5.1 and appendix): 60 features, ten classes, client k's examples
///   y = argmax softmax(W_k x + b_k),  W_k in R^(10 x 60) and b_k in R^10 with entries ~ N(u_k, 1), u_k ~ N(0, alpha),
///   x ~ N(v_k, Sigma), Sigma diagonal, Sigma_jj = j^-1.2 (j from 1), v_k's entries ~ N(B_k, 1), B_k ~ N(0, beta),
/// where the second parameter of N is a variance. (The authors' code has alpha and beta as standard deviations: the same for their
/// 0 and 1.) A client has floor(exp(4 + 2 z)) + 50 examples, z standard normal, of which the last tenth, rounded up, is of the test
/// part, as in their code. Rows are in order of clients; Dataset::clients has each row's. Inputs are not normalised.
/// Client k is drawn at (synthetic_data, round 1, client k) of the seed: more clients leave the others as they were.
DataPair make_synthetic_li(const SyntheticLi& parameters);

/// The same for "ALPHA,BETA,CLIENTS,SEED", of which any number may be missing at the end. Throws Error (usage) for other texts,
/// alpha or beta not from 0 to 1e6, clients not from 1 to 10,000, or a seed that is no whole number.
DataPair make_synthetic_li(std::string_view arguments);

}  // namespace fedstride
