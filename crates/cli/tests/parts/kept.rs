//! Charts, figures, search, export and import, as they are typed.

use dwell_commands::{Archive, ExportTable, Folder, TableForm};
use serde_json::Value;

use crate::{Sim, dwellctl, json, text};

/// Watches a simulated manager until somebody is flagged, and gives the folder with what was kept.
fn watched() -> Sim {
    let sim = Sim::serve("params-done-silence", "120");
    let output = dwellctl(sim.folder.path(), &["--manager", &sim.url, "watch", "--every", "500ms", "--until-flagged"]);
    assert_eq!(output.status.code(), Some(10), "{}", text(&output.stderr));
    sim
}

#[test]
fn what_was_watched_is_charted_counted_searched_and_exported() {
    let sim = watched();
    let folder = sim.folder.path();
    let run = |arguments: &[&str]| dwellctl(folder, arguments);

    let list = json(&run(&["chart", "--json"]));
    assert!(list["charts"].as_array().unwrap().len() >= 12 && list["begins"].is_string());
    for chart in list["charts"].as_array().unwrap() {
        let name = chart["name"].as_str().unwrap();
        let mut arguments = vec!["chart", name, "--json", "--by", "gpu"];
        if chart["of_an_instance"] == true {
            arguments.extend(["--instance", "d977"]);
        }
        let view = json(&run(&arguments));
        assert_eq!(view["name"], name, "{view}");
        assert!(!view["sentence"].as_str().unwrap().is_empty());
        assert!(view["empty"] == true || view["svg"].as_str().unwrap().starts_with("<svg"), "{name}");
    }
    let svg = folder.join("states.svg");
    let output = run(&["chart", "states", "-o", svg.to_str().unwrap(), "--dark", "--width", "700"]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let svg = std::fs::read_to_string(svg).unwrap();
    assert!(svg.starts_with("<svg width=\"700\"") && svg.contains("SIMULATED") && svg.contains("params_done"));
    let csv = folder.join("states.csv");
    run(&["chart", "states", "-o", csv.to_str().unwrap()]);
    assert!(std::fs::read_to_string(csv).unwrap().starts_with("at,from,to,"));
    for wrong in [&["chart", "nonsense"][..], &["chart", "cost", "--by", "taste"], &["chart", "dwell", "--state", "running"]] {
        let output = run(wrong);
        assert!(!output.status.success() && text(&output.stderr).contains("hint: there are"), "{}", text(&output.stderr));
    }

    let figures = json(&run(&["history", "query", "--by", "gpu", "--json"]));
    let groups = figures["groups"].as_array().unwrap();
    let proving = groups.iter().find(|row| row["group"] == "RTX 3090").unwrap();
    assert!((proving["proofs_per_h"].as_f64().unwrap() - 35.57).abs() < 0.01, "{proving}");
    assert!((proving["dollars_per_proof"].as_f64().unwrap() - 0.31 / 35.57).abs() < 1e-6);
    assert!(groups.iter().find(|row| row["group"] == "RTX 4090").unwrap()["proofs_per_h"].is_null(), "not told is not 0");
    assert!(text(&run(&["history", "query"]).stdout).contains("got running"));

    let found = json(&run(&["history", "search", "registered", "--json", "-n", "5"]));
    let one = found["lines"]
        .as_array()
        .unwrap()
        .iter()
        .all(|line| line["text"].as_str().unwrap().to_lowercase().contains("registered"));
    assert!(one && !found["lines"].as_array().unwrap().is_empty(), "{found}");
    assert!(text(&run(&["history", "search", "xyzzy"]).stderr).contains("no line that is kept"));

    for (table, form) in [("transitions", "csv"), ("gauges", "jsonl"), ("instances", "parquet")] {
        let path = folder.join(format!("{table}.{form}"));
        let output = run(&["history", "export", table, "-o", path.to_str().unwrap(), "--json"]);
        let rows = json(&output)["rows"].as_u64().unwrap();
        assert!(rows > 0, "{table}");
        if form != "parquet" {
            let lines = std::fs::read_to_string(&path).unwrap().lines().count() as u64;
            assert_eq!(lines, rows + u64::from(form == "csv"));
        }
        let again = run(&["history", "export", table, "-o", path.to_str().unwrap()]);
        assert!(!again.status.success() && text(&again.stderr).contains("cannot write"), "never over another file");
    }
    assert!(text(&run(&["history", "fleets"]).stdout).contains("SIMULATED"));

    // Another workstation takes it over, twice.
    let other = tempfile::tempdir().unwrap();
    let file = folder.join("history.sqlite3");
    let joined = json(&dwellctl(other.path(), &["history", "import", file.to_str().unwrap(), "--json"]));
    assert!(joined["instances"].as_u64().unwrap() >= 32 && joined["log_lines"].as_u64().unwrap() > 0, "{joined}");
    assert!(text(&dwellctl(other.path(), &["history", "import", file.to_str().unwrap()]).stdout).contains("Nothing new"));
    let elsewhere = json(&dwellctl(other.path(), &["history", "query", "--by", "gpu", "--json"]));
    assert_eq!(elsewhere["groups"], figures["groups"]);
    let nothing = dwellctl(tempfile::tempdir().unwrap().path(), &["chart", "states"]);
    assert!(text(&nothing.stderr).contains("history begins when a fleet is watched"));
}

/// Read back by the library that reads Parquet, column by column.
#[test]
fn parquet_holds_what_csv_holds() {
    use parquet::file::reader::{FileReader, SerializedFileReader};
    use parquet::record::Field;

    let sim = watched();
    let folder = Folder::find(Some(sim.folder.path().to_owned())).unwrap();
    let archive = Archive::open(&folder, None).unwrap();
    for table in ExportTable::ALL {
        let write = |form: TableForm| {
            let path = sim.folder.path().join(format!("{}.{}", table.as_str(), form.ending()));
            let file = std::fs::File::create_new(&path).unwrap();
            (archive.export(table, (None, None), form, file).unwrap(), path)
        };
        let ((rows, lines), (in_parquet, columns)) = (write(TableForm::Json), write(TableForm::Parquet));
        assert_eq!(rows, in_parquet, "{}", table.as_str());
        let reader = SerializedFileReader::new(std::fs::File::open(columns).unwrap()).unwrap();
        let lines = std::fs::read_to_string(lines).unwrap();
        let mut compared = 0;
        for (row, line) in reader.get_row_iter(None).unwrap().zip(lines.lines()) {
            let line: Value = serde_json::from_str(line).unwrap();
            for (name, field) in row.unwrap().get_column_iter() {
                let told = &line[name];
                let same = match field {
                    Field::Null => told.is_null(),
                    Field::Str(value) => told == value.as_str(),
                    Field::Long(value) => told.as_i64() == Some(*value),
                    Field::Double(value) => told.as_f64() == Some(*value),
                    Field::TimestampMillis(value) => {
                        told.as_str().unwrap().parse::<jiff::Timestamp>().unwrap().as_millisecond() == *value
                    }
                    other => panic!("{other:?}"),
                };
                assert!(same, "{} {name}: {field:?} and {told}", table.as_str());
            }
            compared += 1;
        }
        assert_eq!(compared, rows);
    }
}
