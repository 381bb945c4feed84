//! JSON as Go reads and writes it. The words were compared with those of the real manager, request by request.

use dwell_fake_manager::go_json::{Kind, Struct, Typed, Writer, decode, unmarshal};
use proptest::prelude::*;

static STRUCT: Struct = Struct {
    type_name: "main.RegisterReq",
    name: "RegisterReq",
    fields: &[("label", Kind::String), ("min_rate", Kind::Float), ("disk", Kind::Int)],
};
const REQUEST: Kind = Kind::Struct(&STRUCT);

fn refused(text: &str) -> String {
    decode(text.as_bytes(), REQUEST).unwrap_err()
}

fn taken(text: &str) -> Typed {
    decode(text.as_bytes(), REQUEST).unwrap()
}

#[test]
fn go_refuses_and_takes() {
    for (text, words) in [
        ("", "EOF"),
        ("  ", "EOF"),
        ("{", "unexpected EOF"),
        ("nul", "unexpected EOF"),
        ("[]", "json: cannot unmarshal array into Go value of type main.RegisterReq"),
        (r#""x""#, "json: cannot unmarshal string into Go value of type main.RegisterReq"),
        ("12", "json: cannot unmarshal number into Go value of type main.RegisterReq"),
        (r#"{"label":5}"#, "json: cannot unmarshal number into Go struct field RegisterReq.label of type string"),
        (r#"{"min_rate":"x"}"#, "json: cannot unmarshal string into Go struct field RegisterReq.min_rate of type float64"),
        (
            r#"{"min_rate":1e400}"#,
            "json: cannot unmarshal number 1e400 into Go struct field RegisterReq.min_rate of type float64",
        ),
        (r#"{"disk":250.0}"#, "json: cannot unmarshal number 250.0 into Go struct field RegisterReq.disk of type int"),
        (r#"{"disk":1e3}"#, "json: cannot unmarshal number 1e3 into Go struct field RegisterReq.disk of type int"),
        (r#"{"disk":true}"#, "json: cannot unmarshal bool into Go struct field RegisterReq.disk of type int"),
        (
            r#"{"disk":99999999999999999999}"#,
            "json: cannot unmarshal number 99999999999999999999 into Go struct field RegisterReq.disk of type int",
        ),
        // The first wrong type is told; a fault of the text comes before every type.
        (r#"{"label":["x"],"disk":{}}"#, "json: cannot unmarshal array into Go struct field RegisterReq.label of type string"),
        (r#"{"label":5,}"#, "invalid character '}' looking for beginning of object key string"),
        (r#"{"label":"a" "b"}"#, "invalid character '\"' after object key:value pair"),
        (r#"{"label":"\x"}"#, "invalid character 'x' in string escape code"),
        ("{\"label\":\"a\nb\"}", r"invalid character '\n' in string literal"),
        (r#"{"label":"\u12g4"}"#, r"invalid character 'g' in \u hexadecimal character escape"),
        (r#"{"label":tru}"#, "invalid character '}' in literal true (expecting 'e')"),
        (r#"{"disk":01}"#, "invalid character '1' after object key:value pair"),
        (r#"{"disk":-}"#, "invalid character '}' in numeric literal"),
        (r#"{"disk":1.}"#, "invalid character '}' after decimal point in numeric literal"),
        (r#"{"disk":1ex}"#, "invalid character 'x' in exponent of numeric literal"),
        ("[1 2]", "invalid character '2' after array element"),
        (r#"{"a"=1}"#, "invalid character '=' after object key"),
        ("NaN", "invalid character 'N' looking for beginning of value"),
        ("é", "invalid character 'Ã' looking for beginning of value"),
    ] {
        assert_eq!(refused(text), words, "{text}");
    }
    for text in ["null", "{}", r#"{"label":null,"disk":null}"#, r#"{"unknown":[{"a":1.5}]}"#, r#"{} and what follows"#] {
        let none = taken(text);
        assert_eq!((none.string("label"), none.float("min_rate"), none.int("disk")), ("", 0.0, 0), "{text}");
    }
    let folded = taken(r#"{"LABEL":"a","Min_Rate":3,"di\u017fk":-0}"#);
    assert_eq!((folded.string("label"), folded.float("min_rate"), folded.int("disk")), ("a", 3.0, 0));
    assert_eq!(taken(r#"{"label":"a","label":"b"}"#).string("label"), "b", "the last one wins");
    assert_eq!(taken(r#"{"label":"\ud800x\ud83d\ude00"}"#).string("label"), "\u{fffd}x😀");
    assert_eq!(decode(b"{\"label\":\"\xff\xfe\"}", REQUEST).unwrap().string("label"), "\u{fffd}\u{fffd}");
    // `Unmarshal` wants the whole text.
    assert_eq!(unmarshal(b"", REQUEST).unwrap_err(), "unexpected end of JSON input");
    assert_eq!(unmarshal(b"{} x", REQUEST).unwrap_err(), "invalid character 'x' after top-level value");
}

#[test]
fn go_writes() {
    let number = |value: f64| {
        let text = String::from_utf8(Writer::object(|to| to.float("x", value)).encoded()).unwrap();
        text.trim_end().trim_start_matches(r#"{"x":"#).trim_end_matches('}').to_owned()
    };
    for (value, text) in [
        (50.0, "50"),
        (0.31, "0.31"),
        (1e20, "100000000000000000000"),
        (1e21, "1e+21"),
        (1e-6, "0.000001"),
        (1.5e-7, "1.5e-7"),
        (-0.0, "-0"),
    ] {
        assert_eq!(number(value), text);
    }
    assert!(Writer::object(|to| to.float("x", f64::INFINITY)).encoded().is_empty(), "Go then writes nothing");
    let bytes = Writer::object(|to| to.bytes("t", b"a\x01\xff<b>&\xe2\x80\xa8 \x08\x0c\x7f\"\\\t\r")).encoded();
    let text = String::from_utf8(bytes).unwrap();
    assert_eq!(text, "{\"t\":\"a\\u0001\\ufffd\\u003cb\\u003e\\u0026\\u2028 \\b\\f\x7f\\\"\\\\\\t\\r\"}\n");
}

proptest! {
    /// Whatever comes: an answer and no panic; and what another decoder refuses as JSON, this one refuses.
    #[test]
    fn whatever_comes_is_answered(bytes in proptest::collection::vec(any::<u8>(), 0..200), text in "[\\[\\]{}\",:0-9a-z\\\\.+-]{0,40}") {
        let _ = decode(&bytes, REQUEST);
        let _ = decode(text.as_bytes(), REQUEST);
        let any = unmarshal(text.as_bytes(), REQUEST);
        let json = serde_json::from_str::<serde_json::Value>(&text);
        if let Err(why) = &any {
            let of_type = why.starts_with("json: cannot unmarshal");
            // serde_json also refuses numbers that no float holds.
            prop_assert!(!of_type || json.is_ok() || text.contains('e'), "{text}: {why}, {json:?}");
        } else {
            prop_assert!(json.is_ok(), "{text}: {json:?}");
        }
    }
}
