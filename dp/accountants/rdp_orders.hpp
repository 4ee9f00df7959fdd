#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/function_ref.hpp"
#include "dp/accountants/mechanism.hpp"

namespace fedstride {

/// Grids of orders, sorted.
///   default   1.1, 1.2, ..., 10.9, 11, ..., 63, 128, 256, 512, 1024
///   ma32      2, ..., 33 (lambda 1 to 32 of the moments accountant)
///   int256    2, ..., 256
///   wide      default, plus 64, 72, ..., 1016 and 2048, 4096, 8192, 16384
enum class OrderGrid { standard, ma32, int256, wide };
constexpr auto choice_names(OrderGrid) { return names("default", "ma32", "int256", "wide"); }
std::span<const double> order_grid(OrderGrid grid);

/// The Rényi divergence of one release (`count` is ignored) at each order; orders must be above 1. Exact for Gaussian sums with
/// full or Poisson sampling (dp/accountants/sampled_rdp.hpp); an upper bound for sampling without replacement (replace-one only)
/// and for shuffled lots (no amplification).
std::vector<double> release_rdp(const Releases& release, std::span<const double> orders);
double release_rdp(const Releases& release, double order);

/// The sum over all releases of the spending, at each order.
std::vector<double> spending_rdp(std::span<const Releases> spending, std::span<const double> orders);

/// The grid's order at which `cost(order, divergence)` is smallest, and the cost there. If there are more than a few dozen kinds
/// of releases, the search merges similar kinds. The final comparison with the adjacent orders uses the divergences of all kinds
/// (after coarser(), dp/accountants/spending.hpp, if there are more than 20,000).
struct BestOrder {
  double order = 0;
  double cost = 0;
  bool is_first = false;
  bool is_last = false;
  std::string warning = {};  ///< set if divergences that are usually exact are only upper bounds
};
BestOrder best_order(std::span<const Releases> spending, std::span<const double> orders,
                     function_ref<double(double order, double divergence)> cost);

/// The conversion from Rényi to approximate differential privacy, with the same names in all accountants, flags and files.
///   classical   epsilon = rdp + ln(1/delta) / (a-1)                              (Mironov 2017, Abadi et al. 2016)
///   improved    epsilon = rdp + ln(1 - 1/a) - ln(delta a) / (a-1)                (Canonne, Kamath, Steinke 2020)
/// Under zCDP, rdp = a rho, minimized over all orders a: classical is then rho + 2 sqrt(rho ln(1/delta)).
enum class Conversion { improved, classical };
constexpr auto choice_names(Conversion) { return names("improved", "classical"); }
/// The converted epsilon, or the logarithm of the converted delta; the first may be negative, the second positive.
double epsilon_at(Conversion conversion, double order, double divergence, double delta);
double log_delta_at(Conversion conversion, double order, double divergence, double epsilon);

}  // namespace fedstride
