import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { AGAIN_MS, Line, SILENT_MS, type Lost } from "./line";

class Source {
  static all: Source[] = [];
  onmessage: ((event: { data: string }) => void) | null = null;
  onerror: (() => void) | null = null;
  closed = false;
  #alive: ((event: { data: string }) => void) | undefined;
  constructor() {
    Source.all.push(this);
  }
  addEventListener(_: "alive", listener: (event: { data: string }) => void) {
    this.#alive = listener;
  }
  close() {
    this.closed = true;
  }
  alive(data = "watching") {
    this.#alive?.({ data });
  }
}
const last = () => Source.all.at(-1)!;

let line: Line;
let lost: (Lost | undefined)[];
let patches: unknown[];
let nothings: number;
let end: () => void;

beforeEach(() => {
  vi.useFakeTimers();
  vi.setSystemTime("2026-03-13T17:00:00Z");
  Source.all = [];
  [lost, patches, nothings] = [[], [], 0];
  line = new Line(() => new Source() as unknown as EventSource, {
    patch: (patch) => patches.push(patch),
    nothing: () => (nothings += 1),
    lost: (now) => lost.push(now),
  });
  end = line.start();
});
afterEach(() => {
  end();
  vi.useRealTimers();
});

const beats = (seconds: number) => {
  for (let second = 0; second < seconds; second += 2) {
    last().alive();
    vi.advanceTimersByTime(2_000);
  }
};

describe("the line to the backend", () => {
  it("is there as long as the backend says so, with or without news", () => {
    beats(120);
    expect(lost).toEqual([]);
    expect(Source.all).toHaveLength(1);
  });

  it("is lost within seconds when the backend hangs, dated from when it was heard last, and comes back by itself", () => {
    beats(60);
    const heard = Date.now() - 2_000;
    const before = line.calls;
    vi.advanceTimersByTime(SILENT_MS + 1_000);
    expect(lost).toEqual([{ since: heard, why: "it says nothing any more" }]);
    expect(before.aborted && !line.calls.aborted).toBe(true);
    vi.advanceTimersByTime(60_000);
    expect(lost).toHaveLength(1);
    const tried = Source.all.length;
    expect(tried).toBeGreaterThan(3);
    expect(Source.all.slice(0, -1).every((source) => source.closed)).toBe(true);
    // What an old connection still says is nothing.
    Source.all[0]!.alive();
    expect(lost).toHaveLength(1);
    last().alive();
    last().onmessage?.({ data: '{"seq":1}' });
    expect(lost.at(-1)).toBeUndefined();
    expect(patches).toEqual([{ seq: 1 }]);
    beats(60);
    expect([lost.length, Source.all.length]).toEqual([2, tried]);
  });

  it("is lost at once when the backend dies, and asked for every two seconds", () => {
    beats(4);
    last().onerror?.();
    expect(lost).toHaveLength(1);
    for (const tries of [2, 3, 4]) {
      vi.advanceTimersByTime(AGAIN_MS);
      expect(Source.all).toHaveLength(tries);
      last().onerror?.();
    }
    expect(lost).toHaveLength(1);
    vi.advanceTimersByTime(AGAIN_MS);
    last().alive();
    expect(lost).toHaveLength(2);
  });

  it("a call that finds nobody tells as well", () => {
    beats(4);
    line.suspect();
    expect(lost).toHaveLength(1);
    vi.advanceTimersByTime(0);
    last().alive();
    expect(lost.at(-1)).toBeUndefined();
  });

  it("a backend that came back without a fleet shows none", () => {
    last().alive("nothing");
    expect(nothings).toBe(1);
    last().onmessage?.({ data: '{"seq":1}' });
    // Between two fleets there is none for a moment: that is not told as an end.
    last().alive("nothing");
    expect(nothings).toBe(1);
  });
});
