// The filter's grammar: words, and `key:value` pairs, all of which must fit. `dwell:>15m` compares.

import type { InstanceRow } from "../api/generated";

// Dwell is asked for only where it is compared: it changes with every tick, and a list that does not depend on it should not.
type Test = (row: InstanceRow, dwellS: () => number | null) => boolean;

const TEXT_KEYS: Record<string, (row: InstanceRow) => (string | null)[]> = {
  state: (row) => [row.state],
  flag: (row) => [row.flag?.kind ?? "none"],
  gpu: (row) => [row.gpu_name],
  image: (row) => [row.image],
  place: (row) => [row.geolocation],
  machine: (row) => [row.machine_id === null ? null : String(row.machine_id)],
  log: (row) => [row.log_health],
};

export const FILTER_KEYS = [...Object.keys(TEXT_KEYS), "dwell"];

export interface Filter {
  fits: Test;
  /** Parts that mean nothing, each with what would. */
  errors: string[];
}

const UNITS: Record<string, number> = { s: 1, m: 60, h: 3600, d: 86_400 };

/** Reads a filter's text. */
export function parseFilter(text: string): Filter {
  const tests: Test[] = [];
  const errors: string[] = [];
  for (const part of text.trim().toLowerCase().split(/\s+/)) {
    if (part === "") continue;
    const [key, ...rest] = part.split(":");
    const value = rest.join(":");
    if (key === undefined || rest.length === 0) {
      tests.push((row) => haystack(row).includes(part));
    } else if (key === "dwell") {
      const match = /^([<>])?(\d+(?:\.\d+)?)([smhd])$|^(>)(usual|late)$/.exec(value);
      if (!match) {
        errors.push(`dwell:${value}: write dwell:>15m, dwell:<2h, dwell:>usual or dwell:>late`);
      } else if (match[5]) {
        const bound = match[5];
        tests.push((row, dwell) => {
          const expectation = row.expectation;
          const seconds = dwell();
          return (
            expectation !== null &&
            seconds !== null &&
            seconds > (bound === "usual" ? expectation.usual_s : expectation.late_from_s)
          );
        });
      } else {
        const seconds = Number(match[2]) * (UNITS[match[3] ?? "s"] ?? 1);
        const less = match[1] === "<";
        tests.push((_, dwell) => {
          const now = dwell();
          return now !== null && (less ? now < seconds : now > seconds);
        });
      }
    } else if (TEXT_KEYS[key]) {
      const read = TEXT_KEYS[key];
      const negated = value.startsWith("!");
      const wanted = value
        .replace(/^!/, "")
        .split(",")
        .filter((word) => word !== "");
      if (wanted.length === 0) continue;
      tests.push((row) => {
        const fits = read(row).some((told) => wanted.some((word) => (told ?? "").toLowerCase().replaceAll(" ", "").includes(word)));
        return fits !== negated;
      });
    } else {
      errors.push(`${key}: is no key; there are ${FILTER_KEYS.join(", ")}`);
    }
  }
  return { fits: (row, dwell) => tests.every((test) => test(row, dwell)), errors };
}

function haystack(row: InstanceRow): string {
  return [row.id, row.label, row.vast_id, row.state, row.gpu_name, row.geolocation, row.note, row.flag?.kind, row.flag?.reason]
    .filter((told) => told !== null && told !== undefined)
    .join(" ")
    .toLowerCase();
}

/** Adds or removes `key:value` in a filter's text. */
export function toggled(text: string, part: string): string {
  const parts = text.split(/\s+/).filter((word) => word !== "");
  return (parts.includes(part) ? parts.filter((word) => word !== part) : [...parts, part]).join(" ");
}
