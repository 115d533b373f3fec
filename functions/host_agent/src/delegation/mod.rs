//! Calls to agents about the jobs of one task. Each gives the job as it is afterwards; nothing here is written down, and
//! nothing here decides whether a call is due (`rules::acts`).
//!
//! | module | |
//! |---|---|
//! | `calls` | the calls themselves, with the token that the agent takes |
//! | `send` | a job's first message, and the user's later answers |
//! | `resend` | a message that may have left before |
//! | `results` | what a job works on, where that is what others brought |
//! | `large_files` | files of results that lie beside the task |
//! | `look` | how an agent's task is doing, and its results |
//! | `cancel` | telling agents that nobody waits any more |
//! | `webhook_token` | what agents prove their notifications with |

pub(crate) mod calls;
pub(crate) mod cancel;
pub(crate) mod done;
pub(crate) mod large_files;
pub(crate) mod look;
pub(crate) mod resend;
pub(crate) mod results;
pub(crate) mod send;
pub(crate) mod webhook_token;
