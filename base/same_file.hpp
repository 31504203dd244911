// Whether what a name means now is the file that was opened or made before: somebody may have put another in its place.
#pragma once

#include <sys/stat.h>

namespace dvfs_plan {

// As stat(2) tells both.
inline bool is_same_file(const struct stat& one, const struct stat& other) {
  return one.st_dev == other.st_dev && one.st_ino == other.st_ino;
}

}  // namespace dvfs_plan
