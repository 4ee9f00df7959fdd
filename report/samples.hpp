#pragma once

#include <string>
#include <vector>

#include "report/figures.hpp"

namespace fedstride {

/// A row of the summary to be drawn in a figure.
struct Sample {
  const SummaryRow* row = nullptr;
  double x = 0;
  std::string slot;            ///< each line has one sample a slot: a round, a value of the key
  FigureData::Point identity;  ///< distinguishes its line from others
  std::string text;            ///< shown when the reader points at it
  bool is_reference = false;   ///< of a configuration that has no such key
};

/// True if a row belongs to the configurations of a request: its conditions and, unless `all_ranks`, its places.
bool is_wanted(const SummaryRow& row, const FigureRequest& request, bool all_ranks);

/// The part of a line's name that distinguishes configurations: the point without `left_out`, and the place if several
/// are drawn.
FigureData::Point identity_of(const FigureData& data, const SummaryRow& row, const FigureRequest& request,
                              const std::vector<std::string>& left_out);

/// "variant adadp, random-fraction 0.33\nround 10\ntest accuracy (share of examples) 0.4421\n95 %: 0.43 to 0.45, n = 3"
std::string point_text(const SummaryRow& row, const std::string& x_label, const std::string& x);

/// Pictures of samples: lines named by the keys that vary (or those of the request, and as many more as it takes to tell
/// them apart), at most kMaxLines in each, split into pictures by a key if there are more, or always by `panel_keys`.
/// `notes` gets a sentence for each omission.
std::vector<Plot> plots_of(const FigureData& data, std::vector<Sample> samples, const FigureRequest& request, const Plot& model,
                           const std::vector<std::string>& panel_keys, std::string& notes);

/// "Mean of 3 seeds; bands: ... learning-rate chosen by test accuracy on the test set (as in the paper)."
std::string caption_of(const FigureData& data, const std::vector<Sample>& samples, const Plot& model, bool chosen);

}  // namespace fedstride
