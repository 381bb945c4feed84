// What all charts show: which time, split by what, of which state. One place, kept over a restart.

import type { ChartRequest } from "../api/generated";

export type By = "nothing" | "gpu" | "image" | "region" | "machine";

/** Times that can be chosen: name, seconds; `null` is all there is. */
export const RANGES: [string, number | null][] = [
  ["1 h", 3600],
  ["6 h", 21_600],
  ["24 h", 86_400],
  ["7 d", 604_800],
  ["30 d", 2_592_000],
  ["90 d", 7_776_000],
  ["1 y", 31_536_000],
  ["all", null],
];
export const SPLITS: [By, string][] = [
  ["nothing", "nothing"],
  ["gpu", "GPU model"],
  ["image", "image"],
  ["region", "region"],
  ["machine", "machine"],
];
export const STATES = ["loading", "registered", "params_done", "bench_done"];

interface Shown {
  last_s: number | null;
  by: By;
  state: string;
  /** Which charts are shown as tables. */
  tables: string[];
}

const KEY = "charts";

function stored(): Shown {
  const fallback: Shown = { last_s: 86_400, by: "gpu", state: "params_done", tables: [] };
  try {
    const kept = JSON.parse(localStorage.getItem(KEY) ?? "{}") as Partial<Shown>;
    const by = SPLITS.find(([word]) => word === kept.by)?.[0] ?? fallback.by;
    const last = RANGES.find(([, seconds]) => seconds === kept.last_s);
    return {
      last_s: last ? last[1] : fallback.last_s,
      by,
      state: STATES.find((state) => state === kept.state) ?? fallback.state,
      tables: Array.isArray(kept.tables) ? kept.tables.filter((name) => typeof name === "string") : [],
    };
  } catch {
    return fallback;
  }
}

class Charts {
  shown = $state.raw<Shown>(stored());
  /** A time that was drawn out with the pointer, seconds since the epoch; nothing else until it is left. */
  zoom = $state.raw<{ from: number; to: number } | undefined>();
  /** Zooms before this one, to go back to. */
  private before: ({ from: number; to: number } | undefined)[] = [];

  choose(change: Partial<Shown>) {
    this.shown = { ...this.shown, ...change };
    localStorage.setItem(KEY, JSON.stringify(this.shown));
    if ("last_s" in change) this.leave();
  }

  /** Shows a part of the time; shorter than a minute there is nothing to see. */
  zoomTo(from: number, to: number) {
    if (to - from < 60) return;
    this.before.push(this.zoom);
    this.zoom = { from, to };
  }

  /** One zoom back. False where there is none. */
  back(): boolean {
    if (!this.zoom) return false;
    this.zoom = this.before.pop();
    return true;
  }

  leave() {
    this.zoom = undefined;
    this.before = [];
  }

  /** What to ask for. */
  request(name: string, size: { width: number; height: number }, dark: boolean, instance: string | null = null): ChartRequest {
    const time = (seconds: number) => new Date(seconds * 1000).toISOString();
    return {
      name,
      last_s: this.zoom || instance ? null : this.shown.last_s,
      since: this.zoom && !instance ? time(this.zoom.from) : null,
      until: this.zoom && !instance ? time(this.zoom.to) : null,
      by: this.shown.by,
      state: this.shown.state,
      instance,
      width: Math.round(size.width),
      height: Math.round(size.height),
      dark,
    };
  }
}

export const charts = new Charts();
