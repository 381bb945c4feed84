// A read-only copy of what the watcher sees, kept by numbered patches.

import type { FleetView, InstanceRow, Patch } from "../api/generated";
import { subscribe } from "../host";
import type { Lost } from "../host/line";
import { clock } from "./clock.svelte";

class FleetState {
  /** Everything but the instances; undefined until something is watched. */
  head = $state.raw<FleetView | undefined>();
  /** The instances, in no order. */
  rows = $state.raw<InstanceRow[]>([]);
  /** Names the watch that is seen: what was planned in another one is void. */
  run = $state.raw<string | undefined>();
  #byId = new Map<string, InstanceRow>();
  #seq = -1;
  #end: (() => void) | undefined;

  /** The backend does not answer, since when and why. What is shown is what it told last. */
  lost = $state.raw<Lost | undefined>();

  start(): () => void {
    this.listen();
    return () => this.#end?.();
  }

  private listen() {
    this.#end?.();
    this.#end = subscribe({ patch: (patch) => this.apply(patch), nothing: () => this.clear(), lost: (lost) => (this.lost = lost) });
  }

  apply(patch: Patch) {
    if (patch.whole) {
      this.#byId.clear();
    } else if (patch.seq !== this.#seq + 1) {
      // Something was missed: everything anew.
      this.listen();
      return;
    }
    this.#seq = patch.seq;
    this.run = patch.run;
    for (const row of patch.upsert) this.#byId.set(row.id, row);
    for (const id of patch.removed) this.#byId.delete(id);
    this.head = patch.head;
    this.rows = [...this.#byId.values()];
    clock.set(patch.head.watching.now, patch.head.watching.speed);
  }

  /** Nothing is watched any more. */
  clear() {
    this.#byId.clear();
    this.run = undefined;
    this.head = undefined;
    this.rows = [];
  }

  row(id: string): InstanceRow | undefined {
    return this.rows.find((row) => row.id === id);
  }

  /** Nothing of what is watched is real: a simulation, or a drill. */
  get simulated(): boolean {
    return this.head !== undefined && this.head.watching.mode !== "live";
  }

  /** A drill is played on it. */
  get drill(): boolean {
    return this.head?.watching.mode === "drill";
  }

  /** The connection works, so time goes on for what is shown. */
  get live(): boolean {
    return this.lost === undefined && this.head?.connection.state === "ok";
  }

  /** The manager's time now: the latest answer's plus what has passed since. It stands still while nothing is heard. */
  get managerNow(): number {
    const head = this.head;
    if (!head?.as_of) return clock.now;
    const asOf = Date.parse(head.as_of);
    if (!this.live || !head.received_at) return asOf;
    return asOf + Math.max(0, clock.now - Date.parse(head.received_at));
  }

  /** Something hides what is asked: that nothing is seen does not mean that there is nothing. */
  get unknown(): boolean {
    return (this.head?.conditions ?? []).some((condition) => condition.is_unknown);
  }

  /** Age in seconds of what was told at a time on the manager's clock. Ages go on while nothing is heard. */
  age(time: string): number {
    const head = this.head;
    const silent =
      head?.as_of && head.received_at && !this.live ? Math.max(0, (clock.now - Date.parse(head.received_at)) / 1000) : 0;
    return this.since(time) + silent;
  }

  /** Dwell in seconds now; as of the last answer where nothing newer is known. */
  dwell(row: InstanceRow): number | null {
    if (row.dwell_s === null) return null;
    if (!this.live || !row.listed) return row.dwell_s;
    return Math.max(0, (this.managerNow - Date.parse(row.entered_at)) / 1000);
  }

  /** Seconds since a time on the manager's clock. */
  since(time: string): number {
    return Math.max(0, (this.managerNow - Date.parse(time)) / 1000);
  }
}

export const fleet = new FleetState();
