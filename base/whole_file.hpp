// Files of the user's, read as a whole.
#pragma once

#include <cstdint>
#include <string>

namespace dvfs_plan {

// Its bytes into `text`. Returns 0, or the errno that ended it (a disk that fails, a link that leads to nothing; EINVAL: it is no file, EFBIG: it is
// larger than `most` bytes): `text` is then empty. It never waits for a FIFO's writer, and follows no
// link of /proc that leads to what a process has open or works in (ELOOP; openat2(2), where the kernel has it).
int read_whole(const std::string& path, std::uint64_t most, std::string& text);

}  // namespace dvfs_plan
