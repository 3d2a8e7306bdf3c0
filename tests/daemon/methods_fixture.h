// The methods over the model store, in this process: no socket, no mount (or one that is
// pretended).
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <future>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "daemon/control/request_params.h"
#include "daemon/method_table.h"
#include "daemon/services.h"
#include "schema/base/clock.h"
#include "schema/base/json.h"
#include "tests/kit/model_store.h"

namespace ebla::daemon {

struct Answer {
  Result<Json> result;
  std::vector<std::string> blobs;
};

inline std::string json_string(std::string_view text) {
  return JsonWriter().string(text).take();
}
inline std::string text_of(const Json& object, std::string_view name) {
  const Json* value = object.find(name);
  return value == nullptr ? "(absent)" : value->text;
}
inline uint64_t number_of(const Json& object, std::string_view name) {
  const Json* value = object.find(name);
  return value == nullptr ? UINT64_MAX : value->as_uint64().value_or(UINT64_MAX);
}
inline bool flag_of(const Json& object, std::string_view name) {
  const Json* value = object.find(name);
  return value != nullptr && value->boolean;
}

class MethodsFixture : public ::testing::Test {
 protected:
  static constexpr uid_t kUid = 1000;

  void start() {
    services_.reset();
    services_ = std::make_unique<Services>(*store_, mounts_, options_, summariser_limit_);
    services_->uid = kUid;
    services_->gid = kUid;
    services_->random = [this] { return seed_++ * 0x9e3779b97f4a7c15ull; };
    methods_ = std::make_unique<MethodTable>(*services_);
  }
  void SetUp() override { start(); }

  // The request is filled but for method and parameters.
  Answer send(std::string_view method, std::string_view params, std::shared_ptr<Request> request) {
    request->method = rpc::find_method(method);
    if (request->method == nullptr) {
      ADD_FAILURE() << "no method " << method;
      return {fail(Code::method_not_found, ""), {}};
    }
    auto parsed = parse_json(params);
    if (!parsed) {
      ADD_FAILURE() << parsed.error().text;
      return {std::unexpected(parsed.error()), {}};
    }
    request->params = *std::move(parsed);
    keep_bodies(*request, params);
    if (request->peer.uid == 0) request->peer = {1, uid_, uid_};
    std::promise<Result<Reply>> promise;
    auto future = promise.get_future();
    methods_->call(std::move(request),
                   [&promise](Result<Reply> reply) { promise.set_value(std::move(reply)); });
    auto reply = future.get();
    if (!reply) return {std::unexpected(reply.error()), {}};
    auto result = parse_json(reply->result);
    EXPECT_TRUE(result) << reply->result;
    return {std::move(result), std::move(reply->blobs)};
  }
  Result<Json> call(std::string_view method, std::string_view params) {
    return send(method, params, std::make_shared<Request>()).result;
  }
  // The result, which must be there.
  Json must(std::string_view method, std::string_view params) {
    auto result = call(method, params);
    EXPECT_TRUE(result) << method << " " << params.substr(0, 200) << ": " << result.error().text;
    return result ? *std::move(result) : Json();
  }
  Error must_fail(std::string_view method, std::string_view params) {
    auto result = call(method, params);
    EXPECT_FALSE(result) << method << " " << params.substr(0, 200);
    return result ? Error() : result.error();
  }

  // Bodies go by their source bytes, as the control socket hands them on.
  static void keep_bodies(Request& request, std::string_view params) {
    const auto sources = member_sources(params);
    for (size_t i = 0; i < sources.size(); ++i) {
      auto& [name, value] = request.params.members[i];
      const auto param = std::ranges::find(request.method->params, name, &rpc::Param::name);
      const bool body = param != request.method->params.end() && param->type == rpc::Type::body;
      if (!body || value.is(Json::Kind::null) || is_reference(value)) continue;
      value.text = sources[i];
      value.members.clear();
      value.items.clear();
    }
  }
  // Puts a content away and returns its path.
  std::string put(std::string_view bytes, std::string_view id, std::string_view session = "") {
    auto request = std::make_shared<Request>();
    request->blobs.push_back({std::string(bytes), {}, bytes.size()});
    std::string params =
        "{\"content\":{\"$blob\":0},\"limit_tokens\":1,\"force\":true,\"id\":" + json_string(id);
    if (!session.empty()) params += ",\"session\":" + json_string(session);
    auto answer = send("evict", params + "}", request);
    if (!answer.result || !flag_of(*answer.result, "evicted")) {
      ADD_FAILURE() << (answer.result ? text_of(*answer.result, "reason")
                                      : answer.result.error().text);
      return {};
    }
    return text_of(*answer.result, "path");
  }

  ManualClock clock_;
  std::unique_ptr<Store> store_ = kit::make_model_store(clock_, kUid, kUid);
  Options options_;
  MountView mounts_ = no_mounts();
  std::unique_ptr<Services> services_;
  std::unique_ptr<MethodTable> methods_;
  std::chrono::milliseconds summariser_limit_{20'000};
  uid_t uid_ = kUid;
  std::atomic<uint64_t> seed_ = 1;
};

}  // namespace ebla::daemon
