//! Every rule of the double with its place in the public source and the test here that holds it.

/// Where the rules come from.
pub const SOURCE: &str = "filecoin-project/curio, branch misc/cuzk-rseal-merge, cmd/vast-manager/main.go";

/// One rule.
#[derive(Debug, Clone, Copy)]
pub struct Rule {
    /// What holds.
    pub rule: &'static str,
    /// Functions or types of [`SOURCE`].
    pub function: &'static str,
    /// Its lines.
    pub lines: &'static str,
    /// The test in `tests/it`.
    pub test: &'static str,
}

const fn rule(rule: &'static str, function: &'static str, lines: &'static str, test: &'static str) -> Rule {
    Rule { rule, function, lines, test }
}

/// In the order of the source.
pub const RULES: &[Rule] = &[
    rule(
        "A log line is one non-empty line of a text; an empty line is dropped; its time is its arrival",
        "LogBuffer.Append",
        "52-69",
        "empty_lines_are_dropped_and_time_is_arrival",
    ),
    rule(
        "A buffer beyond its maximum drops its oldest tenth",
        "LogBuffer.Append",
        "62-68",
        "a_full_buffer_drops_its_oldest_tenth",
    ),
    rule(
        "A log is asked by source, \"\" and \"all\" for all, newest `tail` lines",
        "LogBuffer.Lines",
        "71-90",
        "logs_are_asked_by_source_and_tail",
    ),
    rule(
        "What the manager logs is dated by Go's logger; a text of several lines is dated once",
        "managerLogWriter.Write",
        "105-111",
        "a_log_text_of_several_lines_is_dated_once",
    ),
    rule(
        "An ssh command needs an address and a port that leads to 22/tcp",
        "VastInstance.computeSSH",
        "238-249",
        "ssh_needs_an_address_and_a_port",
    ),
    rule(
        "Tables outlive a restart; buffers, list and own log do not",
        "NewServer",
        "404-439",
        "a_restart_keeps_the_tables_alone",
    ),
    rule(
        "The own log holds 5,000 lines, an instance's 10,000",
        "NewServer, getInstanceLog",
        "437, 445",
        "a_full_buffer_drops_its_oldest_tenth",
    ),
    rule(
        "register: POST alone; a label is needed; a rate of 0 or less becomes 50",
        "handleRegister",
        "462-479",
        "register_needs_a_label_and_defaults_the_rate",
    ),
    rule(
        "register: a label that is not killed keeps its uuid and its rate",
        "handleRegister",
        "484-493",
        "a_label_that_is_alive_registers_again",
    ),
    rule("register: runner ids count up and are never used twice", "handleRegister", "502-519", "a_killed_label_registers_anew"),
    rule(
        "param-done acts in registered alone, answers ok elsewhere, 404 for what is unknown",
        "handleParamDone",
        "536-580",
        "param_done_acts_in_registered_alone",
    ),
    rule(
        "bench-done looks at no state: what was killed comes back, killed_at still set",
        "handleBenchDone",
        "591-629",
        "bench_done_looks_at_no_state",
    ),
    rule(
        "bench-done below the minimum kills and destroys by the number in the label, beside the answer",
        "handleBenchDone",
        "622-637",
        "a_slow_benchmark_is_killed_and_destroyed",
    ),
    rule(
        "bench-done keeps a machine's best rate, where the list has it",
        "handleBenchDone",
        "646-664",
        "the_best_rate_of_a_machine_is_kept",
    ),
    rule("runner-id: 400 without a uuid, 404 for what is unknown", "handleRunnerID", "669-689", "runner_id_is_asked_by_uuid"),
    rule("running: from any state but killed", "handleRunning", "695-722", "running_from_any_state_but_killed"),
    rule(
        "status: rows without vast.ai's fields, newest first; NULL is left out",
        "handleStatus, Instance",
        "728-760, 170-199",
        "status_leaves_out_what_is_null",
    ),
    rule(
        "bad-host: machine_id is a text; a second entry replaces the first",
        "handleBadHost",
        "768-797",
        "bad_hosts_are_texts_and_replaced",
    ),
    rule(
        "bad-host DELETE answers ok and logs, listed or not",
        "handleBadHostDelete",
        "804-834",
        "a_bad_host_is_removed_listed_or_not",
    ),
    rule(
        "Paths: / is a page, everything else unknown is 404 in plain text; an untidy path is redirected",
        "handleUI, setupRoutes",
        "859-871, 1823-1853",
        "unknown_paths_and_wrong_methods",
    ),
    rule("A wrong method is 405 in plain text", "handle*", "463, 537, 592, 670", "unknown_paths_and_wrong_methods"),
    rule(
        "dashboard: rows newest first, joined by label or number; the fields that were kept where the list has no record",
        "handleDashboard",
        "873-1010",
        "the_dashboard_joins_rows_and_records",
    ),
    rule(
        "dashboard: records without a row are loading, with uuid \"\" and runner 0",
        "handleDashboard",
        "1042-1077",
        "a_record_without_a_row_is_loading",
    ),
    rule(
        "dashboard: benching counts params_done and bench_done; money and cards of running alone",
        "handleDashboard",
        "1023-1039",
        "the_summary_counts_money_of_running_alone",
    ),
    rule(
        "dashboard: the age of the list is enormous until it was read once",
        "handleDashboard",
        "911, 1089-1095",
        "the_age_of_a_list_never_read_is_enormous",
    ),
    rule("manager-logs: 500 lines unless asked for more", "handleManagerLogs", "1101-1116", "logs_are_asked_by_source_and_tail"),
    rule(
        "instance-logs: 1,000 lines unless asked for more; what is unknown is empty; no uuid is 400",
        "handleInstanceLogs",
        "1118-1152",
        "an_unknown_log_is_empty",
    ),
    rule(
        "log-push: a uuid is needed, any will do; 256 KiB are read; 204",
        "handleLogPush",
        "1156-1185",
        "a_push_is_cut_at_256_kib",
    ),
    rule(
        "kill: destroys, waits for it, then kills the row whatever came of it; ok",
        "handleKill",
        "1189-1219",
        "kill_says_ok_whatever_came_of_it",
    ),
    rule(
        "offers: vast.ai's offers by type, with known rate and bad host; the ordinary filter",
        "handleOffers, searchVastOffers",
        "1223-1301",
        "offers_are_typed_and_joined",
    ),
    rule(
        "offers: 500 where the client fails or its output does not decode",
        "searchVastOffers",
        "1226-1233",
        "offers_that_do_not_decode_are_500",
    ),
    rule(
        "deploy: whole gigabytes; 250 and 30 where not given; 409 for a bad host",
        "handleDeploy",
        "1303-1332",
        "deploy_refuses_what_go_refuses",
    ),
    rule(
        "deploy: the number is read from Python's text, else 0; ok all the same",
        "handleDeploy",
        "1355-1387",
        "deploy_reads_the_number_from_pythons_text",
    ),
    rule(
        "deploy: 500 with the client's output where it fails",
        "handleDeploy",
        "1357-1360",
        "deploy_reads_the_number_from_pythons_text",
    ),
    rule(
        "host-perf: one a machine",
        "handleHostPerf, getHostPerfs",
        "1237-1250, 1390-1402",
        "the_best_rate_of_a_machine_is_kept",
    ),
    rule(
        "monitor: first after 10 s, then 60 s after the end of the cycle before",
        "runMonitor",
        "1406-1419",
        "the_monitor_keeps_its_times",
    ),
    rule(
        "monitor: a failed list is logged, the old one kept",
        "runMonitor, monitorCycle",
        "1409, 1416, 1422-1425",
        "a_failed_list_is_logged_and_the_old_one_kept",
    ),
    rule(
        "monitor: the list is decoded by type; its first 200 bytes are in the error",
        "getVastInstances",
        "1658-1670",
        "a_list_that_does_not_decode_is_quoted",
    ),
    rule(
        "monitor: instances on bad hosts are destroyed, their rows killed",
        "monitorCycle",
        "1475-1489",
        "instances_on_bad_hosts_are_destroyed",
    ),
    rule(
        "monitor: vast.ai's fields are kept with rows that are not killed",
        "monitorCycle",
        "1491-1509",
        "the_dashboard_joins_rows_and_records",
    ),
    rule(
        "monitor: labelled and unregistered for more than 15 min is destroyed; no row is made",
        "monitorCycle",
        "1511-1549",
        "strangers_are_destroyed_after_fifteen_minutes",
    ),
    rule(
        "monitor: registered for more than 90 min is killed",
        "monitorCycle, killTimedOut",
        "1552, 1591-1620",
        "timers_kill_after_90_and_45_minutes",
    ),
    rule(
        "monitor: params_done for more than 45 min is killed",
        "monitorCycle, killTimedOut",
        "1556, 1591-1620",
        "timers_kill_after_90_and_45_minutes",
    ),
    rule(
        "monitor: bench_done below the minimum is killed",
        "monitorCycle",
        "1558-1575",
        "a_benchmark_below_the_minimum_is_killed_by_the_monitor",
    ),
    rule("monitor: killed rows are deleted after 7 days", "monitorCycle", "1578", "killed_rows_go_after_seven_days"),
    rule(
        "monitor: rows without a record are killed, without a word to vast.ai",
        "monitorCycle",
        "1580-1586",
        "an_empty_list_kills_every_row",
    ),
    rule(
        "Rows are found by label, else by the number in C.<number>",
        "vastIDFromLabel, lookupVast",
        "1623-1645",
        "the_dashboard_joins_rows_and_records",
    ),
    rule(
        "A kill by label kills every row with it that is not killed",
        "killInstanceByLabel",
        "1647-1654",
        "instances_on_bad_hosts_are_destroyed",
    ),
    rule("destroy: the exit status is believed", "destroyInstance", "1672-1680", "the_exit_status_is_believed"),
    rule(
        "cuzk-status: 400, 404, 502 with what ssh said, else the prover's bytes; open to every origin",
        "handleCuzkStatus",
        "1704-1771",
        "the_provers_status_comes_over_ssh",
    ),
    rule("Errors are {\"error\"} in JSON", "httpError", "1815-1819", "unknown_paths_and_wrong_methods"),
    rule("JSON that Go refuses is refused with its words; what it takes is taken", "json.Decoder", "470", "go_refuses_and_takes"),
    rule("JSON is written as Go writes it", "json.Encoder", "1810-1813", "go_writes"),
];

/// What the double does otherwise, and why.
pub const DEVIATIONS: &[&str] = &[
    "The page at / is not the real one's.",
    "deploy hands the instance its minimum rate alone: the tunnel's credential and server are not repeated here.",
    "host-perf is ordered by machine; the real one's order is that of a Go map: any.",
    "uuids are the same in every run; the real one's are random.",
    "JSON deeper than 1,000 is refused; Go refuses it beyond 10,000.",
    "A request that waits for a program when the manager ends is cut with its connection; the program's output is lost.",
];
