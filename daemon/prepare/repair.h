// What the provider would refuse in the client's list is set right before anything is looked up in
// it: what is found does not depend on whether the client keeps our repairs.
#pragma once

#include <span>

#include "daemon/prepare/work.h"

namespace ebla::daemon {

// `sent` repaired becomes `current`, each repair an action; as it is where the provider keeps the
// list, or it is wanted whole. What an earlier repair of this call has made is forgotten. Results
// that answer no call go on as words of the user, and are put away there by the rules of any other
// result; so do these ones (`as_words`), as if their calls had none.
void repair(Work& work, std::span<const context::Pair> as_words = {});

}  // namespace ebla::daemon
