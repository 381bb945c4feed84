// What "the instance" is: what the screen shows, and nothing that another view has chosen.

import { render, screen } from "@testing-library/svelte";
import { flushSync, tick } from "svelte";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { InstanceRow, Patch, Summary } from "../api/generated";

const asked: { name: string; request: unknown }[] = [];
const answers: Record<string, (request: never) => unknown> = {};
vi.mock("../host", async (original) => ({
  ...(await original<typeof import("../host")>()),
  subscribe: () => () => {},
  call: async (name: string, request: never) => {
    asked.push({ name, request });
    const answer = answers[name];
    if (!answer) throw { code: "none", message: name, hint: null };
    return answer(request);
  },
}));
vi.stubGlobal("matchMedia", () => ({ matches: true, addEventListener() {}, removeEventListener() {} }));
vi.stubGlobal(
  "IntersectionObserver",
  class {
    observe() {}
    disconnect() {}
  },
);
vi.stubGlobal(
  "ResizeObserver",
  class {
    observe() {}
    unobserve() {}
    disconnect() {}
  },
);

const { fleet } = await import("../state/fleet.svelte");
const { ui } = await import("../state/ui.svelte");
const { inView } = await import("../state/inview.svelte");
const { commands } = await import("../state/commands");
const { keys } = await import("../state/keys");
const FleetView = (await import("./FleetView.svelte")).default;
const IncidentsView = (await import("./IncidentsView.svelte")).default;
const InstanceView = (await import("./InstanceView.svelte")).default;

const ids = [
  "d3e996ae-0000-4000-8000-000000000001",
  "d977dead-0000-4000-8000-000000000002",
  "416e859e-0000-4000-8000-000000000003",
] as const;
const row = (id: string, told: Partial<InstanceRow> = {}) =>
  ({
    id,
    uuid: id,
    vast_id: 7,
    state: "params_done",
    gpu_name: "RTX 4090",
    num_gpus: 1,
    machine_id: 3,
    listed: true,
    dwell_s: 60,
    note: "",
    flag: null,
    expectation: null,
    entered_at: "2026-03-13T17:00:00Z",
    observed_at: "2026-03-13T17:00:00Z",
    ...told,
  }) as InstanceRow;
const summary: Summary = {
  benchmarked_proofs_per_h: null,
  rate_not_told: 0,
  proving_dollars_per_h: null,
  waiting_dollars_per_h: null,
  stalled_dollars_per_h: null,
  leaking_dollars_per_h: null,
  unknown_dollars_per_h: null,
  billing_unknown: 0,
  price_not_told: 0,
  dollars_per_proof: null,
  states: [],
  flags: [],
  bad_hosts: 0,
};
const show = (rows: InstanceRow[]) =>
  fleet.apply({
    seq: 1,
    whole: true,
    removed: [],
    upsert: rows,
    head: {
      watching: { name: "n", address: "a", mode: "live", simulated: null, speed: 1, now: "2026-03-13T17:01:00Z" },
      connection: { state: "ok" },
      as_of: "2026-03-13T17:01:00Z",
      received_at: "2026-03-13T17:01:00Z",
      instances: [],
      summary,
      conditions: [],
    },
  } as unknown as Patch);
const settled = async () => {
  for (let turns = 0; turns < 5; turns += 1) await tick();
  flushSync();
};
const acting = ["diagnose", "kill", "replace", "destroy", "reboot", "stop", "start", "ban"].map((id) => {
  const command = commands.find((one) => one.id === id);
  if (!command) throw new Error(`no command ${id}`);
  return command;
});
const down = () => keys.press(new KeyboardEvent("keydown", { key: "j", cancelable: true }), false);

beforeEach(() => {
  asked.length = 0;
  show([row(ids[0]), row(ids[1]), row(ids[2], { gpu_name: "RTX 3090" })]);
  [ui.selected, ui.filter] = [undefined, ""];
  answers.incidents = () => ({
    closed: 0,
    incidents: [
      {
        id: ids[0],
        verdict: "invisible",
        state: "params_done",
        since: "2026-03-13T17:00:00Z",
        sentence: "4 silent",
        dollars_per_h: null,
        shared: null,
        instances: [
          { id: ids[0], gpu_name: "RTX 4090", reason: "" },
          { id: ids[1], gpu_name: "RTX 4090", reason: "" },
        ],
      },
    ],
  });
  answers.plan = () => ({
    token: null,
    deed: "kill",
    sentence: "Kill",
    steps: [],
    saves_dollars_per_h: null,
    destructive: true,
    confirm_with: null,
    read_only: true,
  });
});
afterEach(() => vi.restoreAllMocks());

describe("the instance in view", () => {
  it("is the row that is selected and shown; a hidden one is none", async () => {
    const { unmount } = render(FleetView);
    await settled();
    expect(inView.row).toBeUndefined();
    expect(acting.map((command) => command.unless?.())).toEqual(acting.map(() => "no instance is in view"));
    ui.selected = ids[1];
    await settled();
    expect(inView.row?.id).toBe(ids[1]);
    for (const command of acting) expect(command.title).toContain("d977dead, RTX 4090");
    ui.filter = "gpu:3090";
    await settled();
    expect(inView.row).toBeUndefined();
    for (const command of acting) {
      expect(command.unless?.()).toBe("no instance is in view");
      command.run();
    }
    expect(asked.filter((one) => one.name === "plan")).toEqual([]);
    ui.filter = "";
    show([row(ids[0])]);
    await settled();
    expect(inView.row).toBeUndefined();
    unmount();
  });

  it("in the incidents is the one whose diagnosis is shown, whatever the fleet has selected", async () => {
    ui.selected = ids[0];
    const fleetView = render(FleetView);
    await settled();
    const { rerender, unmount } = render(IncidentsView, { id: ids[0] });
    fleetView.unmount();
    await settled();
    expect(inView.row?.id).toBe(ids[0]);
    await screen.findByText("4 silent");
    down();
    await rerender({ id: decodeURIComponent(location.hash.split("/").at(-1) ?? "") });
    await settled();
    expect(inView.row?.id).toBe(ids[1]);
    const kill = acting.find((command) => command.id === "kill");
    expect(kill?.title).toBe("Kill d977dead, RTX 4090");
    kill?.run();
    await settled();
    expect(asked.filter((one) => one.name === "plan").map((one) => (one.request as { ids: string[] }).ids)).toEqual([[ids[1]]]);
    unmount();
    await settled();
    expect(inView.row).toBeUndefined();
  });

  it("on a page is that page's, and the page names it on every button", async () => {
    answers.instance = () => ({
      row: row(ids[2], { gpu_name: "RTX 3090" }),
      evidence: [],
      looks: [],
      said: [],
      life: [],
      gauges: [],
      gaps: [],
      flags: [],
      facts: [],
      prover: null,
      machine: null,
      silence: null,
    });
    ui.selected = ids[0];
    render(InstanceView, { id: ids[2] });
    await settled();
    expect(inView.row?.id).toBe(ids[2]);
    const buttons = [...document.querySelectorAll<HTMLElement>("[data-deed]")];
    expect(buttons.map((button) => button.dataset.deed)).toEqual(["kill", "replace", "destroy", "reboot", "stop", "start", "ban"]);
    for (const button of buttons) expect(button.getAttribute("aria-label")).toContain("416e859e, RTX 3090");
  });
});
