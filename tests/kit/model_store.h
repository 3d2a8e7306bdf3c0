// The second engine of the Store interface: std::map under one mutex. No durability, retention or
// index. Every completion runs before the change returns, on the caller's thread.
#pragma once

#include <memory>

#include "schema/base/clock.h"
#include "schema/store.h"

namespace ebla::kit {

// `clock` must outlive the store.
std::unique_ptr<Store> make_model_store(const Clock& clock, uint32_t uid = 0, uint32_t gid = 0);

}  // namespace ebla::kit
