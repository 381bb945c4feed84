import { describe, expect, it } from "vitest";
import type { InstanceRow } from "../api/generated";
import { chunks, plain } from "./ansi";
import { parseFilter, toggled } from "./filter";
import { countdown, duration, gpu, shortId } from "./format";

const row = (told: Partial<InstanceRow>): InstanceRow => ({
  id: "d977dead-b3a7-4a08-b6df-9e126679078f",
  uuid: "d977dead-b3a7-4a08-b6df-9e126679078f",
  vast_id: 31000029,
  label: "C.31000029",
  state: "params_done",
  entered_at: "2026-03-13T17:00:00Z",
  dwell_s: 600,
  dwell_basis: "manager",
  dwell_earlier_by_s: 0,
  expectation: { usual_s: 1800, late_from_s: 2340, limit_s: 2400, basis: "prior", of: "prior", stays: 0 },
  flag: null,
  note: "",
  countdown: null,
  listed: true,
  gpu_name: "RTX 4090",
  num_gpus: 1,
  machine_id: 40129,
  geolocation: "Quebec, CA",
  image: "magik6k/curio-cuzk:latest",
  bench_rate_proofs_per_h: null,
  dollars_per_h: 0.38,
  dollars_per_proof: null,
  gpu_util_percent: 0,
  gpu_temp_c: 38,
  gauges_at: null,
  log_lines: 0,
  log_newest_at: null,
  log_health: "blind",
  kill_reason: null,
  observed_at: "2026-03-13T17:10:00Z",
  ...told,
});

describe("format", () => {
  it("writes durations as operators read them", () => {
    expect([0, 59.9, 60, 840, 3600, 11_100, 86_400, 187_200, -90].map(duration)).toEqual([
      "0 s",
      "59 s",
      "1 m",
      "14 m",
      "1 h 00 m",
      "3 h 05 m",
      "1 d 0 h",
      "2 d 4 h",
      "-1 m",
    ]);
  });
  it("counts down to the end and not past it", () => {
    expect([899.2, 60, 59.5, 0.2, 0, -3, 3_723].map(countdown)).toEqual([
      "15:00",
      "1:00",
      "1:00",
      "0:01",
      "0:00",
      "0:00",
      "1:02:03",
    ]);
  });
  it("shortens only uuids, and never invents a card", () => {
    expect(shortId(row({}))).toBe("d977dead");
    expect(shortId(row({ id: "vast-31000016", uuid: null }))).toBe("vast-31000016");
    expect([gpu(row({})), gpu(row({ num_gpus: 2 })), gpu(row({ gpu_name: null }))]).toEqual(["RTX 4090", "2× RTX 4090", "–"]);
  });
});

describe("filter", () => {
  const fits = (text: string, told: Partial<InstanceRow> = {}, dwell: number | null = 600) =>
    parseFilter(text).fits(row(told), () => dwell);
  it("joins words and keys with and", () => {
    expect(fits("")).toBe(true);
    expect(fits("quebec 4090")).toBe(true);
    expect(fits("quebec 5090")).toBe(false);
    expect(fits("state:params_done gpu:4090")).toBe(true);
    expect(fits("gpu:5090,4090")).toBe(true);
    expect(fits("flag:none")).toBe(true);
    expect(fits("flag:!none")).toBe(false);
    expect(fits("gpu:4090", { gpu_name: null })).toBe(false);
  });
  it("compares dwell, and an unknown dwell fits nothing", () => {
    expect([fits("dwell:>9m"), fits("dwell:<9m"), fits("dwell:>late"), fits("dwell:>usual", {}, 1801)]).toEqual([
      true,
      false,
      false,
      true,
    ]);
    expect([fits("dwell:>9m", {}, null), fits("dwell:<9m", {}, null)]).toEqual([false, false]);
  });
  it("says what it does not understand and filters by the rest", () => {
    const filter = parseFilter("colour:red dwell:soon gpu:4090");
    expect(filter.errors).toHaveLength(2);
    expect(filter.fits(row({}), () => 600)).toBe(true);
  });
  it("toggles parts", () => {
    expect(toggled("a state:running", "state:running")).toBe("a");
    expect(toggled("a", "state:running")).toBe("a state:running");
  });
});

describe("ansi", () => {
  const text = (line: string) =>
    chunks(line)
      .map((chunk) => chunk.text)
      .join("");
  it("keeps colours as classes", () => {
    expect(chunks("\x1b[32m INFO\x1b[0m ok")).toMatchObject([
      { text: " INFO", classes: "ansi-green" },
      { text: " ok", classes: "" },
    ]);
    expect(chunks("\x1b[38;2;1;2;3mx")[0]?.colour).toBe("rgb(1, 2, 3)");
  });
  it("removes titles, links, cursor moves and single-character forms of them", () => {
    expect(text("a\x1b]0;title\x07b\x1b]8;;http://x\x1b\\c\x1b]8;;\x1b\\d\x1b[2J\x1b[10;10He\x9b2Jf\x90dcs\x9cg")).toBe("abcdefg");
    expect(text("open \x1b]0;never ended")).toBe("open ");
  });
  it("makes other controls and overrides of direction visible", () => {
    expect(text("a\x00b\rc\u202ed\x7fe")).toBe("a�b�c�d�e");
    expect(plain("\x1b[31mred\x1b[0m \x1b[1")).not.toMatch(/\x1b/);
  });
  it("survives anything", () => {
    let state = 42;
    const next = () => (state = (state * 1103515245 + 12345) % 2147483648);
    for (let round = 0; round < 2000; round++) {
      const line = Array.from({ length: next() % 60 }, () =>
        String.fromCharCode([27, 91, 59, 48 + (next() % 10), 109, 7, 93, 155, next() % 300][next() % 9] ?? 0),
      ).join("");
      expect(text(line)).not.toMatch(/[\x00-\x08\x0b-\x1f\x7f-\x9f]/);
    }
  });
});
