//! Parts of history as files that other programs read: CSV, JSON lines, Parquet. One row is in memory at a time; of Parquet, a
//! group of rows.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::sync::Arc;

use dwell_fleet::Timestamp;
use dwell_history::{Cell, ColumnKind, ExportTable, FleetId, History};
use parquet::basic::{Compression, LogicalType, Repetition, TimeUnit, Type as Physical};
use parquet::data_type::{ByteArray, ByteArrayType, DoubleType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::Type;

use crate::charts::safe_cell;
use crate::{ApiError, ErrorCode};

/// The form of a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TableForm {
    /// Comma-separated values with a head; times in RFC 3339, what was not told is empty.
    Csv,
    /// One JSON object a line; times in RFC 3339, what was not told is `null`.
    Json,
    /// Parquet; times as milliseconds in UTC, what was not told is null.
    Parquet,
}

impl TableForm {
    /// Of a name or of the end of a file's name.
    pub fn named(name: &str) -> Option<Self> {
        match name.to_ascii_lowercase().as_str() {
            "csv" => Some(Self::Csv),
            "json" | "jsonl" | "ndjson" => Some(Self::Json),
            "parquet" => Some(Self::Parquet),
            _ => None,
        }
    }

    /// How the name of such a file ends.
    pub fn ending(self) -> &'static str {
        match self {
            Self::Csv => "csv",
            Self::Json => "jsonl",
            Self::Parquet => "parquet",
        }
    }
}

/// Writes a table to a file that was opened for it; gives how many rows it has.
pub(crate) fn write(
    history: &History,
    (fleet, table): (FleetId, ExportTable),
    during: (Timestamp, Timestamp),
    form: TableForm,
    file: File,
) -> Result<usize, ApiError> {
    let unwritten = |why: String| ApiError::new(ErrorCode::NotSaved, format!("the file cannot be written: {why}"));
    let mut rows = 0;
    let mut failure: Option<String> = None;
    // Ends the reading at the first thing that goes wrong with the writing.
    let mut note = |written: Result<(), String>| {
        rows += usize::from(written.is_ok());
        failure = written.err();
        failure.is_none()
    };
    match form {
        TableForm::Csv => {
            let mut writer = csv::Writer::from_writer(BufWriter::new(file));
            let head = table.columns().iter().map(|column| column.name);
            writer.write_record(head).map_err(|error| unwritten(error.to_string()))?;
            history.export(fleet, table, during, |cells| {
                let row = cells.iter().zip(table.columns()).map(|(cell, column)| plain(*cell, column.kind));
                note(writer.write_record(row).map_err(|error| error.to_string()))
            })?;
            writer.flush().map_err(|error| unwritten(error.to_string()))?;
        }
        TableForm::Json => {
            let mut writer = BufWriter::new(file);
            history.export(fleet, table, during, |cells| {
                let row: serde_json::Map<String, serde_json::Value> = cells
                    .iter()
                    .zip(table.columns())
                    .map(|(cell, column)| (column.name.to_owned(), value(*cell, column.kind)))
                    .collect();
                let line = serde_json::to_writer(&mut writer, &row).map_err(|error| error.to_string());
                note(line.and_then(|()| writer.write_all(b"\n").map_err(|error| error.to_string())))
            })?;
            writer.flush().map_err(|error| unwritten(error.to_string()))?;
        }
        TableForm::Parquet => {
            let mut groups = Groups::new(file, table).map_err(|error| unwritten(error.to_string()))?;
            history.export(fleet, table, during, |cells| note(groups.add(cells).map_err(|error| error.to_string())))?;
            groups.close().map_err(|error| unwritten(error.to_string()))?;
        }
    }
    match failure {
        None => Ok(rows),
        Some(why) => Err(unwritten(why)),
    }
}

fn time_of(cell: i64) -> Option<String> {
    Timestamp::from_millisecond(cell).ok().map(|at| at.to_string())
}

fn plain(cell: Cell<'_>, kind: ColumnKind) -> String {
    match cell {
        Cell::Nothing => String::new(),
        Cell::Integer(at) if kind == ColumnKind::Time => time_of(at).unwrap_or_default(),
        Cell::Integer(number) => number.to_string(),
        Cell::Real(number) => number.to_string(),
        Cell::Text(text) => safe_cell(text),
    }
}

