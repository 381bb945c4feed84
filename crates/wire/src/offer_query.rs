//! The query language of vast.ai's command line client, as the filters that its search takes: `gpu_ram>=24 gpu_name=RTX_4090
//! geolocation in [NO,SE]`.
//!
//! Source of grammar, names and units: `vastai` 1.9.1 (`search offers --help`, `vastai.api.query`). Two oddities are its own and are
//! kept, because the manager passes queries to that client: numbers are sent as text, except in fields with a unit of their own, and
//! `driver_version` is compared as one integer. `simulator/tests/it/offer_queries.rs` compares both with the installed client.

use serde_json::{Map, Value, json};

/// Filters in one query.
const FILTERS_MAX: usize = 40;
/// Longest query, bytes.
const QUERY_BYTES_MAX: usize = 4_000;

/// Fields that the client knows. Others are sent as they are, with a warning.
pub const OFFER_FIELDS: [&str; 53] = [
    "bw_nvlink",
    "cluster_id",
    "compute_cap",
    "cpu_arch",
    "cpu_cores",
    "cpu_cores_effective",
    "cpu_ghz",
    "cpu_ram",
    "cuda_max_good",
    "datacenter",
    "direct_port_count",
    "disk_bw",
    "disk_space",
    "dlperf",
    "dlperf_per_dphtotal",
    "dph_total",
    "driver_version",
    "duration",
    "external",
    "flops_per_dphtotal",
    "geolocation",
    "gpu_arch",
    "gpu_display_active",
    "gpu_frac",
    "gpu_max_power",
    "gpu_max_temp",
    "gpu_mem_bw",
    "gpu_name",
    "gpu_ram",
    "gpu_total_ram",
    "has_avx",
    "host_id",
    "id",
    "inet_down",
    "inet_down_cost",
    "inet_up",
    "inet_up_cost",
    "machine_id",
    "min_bid",
    "mobo_name",
    "num_gpus",
    "pci_gen",
    "pcie_bw",
    "reliability",
    "rentable",
    "rented",
    "static_ip",
    "storage_cost",
    "total_flops",
    "ubuntu_version",
    "verification",
    "verified",
    "vms_enabled",
];

/// Names that people write, and the search's.
const ALIASES: [(&str, &str); 5] = [
    ("cuda_vers", "cuda_max_good"),
    ("display_active", "gpu_display_active"),
    ("dlperf_usd", "dlperf_per_dphtotal"),
    ("dph", "dph_total"),
    ("flops_usd", "flops_per_dphtotal"),
];

/// Fields that are typed in another unit than they are sent in: GB for MB of a thousand, days for seconds.
const FACTORS: [(&str, f64); 4] =
    [("cpu_ram", 1_000.0), ("gpu_ram", 1_000.0), ("gpu_total_ram", 1_000.0), ("duration", 86_400.0)];

/// Operators made of signs. Any other run of these signs is an error.
const SIGNS: [(&str, &str); 7] =
    [(">=", "gte"), ("<=", "lte"), ("!=", "neq"), ("==", "eq"), (">", "gt"), ("<", "lt"), ("=", "eq")];

/// Operators that are words: each stands between blanks.
const WORDS: [(&str, &str); 12] = [
    ("not in", "notin"),
    ("notin", "notin"),
    ("nin", "notin"),
    ("in", "in"),
    ("not eq", "neq"),
    ("noteq", "neq"),
    ("neq", "neq"),
    ("eq", "eq"),
    ("gte", "gte"),
    ("gt", "gt"),
    ("lte", "lte"),
    ("lt", "lt"),
];

/// A query as filters.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct OfferFilters {
    /// Operators and values by field, as the search's body has them.
    pub filters: Map<String, Value>,
    /// Fields that vast.ai's client does not know. They are sent all the same.
    pub unknown_fields: Vec<String>,
}

/// What vast.ai's client filters by where nothing else is said.
pub fn offer_defaults() -> Map<String, Value> {
    [("verified", true), ("external", false), ("rentable", true)]
        .into_iter()
        .map(|(field, wanted)| (field.to_owned(), json!({ "eq": wanted })))
        .collect()
}

