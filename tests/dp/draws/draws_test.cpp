// Every draw of the list keeps the promises of dp/draws/draw.hpp.
#include <doctest/doctest.h>

#include <cmath>
#include <numeric>

#include "dp/accountants/gaussian_curve.hpp"
#include "dp/accountants/mechanism.hpp"

namespace fedstride::test::draws_test {
namespace {

using Records = std::vector<std::uint32_t>;

std::vector<Records> first_lots(const Draw& draw, const LotQuestion& question, std::size_t count) {
  Lots lots = draw.lots(question);
  std::vector<Records> drawn(count);
  const std::uint64_t in_epoch = draw.has_passes() ? lots_an_epoch(question.rate) : 1;
  for (std::uint32_t step = 0; step < count; ++step) lots(static_cast<int>(step / in_epoch), step, drawn[step]);
  return drawn;
}

}  // namespace

TEST_CASE("every draw has the lots, the passes, the independence and the curve that it says") {
  Records records(60);
  std::iota(records.begin(), records.end(), 100);
  Records fewer = records;
  fewer.erase(fewer.begin() + 17);
  const RandomSource source(std::uint64_t{5});
  for (std::size_t place = 0; place < kChoiceNames<Sampling>.size(); ++place) {
    const auto sampling = static_cast<Sampling>(place);
    CAPTURE(name_of(sampling));
    CHECK(sampling_named(name_of(sampling)) == sampling);
    const Draw& draw = draw_of(sampling);
    for (const std::size_t wanted : {1, 7, 18, 60}) {
      const LotSize size = draw.fitted({static_cast<double>(wanted) / 60, wanted}, records.size(), 2);
      CHECK((size.rate > 0 && size.rate <= 1));
      CHECK(draw.wrong_rate(size.rate).empty());
    }
    const LotSize size = draw.fitted({11.0 / 60, 11}, records.size(), 1);  // an epoch fits 59 records, too
    const LotQuestion question{.source = source, .round = 2, .client = 3, .records = records, .rate = size.rate, .lot = size.lot};
    const std::size_t in_pass = lots_an_epoch(size.rate), count = 200 * in_pass;
    const auto lots = first_lots(draw, question, count);
    CHECK(lots == first_lots(draw, question, count));
    std::size_t drawn = 0;
    for (std::size_t first = 0; first < count; first += in_pass) {
      Records once;
      for (std::size_t i = first; i < first + in_pass; ++i) once.insert(once.end(), lots[i].begin(), lots[i].end());
      drawn += once.size();
      std::ranges::sort(once);
      if (draw.has_passes()) CHECK(std::ranges::adjacent_find(once) == once.end());
      CHECK((once.empty() || (once.front() >= 100 && once.back() < 160)));
    }
    CHECK(static_cast<double>(drawn) / static_cast<double>(count) == doctest::Approx(60 * size.rate).epsilon(0.03));
    LotQuestion without = question;
    without.records = fewer;
    auto left = lots;
    for (Records& lot : left) std::erase(lot, records[17]);
    CHECK((left == first_lots(draw, without, count)) == draw.is_independent());
    CHECK((draw.has_bound(Neighbours::zero_out) || draw.has_bound(Neighbours::replace_one)));
    const auto curve = draw.curve(1, 2, 1, 1);
    REQUIRE((curve != nullptr) == draw.has_curve());
    if (curve) CHECK(curve->delta(1) < gaussian_delta(1, 1));
    CHECK_FALSE(draw.text(size.rate).empty());
  }
}

}  // namespace fedstride::test::draws_test