fn value(cell: Cell<'_>, kind: ColumnKind) -> serde_json::Value {
    match cell {
        Cell::Nothing => serde_json::Value::Null,
        Cell::Integer(at) if kind == ColumnKind::Time => time_of(at).into(),
        Cell::Integer(number) => number.into(),
        Cell::Real(number) => number.into(),
        Cell::Text(text) => text.into(),
    }
}

/// Rows of one group of a Parquet file.
const GROUP_ROWS: usize = 65_536;

/// A column's values of the group that is being filled, and for each row whether there is one.
enum Values {
    Integers(Vec<i64>),
    Reals(Vec<f64>),
    Texts(Vec<ByteArray>),
}

struct Groups {
    writer: SerializedFileWriter<File>,
    columns: Vec<(ColumnKind, Values, Vec<i16>)>,
    rows: usize,
}

impl Groups {
    fn new(file: File, table: ExportTable) -> Result<Self, ParquetError> {
        let fields = table
            .columns()
            .iter()
            .map(|column| {
                let (physical, logical) = match column.kind {
                    ColumnKind::Text => (Physical::BYTE_ARRAY, Some(LogicalType::String)),
                    ColumnKind::Integer => (Physical::INT64, None),
                    ColumnKind::Real => (Physical::DOUBLE, None),
                    ColumnKind::Time => (Physical::INT64, Some(LogicalType::timestamp(true, TimeUnit::MILLIS))),
                };
                let field = Type::primitive_type_builder(column.name, physical).with_logical_type(logical);
                field.with_repetition(Repetition::OPTIONAL).build().map(Arc::new)
            })
            .collect::<Result<Vec<_>, _>>()?;
        let schema = Arc::new(Type::group_type_builder(table.as_str()).with_fields(fields).build()?);
        let properties = WriterProperties::builder().set_compression(Compression::SNAPPY).build();
        let columns = table
            .columns()
            .iter()
            .map(|column| {
                let values = match column.kind {
                    ColumnKind::Text => Values::Texts(Vec::new()),
                    ColumnKind::Real => Values::Reals(Vec::new()),
                    ColumnKind::Integer | ColumnKind::Time => Values::Integers(Vec::new()),
                };
                (column.kind, values, Vec::new())
            })
            .collect();
        Ok(Self { writer: SerializedFileWriter::new(file, schema, Arc::new(properties))?, columns, rows: 0 })
    }

    fn add(&mut self, cells: &[Cell<'_>]) -> Result<(), ParquetError> {
        for (cell, (_, values, told)) in cells.iter().zip(&mut self.columns) {
            let is_told = match (cell, values) {
                (Cell::Integer(number), Values::Integers(values)) => {
                    values.push(*number);
                    true
                }
                (Cell::Integer(number), Values::Reals(values)) => {
                    values.push(*number as f64);
                    true
                }
                (Cell::Real(number), Values::Reals(values)) => {
                    values.push(*number);
                    true
                }
                (Cell::Text(text), Values::Texts(values)) => {
                    values.push(ByteArray::from(text.as_bytes().to_vec()));
                    true
                }
                _ => false,
            };
            told.push(i16::from(is_told));
        }
        self.rows += 1;
        if self.rows == GROUP_ROWS { self.flush() } else { Ok(()) }
    }

    fn flush(&mut self) -> Result<(), ParquetError> {
        if self.rows == 0 {
            return Ok(());
        }
        let mut group = self.writer.next_row_group()?;
        let mut columns = self.columns.iter_mut();
        while let (Some(mut column), Some((_, values, told))) = (group.next_column()?, columns.next()) {
            match values {
                Values::Integers(values) => {
                    column.typed::<Int64Type>().write_batch(values, Some(told), None)?;
                    values.clear();
                }
                Values::Reals(values) => {
                    column.typed::<DoubleType>().write_batch(values, Some(told), None)?;
                    values.clear();
                }
                Values::Texts(values) => {
                    column.typed::<ByteArrayType>().write_batch(values, Some(told), None)?;
                    values.clear();
                }
            }
            told.clear();
            column.close()?;
        }
        group.close()?;
        self.rows = 0;
        Ok(())
    }

    fn close(mut self) -> Result<(), ParquetError> {
        self.flush()?;
        self.writer.close().map(drop)
    }
}
