#include "client/private_lots.hpp"

#include <algorithm>

#include "dp/noise/sampling.hpp"

namespace fedstride {

std::vector<GradientStretch> gradient_stretches(const Model& model, const std::vector<bool>& frozen) {
  std::vector<GradientStretch> stretches;
  for (const Parameter& parameter : model.parameters())
    append_stretches(stretches, parameter.offset, parameter.size,
                     !frozen.empty() && frozen[static_cast<std::size_t>(parameter.layer)]);
  return stretches;
}

PrivateWorkshop::PrivateWorkshop(const Model& model, const std::vector<bool>& frozen) : sum_(gradient_stretches(model, frozen)) {}

/// The rows drawn, in parts of about equal size that the network has room for.
class PrivateLots::Lot {
 public:
  Lot(PrivateLots& lots, const float* weights) : lots_(lots), weights_(weights) {
    const std::size_t drawn = lots.places_.workshop.drawn_.size();
    const auto most = static_cast<std::size_t>(lots.places_.network.max_rows());
    parts_ = (drawn + most - 1) / most;
  }

  bool next() {
    if (part_ == parts_) return false;
    PrivateWorkshop& workshop = lots_.places_.workshop;
    const std::size_t drawn = workshop.drawn_.size();
    const std::size_t first = drawn * part_ / parts_;
    const std::size_t last = drawn * (part_ + 1) / parts_;
    ++part_;
    const auto rows = std::span<const Row>(workshop.drawn_).subspan(first, last - first);
    workshop.norms_.resize(rows.size());
    Network& network = lots_.places_.network;
    fill_batch(lots_.places_.data, rows, lots_.places_.augmentation, lots_.address_,
               network.inputs(static_cast<int>(rows.size())), lots_.places_.skew);
    const Answers answers = workshop.answers_.read(lots_.places_.data, rows);
    loss_sum_ += network
                     .per_example(weights_, {answers.labels, rows, lots_.address_, answers.values}, workshop.norms_,
                                  lots_.places_.for_each_piece)
                     .loss_sum;
    return true;
  }
  std::span<const double> norms() const { return lots_.places_.workshop.norms_; }
  void weighted_sum(std::span<const float> factors, GradientSink sink) {
    lots_.places_.network.weighted_sum(factors, sink, lots_.places_.for_each_piece);
  }
  double loss_sum() const { return loss_sum_; }

 private:
  PrivateLots& lots_;
  const float* weights_;
  std::size_t parts_ = 0;
  std::size_t part_ = 0;
  double loss_sum_ = 0;
};

PrivateLots::PrivateLots(const Places& places, const PrivatePlan& plan, const RandomSource& source, std::span<const Row> rows,
                         const BatchAddress& address, std::uint64_t first_release, std::uint64_t reserved)
    : places_(places),
      plan_(plan),
      source_(source),
      rows_(rows),
      address_(address),
      next_release_(first_release),
      meter_(reserved) {}

void PrivateLots::begin_epoch(int epoch) {
  if (plan_.sampling() != Sampling::shuffle) return;
  order_.assign(rows_.begin(), rows_.end());
  RandomStream random =
      source_.at({Purpose::private_sampling, address_.round, address_.client, static_cast<std::uint32_t>(epoch)});
  shuffle(std::span(order_), random);
  ahead_ = 0;
}

void PrivateLots::draw() {
  std::vector<Row>& drawn = places_.workshop.drawn_;
  drawn.clear();
  const Address address{Purpose::private_sampling, address_.round, address_.client, address_.step};
  switch (plan_.sampling()) {
    case Sampling::full:
      drawn.assign(rows_.begin(), rows_.end());
      break;
    case Sampling::poisson:
      draw_poisson(source_, address, plan_.rate(), rows_, drawn);
      break;
    case Sampling::without_replacement:
      draw_without_replacement(source_, address, plan_.lot(), rows_, drawn);
      break;
    case Sampling::shuffle:
      drawn.assign(order_.begin() + static_cast<std::ptrdiff_t>(ahead_),
                   order_.begin() + static_cast<std::ptrdiff_t>(ahead_ + plan_.lot()));
      ahead_ += plan_.lot();
      break;
  }
}

PrivateLots::Result PrivateLots::gradient(const float* weights, GradientSink sink) {
  draw();
  Result result{.examples = places_.workshop.drawn_.size()};
  if (result.examples == 0) ++empty_;
  const NoiseStep step = plan_.noise().at(next_release_++);
  Lot lot(*this, weights);
  result.sink_sum = places_.workshop.sum_.release(lot,
                                                  {.clip = step.clip,
                                                   .noise_multiplier = step.noise_multiplier,
                                                   .denominator = plan_.denominator(),
                                                   .source = source_,
                                                   .address = {Purpose::noise, address_.round, address_.client, address_.step}},
                                                  meter_, sink, places_.for_each_piece, lots_);
  result.loss_sum = lot.loss_sum();
  ++address_.step;
  return result;
}

void PrivateLots::report(ClientReport& report) const {
  report.releases = meter_.runs();
  report.empty_lots = empty_;
  report.nonfinite = lots_.nonfinite;
  const auto counted = static_cast<double>(lots_.examples - lots_.nonfinite);  // none: 0 / 0 is NaN, as it should be
  report.gradient_norm = lots_.norms / counted;
  report.clipped_share = static_cast<double>(lots_.clipped) / counted;
}

}  // namespace fedstride
