#include "report/latex.hpp"

#include <doctest/doctest.h>

#include <algorithm>

#include "core/text.hpp"
#include "tests/report/made_results.hpp"

namespace fedstride::test::latex_test {
namespace {

bool has(const std::string& text, const std::string& what) { return text.find(what) != std::string::npos; }

SweepResults small() { return made_results({.fractions = {0, 1}, .rates = {0.01}, .rounds = 3}); }

std::size_t count(const std::string& text, const std::string& what) {
  std::size_t found = 0;
  for (std::size_t at = 0; (at = text.find(what, at)) != std::string::npos; at += what.size()) ++found;
  return found;
}

}  // namespace

TEST_CASE("a table has a row for each configuration, the best mean in bold and the p-values of the others") {
  SweepResults results = small();
  // Differences from the best, seed by seed: 0.1, 0.2, 0.3.
  for (auto& cell : results.cells) {
    const double seed = std::stod(cell.cell.value_of("seed"));
    const bool is_best = cell.cell.value_of("optimizer") == "adadp" && cell.cell.value_of("random-fraction") == "1";
    cell.numbers["test_accuracy"] = 0.9 + 0.01 * seed - (is_best ? 0 : 0.1 * seed);
  }
  const std::string tex = latex_tables({results});
  CHECK(has(tex, "\\usepackage{booktabs}"));
  for (const char* rule : {"\\toprule", "\\midrule", "\\bottomrule"}) CHECK(count(tex, rule) == 1);
  CHECK(count(tex, "\\begin{") == count(tex, "\\end{"));
  CHECK(count(tex, "\\mathbf{") == 2);  // of the accuracy, of the loss
  CHECK(has(tex, "1 & adadp &  & $\\mathbf{0.920} \\pm 0.025$ & --"));
  // t = 2 sqrt(3) with two degrees of freedom: p = 1 - t / sqrt(t^2 + 2), three times that by Holm.
  CHECK(count(tex, "& $0.223$ &") == 3);
  CHECK(has(tex, "two-sided paired $t$-test"));
  CHECK(has(tex, "Mean over 3 seeds"));
  // As many cells in every row as columns.
  const auto begin = tex.find("\\begin{tabular}{@{}") + 19;
  const std::string format = tex.substr(begin, tex.find("@{}}", begin) - begin);
  for (const auto line : split(tex, '\n'))
    if (line.ends_with(" \\\\")) CHECK(static_cast<std::size_t>(std::ranges::count(line, '&')) + 1 == format.size());
}

TEST_CASE("one seed has no interval and no test, and a sweep without results no table") {
  const SweepResults one = made_results({.fractions = {0}, .rates = {0.01}, .seeds = 1, .rounds = 3});
  const std::string tex = latex_tables({one});
  CHECK(has(tex, "One seed, so no interval is known."));
  CHECK(!has(tex, "\\pm"));
  CHECK(!has(tex, "$p$"));
  SweepResults none = small();
  for (auto& cell : none.cells) cell.status = "missing";
  CHECK(has(latex_tables({none}), "no finished cell"));
  CHECK(!has(latex_tables({none}), "\\begin{"));
}

TEST_CASE("no text of an experiment is a command of LaTeX") {
  CHECK(latex_text("a_b 5% $x$ {y} #1 & ~ ^ \\input{x} <\n>") ==
        "a\\_b 5\\% \\$x\\$ \\{y\\} \\#1 \\& \\textasciitilde{} \\textasciicircum{} \\textbackslash{}input\\{x\\} \\textless{} "
        "\\textgreater{}");
  SweepResults results = small();
  results.experiment.title = "100% \\input{/etc/passwd}";
  CHECK(!has(latex_tables({results}), "\\input{/"));
}

}  // namespace fedstride::test::latex_test
