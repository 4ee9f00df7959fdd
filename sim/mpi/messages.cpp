#include "sim/mpi/messages.hpp"

#include "core/serialize.hpp"
#include "sim/mpi/message_bytes.hpp"

namespace fedstride {

// Structured bindings list all members, so forgetting a new member here is a compile error.
void serialize(auto& archive, ReleaseRun& run) {
  auto& [noise_multiplier, clip, count] = run;
  archive(noise_multiplier, clip, count);
}
void serialize(auto& archive, ClientReport& report) {
  for_each_report_field([&](const auto& field) { archive(report.*field.member); });
}
void serialize(auto& archive, PartOfSum::Update& update) {
  auto& [client, weight, change] = update;
  archive(client, weight, change);
}
void serialize(auto& archive, BuildIdentity& build) {
  auto& [version, arithmetic, numerics] = build;
  archive(version, arithmetic, numerics);
}
void serialize(auto& archive, EvaluatedBlocks& blocks) {
  auto& [losses, variations, examples, answers, correct, class_examples, class_correct] = blocks;
  archive(losses, variations, examples, answers, correct, class_examples, class_correct);
}
void serialize(auto& archive, Request& request) {
  auto& [kind, number, body] = request;
  archive(kind, number, body);
}
void serialize(auto& archive, PrepareRequest& request) { archive(request.settings); }
void serialize(auto& archive, PrepareAnswer& answer) {
  auto& [build, command_line, settings, data_hash, partition_hash, error, is_usage] = answer;
  archive(build, command_line, settings, data_hash, partition_hash, error, is_usage);
}
void serialize(auto& archive, BeginRequest& request) {
  auto& [source, folder, identity, round] = request;
  archive(source, folder, identity, round);
}
void serialize(auto& archive, UpdateSlices& slices) { archive(slices.updates); }
void serialize(auto& archive, KeepAnswer& answer) {
  auto& [error, round] = answer;
  archive(error, round);
}
void serialize(auto& archive, TrainRequest& request) {
  auto& [round, has_model, keeps_updates, cohort, is_private, releases, told, beside, tests, scale, checkpoint, bound] = request;
  archive(round, has_model, keeps_updates, cohort, is_private, releases, told, beside, tests, scale, checkpoint, bound);
}
void serialize(auto& archive, TrainAnswer& answer) {
  auto& [interrupted, error, weight, reports, updates] = answer;
  archive(interrupted, error, weight, reports, updates);
}
void serialize(auto& archive, EvaluateRequest& request) {
  auto& [has_model, examples] = request;
  archive(has_model, examples);
}
void serialize(auto& archive, EvaluateAnswer& answer) {
  auto& [error, blocks] = answer;
  archive(error, blocks);
}

std::string encode_message(const auto& message) { return bytes_of_message(message); }

template <class Message>
Message decode_message(const std::string& bytes) {
  return message_of_bytes<Message>(bytes);
}

#define FEDSTRIDE_RANK_MESSAGE(Message)                \
  template std::string encode_message(const Message&); \
  template Message decode_message(const std::string&)
FEDSTRIDE_RANK_MESSAGE(Request);
FEDSTRIDE_RANK_MESSAGE(PrepareRequest);
FEDSTRIDE_RANK_MESSAGE(PrepareAnswer);
FEDSTRIDE_RANK_MESSAGE(BeginRequest);
FEDSTRIDE_RANK_MESSAGE(UpdateSlices);
FEDSTRIDE_RANK_MESSAGE(KeepAnswer);
FEDSTRIDE_RANK_MESSAGE(TrainRequest);
FEDSTRIDE_RANK_MESSAGE(TrainAnswer);
FEDSTRIDE_RANK_MESSAGE(EvaluateRequest);
FEDSTRIDE_RANK_MESSAGE(EvaluateAnswer);
#undef FEDSTRIDE_RANK_MESSAGE

}  // namespace fedstride
