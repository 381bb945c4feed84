import { beforeEach, describe, expect, it, vi } from "vitest";

beforeEach(() => {
  localStorage.clear();
  vi.resetModules();
});

const fresh = async () => (await import("./charts.svelte")).charts;
const size = { width: 640.4, height: 210 };

describe("what charts show", () => {
  it("is kept over a restart, and nonsense is not taken up", async () => {
    (await fresh()).choose({ last_s: 604_800, by: "machine", state: "loading", tables: ["cost"] });
    vi.resetModules();
    expect((await fresh()).shown).toEqual({ last_s: 604_800, by: "machine", state: "loading", tables: ["cost"] });
    localStorage.setItem("charts", JSON.stringify({ last_s: -1, by: "taste", state: "running", tables: [1, "cost"] }));
    vi.resetModules();
    expect((await fresh()).shown).toEqual({ last_s: 86_400, by: "gpu", state: "params_done", tables: ["cost"] });
    localStorage.setItem("charts", "{");
    vi.resetModules();
    expect((await fresh()).shown.last_s).toBe(86_400);
  });

  it("all that is kept is asked for without a time", async () => {
    const charts = await fresh();
    charts.choose({ last_s: null });
    expect(charts.request("cost", size, true)).toMatchObject({
      name: "cost",
      last_s: null,
      since: null,
      until: null,
      by: "gpu",
      width: 640,
      dark: true,
    });
  });

  it("zooms in steps and back, and a chosen time ends it", async () => {
    const charts = await fresh();
    charts.zoomTo(1_000_000, 1_000_030);
    expect(charts.zoom).toBeUndefined();
    charts.zoomTo(1_000_000, 1_086_400);
    charts.zoomTo(1_010_000, 1_020_000);
    expect(charts.request("cost", size, false)).toMatchObject({
      last_s: null,
      since: "1970-01-12T16:33:20.000Z",
      until: "1970-01-12T19:20:00.000Z",
    });
    expect(charts.back()).toBe(true);
    expect(charts.zoom).toEqual({ from: 1_000_000, to: 1_086_400 });
    expect(charts.back()).toBe(true);
    expect(charts.back()).toBe(false);
    charts.zoomTo(1_000_000, 1_086_400);
    charts.choose({ last_s: 3600 });
    expect(charts.zoom).toBeUndefined();
  });

  it("an instance's life is asked for whole", async () => {
    const charts = await fresh();
    charts.zoomTo(1_000_000, 1_086_400);
    expect(charts.request("instance", size, false, "d977")).toMatchObject({
      instance: "d977",
      last_s: null,
      since: null,
      until: null,
    });
  });
});
