// Writes tests/golden/privacy_twin.csv (to standard output): the exact epsilon of random settings by the twin, in
// 80-bit floating point. Built by hand, with the libraries of core/ and dp/; `generate FIRST LAST`, some seconds a setting.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>

#include "dp/accountants/accountants.hpp"
#include "tests/dp/twin/one_release.hpp"
#include "tests/dp/twin/settings.hpp"
#include "tests/dp/twin/twin.hpp"

using namespace fedstride;

int main(int argc, char** argv) {
  const auto first = static_cast<std::uint32_t>(argc > 1 ? std::atoi(argv[1]) : 0);
  const auto last = static_cast<std::uint32_t>(argc > 2 ? std::atoi(argv[2]) : 2000);
  if (first == 0) std::puts("number,epsilon,uncertainty");
  for (std::uint32_t number = first; number < last; ++number) {
    const auto setting = test::twin_setting(number);
    // The accountant's own answer is where the search starts, and no more than that.
    const double start = Tight{}.epsilon(std::vector{setting.releases}, setting.delta).value;
    double epsilon = 0;
    double uncertainty = 0;
    for (const bool forward : {true, false}) {
      if (start == 0 || (!forward && setting.releases.neighbours == Neighbours::replace_one)) continue;
      const double rate = setting.releases.sampling == Sampling::full ? 1 : setting.releases.rate;
      if (setting.releases.count == 1) {
        long double low = 0;
        long double high = 1000;
        for (int i = 0; i < 200; ++i) {
          const long double middle = (low + high) / 2;
          const bool enough = test::one_release(setting.releases.neighbours, forward, rate, setting.releases.noise_multiplier,
                                                middle) <= setting.delta;
          (enough ? high : low) = middle;
        }
        epsilon = std::max(epsilon, static_cast<double>(high));
        continue;
      }
      const test::Twin<long double>::Setting one{setting.releases.neighbours, forward, rate, setting.releases.noise_multiplier,
                                                 static_cast<double>(setting.releases.count)};
      if (!forward && !test::Twin<long double>::matters(one, epsilon, setting.delta)) continue;
      const auto exact = [&](double fineness) {
        return test::Twin<long double>(one, start, fineness).epsilon(setting.delta, start);
      };
      auto value = exact(1);
      if (!(value.uncertainty < 1e-8L * (1 + value.value))) {
        // Structure finer than the extra release: what the extrapolation says of itself is not to be trusted.
        const auto coarse = value;
        value = exact(4);
        value.uncertainty = std::max(value.uncertainty, std::abs(value.value - coarse.value) / 16);
      }
      if (value.value > epsilon) uncertainty = static_cast<double>(value.uncertainty);
      epsilon = std::max(epsilon, static_cast<double>(value.value));
    }
    std::printf("%u,%.15g,%.2g\n", number, epsilon, uncertainty);
    std::fflush(stdout);
  }
}
