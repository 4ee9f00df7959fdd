#include "sim/net/secure_round.hpp"

#include <algorithm>
#include <asio.hpp>
#include <sstream>
#include <utility>

#include "core/error.hpp"
#include "core/files.hpp"
#include "core/text.hpp"
#include "sim/net/timer.hpp"

namespace fedstride {
namespace {

constexpr std::string_view kSurvivorsKind = "fedstride survivors 1";

}  // namespace

struct SecureRound::Timer {
  explicit Timer(asio::io_context& io) : stage(io) {}
  asio::steady_timer stage;
};

std::string SigningKeys::objection(ClientId client, const Ready& ready) {
  const std::string who = "client " + std::to_string(client);
  if (ready.signing_key.size() != 64 || ready.signing_key.find_first_not_of("0123456789abcdef") != std::string::npos)
    return who + " announces no signing key, which secure aggregation needs";
  secagg::Bytes32 key{};
  for (std::size_t i = 0; i < key.size(); ++i)
    key[i] = static_cast<std::uint8_t>(std::stoul(ready.signing_key.substr(2 * i, 2), nullptr, 16));
  Known& known = keys_[client];
  if (known.is_known && known.key != key)
    return who + " has a different signing key than before; start it with the folder it used before";
  if (terms_.key_objection && ready.key_proof.size() > secagg::kMaxProof)
    return who + " sent a key proof of " + std::to_string(ready.key_proof.size()) + " bytes; it can have at most " +
           std::to_string(secagg::kMaxProof) + ", the most that other clients accept";
  if (terms_.key_objection)
    if (std::string why = terms_.key_objection(client, key, ready.key_proof); !why.empty()) return why;
  known = {true, key, terms_.key_objection ? ready.key_proof : std::string()};
  return {};
}

SecureRound::SecureRound(asio::io_context& io, Terms terms, SecureSum& sum, const SigningKeys& keys, Reception& reception,
                         NetworkLog log, Calls calls)
    : terms_(std::move(terms)),
      sum_(sum),
      keys_(keys),
      reception_(reception),
      log_(std::move(log)),
      calls_(std::move(calls)),
      timer_(std::make_shared<Timer>(io)) {}

SecureRound::~SecureRound() = default;

std::vector<ClientId> SecureRound::take_part(const std::vector<ClientId>& cohort) {
  planned_ = static_cast<std::uint32_t>(cohort.size());
  try {
    minimum_ = sum_.rules().plan(planned_).minimum;
  } catch (const Error&) {  // impossible for this cohort; the attempt will report why
  }
  std::vector<ClientId> all = cohort;
  std::ranges::sort(all);
  std::error_code error;
  if (terms_.survivors.empty() || !std::filesystem::exists(terms_.survivors, error)) return all;
  std::istringstream text(read_sealed(terms_.survivors, kSurvivorsKind, "a list of survivors"));
  std::uint32_t number = 0;
  text >> number;
  if (number != terms_.number) return all;
  for (ClientId client = 0; text >> client;) kept_.push_back(client);
  if (kept_.size() < cohort.size())
    log_.warn("round " + std::to_string(terms_.number) + " was unmasked before, without " +
              counted(cohort.size() - kept_.size(), "client") + ": it is repeated with the same clients");
  return kept_;
}

void SecureRound::keep_survivors(const std::vector<ClientId>& clients) {
  kept_ = clients;
  if (terms_.survivors.empty()) return;
  std::string text = std::to_string(terms_.number);
  for (const ClientId client : clients) text += " " + std::to_string(client);
  write_sealed(terms_.survivors, kSurvivorsKind, text);
}

void SecureRound::trained(ClientId client, ClientReport report, bool failed) {
  if (failed) {
    report.failure =
        "it sent no update: its training diverged, its own code failed, or it has a number beyond the range of secure-grid";
    log_.warn("round " + std::to_string(terms_.number) + ", client " + std::to_string(client) + ": " + report.failure);
  }
  trained_[client] = std::move(report);
}

void SecureRound::begin() {
  if (attempt_) return;
  secagg::Invitation invitation{.planned = planned_};
  for (const auto& [client, report] : trained_)
    if (report.failure.empty() && (kept_.empty() || std::ranges::binary_search(kept_, client)))
      invitation.members.push_back(keys_.invited(client));
  try {
    secagg::Session session =
        secure_session(sum_.rules(), terms_.number, terms_.model_hash, terms_.told, planned_, sum_.length());
    for (const auto& invited : invitation.members) session.cohort.push_back(invited.member);
    if (!kept_.empty() && invitation.members.size() < kept_.size())
      throw failure("a client of the sum that was unmasked before is missing, and nothing else may be revealed");
    if (invitation.members.size() < session.plan.minimum)
      throw failure(counted(invitation.members.size(), "client") + " trained; secure aggregation needs " +
                    std::to_string(session.plan.minimum) + ", and nothing is revealed");
    for (const auto& invited : invitation.members) reception_.allow_attempt(invited.member.client);
    attempt_ =
        std::make_unique<SecureAttempt>(std::move(session), invitation, ++attempts_, [this](ClientId client, const Frame& frame) {
          if (reception_.send(client, frame, FrameKind::secure)) calls_.count(frame->size(), 0);
        });
  } catch (const Error& error) {
    return failed(error.what());
  }
  arm();
  advance();
}

void SecureRound::arm() {
  after(timer_->stage,
        std::chrono::duration_cast<std::chrono::steady_clock::duration>(std::chrono::duration<double>(terms_.stage_deadline)),
        [this, alive = std::weak_ptr(timer_), number = attempts_, stage = attempt_->stage()] {
          if (alive.expired() || !attempt_ || attempt_->number() != number || attempt_->stage() != stage) return;
          const std::set<ClientId> late = attempt_->owing();
          say(clients_text({late.begin(), late.end()}) + " sent nothing in the stage of " + std::string(stage_name(stage)) +
              " within " + number_text(terms_.stage_deadline) + " s");
          for (const ClientId client : late) attempt_->drop(client);
          silent_.insert(late.begin(), late.end());
          advance();
        });
}

void SecureRound::take(ClientId client, std::uint32_t attempt, std::uint32_t stage, const std::string& message) {
  if (!attempt_ || attempt != attempt_->number() || !attempt_->takes_part(client)) return;  // the message's attempt is over
  calls_.count(0, message.size() + kHeaderBytes + (stage == static_cast<std::uint32_t>(SecureAttempt::Stage::inputs) ? 17 : 21));
  try {
    attempt_->take(client, stage, message);
  } catch (const Error& error) {
    // Ending the connection drops the client; see lost().
    return reception_.dismiss(client, error.what(), false);
  }
  advance();
}

void SecureRound::advance() {
  while (attempt_ && attempt_->owing().empty()) {
    try {
      if (attempt_->stage() == SecureAttempt::Stage::unmasking) return finish();
      if (attempt_->will_open()) keep_survivors(attempt_->included());
      attempt_->next();
      arm();
    } catch (const Error& error) {
      return failed(error.what());
    }
  }
}

void SecureRound::lost(ClientId client) {
  const bool has_input = attempt_ && attempt_->has_input(client);
  const bool takes_part = attempt_ && attempt_->takes_part(client);
  if (!has_input) forget(client);
  if (!takes_part) return;
  attempt_->drop(client);
  if (has_input || (calls_.is_overdue() && kept_.empty())) return advance();
  failed("client " + std::to_string(client) + " left before its masked input arrived");
}

// Drops the client's update and requests it again.
void SecureRound::forget(ClientId client) {
  const auto found = trained_.find(client);
  if (found == trained_.end() || !found->second.failure.empty()) return;
  trained_.erase(found);
  calls_.ask(client);
}

void SecureRound::failed(const std::string& why) {
  close();
  for (const auto& [client, report] : std::map(trained_))
    if (!reception_.is_ready(client) || silent_.contains(client)) forget(client);
  silent_.clear();
  const std::string text = without_round(why, terms_.number);
  if (!kept_.empty() && calls_.is_overdue()) {
    say(text + "; the round ends without a sum");
    sum_.end(why);
    return calls_.end({}, kept_);
  }
  if (!calls_.is_over()) return say(text + "; another attempt begins as soon as possible");
  sum_.end(why);
  std::vector<ClientReport> reports;
  for (const auto& [client, report] : trained_) reports.push_back(report);
  calls_.end(reports, {});
}

void SecureRound::finish() {
  std::vector<std::string> remarks;
  const std::vector<ClientId> included = attempt_->included();
  try {
    sum_.put(attempt_->sum(remarks), included.size());
  } catch (const Error&) {
    for (const std::string& remark : remarks) say(remark);
    throw;
  }
  for (const std::string& remark : remarks) say(remark);
  close();
  std::vector<ClientReport> reports;
  std::vector<ClientId> missing;
  for (const auto& [client, report] : trained_) {
    if (std::ranges::binary_search(included, client) || !report.failure.empty())
      reports.push_back(report);
    else
      missing.push_back(client);
  }
  calls_.end(reports, missing);
}

void SecureRound::close() {
  timer_->stage.cancel();
  attempt_.reset();
}

}  // namespace fedstride
