#include "client/private_lots.hpp"

#include <algorithm>
#include <cmath>

#include "nn/kernels/squares.hpp"

namespace fedstride {

std::vector<GradientStretch> gradient_stretches(const Model& model, const std::vector<bool>& frozen) {
  std::vector<GradientStretch> stretches;
  for (const Parameter& parameter : model.parameters())
    append_stretches(stretches, parameter.offset, parameter.size,
                     !frozen.empty() && frozen[static_cast<std::size_t>(parameter.layer)]);
  return stretches;
}

PrivateBuffers::PrivateBuffers(const Model& model, const std::vector<bool>& frozen) : sum_(gradient_stretches(model, frozen)) {}

/// The rows drawn, in parts of about equal size that fit in the network's buffers.
class PrivateLots::Lot {
 public:
  Lot(PrivateLots& lots, const float* weights) : lots_(lots), weights_(weights) {
    const std::size_t drawn = lots.places_.buffers.drawn_.size();
    const auto most = static_cast<std::size_t>(lots.places_.network.max_rows());
    parts_ = (drawn + most - 1) / most;
  }

  bool next() {
    if (part_ == parts_) {
      at_canaries_ = !at_canaries_ && canaries() != nullptr && canaries()->in_lot();
      return at_canaries_;
    }
    PrivateBuffers& buffers = lots_.places_.buffers;
    const std::size_t drawn = buffers.drawn_.size();
    const std::size_t first = drawn * part_ / parts_;
    const std::size_t last = drawn * (part_ + 1) / parts_;
    ++part_;
    const auto rows = std::span<const Row>(buffers.drawn_).subspan(first, last - first);
    buffers.norms_.resize(rows.size());
    Network& network = lots_.places_.network;
    fill_batch(lots_.places_.data, rows, lots_.places_.augmentation, lots_.address_,
               network.inputs(static_cast<int>(rows.size())), lots_.places_.skew);
    const Answers answers = buffers.answers_.read(lots_.places_.data, rows);
    loss_sum_ += network
                     .per_example(weights_, {answers.labels, rows, lots_.address_, answers.values}, buffers.norms_,
                                  lots_.places_.for_each_piece)
                     .loss_sum;
    return true;
  }
  std::span<const double> norms() const { return at_canaries_ ? canaries()->norms() : lots_.places_.buffers.norms_; }
  void weighted_sum(std::span<const float> factors, SumSink sink) {
    Network& network = lots_.places_.network;
    if (canaries() == nullptr) {
      network.weighted_sum(factors, sink, lots_.places_.for_each_piece);
    } else if (at_canaries_) {
      canaries()->weighted_sum(factors, sink);
    } else {
      network.weighted_sum(
          factors,
          [&](std::size_t offset, std::span<const double> part) {
            canaries()->know(offset, part);
            return sink(offset, part);
          },
          lots_.places_.for_each_piece);
      if (part_ == 1) canaries()->probe(network, factors, lots_.places_.for_each_piece);
    }
  }
  double loss_sum() const { return loss_sum_; }

 private:
  Canaries* canaries() const { return lots_.places_.canaries; }

  bool at_canaries_ = false;
  PrivateLots& lots_;
  const float* weights_;
  std::size_t parts_ = 0;
  std::size_t part_ = 0;
  double loss_sum_ = 0;
};

/// The users drawn, one in memory at a time, with the mean gradient of their rows.
class PrivateLots::UserLot {
 public:
  UserLot(PrivateLots& lots, const float* weights) : lots_(lots), weights_(weights) {}

  bool next() {
    const auto groups = lots_.draws_.groups();
    if (user_ == groups.size()) return false;
    const std::size_t count = groups[user_++];
    PrivateBuffers& buffers = lots_.places_.buffers;
    std::span<const Row> left = std::span<const Row>(buffers.drawn_).subspan(first_, count);
    first_ += count;
    Network& network = lots_.places_.network;
    Vector& sum = buffers.of_user_;
    sum.assign(network.model().size(), 0);
    while (!left.empty()) {
      const auto rows = left.first(std::min(left.size(), static_cast<std::size_t>(network.max_rows())));
      left = left.subspan(rows.size());
      fill_batch(lots_.places_.data, rows, lots_.places_.augmentation, lots_.address_,
                 network.inputs(static_cast<int>(rows.size())), lots_.places_.skew);
      const Answers answers = buffers.answers_.read(lots_.places_.data, rows);
      const auto share = static_cast<float>(static_cast<double>(rows.size()) / static_cast<double>(count));
      const auto add = [&](std::size_t offset, std::span<const float> stretch) {
        for (std::size_t i = 0; i < stretch.size(); ++i) sum[offset + i] += share * stretch[i];
        return 0.0;
      };
      const Batch batch{answers.labels, rows, lots_.address_, answers.values};
      loss_sum_ += network.gradient(weights_, batch, add, lots_.places_.for_each_piece).loss_sum;
    }
    constexpr double kUserMargin = 1e-6;  // exceeds the rounding errors of the norm and of the scaled vector
    double square = 0;
    for (const float value : sum) square += static_cast<double>(value) * value;
    norm_ = std::sqrt(square) * (1 + kUserMargin);
    return true;
  }
  std::span<const double> norms() const { return {&norm_, 1}; }
  void weighted_sum(std::span<const float> factors, SumSink sink) {
    const Vector& sum = lots_.places_.buffers.of_user_;
    std::vector<double> scaled;
    for (const Parameter& parameter : lots_.places_.network.model().parameters()) {
      scaled.assign(parameter.size, 0);
      if (factors[0] > 0)  // with factor 0, the values may not be finite
        add_scaled(scaled.data(), sum.data() + parameter.offset, factors[0], parameter.size);
      sink(parameter.offset, scaled);
    }
  }
  double loss_sum() const { return loss_sum_; }

 private:
  PrivateLots& lots_;
  const float* weights_;
  std::size_t user_ = 0;
  std::size_t first_ = 0;  ///< index of the next user's first row
  double norm_ = 0;
  double loss_sum_ = 0;
};

PrivateLots::Result PrivateLots::gradient(const float* weights, GradientSink sink) {
  draws_.draw(places_.buffers.drawn_);
  address_.step = draws_.step();
  Canaries* canaries = places_.canaries;
  if (canaries != nullptr) canaries->begin(places_.buffers.drawn_, draws_.noise());
  Result result{.examples = places_.buffers.drawn_.size()};
  const auto heard = [&](std::size_t offset, std::span<const float> values) {
    canaries->hear(offset, values);
    return sink(offset, values);
  };
  const auto release = [&](auto lot) {
    result.sink_sum =
        draws_.release(lot, places_.buffers.sum_, canaries != nullptr ? GradientSink(heard) : sink, places_.for_each_piece);
    result.loss_sum = lot.loss_sum();
  };
  if (draws_.draws_users())
    release(UserLot(*this, weights));
  else
    release(Lot(*this, weights));
  if (canaries != nullptr) canaries->score(draws_.denominator());
  return result;
}

}  // namespace fedstride
