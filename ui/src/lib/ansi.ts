// Colours of hostile text: escape sequences parsed by anser into plain chunks, everything else that controls a terminal
// removed or made visible. The result is only ever rendered as text.

import Anser from "anser";

export interface Chunk {
  text: string;
  /** Class names of the basic sixteen colours and decorations. */
  classes: string;
  /** A colour beyond the sixteen, as CSS. */
  colour: string | undefined;
}

// Titles, links and the like (OSC, DCS, APC, PM, SOS), with whatever ends them or the end of the text.
const STRINGS = /(?:\x1b[\]PX^_]|[\x90\x98\x9d\x9e\x9f])[^\x07\x1b\x9c]*(?:\x07|\x1b\\|\x9c|$)/g;
// Sequences that are not colours.
const NOT_COLOURS = /\x1b\[[0-9;:?<=>!]*[ -/]*[@-ln-~]|\x1b[ -/]*[0-Z\\-~]/g;
// What shows nothing of its own or changes how the text around it reads, but for variation selectors; as `is_plain` in `crates/fleet`.
const OTHER_CONTROLS =
  /[\x00-\x08\x0b-\x1a\x1c-\x1f\x7f-\x9f]|(?!\p{Variation_Selector})[\p{Cf}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]/gu;

/** Text without any terminal control, for copying and searching. */
export function plain(text: string): string {
  return harmless(text)
    .replace(/\x1b\[[0-9;:]*m/g, "")
    .replaceAll("\x1b", "�");
}

function harmless(text: string): string {
  return text
    .replaceAll("\x9b", "\x1b[")
    .replace(STRINGS, "")
    .replace(NOT_COLOURS, "")
    .replace(OTHER_CONTROLS, "�")
    .replaceAll("\t", "    ");
}

const DECORATIONS = new Set(["bold", "dim", "italic", "underline", "strikethrough"]);

/** Chunks of one line. */
export function chunks(text: string): Chunk[] {
  return Anser.ansiToJson(harmless(text), { use_classes: true, remove_empty: true, json: true }).map((entry) => {
    const classes = [entry.fg, entry.bg && `${entry.bg}-bg`, ...entry.decorations.filter((name) => DECORATIONS.has(name))];
    return {
      text: entry.content.replaceAll("\x1b", "�"),
      classes: classes.filter((name) => name && /^[a-z0-9-]+$/.test(name)).join(" "),
      colour: /^\d+, ?\d+, ?\d+$/.test(entry.fg_truecolor ?? "") ? `rgb(${entry.fg_truecolor})` : undefined,
    };
  });
}
