import { beforeEach, describe, expect, it, vi } from "vitest";
import type { FleetView, InstanceRow, Patch } from "../api/generated";
import type { Ears } from "../host/line";

let receive: ((patch: Patch) => void) | undefined;
let lose: Ears["lost"] | undefined;
let subscriptions = 0;
vi.mock("../host", () => ({
  subscribe: (ears: Ears) => {
    [receive, lose] = [ears.patch, ears.lost];
    subscriptions += 1;
    return () => {};
  },
  call: () => Promise.reject(new Error("not in this test")),
}));

const { fleet } = await import("./fleet.svelte");

const head = (told: Partial<FleetView["connection"]> = {}): FleetView =>
  ({
    watching: { name: "n", address: "a", mode: "live", simulated: null, speed: 1, now: "2026-03-13T17:00:00Z" },
    connection: { state: "ok", ...told },
    as_of: "2026-03-13T20:00:00Z",
    conditions: [],
    received_at: "2026-03-13T17:00:00Z",
    instances: [],
  }) as unknown as FleetView;
const row = (id: string) => ({ id, listed: true, dwell_s: 60, entered_at: "2026-03-13T19:59:00Z" }) as InstanceRow;
const patch = (seq: number, upsert: InstanceRow[], told: Partial<Patch> = {}): Patch => ({
  seq,
  run: "1",
  head: head(),
  upsert,
  removed: [],
  whole: false,
  ...told,
});

describe("the copy of what the watcher sees", () => {
  beforeEach(() => {
    subscriptions = 0;
    fleet.start();
  });

  it("follows patches and asks anew when one is missing", () => {
    receive?.(patch(4, [row("a"), row("b")], { whole: true }));
    receive?.(patch(5, [row("c")], { removed: ["a"] }));
    expect(fleet.rows.map((one) => one.id)).toEqual(["b", "c"]);
    receive?.(patch(7, [row("d")]));
    expect(subscriptions).toBe(2);
    expect(fleet.rows.map((one) => one.id)).toEqual(["b", "c"]);
    receive?.(patch(9, [row("e")], { whole: true }));
    expect(fleet.rows.map((one) => one.id)).toEqual(["e"]);
  });

  it("counts dwell on the manager's clock, three hours ahead here, and stands still while nothing is heard", () => {
    receive?.(patch(1, [row("a")], { whole: true }));
    expect(fleet.dwell(row("a"))).toBeCloseTo(60, 0);
    receive?.(patch(2, [], { head: head({ state: "failing" }) }));
    expect(fleet.dwell({ ...row("a"), dwell_s: 42 })).toBe(42);
    expect(fleet.dwell({ ...row("a"), dwell_s: null })).toBeNull();
  });

  it("ages what was told with every second in which nothing is heard", () => {
    receive?.(patch(1, [row("a")], { whole: true }));
    const later = { ...head({ state: "failing" }), watching: { ...head().watching, now: "2026-03-13T17:00:37Z" } };
    receive?.(patch(2, [], { head: later }));
    expect(fleet.age("2026-03-13T20:00:00Z")).toBeCloseTo(37, 0);
    expect(fleet.age("2026-03-13T19:59:50Z")).toBeCloseTo(47, 0);
    expect(fleet.dwell({ ...row("a"), dwell_s: 42 })).toBe(42);
  });

  it("knows that it knows nothing", () => {
    const unread = {
      ...head({ state: "failing" }),
      as_of: null,
      received_at: null,
      conditions: [{ kind: "manager-never-reached", is_unknown: true }],
    } as unknown as FleetView;
    receive?.(patch(1, [], { whole: true, head: unread }));
    expect(fleet.unknown).toBe(true);
    receive?.(patch(2, []));
    expect(fleet.unknown).toBe(false);
  });

  it("stands still as well while the backend is gone", () => {
    receive?.(patch(1, [row("a")], { whole: true }));
    expect(fleet.live).toBe(true);
    lose?.({ since: 0, why: "" });
    expect(fleet.live).toBe(false);
    expect(fleet.dwell({ ...row("a"), dwell_s: 42 })).toBe(42);
    expect(fleet.rows).toHaveLength(1);
    lose?.(undefined);
    expect(fleet.live).toBe(true);
  });
});
