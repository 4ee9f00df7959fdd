#include "client/personal_at_client.hpp"

#include <algorithm>

#include "client/trained_ranges.hpp"
#include "core/exact_sum.hpp"

namespace fedstride {
namespace {

std::size_t numbers_in(std::span<const ParameterRange> ranges) {
  std::size_t size = 0;
  for (const ParameterRange& range : ranges) size += range.size;
  return size;
}

}  // namespace

void gather(std::span<const ParameterRange> ranges, const Vector& from, Vector& numbers) {
  numbers.resize(numbers_in(ranges));
  float* at = numbers.data();
  for (const ParameterRange& range : ranges) at = std::copy_n(from.data() + range.offset, range.size, at);
}

void scatter(std::span<const ParameterRange> ranges, const Vector& numbers, Vector& into) {
  const float* at = numbers.data();
  for (const ParameterRange& range : ranges) {
    std::copy_n(at, range.size, into.data() + range.offset);
    at += range.size;
  }
}

PersonalRanges personal_ranges(const Model& model, const std::vector<bool>& local, const std::vector<bool>& frozen) {
  PersonalRanges ranges{.trained = trained_ranges(model, frozen)};
  if (std::ranges::find(local, true) == local.end()) {
    ranges.own = {{0, model.size()}};
    return ranges;
  }
  std::vector<bool> others = local;
  others.flip();
  ranges.own = trained_ranges(model, others);
  ranges.shared = trained_ranges(model, either(frozen, local));
  return ranges;
}

void PersonalAtClient::restore_own(const Vector& kept, Vector& weights) const {
  if (!kept.empty() && kept.size() == numbers_in(ranges_.own)) scatter(ranges_.own, kept, weights);
}

void PersonalAtClient::keep_own(const Vector& weights, Vector& kept) const {
  if (!part_.keeps()) return;
  gather(ranges_.own, weights, kept);
  if (!ExactSum::admits(view(std::as_const(kept)))) kept = Vector();
}

void PersonalAtClient::reset_own(const Vector& received, Vector& weights) const {
  for (const ParameterRange& range : ranges_.own)
    std::copy_n(received.data() + range.offset, range.size, weights.data() + range.offset);
}

std::span<const ParameterRange> PersonalAtClient::held(int epoch) const {
  if (part_.local_first() == 0) return {};
  return epoch < part_.local_first() ? ranges_.shared : ranges_.own;
}

CorrectedGradient PersonalAtClient::second_pass(const Vector& received) const {
  return {.anchor = received.data(),
          .pull = static_cast<float>(part_.pull()),
          .decay = static_cast<float>(optimizer_.weight_decay_factor()),
          .decayed = ranges_.trained};
}

}  // namespace fedstride