/// Reads a query on top of filters that hold where it says nothing else. `Err` says in a sentence what cannot be read.
pub fn offer_filters(query: &str, defaults: Map<String, Value>) -> Result<OfferFilters, String> {
    if query.len() > QUERY_BYTES_MAX {
        return Err(format!("a query has {QUERY_BYTES_MAX} bytes at most"));
    }
    let mut read = OfferFilters { filters: defaults, unknown_fields: Vec::new() };
    let mut rest = query.trim();
    for count in 0.. {
        if rest.is_empty() {
            break;
        }
        if count >= FILTERS_MAX {
            return Err(format!("a query has {FILTERS_MAX} filters at most"));
        }
        let term;
        (term, rest) = next_term(rest)?;
        take(&mut read, &term)?;
    }
    Ok(read)
}

/// A comparison as it is written.
#[derive(Debug, PartialEq)]
struct Term<'a> {
    field: &'a str,
    operator: &'a str,
    value: &'a str,
}

/// The next comparison of a text, and what follows it.
fn next_term(text: &str) -> Result<(Term<'_>, &str), String> {
    let (field, rest) = split(text, |letter| letter.is_ascii_alphanumeric() || letter == '_');
    if field.is_empty() {
        return Err(format!("cannot read {text:?}: a filter reads like gpu_ram>=24 or geolocation in [NO,SE]"));
    }
    let (operator, rest) = operator(rest);
    let rest = rest.trim_start_matches(' ');
    let enclosed = |open: char, close: char| {
        let inner = rest.strip_prefix(open)?;
        let length = inner.find(close).filter(|length| *length > 0)?;
        Some(rest.split_at(length + open.len_utf8() + close.len_utf8()))
    };
    let (value, rest) = enclosed('[', ']').or_else(|| enclosed('"', '"')).unwrap_or_else(|| split(rest, |letter| letter != ' '));
    Ok((Term { field, operator, value }, rest.trim_start_matches(' ')))
}

/// The longest beginning of these letters, and the rest.
fn split(text: &str, is_part: impl Fn(char) -> bool) -> (&str, &str) {
    text.split_at(text.find(|letter| !is_part(letter)).unwrap_or(text.len()))
}

/// The operator at the beginning, empty where there is none, and the rest.
fn operator(text: &str) -> (&str, &str) {
    let after_blanks = text.trim_start_matches(' ');
    let (signs, rest) = split(after_blanks, |letter| matches!(letter, '=' | '>' | '<' | '!'));
    if !signs.is_empty() {
        return (signs, rest);
    }
    if after_blanks.len() < text.len() {
        for (word, _) in WORDS {
            if let Some(rest) = after_blanks.strip_prefix(word).filter(|rest| rest.starts_with(' ')) {
                return (&after_blanks[..word.len()], rest);
            }
        }
    }
    ("", text)
}

fn take(read: &mut OfferFilters, term: &Term<'_>) -> Result<(), String> {
    let written = format!("{} {} {}", term.field, term.operator, term.value);
    let field = ALIASES.iter().find(|(name, _)| *name == term.field).map_or(term.field, |(_, name)| *name);
    let operator = SIGNS.iter().chain(&WORDS).find(|(sign, _)| *sign == term.operator).map_or("", |(_, name)| *name);
    if operator.is_empty() {
        return Err(match term.operator {
            "" => format!("{:?} is no filter: it has no operator such as >= or =", term.field),
            other => format!("{other:?} is no operator: = != > >= < <= in notin are"),
        });
    }
    if !OFFER_FIELDS.contains(&field) {
        read.unknown_fields.push(field.to_owned());
    }
    let text = term.value.trim_matches([',', '[', ']']);
    let is_version = field == "driver_version" && text.contains('.');
    let value = if matches!(operator, "in" | "notin") {
        if is_version {
            return Err(format!("{written:?}: vast.ai's client compares driver versions one by one, not with a list"));
        }
        let items = text.split(',').map(str::trim).filter(|item| !item.is_empty());
        Value::from_iter(items.map(|item| item.replace('_', " ").trim_matches('"').to_owned()))
    } else if is_version {
        let version = version(text).filter(|version| *version > 0);
        Value::from(version.ok_or_else(|| format!("{written:?}: a driver version has three numbers, such as 570.133.20"))?)
    } else {
        Value::from(text)
    };
    if value == "" || value == json!([]) {
        return Err(format!(
            "{:?} is compared with nothing: a filter reads like gpu_ram>=24 or geolocation in [NO,SE]",
            term.field
        ));
    }
    if value.as_str().is_some_and(|text| matches!(text, "?" | "*" | "any")) {
        if operator != "eq" {
            return Err(format!("{written:?}: \"any\" is written with =, as in verified=any"));
        }
        read.filters.remove(field);
        return Ok(());
    }
    let value = match value {
        Value::String(text) => typed(field, text.replace('_', " ").trim_matches('"'))?,
        Value::Array(_) if FACTORS.iter().any(|(name, _)| *name == field) => {
            return Err(format!("{written:?}: {field} is compared with one number, not with a list"));
        }
        other => other,
    };
    let rules = read.filters.entry(field.to_owned()).or_insert_with(|| json!({}));
    rules[operator] = value;
    Ok(())
}

