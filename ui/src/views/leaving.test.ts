// What stops when another fleet is watched is said first; a simulation that nobody works with is left at once.

import { beforeEach, describe, expect, it, vi } from "vitest";
import type { Patch, Rollouts } from "../api/generated";

let rules: unknown;
vi.mock("../host", async (original) => ({
  ...(await original<typeof import("../host")>()),
  subscribe: () => () => {},
  call: async (name: string) => {
    if (name === "rules" && rules) return rules;
    throw { code: "none", message: name, hint: null };
  },
}));
const { fleet } = await import("../state/fleet.svelte");
const { leaving } = await import("../state/leaving.svelte");
const { rolling } = await import("../state/rolling.svelte");

const watch = (mode: string) =>
  fleet.apply({
    seq: 1,
    whole: true,
    removed: [],
    upsert: [],
    head: {
      watching: { name: "norway", address: "a", mode, simulated: null, speed: 1, now: "2026-03-13T17:01:00Z" },
      connection: { state: "ok" },
    },
  } as unknown as Patch);
const went = vi.fn();

beforeEach(() => {
  rules = { rules: [] };
  rolling.all = undefined;
  leaving.stay();
  went.mockClear();
});

describe("leaving a fleet", () => {
  it("is asked for where it is live", async () => {
    watch("live");
    await leaving.ask("a simulated fleet", went);
    expect(went).not.toHaveBeenCalled();
    expect(leaving.wanted?.stops.join(" ")).toContain("norway is live");
    leaving.stay();
    leaving.leave();
    expect(went).not.toHaveBeenCalled();
    await leaving.ask("a simulated fleet", went);
    leaving.leave();
    expect(went).toHaveBeenCalledTimes(1);
  });

  it("is asked for where rules are followed or a rollout is under way, whatever the fleet", async () => {
    watch("simulated");
    rules = { rules: [{ rule: { name: "night", on: true } }, { rule: { name: "off", on: false } }] };
    await leaving.ask("a drill", went);
    expect(leaving.wanted?.stops).toEqual(["1 rule is not followed any more: night."]);
    leaving.stay();
    rules = { rules: [] };
    rolling.all = {
      rollouts: [
        { name: "r1", state: "going" },
        { name: "r0", state: "ended" },
      ],
    } as unknown as Rollouts;
    await leaving.ask("a drill", went);
    expect(leaving.wanted?.stops).toEqual(["1 rollout stops where it is: r1."]);
    leaving.stay();
    rolling.all = undefined;
    rules = undefined;
    await leaving.ask("a drill", went);
    expect(leaving.wanted?.stops).toHaveLength(1);
    expect(went).not.toHaveBeenCalled();
  });

  it("is not asked for in an idle simulation, nor where nothing is watched", async () => {
    watch("simulated");
    await leaving.ask("a drill", went);
    fleet.clear();
    await leaving.ask("a drill", went);
    expect(went).toHaveBeenCalledTimes(2);
    expect(leaving.wanted).toBeUndefined();
  });
});
