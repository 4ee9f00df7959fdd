#include "dp/accountants/mechanism.hpp"

#include <algorithm>
#include <cmath>
#include <string>

#include "core/error.hpp"

namespace fedstride {
namespace {

template <class Kind>
struct Named {
  std::string_view name;
  Kind kind;
};

constexpr Named<Sampling> kSamplings[] = {{"poisson", Sampling::poisson},
                                          {"full", Sampling::full},
                                          {"without-replacement", Sampling::without_replacement},
                                          {"shuffle", Sampling::shuffle}};
constexpr Named<Neighbours> kNeighbours[] = {{"add-remove", Neighbours::add_remove},
                                             {"replace-one", Neighbours::replace_one}};

template <class Kind, std::size_t kCount>
std::string_view name_in(const Named<Kind> (&table)[kCount], Kind kind) {
  for (const auto& entry : table)
    if (entry.kind == kind) return entry.name;
  return {};
}

template <class Kind, std::size_t kCount>
Kind kind_in(const Named<Kind> (&table)[kCount], std::string_view what, std::string_view name) {
  std::string names;
  for (const auto& entry : table) {
    if (entry.name == name) return entry.kind;
    names += (names.empty() ? "" : ", ") + std::string(entry.name);
  }
  throw usage_error(std::string(what) + " '" + std::string(name) + "' is unknown; valid: " + names);
}

}  // namespace

std::uint64_t lots_an_epoch(double rate) {
  constexpr double kMost = 1e15;
  return static_cast<std::uint64_t>(std::clamp(std::round(1 / rate), 1.0, kMost));
}

std::string_view name_of(Sampling sampling) { return name_in(kSamplings, sampling); }
std::string_view name_of(Neighbours neighbours) { return name_in(kNeighbours, neighbours); }
Sampling sampling_named(std::string_view name) { return kind_in(kSamplings, "sampling", name); }
Neighbours neighbours_named(std::string_view name) { return kind_in(kNeighbours, "neighbours", name); }

}  // namespace fedstride
