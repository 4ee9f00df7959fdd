#include "sim/settings/rules.hpp"

#include <algorithm>
#include <cmath>

#include "client/objectives/dynamic.hpp"
#include "client/objectives/plain.hpp"
#include "client/objectives/scaffold.hpp"
#include "core/text.hpp"
#include "data/datasets.hpp"
#include "data/skew/no_skew.hpp"
#include "nn/tensor_line.hpp"
#include "partitions/natural.hpp"
#include "partitions/outside_rows.hpp"
#include "partitions/own_rows.hpp"
#include "server/cohorts.hpp"
#include "server/federated_averaging.hpp"
#include "sim/settings/neighbours.hpp"
#include "sim/time/modes/fedasync.hpp"
#include "sim/time/modes/fedbuff.hpp"

namespace fedstride {
namespace {

constexpr std::int64_t kMaxPrivateEpochs = 2'000'000'000;

using C = const Configuration&;

bool is_example_level(C c) { return example_level(c.privacy) != nullptr; }
bool is_client_level(C c) { return client_level(c.privacy) != nullptr; }
bool is_central(C c) { return is_client_level(c) && client_level(c.privacy)->place().is_central; }
bool is_trusted(C c) { return is_client_level(c) && client_level(c.privacy)->place().is_trusted; }
bool is_distributed(C c) { return is_client_level(c) && client_level(c.privacy)->has_shares(); }
bool has_users(C c) { return user_level(c.privacy) != nullptr; }
const Draw& lot_draw(C c) { return draw_of(sampling_of(example_level(c.privacy)->sampling)); }
bool has_lot_curve(C c) { return is_example_level(c) && lot_draw(c).has_curve(); }
bool counts_updates(C c) { return bound_of_updates(c.privacy)->counts(); }
bool scales_updates(C c) { return bound_of_updates(c.privacy)->scales(); }
bool counts_lots(C c) { return bound_of_lots(c.privacy)->counts(); }
bool is_separated(C c) { return minimum_separation(c) > 1; }
bool is_correlated(C c) { return is_client_level(c) && !client_level(c.privacy)->unplanned().is_independent(); }
bool reads_updates(C c) { return c.aggregation->reads() == Accumulator::Keeps::updates; }
bool has_components(C c) { return is_example_level(c) && example_level(c.privacy)->has_components(); }
bool is_secure(C c) { return c.is_secure(); }
bool is_evaluated_privately(C c) { return c.is_evaluated_privately(); }
template <class P>
bool is(const ChosenPart& chosen) {
  return chosen.as<P>() != nullptr;
}
bool is_normalized(C c) { return is<FedBuff>(c.mode) && c.mode.as<FedBuff>()->normalized_staleness; }
bool has_cohort_curve(C c) { return draw_of(cohort_sampling(c)).has_curve(); }
bool has_curve(C c) { return has_lot_curve(c) || has_cohort_curve(c); }
// False if the number of clients must be read from the data.
bool has_count(C c) { return c.clients > 0; }
std::size_t clients(C c) { return static_cast<std::size_t>(c.clients); }
bool has_size(C c) { return Cohort(c.cohort)->size_setting() != nullptr; }
// True if what decides the end of a run, on validation rows or on test rows, is public or released with noise.
bool ends_by_released(C c, bool on_validation_rows) {
  return !is_private(c) ||
         (!on_validation_rows && (is_evaluated_privately(c) || is<OwnRows>(c.partition) || names_public_test(c.dataset, c)));
}
bool is_elsewhere(C c) { return is<OwnRows>(c.partition) || is<OutsideRows>(c.partition); }

const Fact kFacts[] = {
    {"updates needed", [](C c) { return std::to_string(c.aggregation->least_updates()); }},
    {"clients a round", [](C c) { return counted(most_updates(c, clients(c)), "client"); }},
    {"number of attackers", [](C c) { return number_text(attackers_among(c)); }},
    {"row mover", [](C c) { return moves_others(c); }},
    {"client mover", [](C c) { return moves_other_clients(c); }},
    {"name of the draw",
     [](C c) {
       return std::string(name_of(has_lot_curve(c) ? sampling_of(example_level(c.privacy)->sampling) : cohort_sampling(c)));
     }},
    {"budget flag", [](C c) { return std::string(is_example_level(c) ? "--client-epsilon" : "--epsilon"); }},
};

// The rules of all runs, in the order in which they are checked.
const Rule kCommonRules[] = {
    // Clients.
    {"clients", [](C c) { return !has_count(c) && !is_by_natural_clients(c); },
     "; with {partition} it must be a whole number from 1"},
    {"aggregation", [](C c) { return has_count(c) && c.aggregation->least_updates() > most_updates(c, clients(c)); },
     ", which with these settings needs {updates needed} updates per round; a round has at most {clients a round}"},
    {"attackers",
     [](C c) {
       const double count = attackers_among(c);
       return c.attack->attackers() > 0 && has_count(c) && (count < 1 || count > c.clients || count != std::floor(count));
     },
     ", which gives {number of attackers} attackers with {clients}; it must be a share below 1 that gives at least one, or a "
     "whole number up to the number of clients"},
    {"limit-per-client", [](C c) { return is_elsewhere(c) && c.limit_per_client != 0; },
     "; with {partition} the clients' rows are not here", "limit-per-client"},
    {"client-test", [](C c) { return is_elsewhere(c) && c.client_test != 0; },
     "; with {partition} the clients' rows are not here", "client-test"},
    {"normalize", [](C c) { return is_elsewhere(c) && c.normalize == Normalize::client; },
     "; with {partition} the clients' rows are not here: use given, range or none"},
    {"validation-fraction", [](C c) { return is<OutsideRows>(c.partition) && c.validation_fraction != 0; },
     "; with {partition} there are no rows here", "validation-fraction"},
    {"metrics", [](C c) { return c.metrics && is_tensor_line(c.model); }, "; your own code tests the model"},
    {"metrics", [](C c) { return c.metrics && is_evaluated_privately(c); },
     "; with {evaluate} only accuracy and loss are released", "evaluate"},
    {"evaluate-rows", [](C c) { return is<OutsideRows>(c.partition) && c.evaluate_rows != 0; },
     "; with {partition} there are no rows here", "evaluate-rows"},
    {"model", [](C c) { return is<OutsideRows>(c.partition) && !is_tensor_line(c.model); },
     ", whose layers need examples, and {partition} has none here: use a model of tensors (parameters)"},
    {"init", [](C c) { return is_tensor_line(c.model) && c.init.empty(); },
     "; a model of tensors needs a file with its initial values"},

    {"leave-out",
     [](C c) {
       return std::ranges::any_of(c.leave_out.clients, [&](const LeaveOut::Client& one) {
         return (has_count(c) && one.client >= clients(c)) || one.from > static_cast<std::uint32_t>(c.rounds);
       });
     },
     "; with {clients} and {rounds} it can name clients from 0, each with a round up to the last"},
    {"leave-out", [](C c) { return c.leave_out.is_set() && has_time(c); },
     "; in virtual time the order in which clients are asked depends on their answers", "leave-out devices"},
    {"leave-out", [](C c) { return c.leave_out.is_set() && is_secure(c); },
     "; {secure-aggregation} is planned for the whole cohort", "leave-out secure-aggregation"},

    // Local work.
    {"local-steps", [](C c) { return c.local_steps > 0 && c.local_epochs != 1; },
     " with {local-epochs}; only one of them can set how much a client trains: leave local-epochs at 1"},
    {"client-state", [](C c) { return c.client_state == ClientStateRule::keep && !c.optimizer->has_state(); },
     "; {optimizer} has no state to keep", "optimizer"},
    {"local-steps", [](C c) { return c.local_steps > 0 && is_example_level(c) && lot_draw(c).has_passes(); },
     "; with {sampling} an epoch is a pass over a client's rows", "sampling"},

    // Local objectives.
    {"local-objective", [](C c) { return c.objective->needs_reach() && !c.optimizer->follows(); },
     ", which divides by the total length of a client's steps; the steps of {optimizer} are not proportional to its gradients",
     "optimizer scaffold-option"},
    {"local-objective", [](C c) { return c.objective->needs_reach() && keeps_state(c) && !c.optimizer->keeps_state(); },
     ", which divides by the total length of a client's steps in a round; with {client-state}, {optimizer} carries momentum over "
     "from earlier rounds",
     "client-state optimizer scaffold-option"},
    {"local-objective", [](C c) { return c.objective->needs_start() && is_example_level(c); },
     ", which uses gradients or losses of the received model that no noisy release covers; {dp} protects examples",
     "scaffold-option"},
    {"local-objective", [](C c) { return c.objective->scales() && is_client_level(c); },
     ", whose clients also send the server a number that no release covers; {dp} protects clients"},
    {"server-optimizer", [](C c) { return c.server->measures() && c.aggregation->reads() == Accumulator::Keeps::updates; },
     ", which compares the lengths of the updates with that of their mean; {aggregation} does not return their mean",
     "aggregation"},
    {"scaffold-controls",
     [](C c) {
       const auto* scaffold = c.objective.as<Scaffold>();
       return scaffold != nullptr && scaffold->controls == ScaffoldControls::equal && weighs_examples(c) && reads_updates(c);
     },
     ", which makes clients divide their control variates by their weights; {aggregation} compares what they send",
     "weights aggregation"},
    {"server-schedule", [](C c) { return is<Dynamic>(c.objective) && c.server_schedule != ServerScheduleShape::constant; },
     "; {local-objective} has its own server step, which no schedule changes", "local-objective"},
    {"server-optimizer", [](C c) { return is<Dynamic>(c.objective) && !is<FederatedAveraging>(c.server); },
     "; {local-objective} has its own server step, which takes the mean update as it is", "local-objective"},

    {"optimizer", [](C c) { return c.optimizer->reads_losses() && (c.objective->pull() != 0 || c.objective->has_fixed()); },
     ", which divides the loss of a batch by the squared norm of its gradient; {local-objective} changes only the gradient",
     "local-objective"},
    {"optimizer", [](C c) { return c.optimizer->reads_losses() && c.personal->pull() != 0; },
     ", which divides the loss of a batch by the squared norm of its gradient; {personal} changes only the gradient", "personal"},

    // Compression.
    {"error-feedback", [](C c) { return c.error_feedback != ErrorFeedback::none && !c.compress_up->codes(); },
     "; with {compress-up} nothing is lost that could be added to a later update", "compress-up"},
    {"error-feedback", [](C c) { return c.error_feedback != ErrorFeedback::none && !c.compress_up->suits_feedback(); },
     ", but what {compress-up} loses of an update can be longer than the update, so the kept error would grow from round to "
     "round",
     "compress-up"},
    {"compress-down", [](C c) { return c.compress_down->codes() && c.objective->hears(); },
     ", which codes only changes of the model; {local-objective} sends clients a second vector", "local-objective"},
    {"compress-down", [](C c) { return c.compress_down->codes() && !c.compress_down->suits_feedback(); },
     ", whose error can be longer than the change itself, and each change also carries the error of the last: the clients' model "
     "would drift away from the server's"},
    {"attack", [](C c) { return c.attack->conspires() && c.compress_up->codes(); },
     ", whose clients choose what the server sums; with {compress-up} it sums what a code decodes to", "compress-up"},

    {"compress-down", [](C c) { return c.compress_down->codes() && c.mode->is_asynchronous(); },
     ", which codes the change from round to round; with {mode} clients hold models of different rounds", "mode"},

    // Virtual time.
    {"mode", [](C c) { return c.mode->is_asynchronous() && !has_time(c); },
     ", which needs the times of tasks; with {devices} there are none", "devices"},
    {"availability", [](C c) { return !c.availability->is_always() && !has_time(c); },
     "; with {devices} there is no virtual time", "devices"},
    {"deadline", [](C c) { return c.deadline > 0 && !has_time(c); }, "; with {devices} there is no virtual time",
     "devices deadline"},
    {"timeline", [](C c) { return !c.timeline.empty() && !has_time(c); }, "; with {devices} there is no virtual time", "devices"},
    {"over-selection", [](C c) { return c.mode->over_selection() > 1 && !has_time(c); },
     "; with {devices} all clients arrive at once", "devices over-selection"},
    {"minimum-arrivals", [](C c) { return c.mode->minimum_arrivals() != 1 && !has_time(c); },
     "; with {devices} there is no virtual time", "devices minimum-arrivals"},
    {"over-selection", [](C c) { return c.mode->over_selection() > 1 && !has_size(c); },
     ", which asks more clients than cohort-size; {cohort} has no such size", "cohort over-selection"},
    {"when-away", [](C c) { return c.availability->when_away() == WhenAway::deadline && c.deadline == 0; },
     "; without a deadline the server never notices (--deadline)"},
    {"cohort", [](C c) { return !c.availability->is_always() && is<TraceCohort>(c.cohort); },
     ", whose file determines which clients are available; so does {availability}", "availability"},
    {"cohort", [](C c) { return c.mode->is_asynchronous() && !is<AllClients>(c.cohort); },
     ", which draws the clients of a round; with {mode} a client, drawn uniformly, begins when another ends", "mode"},
    {"buffer", [](C c) { return c.mode->concurrency() > 0 && c.mode->buffer() > c.mode->concurrency(); },
     "; it must be at most {concurrency}: a client is in a buffer at most once", "buffer"},
    {"concurrency", [](C c) { return has_count(c) && c.mode->concurrency() > c.clients; },
     "; it must be at most the number of clients, {clients}", "concurrency"},
    {"normalized-staleness", [](C c) { return is_normalized(c) && reads_updates(c); },
     ", which divides a sum by its weights; {aggregation} computes no sum", "aggregation"},
    {"local-objective",
     [](C c) { return c.mode->is_asynchronous() && (c.objective->keeps() || c.objective->sends() || c.objective->scales()); },
     ", whose server compares clients that began from the same model; with {mode} they begin from different ones", "mode"},
    {"server-optimizer", [](C c) { return c.mode->is_asynchronous() && c.server->measures(); },
     ", which compares the lengths of updates from the same model; with {mode} they begin from different ones", "mode"},
    {"mode", [](C c) { return c.mode->is_asynchronous() && is_example_level(c); },
     ", whose clients count their own rounds, so {dp} cannot charge their releases by round"},
    {"mode", [](C c) { return is<FedAsync>(c.mode) && is_private(c); },
     ", which shows the server one client's model at a time; under {dp} nobody may see individual models"},
    {"mode", [](C c) { return c.mode->is_asynchronous() && is_client_level(c) && !is_central(c); },
     "; with {client-noise} a client's releases are counted by rounds, which an asynchronous run does not have", "client-noise"},
    {"normalized-staleness", [](C c) { return is_normalized(c) && is_client_level(c); },
     "; under {dp} a sum is divided by a constant", "normalized-staleness"},
    {"optimizer", [](C c) { return c.mode->is_asynchronous() && c.optimizer->pools() && is_private(c); },
     ", whose statistics would be measured at different versions with {mode}; under {dp} they are bounded for a single version",
     "mode"},
    {"availability",
     [](C c) { return !c.availability->is_always() && is_example_level(c) && !is_client_level(c) && !is<AllClients>(c.cohort); },
     "; under {dp} clients are charged for a cohort drawn from all clients, but {cohort} would be drawn from the available ones",
     "cohort"},

    // Personal models.
    {"personal", [](C c) { return !c.personal->layers().empty() && !is<Plain>(c.objective); },
     ", whose clients send no updates for some layers; {local-objective} needs updates for all layers", "local-objective"},
    {"local-first", [](C c) { return !c.personal->layers().empty() && c.personal->local_first() >= c.local_epochs; },
     "; with {local-epochs} the shared layers would never train: it must be smaller than local-epochs"},

    // Privacy: noise, budgets, publishing.
    {"checkpoint-every", [](C c) { return c.checkpoint_every > 1 && is_private(c); },
     "; under {dp} the ledger and the checkpoint must cover the same rounds", "checkpoint-every"},
    {"keep-checkpoints", [](C c) { return c.keep_checkpoints > 0 && is_private(c); },
     "; a run under {dp} is repeated from its start, as its ledger is", "keep-checkpoints"},
    {"keep-checkpoints", [](C c) { return c.keep_checkpoints > 0 && has_time(c); },
     "; a run in virtual time is repeated from its start", "keep-checkpoints devices"},
    {"epsilon",
     [](C c) {
       const ExampleSettings* level = example_level(c.privacy);
       return level != nullptr && level->noise_multiplier == 0 && level->epsilon == 0;
     },
     " with {noise-multiplier}; under privacy one of them must be above 0: a budget, to which noise is calibrated, or the noise "
     "(no privacy is dp none)"},
    {"client-epsilon",
     [](C c) {
       const ClientSettings* level = client_level(c.privacy);
       return level != nullptr && level->noise_multiplier == 0 && level->epsilon == 0;
     },
     " with {client-noise-multiplier}; under privacy one of them must be above 0: a budget, to which noise is calibrated, or the "
     "noise (no privacy is dp none)"},
    {"rounds", [](C c) { return is_example_level(c) && std::int64_t{c.rounds} * c.local_epochs > kMaxPrivateEpochs; },
     "; under {dp} its product with {local-epochs} must be at most 2000000000"},
    {"randomness", [](C c) { return c.randomness == Randomness::secret && !is_private(c); },
     "; with {dp} there is no noise, and nothing is drawn in secret", "dp randomness"},
    {"stop-at", [](C c) { return c.stop_at.part == "validation" && c.validation_fraction == 0; },
     "; there are no validation rows: set --validation-fraction"},
    {"stop-at", [](C c) { return c.stop_at.is_set() && !ends_by_released(c, c.stop_at.part == "validation"); },
     "; under {dp} a run may end only by what is released: test rows with --public-test or --evaluate private", "dp"},
    {"patience", [](C c) { return c.patience > 0 && !ends_by_released(c, c.validation_fraction > 0); },
     "; under {dp} a run may end only by what is released: test rows with --public-test or --evaluate private, without "
     "{validation-"
     "fraction}",
     "dp"},
    {"budget", [](C c) { return !c.budget.empty() && !is_private(c); }, "; with {dp} nothing is spent", "dp"},
    {"budget", [](C c) { return !c.budget.empty() && is_elsewhere(c); },
     "; {partition} leaves the rows with the clients, each of whom keeps its own record: fedstride join --budget", "partition"},
    {"max-epsilon", [](C c) { return c.max_epsilon > 0 && !is_private(c); }, "; with {dp} epsilon is unbounded", "dp"},
    {"max-epsilon", [](C c) { return c.max_epsilon > 0 && is_elsewhere(c); },
     "; {partition} leaves the rows with the clients, each of whom has its own limit: fedstride join --max-epsilon", "partition"},
    {"publishable", [](C c) { return c.publishable && !is_private(c); },
     " with {dp}; only what a privacy guarantee covers may be published: set --dp"},
    {"publishable", [](C c) { return c.publishable && c.randomness == Randomness::seeded; },
     " with {randomness}; the seed is stored with the results and reveals the noise", "randomness"},
    {"normalize-noise", [](C c) { return c.is_normalized_privately() && is_private(c) && c.normalize_noise == 0; },
     "; with {normalize} it must be a number above 0, the noise multiplier of that release"},

    {"normalize-clip", [](C c) { return !c.normalize_clip.empty() && !c.is_normalized_privately(); },
     "; it bounds a release, which {normalize} does not make", "normalize"},
    {"normalize-clip", [](C c) { return !c.normalize_clip.empty() && !c.range.empty(); }, "; {range} bounds the release already",
     "range"},

    {"missing", [](C c) { return is_private(c) && (c.missing == Missing::drop || c.missing == Missing::error); },
     "; under {dp} no row may be left out or refused because of its contents"},

    // Privacy: neighbor relations for which a guarantee can hold.
    {"neighbours",
     [](C c) { return is_example_level(c) && is_dealt_by_contents(c) && example_neighbours(c) == Neighbours::replace_one; },
     ", which means replace-one with {sampling}; {partition} assigns rows by their contents, so that replacing one moves others, "
     "unless the assignment is fixed beforehand (fedstride partition --out FILE, then --partition file)",
     "sampling partition"},
    {"neighbours",
     [](C c) {
       const ExampleSettings* level = example_level(c.privacy);
       return level != nullptr && level->neighbours == NeighboursChoice::add_remove && !moves_others(c).empty();
     },
     "; {row mover}, so that adding a row moves others"},
    {"client-neighbours",
     [](C c) { return is_central(c) && is_dealt_by_contents(c) && client_neighbours(c) == Neighbours::replace_one; },
     "; {partition} assigns rows by their contents, so that replacing one moves others, unless the assignment is fixed "
     "beforehand (fedstride partition --out FILE, then --partition file)",
     "partition"},
    {"client-neighbours",
     [](C c) { return is_central(c) && client_neighbours(c) == Neighbours::add_remove && !moves_other_clients(c).empty(); },
     "; {client mover}", "cohort attack"},

    // Privacy: users inside clients, whose only releases are lots.
    {"dp", [](C c) { return has_users(c) && user_level(c.privacy)->user_column.empty() && is<Natural>(c.partition); },
     "; with {partition} every client is one user: name the users' column (--user-column)", "dp"},
    {"normalize", [](C c) { return c.is_normalized_privately() && has_users(c); },
     ", whose release counts rows one by one; {dp} protects users"},
    {"evaluate", [](C c) { return is_evaluated_privately(c) && has_users(c); },
     ", whose releases count rows one by one; {dp} protects users"},

    // Privacy: draws that have their own privacy curve, which covers only equal releases.
    {"neighbours", [](C c) { return has_lot_curve(c) && !lot_draw(c).has_bound(example_neighbours(c)); },
     "; with {sampling} no bound is proven for that relation", "sampling"},
    {"clip-schedule", [](C c) { return has_lot_curve(c) && example_level(c.privacy)->clip_schedule != ClipSchedule::constant; },
     "; with {sampling} all releases must have the same noise", "sampling"},
    {"noise-schedule",
     [](C c) { return has_lot_curve(c) && example_level(c.privacy)->noise_schedule != NoiseSchedule::constant; },
     "; with {sampling} all releases must have the same noise", "sampling"},
    {"private-components", [](C c) { return has_lot_curve(c) && has_components(c); },
     "; their release has no proven bound together with those under {sampling}", "private-components sampling"},
    {"client-neighbours", [](C c) { return has_cohort_curve(c) && !draw_of(cohort_sampling(c)).has_bound(client_neighbours(c)); },
     "; with {cohort} no bound is proven for that relation", "cohort"},
    {"cohort", [](C c) { return has_cohort_curve(c) && is_secure(c); },
     ", whose amplification holds only if nobody sees who is in a round; with {secure-aggregation} its clients see each other",
     "secure-aggregation"},
    {"normalize", [](C c) { return c.is_normalized_privately() && has_curve(c); },
     ", whose release has no proven bound together with {name of the draw}", "sampling cohort"},
    {"evaluate", [](C c) { return is_evaluated_privately(c) && has_curve(c); },
     ", whose releases have no proven bound together with {name of the draw}", "sampling cohort"},

    // Privacy: parts that use data that no release covers.
    {"optimizer", [](C c) { return c.optimizer->reads_losses() && is_example_level(c); },
     ", which reads the loss of each batch, and no release covers that; {dp} protects examples"},
    {"optimizer", [](C c) { return c.optimizer->pools() && is_client_level(c) && !is_central(c); },
     ", whose clients send a statistic of their steps besides the update; with {client-noise} no release covers it",
     "client-noise"},
    {"server-optimizer", [](C c) { return c.server->measures() && is_client_level(c) && !is_central(c); },
     ", which needs the mean length of the clients' updates; with {client-noise} no release covers it", "client-noise"},
    {"cohort", [](C c) { return c.cohort->asks_for_losses() && is_private(c); },
     ", which selects clients by their losses; under {dp} no release covers these"},
    {"max-update-norm", [](C c) { return c.bounds_updates() && is_central(c); },
     "; under {dp} every update is already clipped to the norm in clip", "max-update-norm"},
    {"aggregation", [](C c) { return reads_updates(c) && is_central(c); },
     ", which reads each client's update; under {dp} nobody may see individual updates", "client-noise"},
    {"attack", [](C c) { return c.attack->conspires() && is_central(c); },
     ", which reads each client's update; under {dp} nobody may see individual updates", "client-noise"},

    {"clip-rule", [](C c) { return counts_updates(c) && !is_central(c); },
     ", which needs the count of updates within the bound; with {client-noise} no release covers it", "client-noise"},
    {"clip-rule", [](C c) { return counts_updates(c) && client_level(c.privacy)->clip_per == ClipPer::layer; },
     ", which follows the norms of whole updates; with {clip-per} each tensor is clipped to its own share", "clip-per"},
    {"clip-rule", [](C c) { return counts_updates(c) && c.optimizer->is_told(); },
     ", whose bound depends on the clients' steps; the steps of {optimizer} depend on what was released under that bound",
     "optimizer"},
    {"clip-rule", [](C c) { return counts_updates(c) && c.mode->is_asynchronous(); },
     ", which counts the clients of one round; {mode} has no rounds, and scales their updates", "mode"},
    {"clip-rule", [](C c) { return counts_updates(c) && is_secure(c); },
     ", whose coordinator counts updates that are within the bound; with {secure-aggregation} it sees none",
     "secure-aggregation"},

    {"clip-rule", [](C c) { return scales_updates(c) && c.server->measures(); },
     ", which makes all updates equally long; {server-optimizer} measures their lengths", "server-optimizer"},
    {"clip-rule", [](C c) { return scales_updates(c) && c.objective->sends(); },
     ", which scales all that a client sends; the control variates of {local-objective} must not be scaled", "local-objective"},
    {"clip-rule", [](C c) { return !bound_of_lots(c.privacy)->is_for_lots(); },
     ", which is for clients' updates; {dp} clips examples' gradients", "dp"},
    {"server-schedule", [](C c) { return c.has_noise_server() && !is_client_level(c); },
     ", whose rate follows from the noise on clients' updates; with {dp} there is none", "dp"},
    {"server-schedule", [](C c) { return c.has_noise_server() && !is<FederatedAveraging>(c.server); },
     ", whose rate is that of the mean update; {server-optimizer} makes steps of other lengths", "server-optimizer"},
    {"server-schedule", [](C c) { return c.has_noise_server() && counts_updates(c); },
     ", whose rate is planned for one bound; with {clip-rule} each round has its own", "clip-rule"},

    {"clip-schedule", [](C c) { return counts_lots(c) && example_level(c.privacy)->clip_schedule != ClipSchedule::constant; },
     "; with {clip-rule} the bound depends on counts of examples", "clip-rule"},
    {"noise-schedule", [](C c) { return counts_lots(c) && example_level(c.privacy)->noise_schedule != NoiseSchedule::constant; },
     "; with {clip-rule} each lot's noise is split between its sum and its count by one rule", "clip-rule"},
    {"clip-rule", [](C c) { return counts_lots(c) && is_secure(c); },
     ", whose coordinator reads each client's count; with {secure-aggregation} it sees none", "secure-aggregation"},

    {"noise-mechanism", [](C c) { return is_correlated(c) && !client_level(c.privacy)->place().correlates; },
     ", whose noise the coordinator computes from that of earlier rounds; {client-noise} does not allow that", "client-noise"},
    {"noise-mechanism", [](C c) { return is_correlated(c) && counts_updates(c); },
     ", whose rounds share noise in proportion to one bound; with {clip-rule} each round has its own", "clip-rule"},
    {"minimum-separation", [](C c) { return is_separated(c) && has_time(c) && !c.mode->is_asynchronous(); },
     ", so a round asks one group; with {devices} it asks the available clients", "devices minimum-separation mode"},
    {"minimum-separation", [](C c) { return is_separated(c) && is_secure(c); },
     ", so a round asks one group; {secure-aggregation} is planned for the whole cohort",
     "secure-aggregation minimum-separation"},
    {"minimum-separation", [](C c) { return is_separated(c) && minimum_separation(c) > static_cast<std::uint64_t>(c.rounds); },
     "; it must be at most {rounds}, or some clients would never be asked", "minimum-separation"},
    {"cohort", [](C c) { return is_separated(c) && !is<AllClients>(c.cohort) && !is<PoissonCohort>(c.cohort); },
     ", which draws from all clients; with {minimum-separation} a round asks one group of them, drawing each client separately",
     "minimum-separation"},

    // Secure aggregation: parts that read individual updates or reports, or results that cannot be checked.
    {"aggregation", [](C c) { return is_secure(c) && reads_updates(c); },
     ", which reads each client's update; with {secure-aggregation} the server sees only their sum", "secure-aggregation"},
    {"attack", [](C c) { return is_secure(c) && c.attack->conspires(); },
     ", which reads each client's update; with {secure-aggregation} the server sees only their sum", "secure-aggregation"},
    {"local-objective", [](C c) { return is_secure(c) && c.objective->scales(); },
     ", whose clients each send the server a number; with {secure-aggregation} it sees only their sum", "secure-aggregation"},
    {"cohort", [](C c) { return is_secure(c) && c.cohort->asks_for_losses(); },
     ", which selects clients by their losses; with {secure-aggregation} the server sees no individual losses",
     "secure-aggregation"},
    {"personal", [](C c) { return is_secure(c) && c.personal->makes(); },
     ", whose clients each report a test result; with {secure-aggregation} the server sees no individual reports",
     "secure-aggregation"},
    {"max-update-norm", [](C c) { return is_secure(c) && c.bounds_updates(); },
     "; with {secure-aggregation} nobody can measure an individual update", "max-update-norm secure-aggregation"},
    {"devices", [](C c) { return is_secure(c) && has_time(c); },
     ", with which clients can be late; with {secure-aggregation} dropouts are drawn by secure-leaving", "secure-aggregation"},
    {"compress-up", [](C c) { return is_secure(c) && c.compress_up->codes(); },
     ", whose codes differ by client; with {secure-aggregation} they could not be added under masks", "secure-aggregation"},
    {"secure-grid", [](C c) { return is_secure(c) && !c.secure_grid.empty() && is_trusted(c); },
     "; under {dp} clipped updates must not become longer by rounding", "client-noise"},

    // Noise that clients add in shares.
    {"client-noise", [](C c) { return is_distributed(c) && !is_secure(c); },
     "; with {secure-aggregation} the coordinator would see every update, protected by its own share of the noise alone",
     "secure-aggregation"},
    {"weights", [](C c) { return is_distributed(c) && weighs_examples(c); },
     ", which counts updates differently; with {client-noise} each counts once"},
    {"cohort", [](C c) { return is_distributed(c) && c.cohort->sampling() != Sampling::full; },
     ", whose rounds may have fewer clients than {client-noise} needs for its noise"},

    // Privacy: principal components.
    {"clients", [](C c) { return has_components(c) && has_count(c) && c.clients != 1; },
     "; {private-components} needs a single client's data: it must be 1", "private-components"},
    {"augment", [](C c) { return has_components(c) && c.augment != Augmentation::none; },
     ", which needs images; {private-components} replaces them", "private-components"},
    {"feature-skew", [](C c) { return has_components(c) && !is<NoSkew>(c.feature_skew); },
     ", which changes inputs; {private-components} replaces them", "private-components"},
    {"components-noise", [](C c) { return has_components(c) && example_level(c.privacy)->components_noise == 0; },
     "; with {private-components} it must be a number above 0"},

    // Private evaluation.
    {"evaluate", [](C c) { return is_evaluated_privately(c) && !is_private(c); }, "; with {dp} nothing is protected"},
    {"evaluate", [](C c) { return is_evaluated_privately(c) && c.evaluate_noise == 0; },
     "; evaluate-noise, the noise multiplier of each evaluation, is 0; it must be a number above 0"},
    {"evaluate", [](C c) { return is_evaluated_privately(c) && c.evaluate_rows > 0; },
     ", which needs all protected test rows; {evaluate-rows} leaves some out", "evaluate-rows"},
    {"evaluate", [](C c) { return is_evaluated_privately(c) && is_tensor_line(c.model); },
     "; your own code tests the model, and no release covers that"},
    {"evaluate", [](C c) { return is_evaluated_privately(c) && is_client_level(c) && !is_trusted(c); },
     "; with {client-noise} no single party is trusted to add the noise"},
};

// Rules for runs whose clients are trained by user code.
const Rule kOwnCodeRules[] = {
    {"dp", has_users, "; your own code trains the clients, and its lots have no users"},
    {"dp", [](C c) { return is_example_level(c) && !is_clipped_outside(c); },
     "; your own code trains the clients, and under example-level privacy it must declare that it takes every gradient from "
     "Task.lots() (fedstride.uses_clipped_sum)"},
    {"clip-rule", counts_lots, ", which counts the gradients within the bound; your own code computes them", "clip-rule"},
    {"local-objective", [](C c) { return !is<Plain>(c.objective); },
     "; your own code trains the clients and would have to implement it"},
    {"personal", [](C c) { return c.personal->makes(); }, "; your own code trains the clients and would have to implement it"},
    {"optimizer", [](C c) { return c.optimizer->pools(); }, ", which pools statistics of steps; your own code makes the steps"},
    {"attack", [](C c) { return c.attack->attackers() > 0 && !c.attack->conspires(); },
     ", which is part of training; your own code trains the clients"},
    {"augment", [](C c) { return c.augment != Augmentation::none; },
     "; your own code trains the clients and would have to implement it"},
    {"error-feedback", [](C c) { return c.error_feedback != ErrorFeedback::none; },
     "; your own code trains the clients, and the states that it returns cannot hold the kept error", "error-feedback"},
    {"freeze", [](C c) { return !c.freeze.empty(); }, "; your own code trains the clients and would have to implement it",
     "freeze"},
    {"client-test", [](C c) { return is_tensor_line(c.model) && c.client_test != 0; },
     "; a model of tensors cannot be tested here", "client-test"},
};

constexpr std::string_view kNeedsCode =
    "; that needs your own training code: fedstride.run(train=...) in Python (docs/python.md), or 'fedstride serve'";
const Rule kNoCodeRules[] = {
    {"partition", [](C c) { return is<OutsideRows>(c.partition); }, kNeedsCode},
    {"model", [](C c) { return is_tensor_line(c.model); }, kNeedsCode},
    {"code", [](C c) { return is_trained_outside(c); }, kNeedsCode},
};

const Rule kLocalRowsRules[] = {
    {"partition", [](C c) { return is<OwnRows>(c.partition); },
     ": the clients bring their rows, and only 'fedstride serve' can coordinate them"},
    {"cohort",
     [](C c) {
       constexpr std::size_t kFewest = 3;  // as in secagg/plan.cpp
       return is_secure(c) && has_count(c) && c.cohort->is_independent() && !is<AllClients>(c.cohort) &&
              c.cohort->least(clients(c)) < kFewest;
     },
     ", with which a round may have fewer than the 3 clients that {secure-aggregation} needs: use more clients, a larger share "
     "of them, or cohort 'fixed'",
     "secure-aggregation"},
};

const Rule kNetworkRules[] = {
    {"dp", [](C c) { return has_users(c) && !is<OwnRows>(c.partition); },
     "; over a network the users of other clients' rows are unknown: use 'fedstride run', or partition 'own', whose roster "
     "counts "
     "them"},
    {"secure-aggregation", [](C c) { return c.secure_aggregation == SecureAggregation::ring; },
     ", which masks nothing, so a coordinator over a network would see every update; use 'real'"},
    {"secure-leaving", [](C c) { return is_secure(c) && c.secure_leaving > 0; },
     "; over a network clients are not simulated, and drop out by themselves", "secure-aggregation secure-leaving"},
    {"out", [](C c) { return c.out.empty(); }, "; serve needs a folder (--out), so that a restarted coordinator can continue"},
    {"private-components", has_components, "; over a network nobody has all clients' rows to compute them from",
     "private-components"},
    {"normalize", [](C c) { return c.is_normalized_privately(); },
     "; over a network nobody has all clients' rows to compute the mean and deviation from"},
    {"public-data", [](C c) { return !c.public_data.empty() && !is<OwnRows>(c.partition); },
     ", a file that the clients do not have; over a network give its facts as settings (--classes, --mean, --deviation, "
     "--vocabulary), or put it into the data file itself"},
    {"words", [](C c) { return !c.words.empty(); },
     ", a file that the clients do not have; over a network give its facts as settings (--vocabulary), or put it into the data "
     "file itself"},
    {"error-feedback", [](C c) { return c.error_feedback == ErrorFeedback::ef21; },
     "; over a network the coordinator would have to keep what every client has sent so far", "error-feedback"},
    {"evaluate", is_evaluated_privately, "; over a network the clients' own ledgers would miss its releases"},
    {"checkpoint-every", [](C c) { return c.checkpoint_every > 1; },
     "; over a network a client's folder can go back one round only", "checkpoint-every"},
};

}  // namespace

std::span<const Fact> rule_facts() { return kFacts; }

std::span<const Rule> rules(RuleScope scope) {
  switch (scope) {
    case RuleScope::anywhere:
      break;
    case RuleScope::own_code:
      return kOwnCodeRules;
    case RuleScope::no_code:
      return kNoCodeRules;
    case RuleScope::rows_here:
      return kLocalRowsRules;
    case RuleScope::network:
      return kNetworkRules;
  }
  return kCommonRules;
}

}  // namespace fedstride
