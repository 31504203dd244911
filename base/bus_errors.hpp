// Files that are mapped and cut short by somebody: to touch what is gone is SIGBUS (mmap(2)), which would end the
// program. SQLite maps the index of its log (NAME-shm).
#pragma once

namespace dvfs_plan {

// From now on a page that is gone reads as zeros instead, of this process's own. What was in it is lost: whoever
// uses mapped files asks bus_errors(). A fault that is none of a mapped file's ends the process as before.
void survive_bus_errors();
// How many pages were replaced so far.
int bus_errors();

}  // namespace dvfs_plan
