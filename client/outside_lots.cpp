#include "client/outside_lots.hpp"

#include <algorithm>
#include <cereal/archives/portable_binary.hpp>
#include <cereal/types/string.hpp>
#include <cmath>
#include <numeric>
#include <sstream>
#include <utility>

#include "core/error.hpp"
#include "core/floating_point.hpp"
#include "core/text.hpp"
#include "nn/kernels/squares.hpp"

namespace fedstride {
namespace {

// Exceeds the relative error of a sum of 2^29 squares in double, so that no computed norm is below the true norm.
constexpr double kMargin = 1e-7;

}  // namespace

std::string OutsideLotsTerms::save() const {
  std::ostringstream bytes;
  {
    cereal::PortableBinaryOutputArchive archive(bytes);
    archive(round, client, rows, first_epoch, epochs, reserved);
    plan.save(archive);
  }
  bytes << source.save();
  return bytes.str();
}

OutsideLotsTerms OutsideLotsTerms::load(std::string_view bytes) {
  try {
    std::istringstream stream{std::string(bytes)};
    OutsideLotsTerms terms;
    {
      cereal::PortableBinaryInputArchive archive(stream);
      archive(terms.round, terms.client, terms.rows, terms.first_epoch, terms.epochs, terms.reserved);
      terms.plan.load(archive);
    }
    terms.source = RandomSource::load(std::string(std::istreambuf_iterator<char>(stream), {}));
    return terms;
  } catch (const std::exception&) {
    throw failure("the terms of a client's lots are damaged");
  }
}

/// The parts of a lot, one in memory at a time.
class OutsideLots::Lot {
 public:
  Lot(OutsideLots& lots, const std::function<std::optional<ExampleGradients>()>& part) : lots_(lots), part_(part) {}

  bool next() {
    const std::uint64_t drawn = lots_.drawn_.size();
    auto given = part_();
    if (given) given_ += given->examples;
    if (given_ > drawn || (!given && given_ < drawn))
      throw usage_error("the lot has " + counted(drawn, "example") + ", but the number of gradients given is " +
                        std::to_string(given_) + "; give one per example");
    if (!given) return false;
    at_ = std::move(*given);
    auto& norms = lots_.norms_;
    norms.assign(at_.examples, 0);
    for (const ExampleGradients::Tensor& tensor : at_.tensors)
      for (std::size_t i = 0; i < at_.examples; ++i) norms[i] += squared_norm(tensor.values + i * tensor.size, tensor.size);
    for (double& norm : norms) norm = std::sqrt(norm) * (1 + kMargin);
    return true;
  }
  std::span<const double> norms() const { return lots_.norms_; }
  void weighted_sum(std::span<const float> factors, SumSink sink) {
    std::vector<double> sum;
    for (const GradientStretch& stretch : lots_.stretches_) {
      sum.assign(stretch.size, 0);
      for (const ExampleGradients::Tensor& tensor : at_.tensors) {
        if (stretch.offset < tensor.offset || stretch.offset >= tensor.offset + tensor.size) continue;
        for (std::size_t i = 0; i < factors.size(); ++i)
          if (factors[i] > 0)  // with factor 0, the gradient may not be finite
            add_scaled(sum.data(), tensor.values + i * tensor.size + (stretch.offset - tensor.offset), factors[i], stretch.size);
      }
      sink(stretch.offset, sum);
    }
  }

 private:
  OutsideLots& lots_;
  const std::function<std::optional<ExampleGradients>()>& part_;
  ExampleGradients at_;
  std::uint64_t given_ = 0;
};

namespace {

std::vector<Row> numbered(std::uint64_t rows) {
  std::vector<Row> all(rows);
  std::iota(all.begin(), all.end(), Row{0});
  return all;
}

std::vector<GradientStretch> stretches_of(std::span<const ParameterRange> tensors) {
  std::vector<GradientStretch> stretches;
  for (const ParameterRange& tensor : tensors) append_stretches(stretches, tensor.offset, tensor.size, false);
  return stretches;
}

}  // namespace

OutsideLots::OutsideLots(const OutsideLotsTerms& terms, std::span<const ParameterRange> tensors)
    : terms_(terms),
      rows_(numbered(terms_.rows)),
      draws_(terms_.plan, terms_.source, rows_,
             {terms_.round, terms_.client, terms_.plan.releases_before(terms_.first_epoch), terms_.reserved}, {}),
      stretches_(stretches_of(tensors)),
      sum_(stretches_),
      next_epoch_(terms_.first_epoch) {
  for (const ParameterRange& tensor : tensors) size_ = std::max(size_, tensor.offset + tensor.size);
}

bool OutsideLots::next() {
  if (is_open_) throw usage_error("the previous lot was not released; release every lot drawn, whatever it contains");
  while (left_in_epoch_ == 0) {
    if (next_epoch_ == terms_.first_epoch + terms_.epochs) return false;
    draws_.begin_epoch(next_epoch_);
    left_in_epoch_ = draws_.steps(next_epoch_) * static_cast<std::uint64_t>(terms_.plan.lots_per_step(next_epoch_));
    ++next_epoch_;
  }
  if (!draws_.has(1)) return false;
  draws_.draw(drawn_);
  --left_in_epoch_;
  examples_ += drawn_.size();
  is_open_ = true;
  return true;
}

Vector OutsideLots::release(const std::function<std::optional<ExampleGradients>()>& part) {
  if (!is_open_) throw failure("there is no lot to release; draw the next one first");
  is_open_ = false;
  const FloatingPointMode mode;
  Vector gradient(size_);
  gradient.fill(0);
  Lot lot(*this, part);
  draws_.release(
      lot, sum_,
      [&](std::size_t offset, std::span<const float> stretch) {
        std::ranges::copy(stretch, gradient.data() + offset);
        return 0.0;
      },
      serially);
  return gradient;
}

}  // namespace fedstride
