#include "data/heart.hpp"

#include <algorithm>
#include <string>
#include <vector>

#include "core/error.hpp"
#include "core/text.hpp"
#include "data/files/csv_records.hpp"

namespace fedstride {
namespace {

constexpr std::size_t kFields = 14;
constexpr std::size_t kPain = 2;               // 1 to 4
constexpr std::size_t kElectrocardiogram = 6;  // 0 to 2
constexpr std::size_t kDiagnosis = 13;         // 0: none
constexpr std::size_t kNumbers[] = {0, 1, 3, 4, 5, 7, 8, 9};

/// A record's numbers, indexed by field; empty if one that is used is missing.
std::vector<float> numbers_of(const CsvRecords& file, const std::vector<std::string_view>& fields) {
  const auto wrong = [&](const std::string& what) {
    return failure(file.name() + ", line " + std::to_string(file.line()) + ": " + what);
  };
  if (fields.size() != kFields)
    throw wrong("it has " + counted(fields.size(), "field") + "; it must have " + std::to_string(kFields));
  std::vector<float> numbers(kFields, 0);
  bool is_complete = true;
  for (std::size_t i = 0; i < kFields; ++i) {
    if (i >= 10 && i < kDiagnosis) continue;
    if (fields[i] == "?")
      is_complete = false;
    else if (!parse_number(fields[i], numbers[i]))
      throw wrong("'" + std::string(fields[i]) + "' is not a number");
  }
  return is_complete ? numbers : std::vector<float>{};
}

void add(Dataset& part, const std::vector<float>& record, std::uint32_t hospital) {
  std::vector<float>& inputs = part.features.edit();
  for (const std::size_t field : kNumbers) inputs.push_back(record[field]);
  for (const float value : {2.0F, 3.0F, 4.0F}) inputs.push_back(record[kPain] == value ? 1.0F : 0.0F);
  for (const float value : {1.0F, 2.0F}) inputs.push_back(record[kElectrocardiogram] == value ? 1.0F : 0.0F);
  part.values.push_back(record[kDiagnosis] > 0 ? 1.0F : 0.0F);
  part.labels.push_back(0);
  part.clients.push_back(hospital);
}

}  // namespace

const std::array<HeartHospital, 4> kHeartHospitals{{
    {"cleveland", 303, "0202105040dc3a9b32150cda0a3021801e30085392c0810512e08a5a91298460f17400837d72"},
    {"hungarian", 261, "880012e3d128b24311e00ba8009c169891b8228c2121844f69c50288104980d5c0"},
    {"switzerland", 46, "0e16c5131030"},
    {"va", 130, "26210042ad6a0407d1ad0211600c5e2a1"},
}};

bool HeartHospital::is_test(std::size_t record) const {
  const char digit = test[record / 4];
  const int bits = digit <= '9' ? digit - '0' : digit - 'a' + 10;
  return (bits >> (record % 4) & 1) == 1;
}

DataPair load_heart(const std::filesystem::path& folder) {
  DataPair pair;
  pair.columns = {.are_named = true,
                  .inputs = {"age", "sex", "trestbps", "chol", "fbs", "thalach", "exang", "oldpeak", "cp_2", "cp_3", "cp_4",
                             "restecg_1", "restecg_2"},
                  .answers = {"num"}};
  for (Dataset* part : {&pair.train, &pair.test}) {
    part->shape = {1, 1, static_cast<int>(pair.columns.inputs.size())};
    part->classes = 1;
    part->targets = Targets::flags;
    for (const HeartHospital& hospital : kHeartHospitals) part->client_names.emplace_back(hospital.name);
  }
  for (std::uint32_t number = 0; number < kHeartHospitals.size(); ++number) {
    const HeartHospital& hospital = kHeartHospitals[number];
    CsvRecords file(plain_or_gzipped(folder, "processed." + std::string(hospital.name) + ".data"));
    std::size_t complete = 0;
    for (std::vector<std::string_view> fields; file.next(fields);) {
      const std::vector<float> record = numbers_of(file, fields);
      if (record.empty()) continue;
      if (complete < hospital.patients) add(hospital.is_test(complete) ? pair.test : pair.train, record, number);
      ++complete;
    }
    if (complete != hospital.patients)
      throw failure(file.name() + " has " + counted(complete, "complete record") + "; the published file has " +
                    std::to_string(hospital.patients));
  }
  return pair;
}

}  // namespace fedstride
