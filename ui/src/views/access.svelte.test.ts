// Write access in the window: asked for, counted down, over by itself, given back with one click.

import { fireEvent, render, screen } from "@testing-library/svelte";
import { flushSync } from "svelte";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { Patch } from "../api/generated";

let left: number | null = null;
const asked: { name: string; request: unknown }[] = [];
vi.mock("../host", async (original) => ({
  ...(await original<typeof import("../host")>()),
  subscribe: () => () => {},
  call: async (name: string, request: { allow?: boolean; for_s?: number }) => {
    asked.push({ name, request });
    if (name === "allow_acting") left = request.allow ? (request.for_s ?? 900) : null;
    if (name === "acts" || name === "allow_acting")
      return { may_act: left !== null, write_access_left_s: left, standing: false, rules_acting: 0, acts: [] };
    if (name === "plan")
      return {
        token: "t",
        deed: "kill",
        sentence: "",
        steps: [],
        saves_dollars_per_h: null,
        destructive: true,
        confirm_with: "abc",
        read_only: false,
      };
    if (name === "plan_rollout")
      return { token: "r", replaces: [], offers: [], notes: [], confirm_with: "deploy 1", read_only: false };
    if (name === "rollouts") return { rollouts: [] };
    throw { code: "none", message: name, hint: null };
  },
}));

const { fleet } = await import("../state/fleet.svelte");
const { acting } = await import("../state/acts.svelte");
const { rolling } = await import("../state/rolling.svelte");
const StatusLine = (await import("./StatusLine.svelte")).default;

let end: () => void;
const turn = async (ms = 0) => {
  await vi.advanceTimersByTimeAsync(ms);
  flushSync();
};
const mode = () => document.querySelector<HTMLElement>("footer .mode")?.textContent?.trim();
const allowed = () => asked.filter((one) => one.name === "allow_acting").map((one) => one.request);

beforeEach(async () => {
  vi.useFakeTimers();
  asked.length = 0;
  left = null;
  seen("1");
  end = $effect.root(() => {
    acting.follow();
    rolling.follow();
  });
  render(StatusLine);
  await turn();
});
const seen = (run: string) =>
  fleet.apply({
    seq: 1,
    run,
    whole: true,
    removed: [],
    upsert: [],
    head: {
      watching: { name: "n", address: "a", mode: "live", simulated: null, speed: 1, now: "2026-03-13T17:01:00Z" },
      connection: { state: "ok", last_ok_at: null, next_try_at: null, rows_unusable: 0 },
    },
  } as unknown as Patch);
afterEach(() => {
  end();
  vi.useRealTimers();
});

describe("write access", () => {
  it("a click on the switch asks, and changes nothing by itself", async () => {
    expect(mode()).toBe("read-only");
    await fireEvent.click(screen.getByText("read-only"));
    await turn(1_000);
    expect(acting.asking).toBe(true);
    expect([mode(), acting.mayAct, allowed()]).toEqual(["read-only", false, []]);
    acting.asking = false;
  });

  it("is counted down and over by itself, and the host is asked", async () => {
    acting.asking = true;
    await acting.allow(300);
    await turn();
    expect(allowed()).toEqual([{ allow: true, for_s: 300, standing: false }]);
    expect([mode(), acting.mayAct, acting.asking]).toEqual(["write access 5:00 · end", true, false]);
    left = 290;
    await turn(30_000);
    expect(mode()).toMatch(/^write access 4:(50|49) · end$/);
    left = null;
    asked.length = 0;
    await turn(10_000);
    expect(acting.mayAct).toBe(true);
    await turn(30_000);
    expect([mode(), acting.mayAct]).toEqual(["read-only", false]);
  });

  it("ends in the window even where the host is not heard any more", async () => {
    await acting.allow(300);
    left = 300;
    const spy = vi.spyOn(acting, "read").mockResolvedValue();
    await turn(301_000);
    expect(acting.mayAct).toBe(false);
    expect(spy).toHaveBeenCalled();
    spy.mockRestore();
  });

  it("is read when the fleet is, and every half minute; not over and over", async () => {
    await turn(3_000);
    expect(asked.filter((one) => one.name === "acts")).toHaveLength(1);
    await turn(60_000);
    expect(asked.filter((one) => one.name === "acts")).toHaveLength(3);
  });

  it("is given back with one click", async () => {
    await acting.allow(900);
    await turn();
    await fireEvent.click(document.querySelector("[data-testid=access-left]")!);
    await turn();
    expect(allowed().at(-1)).toEqual({ allow: false, for_s: null, standing: false });
    expect(mode()).toBe("read-only");
  });
});

describe("another watch", () => {
  const terms = { count: 1, budget: 1, atOnce: 1, perProof: null, gpu: null, why: "" };

  it("closes what was planned in the one before, though it is over the same fleet", async () => {
    await acting.ask("kill", ["abcdef"]);
    rolling.ask({ count: 1 });
    await rolling.look(terms);
    acting.asking = true;
    await turn();
    expect([acting.plan?.token, rolling.plan?.token, acting.asking]).toEqual(["t", "r", true]);
    // The whole anew, of the same watch, changes nothing.
    seen("1");
    await turn();
    expect([acting.plan?.token, rolling.plan?.token, acting.asking]).toEqual(["t", "r", true]);
    seen("2");
    await turn();
    expect([acting.plan, acting.request, rolling.plan, rolling.whom, acting.asking]).toEqual([
      undefined,
      undefined,
      undefined,
      undefined,
      false,
    ]);
  });

  it("does not get a plan that was asked for in the one before", async () => {
    rolling.ask({ count: 1 });
    const [kill, rollout] = [acting.ask("kill", ["abcdef"]), rolling.look(terms)];
    seen("2");
    flushSync();
    await Promise.all([kill, rollout]);
    await turn();
    expect([acting.plan, rolling.plan]).toEqual([undefined, undefined]);
  });

  it("has no write access from the one before", async () => {
    await acting.allow(900);
    await turn();
    left = null;
    seen("2");
    await turn();
    expect(acting.mayAct).toBe(false);
  });
});
