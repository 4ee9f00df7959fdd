#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/choice.hpp"
#include "core/random.hpp"
#include "data/dataset.hpp"

namespace fedstride {

enum class Augmentation {
  none,
  crop_flip,  ///< random crop after padding each side with 4 black pixels, then random horizontal flip; images only
};
constexpr auto choice_names(Augmentation) { return names("none", "crop-flip"); }

/// The address of a batch's augmentation and of noise drawn at every reading. A row's augmentation is drawn at (augmentation,
/// round, client, step, row), so other rows in the batch do not affect it.
struct BatchAddress {
  std::uint64_t seed = 0;
  std::uint32_t round = 0;
  std::uint32_t client = 0;
  std::uint32_t step = 0;
};

class FeatureSkewPart;

/// The skew of one client's inputs (data/skew/feature_skew.hpp) or of the test part, where row r has the skew of client r mod
/// `clients`.
struct ClientSkew {
  const FeatureSkewPart* part = nullptr;  ///< nullptr: none
  std::uint64_t seed = 0;
  std::uint32_t client = 0;
  std::uint32_t clients = 1;
  bool is_of_test = false;

  std::uint32_t client_of(Row row) const { return is_of_test ? row % clients : client; }
};

/// Writes the normalized rows as floats, channels innermost; out has rows.size() x shape.size() elements. The skew of the rows'
/// client is applied before augmentation, except that noise drawn at every reading is added after it.
void fill_batch(const Dataset& data, std::span<const Row> rows, Augmentation augmentation, const BatchAddress& address,
                std::span<float> out, const ClientSkew& skew = {});

/// The answers to a batch of examples, laid out as in data/dataset.hpp: one label per example or position, or values.
struct Answers {
  std::span<const Label> labels = {};
  std::span<const float> values = {};

  Answers() = default;
  Answers(std::span<const Label> labels_, std::span<const float> values_ = {}) : labels(labels_), values(values_) {}  // NOLINT
  Answers(const std::vector<Label>& labels_) : labels(labels_) {}                                                     // NOLINT
};

/// Memory for the answers to a batch.
class AnswerRoom {
 public:
  /// Returns the rows' answers, valid until the next call.
  Answers read(const Dataset& data, std::span<const Row> rows);

 private:
  std::vector<Label> labels_;
  std::vector<float> values_;
};

}  // namespace fedstride
