#include "nn/kernels/softmax.hpp"

#include "core/elementary.hpp"
#include "nn/kernels/tiles.hpp"

namespace fedstride {
RowLoss softmax_row(const float* scores, int classes, int label, float scale, float* gradient) {
  RowLoss row;
  float largest = scores[0];
  for (int c = 1; c < classes; ++c) {
    if (scores[c] > largest) {
      largest = scores[c];
      row.predicted = c;
    }
  }
  const float norm = sum_of_powers(scores, classes, largest, [&](int c, Lanes power, int) FEDSTRIDE_INLINE_LAMBDA {
    if (gradient != nullptr) store(gradient + c, power);
  });
  row.loss = portable::log(norm) + (static_cast<double>(largest) - static_cast<double>(scores[label]));
  if (gradient != nullptr) {
    const float share = scale / norm;
    for (int c = 0; c < classes; c += kLanes) store(gradient + c, load(gradient + c) * share);
    gradient[label] -= scale;
  }
  return row;
}

Logistic logistic(float score) {
  const float small = exp(broadcast(score < 0 ? score : -score))[0];
  const float larger = 1 / (1 + small);
  return {portable::log(1 + static_cast<double>(small)) + static_cast<double>(score > 0 ? score : 0),
          score < 0 ? small * larger : larger};
}

}  // namespace fedstride
