#include "net/waiting_room.hpp"

#include <algorithm>
#include <map>

#include "net/endpoint.hpp"

namespace fedstride {
namespace {

using asio::ip::tcp;
using std::chrono::milliseconds;

constexpr std::size_t kRecordHeader = 5;     // type, version, length
constexpr std::size_t kMaxRecord = 1 << 14;  // bytes behind the header (RFC 8446, section 5.1)
constexpr milliseconds kBetweenLooks{1000};  // at those who wait too long; one line of the log tells of all since the last

std::size_t record_length(const std::string& bytes) {
  const auto byte = [&](std::size_t at) { return static_cast<std::size_t>(static_cast<unsigned char>(bytes[at])); };
  return byte(3) << 8 | byte(4);
}

/// Type 22 (handshake), version 3.x, a length that is possible.
bool begins_handshake(const std::string& bytes) {
  const std::size_t length = record_length(bytes);
  return bytes[0] == 22 && bytes[1] == 3 && length >= 4 && length <= kMaxRecord;
}

constexpr char kClientHello = 1;

}  // namespace

Source source_of(const asio::ip::address& address) {
  return source_of(
      (address.is_v4() ? asio::ip::make_address_v6(asio::ip::v4_mapped, address.to_v4()) : address.to_v6()).to_bytes());
}

WaitingRoom::WaitingRoom(asio::io_context& io, const Limits& limits, Events events)
    : limits_(limits), events_(std::move(events)), timer_(io) {}

WaitingRoom::PlacePtr WaitingRoom::victim() const {
  std::map<Source, std::size_t> held;
  std::size_t most = 0;
  for (const PlacePtr& place : places_) most = std::max(most, ++held[place->source]);
  PlacePtr oldest;
  for (const PlacePtr& place : places_) {
    if (held[place->source] < most) continue;
    if (!place->ready) return place;
    if (!oldest) oldest = place;
  }
  return oldest;
}

milliseconds WaitingRoom::until_room() const {
  if (places_.size() < limits_.places) return milliseconds(0);
  const auto age = Clock::now() - victim()->since;
  return age >= limits_.grace ? milliseconds(0) : std::chrono::ceil<milliseconds>(limits_.grace - age);
}

void WaitingRoom::enter(tcp::socket socket) {
  if (places_.size() >= limits_.places) give_one_up();
  std::error_code error;
  const tcp::endpoint from = socket.remote_endpoint(error);
  const std::string address = Endpoint{from.address().to_string(), from.port()}.text();
  auto place =
      std::make_shared<Place>(Place{.socket = std::move(socket), .source = source_of(from.address()), .address = address});
  places_.push_back(place);
  place->bytes.resize(kRecordHeader);
  read(place);
  look_later();
}

void WaitingRoom::give_one_up() {
  if (const PlacePtr place = victim()) drop(place);
}

void WaitingRoom::read(const PlacePtr& place) {
  const auto rest = asio::buffer(place->bytes) + place->received;
  place->socket.async_read_some(rest, [self = shared_from_this(), place](std::error_code error, std::size_t size) {
    if (place->left || self->closed_) return;
    if (error) return self->drop(place);
    place->received += size;
    self->look_at(place);
  });
}

void WaitingRoom::look_at(const PlacePtr& place) {
  if (place->received < place->bytes.size()) return read(place);
  const bool whole = place->received > kRecordHeader;
  if (whole ? place->bytes[kRecordHeader] != kClientHello : !begins_handshake(place->bytes)) {
    leave(place);
    return events_.closed(place->address, "no TLS 1.3 handshake with it: its first bytes are not those of one", 1);
  }
  if (!whole) {
    place->bytes.resize(kRecordHeader + record_length(place->bytes));
    return read(place);
  }
  place->ready = true;
  ++ready_;
  events_.ready();
}

std::optional<WaitingRoom::Caller> WaitingRoom::next(function_ref<bool(Source)> may) {
  for (const PlacePtr& place : places_) {
    if (!place->ready || !may(place->source)) continue;
    Caller caller{std::move(place->socket), std::move(place->bytes), place->source};
    leave(PlacePtr(place));
    return caller;
  }
  return std::nullopt;
}

void WaitingRoom::leave(const PlacePtr& place) {
  place->left = true;
  if (place->ready) --ready_;
  std::error_code ignored;
  place->socket.close(ignored);
  places_.remove(place);
}

void WaitingRoom::drop(const PlacePtr& place) {
  ++dropped_;
  last_dropped_ = place->address;
  leave(place);
}

void WaitingRoom::look_later() {
  if (looking_ || closed_) return;
  looking_ = true;
  timer_.expires_after(kBetweenLooks);
  timer_.async_wait([self = shared_from_this()](std::error_code error) {
    self->looking_ = false;
    if (error || self->closed_) return;
    while (!self->places_.empty() && Clock::now() - self->places_.front()->since >= self->limits_.longest)
      self->drop(PlacePtr(self->places_.front()));
    self->tell_dropped();
    if (!self->places_.empty()) self->look_later();
  });
}

void WaitingRoom::tell_dropped() {
  const std::uint64_t dropped = std::exchange(dropped_, 0);
  if (dropped == 0) return;
  events_.closed(
      last_dropped_,
      dropped == 1 ? "it began no handshake" : "the last of " + std::to_string(dropped) + " connections that began no handshake",
      dropped);
}

void WaitingRoom::close() {
  closed_ = true;
  timer_.cancel();
  for (const PlacePtr& place : std::list(places_)) leave(place);
}

}  // namespace fedstride
