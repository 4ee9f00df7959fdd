#pragma once

#include <cstdint>

namespace fedstride {

struct RowLoss {
  double loss = 0;
  int predicted = 0;
};

/// Softmax cross-entropy of one row of scores, and the class with the largest score (the lowest on a tie). If `gradient` is not
/// null, gradient[c] = scale * (softmax(scores)[c] - [c == label]), followed by zeros up to whole vectors.
RowLoss softmax_row(const float* scores, int classes, int label, float scale, float* gradient);

/// log(1 + e^score) and 1 / (1 + e^-score), without overflow.
struct Logistic {
  double softplus = 0;
  float sigmoid = 0;
};
Logistic logistic(float score);

}  // namespace fedstride
