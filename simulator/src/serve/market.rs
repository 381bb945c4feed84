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
    rules.iter().all(|(operator, wanted)| {
        let own = &told(offer, field, wanted);
        // As in a database: what a record does not say is neither equal nor unequal to anything.
        if own.is_null() {
            return wanted.is_null() && operator == "eq";
        }
        let any = |wanted: &Value| wanted.as_array().is_some_and(|list| list.iter().any(|wanted| same(field, own, wanted)));
        match operator.as_str() {
            "eq" => same(field, own, wanted),
            "neq" => !same(field, own, wanted),
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

/// What an offer says of a field of the query language: records carry some of it under another name or in another form.
fn told(offer: &Value, field: &str, wanted: &Value) -> Value {
    match field {
        "verified" => Value::Bool(offer["verification"] == "verified"),
        "datacenter" => Value::Bool(number(&offer["hosting_type"]) == 1.0),
        "external" | "vms_enabled" => Value::Bool(offer[field] == true),
        "driver_version" if !number(wanted).is_nan() => offer["driver_vers"].clone(),
        "ubuntu_version" => offer["os_version"].clone(),
        "dlperf_per_dphtotal" => per_dollar(offer, "dlperf"),
        "flops_per_dphtotal" => per_dollar(offer, "total_flops"),
        other => offer[other].clone(),
    }
}

fn per_dollar(offer: &Value, field: &str) -> Value {
    // NaN is no JSON: what cannot be told is null.
    Value::from(number(&offer[field]) / number(&offer["dph_total"]))
}

fn same(field: &str, own: &Value, wanted: &Value) -> bool {
    match (own, wanted) {
        // "Quebec, CA" is found by its country.
        (Value::String(own), Value::String(wanted)) if field == "geolocation" => {
            own == wanted || own.rsplit(',').next().is_some_and(|country| country.trim() == wanted)
        }
        (Value::String(own), Value::String(wanted)) => own == wanted,
        (Value::Bool(own), Value::Bool(wanted)) => own == wanted,
        (Value::Number(_), Value::Bool(wanted)) => (number(own) != 0.0) == *wanted,
        _ => number(own) == number(wanted),
    }
}

/// Offers that fit a query in the language of vast.ai's client, by the body that this client sends for it.
pub(super) fn by_text(offers: Vec<Value>, text: &str) -> Result<Vec<Value>, String> {
    let mut filters = dwell_wire::offer_filters(text, dwell_wire::offer_defaults())?.filters;
    filters.insert("order".to_owned(), serde_json::json!([["score", "desc"]]));
    filters.insert("allocated_storage".to_owned(), Value::from(5.0));
    by_body(offers, &Value::Object(filters))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn offers() -> Vec<Value> {
        [("RTX 4090", 24_564, 0.4), ("RTX 5090", 32_607, 0.6), ("RTX 4070S Ti", 12_000, 0.1)]
            .map(|(name, memory, price)| {
                json!({ "gpu_name": name, "gpu_ram": memory, "dph_base": price, "rentable": true, "verification": "verified",
                "geolocation": "Quebec, CA", "driver_version": "570.133.20", "driver_vers": 570_133_020, "has_avx": 1,
                "score": 1.0 / price })
            })
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
    fn a_country_a_driver_and_a_flag_are_found() {
        let found = |text: &str| by_text(offers(), text).unwrap().len();
        for all in
            ["geolocation in [NO,CA]", "geolocation=CA", "geolocation notin [NO]", "driver_version>=535.86.05", "has_avx=true"]
        {
            assert_eq!(found(all), 3, "{all}");
        }
        for none in ["geolocation in [NO,SE]", "geolocation!=CA", "driver_version>=580.95.05", "verified=false", "external=true"]
        {
            assert_eq!(found(none), 0, "{none}");
        }
    }

    #[test]
    fn a_price_includes_the_disk() {
        let body = json!({ "gpu_name": { "eq": "RTX 4090" }, "allocated_storage": 730.0 });
        assert_eq!(by_body(offers(), &body).unwrap()[0]["dph_total"], json!(0.55));
    }
}
