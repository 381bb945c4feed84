// Incidents: what can be done to all of one, by whether the manager has killed them already.

import { fireEvent, render, screen } from "@testing-library/svelte";
import { beforeEach, expect, it, vi } from "vitest";
import type { Patch } from "../api/generated";

let state = "killed";
const asked: { deed?: string; ids?: string[] }[] = [];
vi.mock("../host", async (original) => ({
  ...(await original<typeof import("../host")>()),
  subscribe: () => () => {},
  call: async (name: string, request: { deed?: string; ids?: string[] }) => {
    if (name === "plan_act" || request?.deed) asked.push(request);
    if (name === "incidents") {
      const instances = ["aaaaaaaa-1", "bbbbbbbb-2"].map((id) => ({ id, gpu_name: "RTX 4090", reason: "" }));
      return {
        incidents: [
          {
            id: "aaaaaaaa-1",
            verdict: state === "killed" ? "written-off" : "stalled",
            state,
            since: "2026-03-13T17:00:00Z",
            dollars_per_h: 0.8,
            sentence: "Stuck.",
            shared: null,
            instances,
          },
        ],
        conditions: [],
        closed: 0,
      };
    }
    throw { code: "none", message: name, hint: null };
  },
}));

const { fleet } = await import("../state/fleet.svelte");
const IncidentsView = (await import("./IncidentsView.svelte")).default;

beforeEach(() => {
  asked.length = 0;
  fleet.apply({
    seq: 1,
    whole: true,
    removed: [],
    upsert: [],
    head: {
      as_of: "2026-03-13T17:01:00Z",
      watching: { name: "n", address: "a", mode: "live", simulated: null, speed: 1, now: "2026-03-13T17:01:00Z" },
      connection: { state: "ok", last_ok_at: null, next_try_at: null, rows_unusable: 0 },
    },
  } as unknown as Patch);
});

const buttons = () => [...document.querySelectorAll(".deeds button")].map((it) => it.textContent?.trim());

it("offers to destroy the rentals of what the manager has killed", async () => {
  state = "killed";
  render(IncidentsView, { id: "aaaaaaaa-1" });
  await fireEvent.click(await screen.findByText("Destroy 2 rentals…"));
  expect(buttons()).toEqual(["Destroy 2 rentals…"]);
  await vi.waitFor(() => expect(asked[0]).toMatchObject({ deed: "destroy", ids: ["aaaaaaaa-1", "bbbbbbbb-2"] }));
});

it("offers to replace and to kill what still runs", async () => {
  state = "params_done";
  render(IncidentsView, { id: "aaaaaaaa-1" });
  await screen.findByText("Kill all 2…");
  expect(buttons()).toEqual(["Replace all 2…", "Kill all 2…"]);
});
