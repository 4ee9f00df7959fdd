#include "nn/losses.hpp"

#include <algorithm>

#include "core/simd.hpp"
#include "nn/kernels/buffer.hpp"
#include "nn/kernels/softmax.hpp"

namespace fedstride {
namespace {

using Scores = const float*;

ExampleLoss class_loss(const ExampleForm& form, const Answers& answers, std::size_t row, Scores scores, const float* scale,
                       float* gradient) {
  const Label label = answers.labels[row];
  const RowLoss loss = softmax_row(scores, form.outputs, label, scale == nullptr ? 0.0F : *scale, gradient);
  return {loss.loss, loss.predicted == label ? 1U : 0U, 1, static_cast<Label>(loss.predicted)};
}

ExampleLoss position_loss(const ExampleForm& form, const Answers& answers, std::size_t row, Scores scores, const float* scale,
                          float* gradient) {
  const auto length = static_cast<std::size_t>(form.shape.height);
  const auto labels = answers.labels.subspan(row * length, length);
  const std::size_t stride = row_stride(static_cast<std::size_t>(form.outputs));
  ExampleLoss total;
  for (const Label label : labels) total.counted += label == kNoLabel ? 0 : 1;
  const float share = scale == nullptr || total.counted == 0 ? 0.0F : *scale / static_cast<float>(total.counted);
  for (std::size_t t = 0; t < length; ++t) {
    float* const to = gradient == nullptr ? nullptr : gradient + t * stride;
    if (labels[t] == kNoLabel) {
      if (to != nullptr) std::fill_n(to, stride, 0.0F);
      continue;
    }
    const RowLoss loss = softmax_row(scores + t * stride, form.outputs, labels[t], share, to);
    total.loss += loss.loss;
    total.correct += loss.predicted == labels[t] ? 1 : 0;
  }
  if (total.counted > 0) total.loss /= static_cast<double>(total.counted);
  return total;
}

/// Averages loss(score, answer), which returns a loss and its slope, over an example's answers.
template <class Loss>
ExampleLoss number_loss(const ExampleForm& form, const Answers& answers, std::size_t row, Scores scores, const float* scale,
                        float* gradient, Loss&& loss) {
  const auto count = static_cast<std::size_t>(form.outputs);
  const auto values = answers.values.subspan(row * count, count);
  const double share = scale == nullptr ? 0 : static_cast<double>(*scale) / static_cast<double>(count);
  ExampleLoss total{.counted = count};
  if (gradient != nullptr) std::fill_n(gradient, whole_lanes(count), 0.0F);
  for (std::size_t k = 0; k < count; ++k) {
    const auto [value, slope] = loss(static_cast<double>(scores[k]), static_cast<double>(values[k]));
    total.loss += value;
    if (gradient != nullptr) gradient[k] = static_cast<float>(share * slope);
  }
  total.loss /= static_cast<double>(count);
  return total;
}

struct LossAndSlope {
  double loss;
  double slope;
};

LossAndSlope squared_error(double score, double value) {
  const double error = score - value;
  return {error * error, 2 * error};
}

LossAndSlope logistic_loss(double score, double flag) {
  const Logistic at = logistic(static_cast<float>(score));
  return {at.softplus - score * flag, static_cast<double>(at.sigmoid) - flag};
}

}  // namespace

ExampleLoss example_loss(const ExampleForm& form, const Answers& answers, int index, const float* scores, const float* scale,
                         float* gradient) {
  const auto row = static_cast<std::size_t>(index);
  switch (form.targets) {
    case Targets::classes:
      return class_loss(form, answers, row, scores, scale, gradient);
    case Targets::positions:
      return position_loss(form, answers, row, scores, scale, gradient);
    case Targets::values:
      return number_loss(form, answers, row, scores, scale, gradient, squared_error);
    case Targets::flags:
      break;
  }
  ExampleLoss total = number_loss(form, answers, row, scores, scale, gradient, logistic_loss);
  const auto count = static_cast<std::size_t>(form.outputs);
  for (std::size_t k = 0; k < count; ++k) total.correct += (scores[k] > 0) == (answers.values[row * count + k] > 0) ? 1 : 0;
  return total;
}

}  // namespace fedstride
