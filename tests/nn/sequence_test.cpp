#include <doctest/doctest.h>

#include <string>
#include <string_view>

#include "tests/nn/layer_checks.hpp"
#include "tests/support/refusal.hpp"

namespace fedstride::test::sequence_test {

constexpr Shape tokens(int length) { return {length, 1, 1}; }

// One answer an example, one a position; sizes that fill no vector, and some that do.
const ExampleForm kLast{tokens(7), 5, Targets::classes, 11};
const ExampleForm kEach{tokens(6), 5, Targets::positions, 9};

const std::string_view kOneAnswer[] = {
    "embedding 3 | last | dense classes",
    "embedding 5 | positions | last | dense classes",
    "embedding 4 | lstm 6 | last | dense classes",
    "embedding 4 | gru 6 | last | dense classes",
    "embedding 5 | lstm 16 | lstm 7 | last | dense classes",
    "embedding 6 | positions | attention 2 | last | dense classes",
    "embedding 6 | dense 9 | tanh | attention 3 | dropout 0.3 | last | dense classes",
};
const std::string_view kAnswerAPosition[] = {
    "embedding 8 | dense classes",
    "embedding 4 | lstm 6 | dense classes",
    "embedding 4 | gru 5 | dropout 0.25 | dense classes nobias",
    "embedding 16 | positions | attention 4 | dense 20 | relu | dense classes",
    "embedding 6 | repeat 2 { residual { layernorm | attention 2 } | residual { layernorm | dense 10 | gelu | dense 6 } } | "
    "dense classes",
    "embedding 5 | sigmoid | residual { gru 5 } | layernorm | leakyrelu | dense classes",
};

TEST_CASE("the slow twin's gradients of sequences agree with finite differences") {
  for (const auto line : kOneAnswer) check_against_finite_differences(line, kLast);
  for (const auto line : kAnswerAPosition) check_against_finite_differences(line, kEach);
  check_against_finite_differences("sequence | gru 5 | last | dense classes", Shape{4, 3, 2});
}

TEST_CASE("the network's losses and gradients of sequences are the slow twin's") {
  for (const int rows : {1, 2, 5, 17}) {
    for (const auto line : kOneAnswer) check_against_twin(line, kLast, rows);
    for (const auto line : kAnswerAPosition) check_against_twin(line, kEach, rows);
    check_against_twin("sequence | lstm 5 | last | dense classes", Shape{4, 3, 2}, rows);
  }
}

TEST_CASE("norms and weighted sums of sequences are those of gradients of single examples") {
  for (const int rows : {1, 9}) {
    for (const auto line : kOneAnswer) check_against_materialized(line, kLast, rows);
    for (const auto line : kAnswerAPosition) check_against_materialized(line, kEach, rows);
  }
  check_against_materialized("embedding 4 | lstm 6 | dense 8 | last | dense classes", kLast, 6, "embedding1");
  check_against_materialized("embedding 4 | lstm 6 | dense 8 | last | dense classes", kLast, 6, "lstm1");
  check_against_materialized("embedding 6 | attention 2 | last | dense classes", kLast, 6, "attention1,embedding1");
}

TEST_CASE("losses of numbers and flags, and their gradients") {
  for (const Targets targets : {Targets::values, Targets::flags}) {
    const ExampleForm form{{1, 1, 6}, 3, targets};
    for (const std::string_view line : {"dense outputs", "dense 7 | tanh | dense outputs"}) {
      check_against_finite_differences(line, form);
      check_against_twin(line, form, 9);
      check_against_materialized(line, form, 9);
    }
  }
}

TEST_CASE("an example whose positions all do not count has no loss and no gradient") {
  Setting setting("embedding 4 | lstm 6 | dense classes", kEach, 2);
  for (std::size_t t = 0; t < 6; ++t) setting.labels[t] = kNoLabel;
  Network network(setting.model, 2);
  const auto norms = norms_of(network, setting);
  CHECK(norms[0] == 0);
  CHECK(norms[1] > 0);
  // It is one of the two over which the batch's gradient is the mean.
  Setting alone("embedding 4 | lstm 6 | dense classes", kEach, 1);
  std::copy_n(setting.inputs.begin() + 6, 6, alone.inputs.begin());
  std::copy_n(setting.labels.begin() + 6, 6, alone.labels.begin());
  const auto both = network_gradient(network, setting).gradient;
  const auto one = network_gradient(network, alone).gradient;
  for (std::size_t i = 0; i < one.size(); ++i) CHECK(both[i] == doctest::Approx(one[i] / 2).epsilon(1e-5).scale(1e-3));
}

TEST_CASE("parameters have PyTorch's shapes and names") {
  const Model model =
      Model::parse("embedding 8 | lstm 256 | lstm 256 | last | dense classes", {tokens(80), 80, Targets::classes, 80});
  CHECK(model.parameter_count() == 80 * 8 + 4 * 256 * (8 + 256 + 2) + 4 * 256 * (256 + 256 + 2) + 256 * 80 + 80);
  REQUIRE(model.find("lstm2.weight_hh_l0") != nullptr);
  CHECK(model.find("lstm1.weight_ih_l0")->shape == std::vector<std::int64_t>{1024, 8});
  const Model attention = Model::parse("embedding 8 | attention 2 | dense classes", {tokens(5), 80, Targets::positions, 80});
  REQUIRE(attention.find("attention1.out_proj.weight") != nullptr);
  CHECK(attention.find("attention1.in_proj_weight")->shape == std::vector<std::int64_t>{24, 8});
}

TEST_CASE("named models of sequences have their papers' sizes") {
  const auto count = [](std::string_view name, int length, int vocabulary, Targets targets) {
    return Model::parse(name, {tokens(length), vocabulary, targets, vocabulary}).parameter_count();
  };
  // Reddi et al. 2021, Table 4 has one bias a gate, PyTorch two.
  CHECK(count("shakespeare-lstm", 80, 90, Targets::positions) == 820'522 + 2 * 4 * 256);
  CHECK(count("stackoverflow-lstm", 20, 10'004, Targets::positions) == 4'050'748 + 4 * 670);
  CHECK(count("leaf-lstm", 80, 80, Targets::classes) == 80 * 8 + 1024 * (8 + 256 + 2) + 1024 * (512 + 2) + 257 * 80);
  const std::size_t block = 2 * 2 * 128 + 4 * 128 * 129 + 128 * 512 + 512 + 512 * 128 + 128;
  CHECK(count("small-transformer", 20, 90, Targets::positions) == 90 * 128 + 20 * 128 + 2 * block + 2 * 128 + 129 * 90);
}

TEST_CASE("layers of sequences say what they need") {
  const ExampleForm picture{{1, 1, 9}, 3};
  CHECK_USAGE_ERROR(Model::parse("dense classes", kLast), "layer 1 'dense classes'", "tokens", "'embedding SIZE'");
  CHECK_USAGE_ERROR(Model::parse("embedding 4 | dense classes", kLast), "layer 2 'dense classes'", "'last'");
  CHECK_USAGE_ERROR(Model::parse("embedding 4 | last | dense classes", kEach), "layer 3 'dense classes'", "'last'");
  CHECK_USAGE_ERROR(Model::parse("embedding 4 | conv 8 3 | last | dense classes", kLast), "layer 2 'conv 8 3'", "sequence", "7");
  CHECK_USAGE_ERROR(Model::parse("embedding 4 | attention 3 | last | dense classes", kLast), "layer 2 'attention 3'", "4");
  CHECK_USAGE_ERROR(Model::parse("embedding 4 | flatten | dense classes", kLast), "layer 2 'flatten'", "'last'");
  CHECK_USAGE_ERROR(Model::parse("lstm 4 | last | dense classes", picture), "layer 1 'lstm 4'", "1x1x9", "'sequence'");
  CHECK_USAGE_ERROR(Model::parse("embedding 4 | last | dense classes", picture), "layer 1 'embedding 4'", "tokens");
}

}  // namespace fedstride::test::sequence_test