fn typed(field: &str, text: &str) -> Result<Value, String> {
    if let Some((_, factor)) = FACTORS.iter().find(|(name, _)| *name == field) {
        let number = text.trim().parse::<f64>().ok().map(|number| number * factor).filter(|number| number.is_finite());
        return number.map(Value::from).ok_or_else(|| format!("{field} is compared with a number, not with {text:?}"));
    }
    Ok(match text {
        "true" | "True" => Value::Bool(true),
        "false" | "False" => Value::Bool(false),
        "None" | "null" => Value::Null,
        other => Value::from(other),
    })
}

/// `570.133.20` as it is compared: 570133020.
fn version(text: &str) -> Option<u64> {
    let parts: Vec<&str> = text.split('.').collect();
    let are_numbers = parts.iter().all(|part| !part.is_empty() && part.bytes().all(|letter| letter.is_ascii_digit()));
    if parts.len() != 3 || !are_numbers {
        return None;
    }
    parts.iter().map(|part| format!("{part:0>3}")).collect::<String>().parse().ok()
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test that cannot go on says where")]
mod tests {
    use super::*;

    fn read(query: &str) -> Value {
        Value::Object(offer_filters(query, Map::new()).unwrap().filters)
    }

    #[test]
    fn the_managers_own_query_is_read() {
        let query = "disk_space>=250 dph<=0.9 gpu_ram>12.5 cpu_ram>=240 cpu_cores>25 inet_down>100 cuda_vers>=13.0";
        let expected = json!({
            "disk_space": { "gte": "250" }, "dph_total": { "lte": "0.9" }, "gpu_ram": { "gt": 12_500.0 },
            "cpu_ram": { "gte": 240_000.0 }, "cpu_cores": { "gt": "25" }, "inet_down": { "gt": "100" },
            "cuda_max_good": { "gte": "13.0" },
        });
        assert_eq!(read(query), expected);
    }

    #[test]
    fn names_lists_ranges_and_defaults_are_read() {
        let query =
            "gpu_name=RTX_4090 geolocation in [NO, SE] dph > 0.1 dph<0.5 rentable = true duration>2 driver_version>=570.133.20";
        let expected = json!({
            "gpu_name": { "eq": "RTX 4090" }, "geolocation": { "in": ["NO", "SE"] },
            "dph_total": { "gt": "0.1", "lt": "0.5" }, "rentable": { "eq": true }, "duration": { "gt": 172_800.0 },
            "driver_version": { "gte": 570_133_020u64 },
        });
        assert_eq!(read(query), expected);
        assert_eq!(read(""), json!({}));
        let defaults = |query: &str| Value::Object(offer_filters(query, offer_defaults()).unwrap().filters);
        assert_eq!(defaults("verified=any"), json!({ "external": { "eq": false }, "rentable": { "eq": true } }));
        assert_eq!(defaults("verified=false")["verified"], json!({ "eq": false }));
        assert_eq!(offer_filters("price<3 dph<3", Map::new()).unwrap().unknown_fields, ["price"]);
    }

    #[test]
    fn what_cannot_be_read_is_said() {
        for bad in
            ["cheap", "gpu_ram>=", ">=3", "a.b=1", "gpu_ram>=24; drop=1", "gpu_ram in [1,2]", "verified!=any", "gpu_ram=>3"]
        {
            assert!(offer_filters(bad, Map::new()).is_err(), "{bad}");
        }
        assert!(offer_filters(&"a=1 ".repeat(99), Map::new()).is_err());
        assert!(offer_filters(&"a".repeat(9_999), Map::new()).is_err());
    }
}
