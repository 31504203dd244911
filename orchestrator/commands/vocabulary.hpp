// All that is registered, as the words of an experiment file.
#pragma once

#include "experiments/plan/vocabulary.hpp"

namespace dvfs_plan {

Vocabulary registered_vocabulary();

}  // namespace dvfs_plan
