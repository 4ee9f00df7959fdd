#include <atomic>
#include <string>

#include "cli/network/network_flags.hpp"
#include "core/error.hpp"
#include "core/floating_point.hpp"
#include "python/bindings.hpp"
#include "python/guard.hpp"
#include "python/own_code.hpp"
#include "sim/parties/join.hpp"

namespace fedstride::python {
namespace {

// `given`: the options that Client (python/fedstride/client.py) has checked.
py::dict join(const py::dict& given, const py::dict& functions) {
  const auto text = [&](const char* key) { return given[key].cast<std::string>(); };
  const AtWork working;
  OwnCode code(functions);
  JoinOptions options{.client = given["client"].cast<ClientId>(),
                      .connect = parse_endpoint("connect", text("connect"), false),
                      .certificates = certificates_or_loopback(text("certificates"), given["insecure_loopback"].cast<bool>()),
                      .folder = text("folder"),
                      .data = text("data"),
                      .data_dir = text("data_dir"),
                      .threads = given["threads"].cast<int>(),
                      .accept_other_builds = given["accept_other_builds"].cast<bool>(),
                      .patience = given["patience"].cast<double>(),
                      .log = network_log(given["quiet"].cast<bool>(), {text("log"), text("log_level")})};
  if (!text("require_dp").empty()) options.require_dp = make_choice<RequiredPrivacy>("require_dp", text("require_dp"));
  set_status({text("status"), text("status_token")}, options.status, options.status_token);
  const auto max_epsilon = given["max_epsilon"].cast<double>();
  if (max_epsilon > 0) options.limit = {max_epsilon, given["delta"].cast<double>()};
  if (functions.contains("training")) {
    options.train = code.training();
    if (const auto evaluate = code.evaluation())
      options.evaluate = [evaluate](const Vector& model) { return evaluate(model, EvaluatedOn::test); };
    options.prepared = [&code](const Setup& setup) { code.begin(setup); };
  }
  std::atomic<bool> stop{false};
  const MemberOutcome outcome =
      code.while_it_works([&] { return computed([&] { return join_federation(options, &stop); }, &stop); });
  py::dict told;
  told["finished"] = outcome.finished;
  told["rounds"] = outcome.rounds;
  told["model_hash"] = outcome.model_hash;
  told["updates_sent"] = outcome.answered;
  return told;
}

}  // namespace

void register_joining(py::module_& module) { module.def("join", join, py::arg("options"), py::arg("functions")); }

}  // namespace fedstride::python
