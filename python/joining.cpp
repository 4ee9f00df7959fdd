#include <atomic>
#include <string>

#include "cli/network/network_log.hpp"
#include "cli/network/serve_flags.hpp"
#include "core/error.hpp"
#include "core/floating_point.hpp"
#include "python/bindings.hpp"
#include "python/guard.hpp"
#include "python/own_code.hpp"
#include "run/networked/join.hpp"

namespace fedstride::python {
namespace {

struct Places {
  std::string connect, certificates, folder, data, data_dir;
};

py::dict join(ClientId client, const Places& places, bool insecure_loopback, int threads, double patience,
              const std::string& require_dp, double max_epsilon, double delta, bool accept_other_builds, bool quiet,
              const py::dict& functions) {
  OwnCode code(functions);
  JoinOptions options{.client = client,
                      .connect = parse_endpoint("connect", places.connect, false),
                      .certificates = certificates_or_loopback(places.certificates, insecure_loopback),
                      .folder = places.folder,
                      .data = places.data,
                      .data_dir = places.data_dir,
                      .threads = threads,
                      .accept_other_builds = accept_other_builds,
                      .patience = patience,
                      .log = network_log(quiet)};
  if (!require_dp.empty()) options.require_dp = make_choice<RequiredPrivacy>("require_dp", require_dp);
  if (max_epsilon > 0) options.limit = {max_epsilon, delta};
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

void register_joining(py::module_& module) {
  module.def("join", [](ClientId client, std::string connect, std::string certificates, bool insecure_loopback,
                        std::string folder, std::string data, std::string data_dir, int threads, double patience,
                        const std::string& require_dp, double max_epsilon, double delta, bool accept_other_builds, bool quiet,
                        const py::dict& functions) {
    return join(client, {std::move(connect), std::move(certificates), std::move(folder), std::move(data), std::move(data_dir)},
                insecure_loopback, threads, patience, require_dp, max_epsilon, delta, accept_other_builds, quiet, functions);
  });
}

}  // namespace fedstride::python
