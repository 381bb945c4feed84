//! Searching offers: by the filters of vast.ai's API, and by the text that its command line client takes.

use serde_json::{Map, Value};

/// Offers that fit the body of `POST /api/v0/bundles/`, in its order.
pub(super) fn by_body(mut offers: Vec<Value>, body: &Value) -> Result<Vec<Value>, String> {
    let Some(filters) = body.as_object() else { return Err("Invalid json body".to_owned()) };
    let storage_gb = filters.get("allocated_storage").and_then(Value::as_f64).unwrap_or(5.0);
    for offer in &mut offers {
        // A price includes the disk that is asked for.
        let disk_h = storage_gb * offer["storage_cost"].as_f64().unwrap_or(0.15) / 730.0;
        let total = offer["dph_base"].as_f64().unwrap_or(0.0) + disk_h;
        offer["dph_total"] = Value::from((total * 1e6).round() / 1e6);
        offer["storage_total_cost"] = Value::from((disk_h * 1e6).round() / 1e6);
    }
    offers.retain(|offer| filters.iter().all(|(field, rules)| rules.as_object().is_none_or(|rules| fits(offer, field, rules))));
    // Only the first key is obeyed.
    if let Some(order) = filters.get("order").and_then(|order| order.get(0)) {
        let field = order.get(0).and_then(Value::as_str).unwrap_or("score");
        let field = if field == "dph" { "dph_total" } else { field };
        offers.sort_by(|one, other| number(&one[field]).total_cmp(&number(&other[field])));
        if order.get(1).and_then(Value::as_str) == Some("desc") {
            offers.reverse();
        }
    }
    let limit = filters.get("limit").and_then(Value::as_u64).unwrap_or(64) as usize;
    offers.truncate(limit);
    Ok(offers)
}

fn number(value: &Value) -> f64 {
    value.as_f64().or_else(|| value.as_str()?.parse().ok()).unwrap_or(f64::NAN)
}

fn fits(offer: &Value, field: &str, rules: &Map<String, Value>) -> bool {
    // Records carry the word, queries ask for the flag.
    let verified = Value::Bool(offer["verification"] == "verified");
    let own = if field == "verified" { &verified } else { &offer[field] };
    rules.iter().all(|(operator, wanted)| {
        let same = |wanted: &Value| match (own, wanted) {
            (Value::String(own), Value::String(wanted)) => own == wanted,
            (Value::Bool(own), Value::Bool(wanted)) => own == wanted,
            _ => number(own) == number(wanted),
        };
        let any = |wanted: &Value| wanted.as_array().is_some_and(|list| list.iter().any(same));
        match operator.as_str() {
            "eq" => same(wanted),
            "neq" => !same(wanted),
            "gt" => number(own) > number(wanted),
            "gte" => number(own) >= number(wanted),
            "lt" => number(own) < number(wanted),
            "lte" => number(own) <= number(wanted),
            "in" => any(wanted),
            "notin" => !any(wanted),
            _ => false,
        }
    })
}

/// Operators of the client's language, longer ones first, with their names on the wire.
const OPERATORS: [(&str, &str); 7] =
    [(">=", "gte"), ("<=", "lte"), ("!=", "neq"), ("==", "eq"), (">", "gt"), ("<", "lt"), ("=", "eq")];

/// Offers that fit a text such as `gpu_ram>12.5 dph<=0.9`: memory in GB, names with underscores.
pub(super) fn by_text(offers: Vec<Value>, text: &str) -> Result<Vec<Value>, String> {
    let mut filters = Map::new();
    for word in text.split_whitespace() {
        let found = OPERATORS.iter().find_map(|(sign, name)| Some((word.split_once(sign)?, *name)));
        let Some(((field, wanted), operator)) = found else { return Err(format!("cannot read {word:?}")) };
        let field = match field {
            "dph" => "dph_total",
            "cuda_vers" => "cuda_max_good",
            "reliability2" => "reliability",
            other => other,
        };
        let factor = if ["gpu_ram", "gpu_total_ram", "cpu_ram"].contains(&field) { 1_000.0 } else { 1.0 };
        let wanted = match wanted.parse::<f64>() {
            Ok(wanted) => Value::from(wanted * factor),
            Err(_) => Value::from(wanted.replace('_', " ")),
        };
        if let Some(rules) = filters.entry(field).or_insert_with(|| Value::Object(Map::new())).as_object_mut() {
            rules.insert(operator.to_owned(), wanted);
        }
    }
    by_body(offers, &Value::Object(filters))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn offers() -> Vec<Value> {
        [("RTX 4090", 24_564, 0.4), ("RTX 5090", 32_607, 0.6), ("RTX 4070S Ti", 12_000, 0.1)]
            .map(|(name, memory, price)| json!({ "gpu_name": name, "gpu_ram": memory, "dph_base": price, "rentable": true }))
            .to_vec()
    }

    fn names(offers: &[Value]) -> Vec<&str> {
        offers.iter().filter_map(|offer| offer["gpu_name"].as_str()).collect()
    }

    #[test]
    fn text_and_body_mean_the_same() {
        let kept = by_text(offers(), "gpu_ram>12.5 dph<=0.9").unwrap();
        assert_eq!(names(&kept), ["RTX 4090", "RTX 5090"]);
        let body =
            json!({ "gpu_ram": { "gt": "12500" }, "rentable": { "eq": true }, "order": [["dph_total", "desc"]], "limit": 1 });
        assert_eq!(names(&by_body(offers(), &body).unwrap()), ["RTX 5090"]);
        assert_eq!(names(&by_text(offers(), "gpu_name=RTX_4090").unwrap()), ["RTX 4090"]);
        assert!(by_text(offers(), "cheap").is_err());
    }

    #[test]
    fn a_price_includes_the_disk() {
        let body = json!({ "gpu_name": { "eq": "RTX 4090" }, "allocated_storage": 730.0 });
        assert_eq!(by_body(offers(), &body).unwrap()[0]["dph_total"], json!(0.55));
    }
}
