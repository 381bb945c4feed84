//! Tables in which a row is a line: on a terminal what does not fit is cut, into a pipe everything goes whole.

use std::fmt::Display;
use std::io::IsTerminal;

use comfy_table::{Attribute, Cell, CellAlignment, ColumnConstraint, ContentArrangement, Table, Width, presets};

use crate::print::{out, remark};

/// Columns of the text that is cut, at least, before other columns are left out for it.
const TEXT_MIN: u16 = 28;
/// Blanks beside a cell.
const PADDING: u16 = 2;
/// Narrower than this no column is cut.
const COLUMN_MIN: u16 = 6;

/// How a list is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, clap::ValueEnum)]
pub(crate) enum Form {
    /// As much as fits the terminal.
    #[default]
    Table,
    /// Every column, nothing cut.
    Wide,
    /// JSON, as with --json.
    Json,
}

/// A list that is being made.
pub(crate) struct List {
    heads: Vec<String>,
    rows: Vec<Vec<Cell>>,
    /// Heads of columns that are left out where the terminal is narrow, the first of them first.
    left_out_first: &'static [&'static str],
    right: &'static [&'static str],
}

impl List {
    pub(crate) fn new<H: Display>(heads: impl IntoIterator<Item = H>) -> Self {
        let heads = heads.into_iter().map(|head| head.to_string()).collect();
        Self { heads, rows: Vec::new(), left_out_first: &[], right: &[] }
    }

    /// Columns that can be left out, in this order.
    pub(crate) fn leaving_out(mut self, heads: &'static [&'static str]) -> Self {
        self.left_out_first = heads;
        self
    }

    /// Columns of numbers.
    pub(crate) fn right(mut self, heads: &'static [&'static str]) -> Self {
        self.right = heads;
        self
    }

    pub(crate) fn add_row<C: Into<Cell>>(&mut self, cells: impl IntoIterator<Item = C>) {
        self.rows.push(cells.into_iter().map(Into::into).collect());
    }

    /// Prints it, and says what was left out.
    pub(crate) fn show(&self, form: Form) {
        let (text, left_out) = self.drawn(terminal_width().filter(|_| form != Form::Wide));
        out(&text);
        if !left_out.is_empty() {
            remark(&format!("{} left out at this width: -o wide shows every column", left_out.join(", ")));
        }
    }

    /// The table for this width, whole where there is none, and the heads of the columns that it leaves out.
    pub(crate) fn drawn(&self, width: Option<u16>) -> (String, Vec<&str>) {
        let natural: Vec<u16> = self.table(&(0..self.heads.len()).collect::<Vec<_>>(), None).column_max_content_widths();
        let Some(width) = width else { return (self.table(&(0..self.heads.len()).collect::<Vec<_>>(), None).trim_fmt(), vec![]) };
        let mut shown: Vec<usize> = (0..self.heads.len()).collect();
        let mut left_out = Vec::new();
        for head in self.left_out_first {
            let Some(widest) = shown.iter().map(|column| natural[*column]).max() else { break };
            let all: u16 = shown.iter().map(|column| natural[*column] + PADDING).sum();
            if all - widest + widest.min(TEXT_MIN) <= width {
                break;
            }
            if let Some(place) = shown.iter().position(|column| self.heads[*column] == *head) {
                shown.remove(place);
                left_out.push(*head);
            }
        }
        let natural: Vec<u16> = shown.iter().map(|column| natural[*column]).collect();
        let widths = cut(&natural, width);
        (self.table(&shown, Some((width, &widths))).trim_fmt(), left_out)
    }

    fn table(&self, shown: &[usize], within: Option<(u16, &[u16])>) -> Table {
        let mut table = Table::new();
        table.load_style(presets::NOTHING).set_truncation_indicator("\u{2026}");
        if std::io::stdout().is_terminal() {
            table.enforce_styling();
        } else {
            table.force_no_tty();
        }
        let heads = shown.iter().map(|column| Cell::new(&self.heads[*column]).add_attribute(Attribute::Dim));
        let mut head: comfy_table::Row = heads.collect::<Vec<_>>().into();
        head.max_height(1);
        table.set_header(head);
        for cells in &self.rows {
            let mut row: comfy_table::Row =
                shown.iter().filter_map(|column| cells.get(*column).cloned()).collect::<Vec<_>>().into();
            row.max_height(1);
            table.add_row(row);
        }
        match within {
            None => _ = table.set_content_arrangement(ContentArrangement::Disabled),
            Some((width, widths)) => {
                table.set_content_arrangement(ContentArrangement::Dynamic).set_width(width);
                table.set_constraints(widths.iter().map(|width| ColumnConstraint::Absolute(Width::Fixed(width + PADDING))));
            }
        }
        for (place, column) in shown.iter().enumerate() {
            if let Some(drawn) = table.column_mut(place) {
                // Words are no reason to cut earlier.
                drawn.set_delimiter('\u{1f}');
                if self.right.contains(&self.heads[*column].as_str()) {
                    drawn.set_cell_alignment(CellAlignment::Right);
                }
            }
        }
        table
    }
}

/// Widths that fit: the widest columns are cut to one width, the others stay.
fn cut(natural: &[u16], width: u16) -> Vec<u16> {
    let fits =
        |most: u16| natural.iter().map(|it| u32::from(*it.min(&most)) + u32::from(PADDING)).sum::<u32>() <= u32::from(width);
    let widest = natural.iter().copied().max().unwrap_or(0);
    let most = (COLUMN_MIN..widest).rev().find(|most| fits(*most)).unwrap_or(COLUMN_MIN);
    let most = if fits(widest) { widest } else { most };
    natural.iter().map(|it| *it.min(&most)).collect()
}

/// Columns of the terminal that standard output is; none where it is something else.
fn terminal_width() -> Option<u16> {
    std::io::stdout().is_terminal().then(|| Table::new().width()).flatten().filter(|width| *width > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list() -> List {
        let mut list = List::new(["STATE", "DWELL", "BAR", "INSTANCE", "WHY"]).right(&["DWELL"]).leaving_out(&["BAR", "DWELL"]);
        list.add_row([
            "params_done",
            "12 m",
            "\u{2588}\u{2588}\u{2588}\u{b7}\u{b7}\u{b7}\u{b7}\u{250a}",
            "d977dead",
            "invisible: in params_done for 12 m and nothing speaks",
        ]);
        list.add_row(["running", "3 h 5 m", "", "29d213df", "proving"]);
        list
    }

    #[test]
    fn a_row_is_a_line_at_every_width() {
        for width in (10..140).map(Some).chain([None]) {
            let (text, _) = list().drawn(width);
            assert_eq!(text.lines().count(), 3, "{width:?}:\n{text}");
            // Narrower than that no column gets: the terminal cuts then.
            let most = width.unwrap_or(u16::MAX).max(48);
            assert!(text.lines().all(|line| line.chars().count() <= usize::from(most)), "{width:?}:\n{text}");
        }
    }

    #[test]
    fn what_does_not_fit_is_cut_and_said() {
        let at = |width: Option<u16>| {
            let list = list();
            let (text, left_out) = list.drawn(width);
            format!("{text}\nleft out: {left_out:?}")
        };
        insta::assert_snapshot!([at(None), at(Some(80)), at(Some(60)), at(Some(40))].join("\n\n"));
    }
}
