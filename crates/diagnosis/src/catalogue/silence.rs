//! Why the manager's logs can be silent or wrong although the instance is not.

use super::Phase::Killed;
use super::{A, ANY, Act, Cause, Common, Effect, U, cause};
use crate::fact::*;

pub(super) const CAUSES: &[Cause] = &[
    cause("mgr-restart-lost-logs", "The manager restarted and lost its logs", ANY, Common::Occasional, Effect::Harmless)
        .shows(&[(LOGS_LOST_AT_RESTART, A), (LOG_SILENT, 0.25), (LOG_SPOKE, 0.4)])
        .what("Log buffers live in the manager's memory: a restart empties them all. What an instance wrote before is gone from there.")
        .remedy(Act::Wait, "Nothing is wrong with the instances. Dwell keeps the lines that it had read.")
        .source("manager source: buffers in memory"),
    cause("log-unknown-uuid-empty", "Asked for a number that the manager does not know", ANY, Common::Rare, Effect::Harmless)
        .what("The manager answers an empty list, with status 200, for every number, known or not.")
        .remedy(Act::MendObserver, "Look the number up in the dashboard first. Dwell does.")
        .source("manager source: log route")
        .unranked(),
    cause("log-key-mismatch", "The reader looks for the wrong field", ANY, Common::Rare, Effect::Harmless)
        .what("Lines carry src, text and ts. A reader that looks for source finds none in lines that are there.")
        .remedy(Act::MendObserver, "Count what was received beside what was read. Dwell does.")
        .source("manager source: LogLine; the seed article")
        .unranked(),
    cause("log-source-evicted", "Its older lines were dropped", ANY, Common::Occasional, Effect::Harmless)
        .shows(&[(BUFFER_FULL, A), (LOG_SILENT, 0.1)])
        .proof(&[&[BUFFER_FULL]])
        .what("One buffer of 10,000 lines holds all sources; a source that writes much drives the others out.")
        .remedy(Act::Wait, "Read the files on the machine. Dwell keeps what it had read.")
        .source("manager source: ring buffer"),
    cause("log-tail-window", "Too few lines were asked for", ANY, Common::Rare, Effect::Harmless)
        .what("The manager gives the newest 1,000 lines unless asked for more: older ones look absent.")
        .remedy(Act::MendObserver, "Ask for 10,000. Dwell does.")
        .source("manager source: tail")
        .unranked(),
    cause("log-push-truncated", "A push of lines was cut", ANY, Common::Occasional, Effect::Harmless)
        .shows(&[(PUSH_CUT, A), (LINES_IN_A_BURST, A), (LOG_SILENT, 0.1)])
        .proof(&[&[PUSH_CUT]])
        .what("The manager takes 256 KiB a push and drops the rest with status 204. It happens when much is written while the shipper is held up.")
        .remedy(Act::Wait, "The files on the machine are complete.")
        .source("manager source: log route"),
    cause("log-ts-is-receipt", "Lines carry the time of their arrival", ANY, Common::Rare, Effect::Harmless)
        .what("The manager stamps lines when they arrive: what was held back looks fresh.")
        .remedy(Act::MendObserver, "Go by the time inside the text.")
        .source("manager source: log route")
        .unranked(),
    cause("log-cr-no-newline", "A progress bar without line ends", &[super::Phase::Registered, super::Phase::Loading], Common::Occasional, Effect::Harmless)
        .shows(&[
            (RETURNED_CARRIAGES, U), (LOG_SILENT, 0.8), (FETCH_SLEEPS, 0.03), (LOG_SPOKE, 0.8), (FETCH_GONE, 0.03),
            (SHIPPER_GONE, 0.02),
        ])
        .proof(&[&[RETURNED_CARRIAGES]])
        .what("The fetcher draws its progress with carriage returns; the shipper waits for the end of a line that never comes.")
        .remedy(Act::MendImage, "Have it print lines.")
        .source("manager source: lines split at newline"),
    cause("log-misattributed-uuid", "Its lines arrive under an older number", ANY, Common::Rare, Effect::Hides)
        .shows(&[(SHIPPER_GONE, 0.02), (MANAGER_OUT_OF_REACH, 0.01), (LOG_SPOKE, 0.1), (TUNNEL_GONE, 0.01)])
        .what("The shipper goes on under a number from before; the manager does not check it.")
        .remedy(Act::MendInstance, "Look at the logs of other numbers with this label; restart the shipper.")
        .source("manager source: X-Instance-UUID unchecked"),
    cause("log-source-unknown", "Its lines name no source", ANY, Common::Occasional, Effect::Harmless)
        .shows(&[(UNNAMED_SOURCE, A)])
        .proof(&[&[UNNAMED_SOURCE]])
        .what("The shipper sends no source: the lines are there, under unknown.")
        .remedy(Act::MendImage, "Have the shipper name its sources.")
        .source("manager source: log route"),
    cause("log-lastgasp-lost", "Its last lines were lost with it", &[Killed], Common::Common, Effect::Ends)
        .what("A benchmark below the minimum has the instance destroyed in the same second: the shipper's last push never happens.")
        .remedy(Act::Wait, "Go by what Dwell had read before.")
        .source("manager source: bench-done")
        .unranked(),
    cause("manager-log-evicted", "The manager's own older lines were dropped", ANY, Common::Rare, Effect::Harmless)
        .what("The manager's log holds 5,000 lines: what is older is gone.")
        .remedy(Act::Wait, "Dwell keeps the lines that it had read.")
        .source("manager source: ring buffer")
        .unranked(),
];
