#include "daemon/prepare/client_offers.h"

#include <fmt/format.h>

#include <utility>

#include "context/summary/summary.h"
#include "daemon/prepare/facts.h"
#include "daemon/prepare/summaries.h"

namespace ebla::daemon {
namespace {

// "ID OFFERS REFUSALS"
struct OpenOffer {
  std::string id;
  uint64_t offers = 0;
  uint64_t refusals = 0;
};

std::string fact_name(const Work& work) {
  return fmt::format("offer/{}", work.session().serial);
}

OpenOffer read(const Work& work) {
  const std::string value = read_fact(work.services, fact_name(work)).value_or("");
  return {value.substr(0, value.find(' ')), number_field(value, 1), number_field(value, 2)};
}

void write(Work& work, const OpenOffer& offer) {
  write_fact(work.services, fact_name(work),
             fmt::format("{} {} {}", offer.id, offer.offers, offer.refusals));
}

}  // namespace

bool may_offer(const Work& work) {
  return read(work).offers < limits::kSummaryOffers;
}

Result<void> make_offer(Work& work, size_t cut, bool must) {
  auto request = context::summary_request_within(
      summary_input(work, cut), context::pass_key(work.list, cut).prefix, summariser_window(work));
  if (!request) return std::unexpected(request.error());
  OpenOffer offer = read(work);
  offer.id = request->id;
  ++offer.offers;
  write(work, offer);
  ++work.services.summaries.offered;
  work.offer = {std::move(request->id), std::move(request->instruction), std::move(request->prompt),
                request->max_tokens, must};
  return {};
}

bool may_retry(Work& work) {
  OpenOffer offer = read(work);
  ++offer.refusals;
  write(work, offer);
  return offer.refusals < 2;
}

void clear_offer(Work& work) {
  if (!read(work).id.empty()) write_fact(work.services, fact_name(work), std::nullopt);
}

std::vector<std::string> pending_ids(const Work& work) {
  std::vector<std::string> ids = work.services.desk.ids(work.session().tree);
  if (OpenOffer offer = read(work); !offer.id.empty()) ids.push_back(std::move(offer.id));
  return ids;
}

}  // namespace ebla::daemon
