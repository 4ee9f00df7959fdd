// Takes 22 s of processor time: each bound is compared with an integral at every place of its range.
#include "dp/accountants/tight.hpp"

#include <doctest/doctest.h>

#include <array>
#include <cmath>
#include <vector>

namespace fedstride::test::tight_loss_test {

using namespace fedstride::tight;

// M(c + it) along the line is the bound's measure: it must stay above from t on, and come down far enough to be of use.
TEST_CASE("The bound on the moments' decay holds from its place on, and comes down with them") {
  for (const Pair pair : {Pair::remove, Pair::add, Pair::replace})
    for (const double sigma : {0.4, 0.8, 2.0, 8.0})
      for (const double c : {0.3, 3.0, 20.0})
        for (const Loss& loss :
             {Loss(pair, 0.01, sigma), Loss(pair, 0.7, sigma), Loss(pair, 0.7, sigma).leaking(std::log(1e-6))}) {
          CAPTURE(sigma);
          CAPTURE(c);
          constexpr double kStep = 0.25;
          LossLine line(loss, c, kStep, false);
          std::vector<std::complex<double>> less_one(256);
          line.next(less_one);
          double largest = 0;  // of those from k on
          for (std::size_t k = less_one.size(); k-- > 0;) {
            largest = std::max(largest, std::abs(1.0 + less_one[k]));
            const double bound = loss.log_bound(c, kStep * static_cast<double>(k));
            CHECK(bound <= 0);
            CHECK(std::exp(bound) >= largest - line.error() - 1e-12);
          }
        }
  const Loss loss(Pair::remove, 0.7, 2);
  CHECK(loss.log_bound(3, 0) == 0);
  CHECK(loss.log_bound(3, 40) < -10);
}

}  // namespace fedstride::test::tight_loss_test
