//! The query language of vast.ai's own command line client, as the filters that its API takes: `gpu_ram>=24 gpu_name=RTX_4090
//! geolocation in [NO,SE]`. Source: vast.ai's documentation of `search offers` and its client.

use serde_json::{Map, Value, json};

/// Filters in one query.
const FILTERS_MAX: usize = 40;
/// Names that people write, and the API's.
const ALIASES: [(&str, &str); 7] = [
    ("driver_version", "driver_vers"),
    ("reliability", "reliability2"),
    ("dph", "dph_total"),
    ("dphtotal", "dph_total"),
    ("cuda_vers", "cuda_max_good"),
    ("gpu_totalram", "gpu_total_ram"),
    ("dlperf_usd", "dlperf_per_dphtotal"),
];
/// Fields that are typed in GB and sent in MB of a thousand.
const IN_GB: [&str; 3] = ["gpu_ram", "gpu_total_ram", "cpu_ram"];
const OPERATORS: [(&str, &str); 8] =
    [(">=", "gte"), ("<=", "lte"), ("!=", "neq"), ("==", "eq"), (">", "gt"), ("<", "lt"), ("=", "eq"), (" in ", "in")];
const SECONDS_A_DAY: f64 = 86_400.0;

/// Reads a query. `Err` says in a sentence what cannot be read.
pub(crate) fn filters(query: &str) -> Result<Map<String, Value>, String> {
    let mut filters: Map<String, Value> = Map::new();
    for (count, term) in terms(query).into_iter().enumerate() {
        if count >= FILTERS_MAX {
            return Err(format!("a query has {FILTERS_MAX} filters at most"));
        }
        let (at, (sign, operator)) = OPERATORS
            .iter()
            .filter_map(|operator| Some((term.find(operator.0)?, *operator)))
            // The first one in the text, and of those that begin there the longest.
            .min_by_key(|(at, operator)| (*at, std::cmp::Reverse(operator.0.len())))
            .ok_or_else(|| format!("{term:?} is no filter: it has no operator such as >= or ="))?;
        let (field, value) = (term[..at].trim(), term[at + sign.len()..].trim());
        if field.is_empty() || value.is_empty() || !field.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '_') {
            return Err(format!("{term:?} is no filter: it should read like gpu_ram>=24"));
        }
        let field = ALIASES.iter().find(|(name, _)| *name == field).map_or(field, |(_, name)| *name);
        if value == "any" {
            filters.remove(field);
            continue;
        }
        let value = match operator {
            "in" => {
                let list = value.strip_prefix('[').and_then(|list| list.strip_suffix(']'));
                let list = list.ok_or_else(|| format!("{term:?}: a list is written in brackets, [NO,SE]"))?;
                Value::from_iter(list.split(',').map(|item| typed(field, item.trim())))
            }
            _ => typed(field, value),
        };
        if matches!(operator, "gt" | "gte" | "lt" | "lte") && !value.is_number() {
            return Err(format!("{term:?}: {sign} needs a number"));
        }
        let rules = filters.entry(field.to_owned()).or_insert_with(|| json!({}));
        rules[operator] = value;
    }
    Ok(filters)
}

/// Terms of a query: blanks stand between them, and within brackets and around `in` as well.
fn terms(query: &str) -> Vec<String> {
    let mut terms: Vec<String> = Vec::new();
    let mut open = false;
    let mut joins = false;
    for word in query.split_whitespace() {
        let is_operator = word == "in" || OPERATORS.iter().any(|(sign, _)| *sign == word);
        match terms.last_mut() {
            Some(last) if open || joins || is_operator => {
                last.push(' ');
                last.push_str(word);
            }
            _ => terms.push(word.to_owned()),
        }
        joins = is_operator;
        open = terms.last().is_some_and(|term| term.matches('[').count() > term.matches(']').count());
    }
    terms
}

fn typed(field: &str, value: &str) -> Value {
    let value = value.trim_matches('"');
    if field == "driver_vers" && value.contains('.') {
        // 570.133.20 is sent as 570133020.
        let parts: Vec<u64> = value.split('.').map(|part| part.parse().unwrap_or(0)).chain([0, 0]).take(3).collect();
        return Value::from(parts[0] * 1_000_000 + parts[1] * 1_000 + parts[2]);
    }
    match (value.parse::<f64>(), value) {
        (Ok(number), _) if number.is_finite() => {
            let factor = if IN_GB.contains(&field) {
                1_000.0
            } else if field == "duration" {
                SECONDS_A_DAY
            } else {
                1.0
            };
            Value::from(number * factor)
        }
        (_, "true" | "True") => Value::Bool(true),
        (_, "false" | "False") => Value::Bool(false),
        // An underscore matches nothing there; it is how people write a name in one word.
        (_, word) => Value::from(word.replace('_', " ")),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test that cannot go on says where")]
mod tests {
    use super::*;

    #[test]
    fn the_managers_own_query_is_read() {
        let query = "disk_space>=250 dph<=0.9 gpu_ram>12.5 cpu_ram>=240 cpu_cores>25 inet_down>100 cuda_vers>=13.0";
        let expected = json!({
            "disk_space": { "gte": 250.0 }, "dph_total": { "lte": 0.9 }, "gpu_ram": { "gt": 12_500.0 },
            "cpu_ram": { "gte": 240_000.0 }, "cpu_cores": { "gt": 25.0 }, "inet_down": { "gt": 100.0 },
            "cuda_max_good": { "gte": 13.0 },
        });
        assert_eq!(Value::Object(filters(query).unwrap()), expected);
    }

    #[test]
    fn names_lists_ranges_and_defaults_are_read() {
        let query = "gpu_name=RTX_4090 geolocation in [NO, SE] dph > 0.1 dph<0.5 verified=any rentable = true duration>2 driver_version>=570.133.20";
        let expected = json!({
            "gpu_name": { "eq": "RTX 4090" }, "geolocation": { "in": ["NO", "SE"] },
            "dph_total": { "gt": 0.1, "lt": 0.5 }, "rentable": { "eq": true }, "duration": { "gt": 172_800.0 },
            "driver_vers": { "gte": 570_133_020u64 },
        });
        assert_eq!(Value::Object(filters(query).unwrap()), expected);
        assert!(filters("").unwrap().is_empty());
    }

    #[test]
    fn what_cannot_be_read_is_said() {
        for bad in ["cheap", "gpu_ram>=", ">=3", "geolocation in NO", "a.b=1", "gpu_ram>=24; drop=1"] {
            assert!(filters(bad).is_err(), "{bad}");
        }
        assert!(filters(&"a=1 ".repeat(99)).is_err());
    }
}
