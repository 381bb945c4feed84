// Every verb of the window, once: palette, keys and the help sheet read it.

import { toast } from "svelte-sonner";
import { api, commands as table } from "../api/generated";
import { attempt } from "./attempt";
import { router } from "./route.svelte";
import { fleet } from "./fleet.svelte";
import { ui } from "./ui.svelte";
import { deeds } from "./deeds";
import { leaving } from "./leaving.svelte";
import { inView, named } from "./inview.svelte";
import type { Binding } from "./keys";

export interface Command {
  id: string;
  /** What it does; a command that acts names what it acts on. */
  readonly title: string;
  /** More words that find it. */
  also?: string;
  /** For `keys.ts`: `g f`, `$mod+k`, `?`. */
  keys?: string;
  /** A dialog of its own may be open. */
  dialog?: () => boolean;
  run: () => void;
  /** Why it cannot be done now, if it cannot. */
  unless?: () => string | undefined;
}

/** Title and keys of a command that the table of all commands has: window, palette, help and terminal read the same. */
function of(name: (typeof table)[number]["name"]): { title: string; keys?: string } {
  const row = table.find((it) => it.name === name);
  return { title: row?.title ?? name, ...(row?.keys ? { keys: row.keys } : {}) };
}

const simulated = () => (fleet.simulated ? there() : "only in a simulation");
/** Nothing can be asked for while nobody answers. */
const there = () => (fleet.lost ? "Dwell's backend is gone" : undefined);
const watching = () => (fleet.head ? there() : "nothing is watched");
const noneInView = () => (inView.row ? undefined : "no instance is in view");
const speed = (factor: number) => void attempt(api.set_speed({ speed: factor }));

export const commands: Command[] = [
  { id: "fleet", ...of("fleet"), run: () => router.go({ view: "fleet" }) },
  {
    id: "incidents",
    ...of("incidents"),
    run: () => router.go({ view: "incidents" }),
    unless: watching,
  },
  {
    id: "diagnose",
    get title() {
      return `Diagnose ${inView.row ? named(inView.row) : "the instance in view"}`;
    },
    also: "the instance in view",
    keys: "d",
    run: () => router.go({ view: "incidents", id: inView.row?.id }),
    unless: () => watching() ?? noneInView(),
  },
  ...deeds.map((deed): Command => ({
    id: deed.id,
    get title() {
      return deed.title(inView.row);
    },
    also: "the instance in view",
    run: () => {
      const row = inView.row;
      if (row && deed.unless(row) === undefined) deed.ask(row);
    },
    unless: () => watching() ?? noneInView() ?? (inView.row && deed.unless(inView.row)),
  })),
  {
    id: "manager-log",
    ...of("manager_logs"),
    run: () => router.go({ view: "manager-log" }),
    unless: watching,
  },
  {
    id: "charts",
    ...of("charts"),
    run: () => router.go({ view: "charts" }),
    unless: watching,
  },
  { id: "search", ...of("search_logs"), run: () => router.go({ view: "search" }), unless: watching },
  {
    id: "journal",
    ...of("acts"),
    run: () => router.go({ view: "journal" }),
    unless: watching,
  },
  {
    id: "offers",
    ...of("offers"),
    run: () => router.go({ view: "offers" }),
    unless: watching,
  },
  {
    id: "rollouts",
    ...of("rollouts"),
    run: () => router.go({ view: "rollouts" }),
    unless: watching,
  },
  { id: "rentals", ...of("rentals"), run: () => router.go({ view: "rentals" }) },
  { id: "fleets", title: "Connect, or choose a fleet", keys: "g c", run: () => router.go({ view: "fleets" }) },
  { id: "bench", ...of("bench"), run: () => router.go({ view: "bench" }) },
  { id: "drills", ...of("drills"), run: () => router.go({ view: "drills" }) },
  { id: "doctor", ...of("doctor"), run: () => router.go({ view: "doctor" }) },
  { id: "refresh", ...of("refresh"), run: () => void attempt(api.refresh()), unless: watching },
  {
    id: "simulate",
    ...of("simulate"),
    run: () =>
      void leaving.ask(
        "a simulated fleet",
        () =>
          void attempt(api.simulate({ scenario: "params-done-silence", seed: null, speed: null })).then(() =>
            router.go({ view: "fleet" }),
          ),
      ),
    unless: there,
  },
  {
    id: "flagged",
    title: "Only what is flagged",
    keys: "f",
    run: () => {
      router.go({ view: "fleet" });
      ui.filter = "flag:!none";
    },
  },
  { id: "all", title: "Clear the filter", keys: "x", run: () => (ui.filter = "") },
  { id: "killed", title: "Show or hide killed instances", keys: "a", run: () => ui.setShowKilled(!ui.showKilled) },
  { id: "pause", title: "Pause the simulation", run: () => speed(0), unless: simulated },
  { id: "speed-1", title: "Simulation at real time", run: () => speed(1), unless: simulated },
  { id: "speed-20", title: "Simulation at 20 times real time", run: () => speed(20), unless: simulated },
  { id: "speed-100", title: "Simulation at 100 times real time", run: () => speed(100), unless: simulated },
  { id: "theme", title: "Change the theme: system, light, dark", keys: "t", run: () => ui.nextTheme() },
  { id: "palette", title: "Search or do", keys: "$mod+k", dialog: () => ui.palette, run: () => (ui.palette = !ui.palette) },
  { id: "help", title: "Show all keys", keys: "?", dialog: () => ui.help, run: () => (ui.help = !ui.help) },
];

/** The keys of all commands. One that cannot be done now says why. */
export function bindings(): Binding[] {
  return commands.flatMap((command) => {
    if (command.keys === undefined) return [];
    const run = () => {
      const refused = command.unless?.();
      if (refused === undefined) command.run();
      else toast.info(command.title, { description: `Not now: ${refused}.`, id: "refused-keys" });
    };
    return [
      { keys: command.keys, run, typing: command.keys.startsWith("$mod"), ...(command.dialog ? { dialog: command.dialog } : {}) },
    ];
  });
}

/** Keys that belong to a list or a page, for the help sheet. */
export const localKeys: [string, string][] = [
  ["j  k  ↓  ↑", "Next, previous instance"],
  ["Enter", "Open the instance"],
  ["l", "Its log"],
  ["/", "Filter, or search in a log"],
  ["Esc", "Back, or leave a field"],
];
