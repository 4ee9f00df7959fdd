#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "core/setting.hpp"
#include "dp/accountants/rdp_orders.hpp"

namespace fedstride {

// The format of a composition file, used by the reader; a test compares it with docs/composition.schema.json.

inline constexpr std::uint64_t kMaxCompositionFile = std::uint64_t{16} << 20;  // bytes
inline constexpr std::size_t kMaxCompositionCases = 10'000;
inline constexpr std::size_t kMaxCompositionEvents = 10'000;     // per case
inline constexpr std::size_t kMaxListedMultipliers = 1'000'000;  // per case, in lists and schedules
inline constexpr std::size_t kMaxCompositionText = 1000;         // bytes
inline constexpr double kMaxCompositionCount = 1e15;
inline constexpr double kMinCompositionNoise = 0.01;  // where epsilon is in the thousands
inline constexpr double kMaxCompositionNoise = 1e9;

struct CompositionKey {
  enum class Kind { text, number, whole, truth, list, object };
  enum class Needed { always, by_evaluate, perhaps };

  std::string_view name;
  Kind kind;
  Needed needed;
  Valid valid = {};                                ///< for numbers
  std::size_t most = 0;                            ///< for lists, the largest number of elements
  std::span<const std::string_view> choices = {};  ///< for text, the valid values; empty: any text
};

namespace composition_keys {

using enum CompositionKey::Kind;
using enum CompositionKey::Needed;

inline constexpr Valid kOpenUnit{.low = 0, .high = 1, .low_included = false, .high_included = false};
inline constexpr Valid kUpToOne{.low = 0, .high = 1, .low_included = false};
inline constexpr Valid kRate{.low = 1e-15, .high = 1};
inline constexpr Valid kNoise{.low = kMinCompositionNoise, .high = kMaxCompositionNoise};
inline constexpr Valid kCount{.low = 1, .high = kMaxCompositionCount};
inline constexpr Valid kAnyNumber{.low = -1e300, .high = 1e300};

inline constexpr auto kAsks =
    names("epsilon", "delta", "noise-multiplier", "steps", "filter", "divergence", "rho", "lower-bound");
inline constexpr auto kMechanisms = names("gaussian");
inline constexpr auto kSamplings = names("poisson", "none", "shuffle", "without-replacement");
inline constexpr auto kSchedules = names("hyperbolic", "linear", "linear-1000", "factor-1000", "dynamic", "dynamic-momentum");

inline constexpr CompositionKey kFile[] = {
    {"version", whole, always, {.low = 1, .high = 1}},
    {"cases", list, always, {}, kMaxCompositionCases},
};

inline constexpr CompositionKey kCase[] = {
    {"id", text, always},
    {"comment", text, perhaps},
    {"neighbours", text, always, {}, 0, kChoiceNames<Neighbours>},
    {"ask", text, by_evaluate, {}, 0, kAsks},
    {"accountant", text, perhaps},
    {"conversion", text, perhaps, {}, 0, kChoiceNames<Conversion>},
    {"orders", text, perhaps, {}, 0, kChoiceNames<OrderGrid>},
    {"epsilon", number, perhaps, {.low = 0, .high = 1e6}},
    {"delta", number, perhaps, kOpenUnit},
    {"order", number, perhaps, {.low = 1, .high = 16384, .low_included = false}},
    {"events", list, always, {}, kMaxCompositionEvents},
    {"accept", object, perhaps},
};

inline constexpr CompositionKey kAccept[] = {
    {"min", number, perhaps, kAnyNumber},
    {"max", number, perhaps, kAnyNumber},
};

inline constexpr CompositionKey kEvent[] = {
    {"mechanism", text, always, {}, 0, kMechanisms},
    {"sampling", text, always, {}, 0, kSamplings},
    {"rate", number, perhaps, kRate},
    {"noise_multiplier", number, perhaps, kNoise},
    {"noise_multipliers", list, perhaps, kNoise, kMaxListedMultipliers},
    {"count", whole, perhaps, kCount},
    {"schedule", object, perhaps},
    {"adaptive", truth, perhaps},
};

inline constexpr CompositionKey kSchedule[] = {
    {"name", text, always, {}, 0, kSchedules},
    {"target", whole, perhaps, {.low = 1, .high = 1e6}},
    {"gamma", number, perhaps, kUpToOne},
    {"momentum", number, perhaps, {.low = 0, .high = 1, .high_included = false}},
};

}  // namespace composition_keys

/// A named schedule (dp/noise/noise_plan.hpp), either of the clip bound at constant noise, or of the noise.
struct CompositionScheduleRow {
  std::string_view name;
  bool of_clip;
  std::string_view needs;  ///< required keys, separated by spaces; no others are allowed
};
inline constexpr CompositionScheduleRow kCompositionSchedules[] = {
    {"hyperbolic", true, "target"}, {"linear", true, "target"},         {"linear-1000", true, ""},
    {"factor-1000", true, ""},      {"dynamic", false, "target gamma"}, {"dynamic-momentum", false, "target gamma momentum"},
};

}  // namespace fedstride
