// Standing by a session: a guardian that was killed puts nothing back, so another process sees its end and
// does.
#pragma once

#include <sys/types.h>

#include "orchestrator/guardian/session.hpp"

namespace dvfs_plan {

// Starts a process that serves the client; its pid, or -1.
pid_t start_session(Connection connection, const Client& client, const GuardianOptions& options);

// True: the child did not end, somebody stopped it (waitpid(2) with WUNTRACED). A session that is stopped would put
// nothing back, and is continued.
bool continued_if_stopped(pid_t pid, int status, bool is_session);

// The process of a session has ended with this status: if it was killed, puts back what it had changed.
void after_session(int status, const GuardianOptions& options);

// By a run under sudo. `run` is our child and `user`'s from now on; descriptor 3 is a connection on which it
// asks for sessions ("session", answered by a descriptor). Ends with the run, as the run ended.
int stand_by_run(pid_t run, uid_t user, const GuardianOptions& options);

}  // namespace dvfs_plan
