// The command table: every command that an operator can give, once. This file holds one macro and nothing else, so that
// the window's build script can include it as well. `name(Request) -> Response, risk, "Title", "keys";`
//
// risk: `read` asks for what is there, `view` changes what Dwell looks at or may do, `act` changes the fleet: it is refused before
// anything else is looked at where the fleet is read-only.

/// Calls the macro `$with` with the whole table.
#[macro_export]
macro_rules! for_each_command {
    ($with:ident) => {
        $with! {
            fleet(Nothing) -> FleetView, read, "Show the fleet", "g f";
            instance(InstanceRequest) -> InstancePage, read, "Show an instance", "Enter";
            logs(LogRequest) -> LogPage, read, "Show an instance's log", "l";
            manager_logs(LogRequest) -> LogPage, read, "Show the manager's own log", "g m";
            incidents(Nothing) -> Incidents, read, "Show incidents: what is stuck, and why", "g i";
            diagnosis(InstanceRequest) -> DiagnosisPage, read, "Diagnose an instance", "d";
            make_look(LookRequest) -> DiagnosisPage, read, "Run a check", "";
            prover(InstanceRequest) -> ProverPanel, read, "Show the prover's live status", "";
            raw_answers(InstanceRequest) -> RawAnswers, read, "Show raw answers", "";
            probe_script(ProbeScriptRequest) -> ProbeScript, read, "Show the probe's commands", "";
            allow_probe(AllowProbe) -> Fleets, view, "Allow SSH probes of a fleet's machines", "";
            note(NoteRequest) -> DiagnosisPage, view, "Write a note", "";
            close(CloseRequest) -> DiagnosisPage, view, "Close with a cause", "";
            acknowledge(AcknowledgeRequest) -> FleetView, view, "Acknowledge written-off instances", "";
            report(ReportRequest) -> Report, read, "Write a report", "";
            causes(Nothing) -> Causes, read, "List the catalogue of causes", "";
            explain(CauseRequest) -> CauseView, read, "Explain a cause", "";
            rented_before(RentedBefore) -> Rented, read, "List instances created before a date", "";
            rentals(Nothing) -> Rentals, read, "Show what vast.ai bills", "g v";
            keys(Nothing) -> Accounts, read, "List vast.ai accounts", "";
            import_key(ImportKey) -> Accounts, view, "Import the key of the vast.ai CLI", "";
            remove_account(AccountName) -> Accounts, view, "Remove a vast.ai account", "";
            charts(Nothing) -> ChartList, read, "Show charts: throughput, dwell, cost", "g h";
            chart(ChartRequest) -> ChartView, read, "Draw a chart", "";
            chart_behind(ChartBehind) -> Behind, read, "Show the instances behind a number of a chart", "";
            save_chart(SaveChart) -> SavedFile, view, "Save a chart as a file", "";
            search_logs(SearchLogs) -> FoundLogs, read, "Search all stored logs", "g l";
            export_history(ExportHistory) -> ExportedFile, view, "Export a part of history", "";
            offers(OffersRequest) -> OffersView, read, "Show offers, with predicted proofs per hour", "g o";
            plan(PlanRequest) -> PlanView, read, "Plan an action: kill, destroy, stop, ban, ...", "";
            carry_out(CarryOut) -> Acts, act, "Execute a plan", "";
            plan_rollout(RolloutRequest) -> RolloutPlan, read, "Plan a deployment or a rolling replacement", "";
            begin_rollout(CarryOut) -> Rollouts, act, "Start a deployment or a rolling replacement", "";
            rollouts(Nothing) -> Rollouts, read, "Show deployments and replacements", "g p";
            pause_rollout(RolloutName) -> Rollouts, view, "Pause a rollout", "";
            resume_rollout(RolloutName) -> Rollouts, act, "Resume a rollout", "";
            take_back_rollout(RolloutName) -> Rollouts, view, "Cancel a rollout's pending items", "";
            rules(Nothing) -> Rules, read, "Show rules", "";
            save_rule(Rule) -> Rules, act, "Save a rule", "";
            remove_rule(RuleName) -> Rules, view, "Remove a rule", "";
            acts(Nothing) -> Acts, read, "Show the audit log", "g j";
            allow_acting(AllowActing) -> Acts, view, "Give write access to the fleet for a time, or make it read-only", "";
            refresh(Nothing) -> Nothing, read, "Read everything now", "r";
            fleets(Nothing) -> Fleets, read, "List saved fleets", "";
            ask_manager(ConnectRequest) -> Nothing, read, "Check that a manager answers", "";
            connect(ConnectRequest) -> Fleets, view, "Connect to a manager", "g c";
            watch_saved(FleetName) -> Fleets, view, "Watch a saved fleet", "";
            forget(FleetName) -> Fleets, view, "Remove a saved fleet", "";
            scenarios(Nothing) -> Scenarios, read, "List scenarios", "";
            simulate(SimulateRequest) -> Fleets, view, "Try it with a simulated fleet", "g s";
            bench_cards(Nothing) -> BenchCards, read, "List GPUs that can be benchmarked", "";
            bench(Nothing) -> BenchView, read, "Benchmark a GPU", "g b";
            start_bench(StartBench) -> BenchView, view, "Start a benchmark", "";
            stop_bench(Nothing) -> BenchView, view, "Stop the benchmark", "";
            save_bench(SaveBench) -> SavedFile, view, "Save a benchmark as a file", "";
            drills(Nothing) -> Drills, read, "Practise: run a drill", "g r";
            start_drill(StartDrill) -> Fleets, view, "Start a drill", "";
            drill(Nothing) -> DrillView, read, "Show the drill", "";
            answer_drill(AnswerDrill) -> DrillView, view, "Name a cause in the drill", "";
            do_in_drill(DoInDrill) -> DrillView, view, "Act in the drill", "";
            end_drill(Nothing) -> DrillView, view, "End the drill", "";
            set_speed(SpeedRequest) -> Nothing, view, "Change the simulation's speed", "";
            doctor(Nothing) -> Doctor, read, "Check this machine for what Dwell needs", "g d";
        }
    };
}
