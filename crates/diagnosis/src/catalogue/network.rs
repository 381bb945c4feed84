//! Lines between two places.

use super::Phase::{Loading, Registered};
use super::{A, ANY, Act, Cause, Common, Effect, N, O, S, U, cause};
use crate::fact::*;

pub(super) const CAUSES: &[Cause] = &[
    cause("tunnel-never-up", "The tunnel to the manager does not run", &[Loading], Common::Occasional, Effect::Stops)
        .shows(&[
            (NOT_RUNNING, 0.02), (TUNNEL_GONE, A), (Fact::said("manager-unanswered"), A), (MANAGER_OUT_OF_REACH, A),
            (SCRIPT_GONE, 0.02), (LOG_SPOKE, N), (SHIPPER_GONE, 0.05), (NO_ENTRYPOINT_LOG, 0.02),
        ])
        .proof(&[&[TUNNEL_GONE, Fact::said("manager-unanswered")]])
        .what("Its tunnel client is not running: it can neither register nor log.")
        .remedy(Act::MendInstance, "Look at the tunnel's own log; check its secret and its server.")
        .source("failure catalogue 2.E"),
    cause("tunnel-half-open", "The tunnel accepts and delivers nothing", ANY, Common::Occasional, Effect::Hides)
        .shows(&[
            (MANAGER_OUT_OF_REACH, A), (RECORD_ABSENT, 0.01), (FETCH_GONE, 0.4), (Fact::said("manager-unanswered"), O),
            (TUNNEL_GONE, 0.02), (SHIPPER_GONE, 0.03), (LOG_SPOKE, 0.9), (WORK_GOES_ON, 0.85), (LATE, O), (NAMES_FAIL, 0.01),
        ])
        .proof(&[&[MANAGER_OUT_OF_REACH, WORK_GOES_ON]])
        .what("Its side believes that it is connected, and what it sends is swallowed: reports and logs stop at one instant, the work goes on.")
        .remedy(Act::MendInstance, "Restart the tunnel client; give it keep-alives.")
        .source("jpillora/chisel#445, #168, #579, #538; erebe/wstunnel#262, #534"),
    cause("log-shipper-dead", "The log shipper has ended", ANY, Common::Occasional, Effect::Hides)
        .shows(&[(SHIPPER_GONE, A), (MANAGER_OUT_OF_REACH, 0.01), (LOG_SPOKE, 0.85), (IMAGE_OLD, 0.03), (TUNNEL_GONE, 0.02)])
        .what("Lines do not arrive any more, reports still do. The work goes on.")
        .remedy(Act::MendInstance, "Restart the shipper; read the files meanwhile.")
        .source("failure catalogue 2.E"),
    cause("partition-transient", "It could not reach the manager for a while", ANY, Common::Occasional, Effect::Harmless)
        .shows(&[(LINES_IN_A_BURST, A), (Fact::said("manager-unanswered"), S), (LOG_SILENT, 0.1)])
        .what("The line was cut for a while; what had gathered then came at once.")
        .remedy(Act::Wait, "Nothing. Read times inside the lines, not those of their arrival.")
        .source("failure catalogue 2.E"),
    cause("dns-broken", "It cannot resolve names", &[Registered], Common::Occasional, Effect::Stops)
        .shows(&[(Fact::said("name-resolution"), U), (Fact::said("host-unresolved"), S), (NAMES_FAIL, A)])
        .proof(&[&[NAMES_FAIL, Fact::said("name-resolution")], &[NAMES_FAIL, Fact::said("host-unresolved")]])
        .what("Names cannot be resolved: the fetch fails, while the tunnel, which goes by address, works.")
        .remedy(Act::MendInstance, "Give it another resolver, or replace it.")
        .source("failure catalogue 2.E"),
    cause("mtu-blackhole", "Small packets pass, large ones are lost", &[Registered], Common::Rare, Effect::Stops)
        .shows(&[
            (FETCH_SLEEPS, A), (LOG_SILENT, U), (LOG_SPOKE, O), (NAMES_FAIL, 0.01), (MANAGER_OUT_OF_REACH, 0.03),
            (FETCH_GONE, 0.02),
        ])
        .what("Requests that fit one packet get through and bodies do not: it registers, and neither fetches nor logs.")
        .remedy(Act::Replace, "Clamp the segment size, or replace it.")
        .source("failure catalogue 2.E (inferred there)"),
    cause("probe-auth-failed", "The instance does not accept the operator's key", ANY, Common::Occasional, Effect::Harmless)
        .shows(&[(KEY_REFUSED, A)])
        .proof(&[&[KEY_REFUSED]])
        .what("SSH says that the key is not accepted. That says nothing about the work.")
        .remedy(Act::MendObserver, "Add the key at vast.ai, or try the proxy's address.")
        .source("skypilot-org/skypilot#6514"),
];
