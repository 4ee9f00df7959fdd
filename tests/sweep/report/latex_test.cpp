#include "sweep/report/report.hpp"

#include <doctest/doctest.h>

#include <algorithm>

#include "core/text.hpp"
#include "tests/support/refusal.hpp"
#include "tests/sweep/report/made_results.hpp"

namespace fedstride::test::latex_test {
namespace {

bool has(const std::string& text, const std::string& what) { return text.find(what) != std::string::npos; }

SweepResults small() { return made_results({.fractions = {0, 1}, .rates = {0.01}, .rounds = 3}); }

std::size_t count(const std::string& text, const std::string& what) {
  std::size_t found = 0;
  for (std::size_t at = 0; (at = text.find(what, at)) != std::string::npos; at += what.size()) ++found;
  return found;
}

std::string caption_of(const std::string& tex) {
  const std::size_t begin = tex.find("\\caption{");
  return begin == std::string::npos ? "" : tex.substr(begin, tex.find('\n', begin) - begin);
}

}  // namespace

TEST_CASE("a row is a method, a column is a condition, and each condition has its best and its tests") {
  Made made{.fractions = {0, 1}, .rates = {0.01}, .seeds = 5, .rounds = 3};
  SweepResults results = made_results(made);
  // At share 1 adadp leads sgd by 0.1, 0.2, ..., 0.5; at 0 sgd leads by 0.01 on average, not always.
  for (auto& cell : results.cells) {
    const double seed = std::stod(cell.cell.value_of("seed"));
    const bool is_adadp = cell.cell.value_of("optimizer") == "adadp";
    cell.numbers["test_accuracy"] = cell.cell.value_of("random-fraction") == "1"
                                        ? 0.9 - (is_adadp ? 0 : 0.1 * seed)
                                        : 0.3 + (is_adadp ? 0 : 0.03 * (seed - 3) + 0.01);
  }
  const std::string tex = latex_tables({results});
  CHECK(has(tex, "\\usepackage{booktabs}"));
  CHECK(count(tex, "\\begin{table}") == 2);  // accuracy, loss
  CHECK(count(tex, "\\begin{") == count(tex, "\\end{"));
  const std::string first = tex.substr(0, tex.find("\\end{table}"));
  CHECK(has(first, "& \\multicolumn{4}{c}{random-fraction} \\\\\n\\cmidrule(l){2-5}\n"));
  CHECK(has(first, "optimizer & \\multicolumn{2}{c}{0} & \\multicolumn{2}{c}{1} \\\\\n"));
  CHECK(has(first, "adadp & $0.300$ & ${} \\pm 0.000$ & $\\mathbf{0.90}$ & ${} \\pm 0.00$ \\\\\n"));
  CHECK(has(first, "sgd & $0.310$ & ${} \\pm 0.059$ & $0.60$ & ${} \\pm 0.20^{*}$ \\\\\n"));
  CHECK(names(caption_of(first), {"5", "95 \\%", "$\\pm$", "Bold", "Holm", "learning-rate"}));
  // As many cells in every row as columns; a head spans its columns.
  const auto begin = first.find("\\begin{tabular}{@{}") + 19;
  CHECK(first.substr(begin, first.find("@{}}", begin) - begin) == "lr@{}lr@{}l");
  for (const auto line : split(first, '\n'))
    if (line.find(" & $") != line.npos) CHECK(std::ranges::count(line, '&') == 4);
}

TEST_CASE("below five seeds nothing has a star") {
  for (const int seeds : {4, 5}) {
    SweepResults results = made_results({.fractions = {0, 1}, .rates = {0.01}, .seeds = seeds, .rounds = 3});
    for (auto& cell : results.cells)
      cell.numbers["test_accuracy"] =
          cell.cell.value_of("optimizer") == "adadp" ? 0.9 : 0.5 + 0.0001 * std::stod(cell.cell.value_of("seed"));
    const std::string tex = latex_tables({results});
    CHECK(has(tex, "^{*}") == (seeds == 5));
    CHECK(names(caption_of(tex), {"Holm"}) == (seeds == 5));
    CHECK(names(caption_of(tex), {"5"}));  // how many seeds there are, or how many a test needs
  }
}

TEST_CASE("with one condition each metric is a column, and with many conditions a table has several parts") {
  SweepResults sure = made_results({.fractions = {0}, .rates = {0.01}, .rounds = 3});
  for (auto& cell : sure.cells)
    for (const char* metric : {"test_accuracy", "test_loss"})
      cell.numbers[metric] = cell.cell.value_of("optimizer") == "adadp" ? 0.9 : 0.5;
  const std::string one = latex_tables({sure});
  CHECK(count(one, "\\begin{table}") == 1);
  CHECK(has(one, "optimizer & \\multicolumn{2}{c}{Test accuracy} & \\multicolumn{2}{c}{Test loss} \\\\\n"));
  CHECK(count(one, "\\mathbf{") == 2);
  const std::string many = latex_tables({made_results({.fractions = {0, 0.1, 0.2, 0.3, 0.4, 0.5}, .rounds = 3})});
  CHECK(count(many, "\\begin{table}") == 2);
  CHECK(count(many, "\\begin{tabular}") == 4);
}

TEST_CASE("one seed has no interval and no test, and a sweep without results no table") {
  const SweepResults one = made_results({.fractions = {0}, .rates = {0.01}, .seeds = 1, .rounds = 3});
  const std::string tex = latex_tables({one});
  CHECK_FALSE(caption_of(tex).empty());
  CHECK_FALSE(names(caption_of(tex), {"95 \\%"}));
  CHECK(!has(tex, "\\pm"));
  CHECK(!has(tex, "^{*}"));
  SweepResults none = small();
  for (auto& cell : none.cells) cell.status = "missing";
  CHECK(has(latex_tables({none}), "\n% made"));
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
