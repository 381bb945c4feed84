//! vast.ai's side and the account.

use super::{A, ANY, Act, Cause, Common, Effect, O, U, cause};
use crate::fact::*;

pub(super) const CAUSES: &[Cause] = &[
    cause("credit-exhausted-stopped", "The account's credit is used up", ANY, Common::Occasional, Effect::Stops)
        .shows(&[
            (NOT_RUNNING, A),
            (STOPPED_AS_MEANT, A),
            (CREDIT_GONE, A),
            (STOPPED_TOGETHER, A),
            (NO_ADDRESS, A),
            (END_PASSED, 0.01),
            (NO_CONTAINER, U),
        ])
        .proof(&[&[CREDIT_GONE, STOPPED_AS_MEANT]])
        .what("vast.ai stopped every rental of the account. The manager goes on calling them what they were.")
        .remedy(Act::MendAccount, "Pay in. What was stopped may wait for a card then.")
        .source("vast.ai's documentation: billing"),
    cause("vast-telemetry-zeros", "vast.ai shows zeros for readings it lacks", ANY, Common::Rare, Effect::Harmless)
        .shows(&[(TELEMETRY_ZEROS, O), (GPU_IDLE, 0.3)])
        .what("Readings of the hosts are missing and shown as zeros: an idle card that is not.")
        .remedy(Act::Wait, "Do not act on gpu_util; go by progress.")
        .source("failure catalogue, family F8"),
    cause("vast-telemetry-frozen", "vast.ai's readings have stopped", ANY, Common::Rare, Effect::Harmless)
        .shows(&[(TELEMETRY_FROZEN, A), (GPU_IDLE, 0.2)])
        .what("The hosts' readings stay as they were: what is shown is old.")
        .remedy(Act::Wait, "Do not act on them; go by progress.")
        .source("failure catalogue, family F8"),
    cause("vast-null-record", "vast.ai answers null for a rental that it lists", ANY, Common::Rare, Effect::Harmless)
        .shows(&[(RECORD_FLICKERS, O), (RECORD_ABSENT, 0.02)])
        .proof(&[&[RECORD_FLICKERS]])
        .what("Asked by number it sometimes answers null: that is no proof that it is gone.")
        .remedy(Act::Wait, "Ask again, or go by the list.")
        .source("vast-ai/vast-cli#405"),
    cause("vast-logs-late", "vast.ai uploads logs late", ANY, Common::Rare, Effect::Harmless)
        .shows(&[(LOG_UPLOAD_LATE, A)])
        .proof(&[&[LOG_UPLOAD_LATE]])
        .what("The container's log takes long to be uploaded: an empty answer is none.")
        .remedy(Act::Wait, "Wait and fetch it again.")
        .source("vast.ai's documentation: logs"),
    cause("vast-create-never-appears", "Rented, and never seen", ANY, Common::Rare, Effect::Ends)
        .what("Renting answered a number, and nothing with that number ever appeared.")
        .remedy(Act::Replace, "Rent again after some minutes.")
        .source("failure catalogue 2.B")
        .unranked(),
    cause("vast-create-stopped", "Rented, and left stopped", ANY, Common::Rare, Effect::Stops)
        .what("Renting left the instance stopped: it waits to be started.")
        .remedy(Act::MendInstance, "Start it at vast.ai.")
        .source("failure catalogue 2.B")
        .unranked(),
];
